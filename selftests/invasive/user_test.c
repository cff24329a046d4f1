// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions of a program that take more than the program: another process that lets
 * it step, a return that fails, a virtual 8086, QEMU's FPU.
 */
#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#ifndef __x86_64__
#include <asm/vm86.h>
#endif

#include "invasive_fixture.h"
#include "memory.h"

#define STEPS	20

/* Attaches to the process while it is in user mode, and lets it step. */
static int let_step(pid_t pid, int cpu)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, &status, __WALL) != pid)
		return -1;
	for (int i = 0; i < STEPS; i++)
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) ||
		    waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) ||
		    WSTOPSIG(status) != SIGTRAP)
			return -1;
	return ptrace(PTRACE_DETACH, pid, 0, 0);
}

static void spin(struct report *report, int round)
{
	report->failed = spin_during(let_step) != 0;
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
				     "vector=#DB mode=user error_code=0x0 ip=0x* event_data=0x4000 result=SIGTRAP"));
	EXPECT_EQ(STEPS, trace.count);
	for (int i = 0; i < trace.count; i++) {
		ASSERT_EQ(1, sscanf(strstr(trace.records[i].text, " ip="), " ip=%lx", &ip));
		EXPECT_TRUE(from <= ip && ip <= to);
	}
}

/* @work raises @exception, each ends as @rest says; @absent, if it sets report->error. */
static void expect_each(struct __test_metadata *_metadata, work_t work, const char *absent,
			const char *exception, const char *rest)
{
	struct child child;
	struct trace trace;
	int count;

	start(_metadata, &child, work);
	if (child.report->error)
		SKIP(return, "%s", absent);
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	count = trace_count(&trace, "trap_exit", "%s *", exception);
	EXPECT_LT(0, count);
	EXPECT_EQ(count, trace_count(&trace, "trap_exit", "%s error_code=0x0 %s", exception, rest));
	EXPECT_TRUE(trace_balanced(&trace));
}

static sigjmp_buf go_on;

static void jump(int signal)
{
	siglongjmp(go_on, 1);
}

/* FLDENV loads the summary of exceptions without any. QEMU keeps that; CPUs and Bochs do not. */
static void load_summary(struct report *report, int round)
{
	const struct itimerval timer = { .it_value.tv_usec = 20000 };
	unsigned int env[7];

	report->error = !is_tcg();
	report->failed = signal(SIGPROF, jump) == SIG_ERR;
	if (report->error || report->failed || sigsetjmp(go_on, 1))
		return;
	asm volatile("fnstenv %0" : "=m" (env));
	env[1] |= 0x80;
	report->failed = setitimer(ITIMER_PROF, &timer, NULL);
	if (report->failed)
		return;
	asm volatile("fldenv %0\n\tfwait" : : "m" (env) : "memory");
	setitimer(ITIMER_PROF, &(struct itimerval){ }, NULL);
}

/* The instruction is tried again until a signal ends that. */
TEST_F(user, spurious_mf)
{
	expect_each(_metadata, load_summary, "the FPU raises #MF only for an exception",
		    "vector=#MF mode=user", "ip=0x* event_data=0x0 result=SPURIOUS");
}

#ifdef __x86_64__
#define BAD_CS		0x3ff7

static void spoil_cs(int signal, siginfo_t *info, void *context)
{
	greg_t *segments = &((ucontext_t *)context)->uc_mcontext.gregs[REG_CSGSFS];

	*segments = (*segments & ~0xffffL) | BAD_CS;
}

static void return_badly(struct report *report, int round)
{
	const struct sigaction spoil = { .sa_sigaction = spoil_cs, .sa_flags = SA_SIGINFO };

	report->failed = signal(SIGSEGV, jump) == SIG_ERR || sigaction(SIGUSR1, &spoil, NULL);
	if (!report->failed && !sigsetjmp(go_on, 1))
		raise(SIGUSR1);
}

/*
 * With FRED, the kernel's ERETU faults first. Where $TRAPS_RCU_BLIND says so, RCU does not
 * watch then.
 */
TEST_F(user, bad_return)
{
	bool eretu = file_has_word("/proc/cpuinfo", "fred") && !getenv("TRAPS_RCU_BLIND");
	struct child child;
	struct trace trace;
	int count;

	record(_metadata, &child, return_badly, &trace);
	count = trace_count(&trace, "trap_exit", "vector=#GP mode=user error_code=0x3ff4 * result=SIGSEGV");
	EXPECT_LT(0, count);
	EXPECT_EQ(eretu ? count : 0,
		  trace_count(&trace, "trap_exit", "vector=#GP mode=kernel error_code=0x3ff4 * result=FIXUP"));
	EXPECT_TRUE(trace_balanced(&trace));
}
#else
#define VM86_CODE	0x10000
#define VM86_IP		0x10
#define TF		0x100

