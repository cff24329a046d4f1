// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions of a program that take more than the program: another process that lets
 * it step, a virtual 8086.
 */
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#ifndef __x86_64__
#include <asm/vm86.h>
#endif

#include "invasive_fixture.h"
#include "memory.h"

#define STEPS	20

static struct spin *shared;

/* Attaches to the parent while it is in user mode, and lets it step. */
static void step_parent(void)
{
	pid_t pid = getppid();
	int status, ret = 0;

	while (!shared->begun)
		usleep(1000);
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, &status, __WALL) != pid)
		ret = -1;
	for (int i = 0; i < STEPS && !ret; i++)
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) ||
		    waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) != SIGTRAP)
			ret = -1;
	shared->end = ret ?: 1;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	_exit(0);
}

static void spin(struct report *report, int round)
{
	pid_t pid;

	shared = spin_map();
	pid = shared ? fork() : -1;
	if (!pid)
		step_parent();
	if (pid > 0)
		raise_spin(shared);
	report->failed = pid < 0 || shared->end < 0 || waitpid(pid, NULL, 0) != pid;
}

SIMPLE_FIXTURE(user, set_up)

/* Each step is a #DB that another process asked for. */
TEST_F(user, ptrace_step)
{
	const unsigned long from = (unsigned long)raise_spin, to = (unsigned long)raise_spin_end;
	unsigned long ip;
	struct child child;
	struct trace trace;

	start(_metadata, &child, spin);
	turn_on(_metadata, "traps/trap_exit");
	let_work(_metadata, &child, &trace);
	EXPECT_EQ(STEPS, trace_count(&trace, "trap_exit",
				     "vector=#DB mode=user error_code=0x0 ip=0x* event_data=0x4000 result=SIGNAL"));
	EXPECT_EQ(STEPS, trace.count);
	for (int i = 0; i < trace.count; i++) {
		ASSERT_EQ(1, sscanf(strstr(trace.records[i].text, " ip="), " ip=%lx", &ip));
		EXPECT_TRUE(from <= ip && ip <= to);
	}
}

#ifndef __x86_64__
#define VM86_CODE	0x10000
#define VM86_IP		0x10

/* CLI and HLT; the latter ends the virtual machine. */
static void run_vm86(struct report *report, int round)
{
	struct vm86_struct vm = {
		.regs = { .eip = VM86_IP, .cs = VM86_CODE >> 4, .ss = VM86_CODE >> 4 },
	};
	char *code = mmap((void *)VM86_CODE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	report->failed = code == MAP_FAILED;
	if (report->failed)
		return;
	memcpy(code + VM86_IP, "\xfa\xf4", 2);
	report->error = syscall(SYS_vm86old, &vm) < 0;
}

TEST_F(user, vm86)
{
	struct child child;
	struct trace trace;
	char text[96];

	if (kernel_bits() == 64)
		SKIP(return, "only 32-bit kernels");
	start(_metadata, &child, run_vm86);
	if (child.report->error)
		SKIP(return, "no vm86()");
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text),
			 "vector=#GP mode=user error_code=0x0 ip=0x%x event_data=0x0", VM86_IP + i);
		EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
		expect_exit(_metadata, &child, &trace, text, "EMULATED", 0);
	}
	EXPECT_EQ(4, trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}
#endif

TEST_HARNESS_MAIN
