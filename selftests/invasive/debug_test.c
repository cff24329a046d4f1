// SPDX-License-Identifier: GPL-2.0
/*
 * Recording an event of a traced program that has a watchpoint may hit that, when
 * it reads the program's stack. The debugger must not see that: neither in DR6, nor
 * by the next single step, of any program, that ends at a branch only.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "invasive_fixture.h"

#define DR6_TRAP0		0x1
#define DR6_STEP		0x4000
#define DR6_REASONS		(0xf | DR6_STEP)
/* On, for reads and writes of a long */
#ifdef __x86_64__
#define DR7_WATCH		0xb0001
#define IP			offsetof(struct user, regs.rip)
#define FRAME			"%rbp"
#define ARGUMENT		"%rdi"
#else
#define DR7_WATCH		0xf0001
#define IP			offsetof(struct user, regs.eip)
#define FRAME			"%ebp"
#define ARGUMENT		"8(%esp)"
#endif
#define DEBUGREG(n)		offsetof(struct user, u_debugreg[n])

/* What the user's stack trace shows of the watched frame */
#define RETURN_ADDRESS		0x12345678
#define USER_STACK		"12345678>"

#define DEBUGCTL		"write_msr: 1d9, value "
#define DEBUGCTL_BTF		2

/* void steps(void *frame): a breakpoint, single steps and a hit of the watchpoint */
asm(".text\n"
    "steps:\n"
    "	push	" FRAME "\n"
    "	mov	" ARGUMENT ", " FRAME "\n"
    "	int3\n"
    "steps_ip:\n"
    "	nop\n"
    "	nop\n"
    "	jmp	1f\n"
    "1:	movl	$0, (" FRAME ")\n"
    "	pop	" FRAME "\n"
    "	ret\n");
void steps(void *frame);
extern const char steps_ip[];

static unsigned long peek(pid_t pid, size_t offset)
{
	return ptrace(PTRACE_PEEKUSER, pid, offset, NULL);
}

/* Why did it stop? */
static unsigned long get_reasons(pid_t pid)
{
	return peek(pid, DEBUGREG(6)) & DR6_REASONS;
}

/* Lets it go on until its next signal, which has to be that. */
static void resume(struct __test_metadata *_metadata, pid_t pid, int request, int signal)
{
	int status;

	if (request)
		ASSERT_EQ(0, ptrace(request, pid, NULL, NULL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSTOPPED(status));
	ASSERT_EQ(signal, WSTOPSIG(status));
}

FIXTURE(watched) {
	/* Lies on the tracees' stacks, too, above their own part of it. */
	unsigned long frame[2];
	pid_t pid;
};

static pid_t start_tracee(struct __test_metadata *_metadata, unsigned long *frame)
{
	pid_t pid = fork_bound();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		steps(frame);
		_exit(0);
	}
	resume(_metadata, pid, 0, SIGSTOP);
	return pid;
}

/* A tracee with a watchpoint on what the recording reads. */
FIXTURE_SETUP(watched)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	stay_on_cpu(_metadata, sched_getcpu());
	self->frame[0] = 0;
	self->frame[1] = RETURN_ADDRESS;
	self->pid = start_tracee(_metadata, self->frame);
	ASSERT_EQ(0, ptrace(PTRACE_POKEUSER, self->pid, DEBUGREG(0), self->frame));
	ASSERT_EQ(0, ptrace(PTRACE_POKEUSER, self->pid, DEBUGREG(7), DR7_WATCH));

	ASSERT_EQ(0, trace_prepare(self->pid));
	ASSERT_EQ(0, trace_write("options/userstacktrace", "1"));
	turn_on(_metadata, "traps/trap_entry");
	turn_on(_metadata, "traps/trap_exit");
}

/* The recording did read the watched frame. */
FIXTURE_TEARDOWN(watched)
{
	char *text = trace_read("trace");

	EXPECT_TRUE(text && strstr(text, USER_STACK));
	free(text);
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
	tear_down(_metadata);
}

TEST_F(watched, single_step)
{
	resume(_metadata, self->pid, PTRACE_CONT, SIGTRAP);
	ASSERT_EQ(0, ptrace(PTRACE_POKEUSER, self->pid, DEBUGREG(6), NULL));
	resume(_metadata, self->pid, PTRACE_SINGLESTEP, SIGTRAP);
	EXPECT_EQ(DR6_STEP, get_reasons(self->pid));
}

/* What the program hits by itself is shown. */
TEST_F(watched, hit)
{
	resume(_metadata, self->pid, PTRACE_CONT, SIGTRAP);
	ASSERT_EQ(0, ptrace(PTRACE_POKEUSER, self->pid, DEBUGREG(6), NULL));
	resume(_metadata, self->pid, PTRACE_CONT, SIGTRAP);
	EXPECT_EQ(DR6_TRAP0, get_reasons(self->pid));
}

/* How often was BTF set while the tracee's #DB was recorded and handled? */
static int count_btf(const char *text)
{
	const char *write = text;
	int count = 0;

	while ((write = strstr(write, DEBUGCTL))) {
		write += strlen(DEBUGCTL);
		count += !!(strtoul(write, NULL, 16) & DEBUGCTL_BTF);
	}
	return count;
}

/*
 * Steps to a branch end with the first of them. An emulated CPU may not have such
 * steps: what the kernel writes to its register tells, too.
 */
TEST_F(watched, block_step)
{
	char *text, *begin, *end;
	pid_t other;

	resume(_metadata, self->pid, PTRACE_CONT, SIGTRAP);
	ASSERT_EQ(0, trace_write("events/msr/write_msr/filter", "msr == 0x1d9"));
	turn_on(_metadata, "msr/write_msr");
	ASSERT_EQ(0, trace_truncate("trace"));
	resume(_metadata, self->pid, PTRACE_SINGLEBLOCK, SIGTRAP);

	other = start_tracee(_metadata, self->frame);
	resume(_metadata, other, PTRACE_CONT, SIGTRAP);
	resume(_metadata, other, PTRACE_SINGLESTEP, SIGTRAP);
	EXPECT_EQ((unsigned long)steps_ip + 1, peek(other, IP));
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);

	text = trace_read("trace");
	ASSERT_TRUE(text != NULL);
	begin = strstr(text, ": trap_entry: ");
	ASSERT_TRUE(begin != NULL);
	end = strstr(begin, ": trap_exit: ");
	ASSERT_TRUE(end != NULL);
	*end = '\0';
	EXPECT_EQ(0, count_btf(begin)) {
		TH_LOG("%s", begin);
	}
	free(text);
}

TEST_HARNESS_MAIN