SIMPLE_FIXTURE(vm86, set_up)

FIXTURE_VARIANT(vm86) {
	const char *code;
	unsigned int flags;
	bool plus;
	/* What is raised, how often, and where at first */
	const char *vector;
	int count, ip;
	unsigned int event_data;
	const char *result;
};

/* CLI and HLT; the latter ends the virtual machine. */
FIXTURE_VARIANT_ADD(vm86, emulated) {
	.code = "\xfa\xf4", .vector = "#GP", .count = 2, .ip = VM86_IP, .result = "EMULATED",
};
/* CLI, and the SIGTRAP of its single step */
FIXTURE_VARIANT_ADD(vm86, emulated_step) {
	.code = "\xfa", .flags = TF, .vector = "#GP", .count = 1, .ip = VM86_IP,
	.result = "SIGTRAP",
};
/* NOP */
FIXTURE_VARIANT_ADD(vm86, step) {
	.code = "\x90", .flags = TF, .vector = "#DB", .count = 1, .ip = VM86_IP + 1,
	.event_data = 0x4000, .result = "SIGTRAP",
};
/* INT3 ends the virtual machine of vm86(). */
FIXTURE_VARIANT_ADD(vm86, forwarded) {
	.code = "\xcc", .plus = true, .vector = "#BP", .count = 1, .ip = VM86_IP + 1,
	.result = "EMULATED",
};

static const FIXTURE_VARIANT(vm86) *vm86;

static void ignore(int signal) {}

static void run_vm86(struct report *report, int round)
{
	struct vm86plus_struct vm = {
		.regs = {
			.eip = VM86_IP, .eflags = vm86->flags,
			.cs = VM86_CODE >> 4, .ss = VM86_CODE >> 4,
		},
	};
	char *code = mmap((void *)VM86_CODE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	report->failed = code == MAP_FAILED || signal(SIGTRAP, ignore) == SIG_ERR;
	if (report->failed)
		return;
	strcpy(code + VM86_IP, vm86->code);
	report->error = (vm86->plus ? syscall(SYS_vm86, VM86_ENTER, &vm) :
				      syscall(SYS_vm86old, &vm)) < 0 ? errno : 0;
}

TEST_F(vm86, result)
{
	struct child child;
	struct trace trace;
	char text[96];

	if (kernel_bits() == 64)
		SKIP(return, "only 32-bit kernels");
	vm86 = variant;
	start(_metadata, &child, run_vm86);
	if (child.report->error == ENOSYS)
		SKIP(return, "no vm86()");
	EXPECT_EQ(0, child.report->error);
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	for (int i = 0; i < vm86->count; i++) {
		snprintf(text, sizeof(text),
			 "vector=%s mode=user error_code=0x0 ip=0x%x event_data=0x%x",
			 vm86->vector, vm86->ip + i, vm86->event_data);
		EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
		expect_exit(_metadata, &child, &trace, text, vm86->result, 0);
	}
	EXPECT_EQ(2 * vm86->count, trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* TF is set in a system call of the vDSO. */
static void step_vdso(struct report *report, int round)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO);
	long pid = SYS_getpid;

	/* no INT $0x80; ret before mov %esp, %ebp; sysenter */
	report->error = !vdso || *vdso == '\xcd' || !memmem(vdso, 16, "\x89\xe5\x0f\x34", 4);
	report->failed = signal(SIGTRAP, ignore) == SIG_ERR;
	if (report->error || report->failed)
		return;
	asm volatile("pushf; orl $0x100, (%%esp); popf\n\t"
		     "call *%1\n\t"
		     "pushf; andl $~0x100, (%%esp); popf"
		     : "+a" (pid) : "r" (vdso) : "cc", "memory");
	report->failed = pid != getpid();
}

/* SYSENTER leaves TF set: the kernel steps until it clears TF. */
TEST_F(user, sysenter_step)
{
	expect_each(_metadata, step_vdso, "the vDSO has no SYSENTER",
		    "vector=#DB mode=kernel", "ip=*SYSENTER* event_data=0x4000 result=HANDLED");
}
#endif

TEST_HARNESS_MAIN
