// SPDX-License-Identifier: GPL-2.0
/* trace_marker tells where the child's work begins and ends. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "raise.h"
#include "trace.h"

const char *raise_resume;
int raise_steps;
unsigned short raise_cs;

static struct report *report;

/* Without prefix, as in asm-generic/siginfo.h; any may be KERNEL. */
static const struct {
	const char *name, *codes[15];
} signals[] = {
	[SIGILL]  = { "SIGILL", { NULL, "ILLOPC", "ILLOPN", [4] = "ILLTRP", [8] = "BADSTK" } },
	[SIGTRAP] = { "SIGTRAP", { NULL, "BRKPT", "TRACE", [4] = "HWBKPT" } },
	[SIGBUS]  = { "SIGBUS", { NULL, "ADRALN", "ADRERR", "OBJERR", "MCEERR_AR" } },
	[SIGFPE]  = { "SIGFPE", { NULL, "INTDIV", [3] = "FLTDIV", "FLTOVF", "FLTUND", "FLTRES",
				  "FLTINV", [14] = "FLTUNK" } },
	[SIGSEGV] = { "SIGSEGV", { NULL, "MAPERR", "ACCERR", [4] = "PKUERR", [9] = "MTESERR",
				   "CPERR" } },
};

const char *signal_name(int signal)
{
	return signal < (int)ARRAY_SIZE(signals) ? signals[signal].name : NULL;
}

const char *code_name(int signal, int code)
{
	if (code == SI_KERNEL)
		return "KERNEL";
	return signal_name(signal) && code < (int)ARRAY_SIZE(signals[0].codes) ?
	       signals[signal].codes[code] : NULL;
}

/* Notes what was raised, and lets the program go on. */
static void on_signal(int signal, siginfo_t *info, void *data)
{
	mcontext_t *context = &((ucontext_t *)data)->uc_mcontext;

	allow_misaligned();
	if (report->raised_count < (int)ARRAY_SIZE(report->raised)) {
		struct raised *raised = &report->raised[report->raised_count];

		*raised = (struct raised) { .signal = signal, .code = info->si_code };
		context_note(raised, context);
	}
	report->raised_count++;
	context_resume(context);
}

static void catch_signals(void)
{
	static char memory[1 << 16];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = {
		.sa_sigaction	= on_signal,
		.sa_flags	= SA_SIGINFO | SA_ONSTACK,
	};

	sigaltstack(&stack, NULL);
	for (int signal = 1; signal < (int)ARRAY_SIZE(signals); signal++)
		if (signals[signal].name)
			sigaction(signal, &action, NULL);
}

static unsigned long long now(void)
{
	struct timespec time;

	/* Not slewed by NTP, as the durations are not */
	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* Does the work between its marks. */
static void do_work(work_t work, int marker, int round)
{
	struct rusage before, after;
	unsigned long long start;

	memset(report, 0, sizeof(*report));
	/* Present before anything is counted. */
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));

	if (write(marker, TRACE_BEGIN, strlen(TRACE_BEGIN)) < 0)
		report->failed = true;
	getrusage(RUSAGE_THREAD, &before);
	start = now();
	work(report, round);
	report->time = now() - start;
	getrusage(RUSAGE_THREAD, &after);
	if (write(marker, TRACE_END, strlen(TRACE_END)) < 0)
		report->failed = true;

	report->minflt = after.ru_minflt - before.ru_minflt;
	report->majflt = after.ru_majflt - before.ru_majflt;
	report->nvcsw = after.ru_nvcsw - before.ru_nvcsw;
	report->nivcsw = after.ru_nivcsw - before.ru_nivcsw;
}

pid_t fork_bound(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* It may have ended before. */
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

static void child_main(work_t work, int cpu, int marker, int go, int done)
{
	cpu_set_t cpus;
	char byte = 0;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		_exit(1);
	catch_signals();

	for (int round = 0;; round++) {
		do_work(work, marker, round);
		if (write(done, &byte, 1) != 1 || read(go, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

/* Not uname(), which setarch changes */
int kernel_bits(void)
{
	return file_has_word("/proc/sys/kernel/arch", "x86_64") ||
	       file_has_word("/proc/sys/kernel/arch", "aarch64") ? 64 : 32;
}

/* The number that sysfs has for a kind of events of perf, 0: none. */
int perf_type(const char *name)
{
	char path[64], *text;
	int type;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	text = file_read(path);
	type = text ? atoi(text) : 0;
	free(text);
	return type;
}

/*
 * Lets it do the work untraced. Returns 0 when it waits for child_go(), CHILD_UNABLE
 * if its work says so, -1 for errors.
 */
int child_start(struct child *child, work_t work)
{
	int go[2], done[2], marker = trace_open("trace_marker", O_WRONLY), cpu = sched_getcpu();
	pid_t pid;
	char byte;

	child->cpu = cpu;
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (marker < 0 || report == MAP_FAILED || pipe(go) || pipe(done))
		return -1;
	child->report = report;

	/* *child may be shared with the child. */
	pid = fork_bound();
	if (pid < 0)
		return -1;
	if (!pid) {
		close(go[1]);
		close(done[0]);
		child_main(work, cpu, marker, go[0], done[1]);
	}

	child->pid = pid;
	close(marker);
	close(go[0]);
	close(done[1]);
	child->go = go[1];
	child->done = done[0];
	if (read(child->done, &byte, 1) != 1)
		return -1;
	return report->failed ? CHILD_UNABLE : 0;
}

/* Lets the child do the work once more, and waits for it. */
int child_go(struct child *child)
{
	char byte = 0;

	if (write(child->go, &byte, 1) != 1 || read(child->done, &byte, 1) != 1)
		return -1;
	return report->failed ? -1 : 0;
}
