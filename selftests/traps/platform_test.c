// SPDX-License-Identifier: GPL-2.0
/*
 * NMIs and machine checks, which come from outside of the CPU, are recorded once.
 *
 * Needs root, tracefs at /sys/kernel/tracing, the options in ./config; for NMIs
 * the module test_modules/traps_raiser.ko, for machine checks a CPU that is the
 * only one, and a machine that raises one which the kernel survives when the line
 * $TRAPS_MACHINE_CHECK is written to $TRAPS_MONITOR, such as QEMU with
 * a monitor at a virtio port.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

/* --- Tests of NMIs */

FIXTURE(nmi) {
	struct child child;
};

FIXTURE_VARIANT(nmi) {
	bool user;
};

FIXTURE_VARIANT_ADD(nmi, user) {
	.user	= true,
};

FIXTURE_VARIANT_ADD(nmi, kernel) {
	.user	= false,
};

#define NMIS	20

/* One after the other; all to a CPU, which may be this one. */
static int send_nmis(int cpu)
{
	int error = 0;

	for (int i = 0; i < NMIS && !error; i++)
		error = module_send_nmi(cpu);
	return error;
}

static void interrupt_kernel(struct report *report, bool traced)
{
	report->error = send_nmis(sched_getcpu());
}

/* Shared by the processes of a test. */
static struct spin *shared;

static bool map_shared(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared != MAP_FAILED;
}

/* Sends NMIs to the CPU from another one. */
static void interrupt_cpu(int cpu)
{
	cpu_set_t others;

	CPU_ZERO(&others);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (i != cpu)
			CPU_SET(i, &others);
	sched_setaffinity(0, sizeof(others), &others);
	while (!shared->begun)
		usleep(1000);
	shared->end = send_nmis(cpu) ? -1 : 1;
}

static void interrupt_user(struct report *report, bool traced)
{
	int cpu = sched_getcpu();
	pid_t pid;

	report->failed = !map_shared();
	if (report->failed)
		return;
	pid = fork();
	if (!pid) {
		interrupt_cpu(cpu);
		_exit(0);
	}
	report->failed = pid < 0;
	if (report->failed)
		return;
	raise_spin(shared);
	report->error = shared->end < 0;
	waitpid(pid, NULL, 0);
}

FIXTURE_SETUP(nmi)
{
	if (variant->user && sysconf(_SC_NPROCESSORS_ONLN) == 1)
		SKIP(return, "no second CPU to send an NMI to this one in user mode");
	set_up_module(_metadata);
	if (_metadata->exit_code)
		return;
	start(_metadata, &self->child, variant->user ? interrupt_user : interrupt_kernel);
}

FIXTURE_TEARDOWN_PARENT(nmi)
{
	tear_down_module(_metadata);
}

/*
 * Each NMI has an entry and an exit. Those that a program sends to itself all
 * interrupt the kernel. Of those from another CPU most interrupt user mode: some
 * may hit the kernel, or another task.
 */
TEST_F(nmi, recorded)
{
	const char *mode = variant->user ? "user" : "kernel";
	struct trace trace;
	int entries;

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);

	EXPECT_EQ(0, self->child.report->error);
	entries = trace_count(&trace, "trap_entry", "NMI vector=2 error_code=0x0 ip=* %s", mode);
	EXPECT_EQ(entries, trace_count(&trace, "trap_exit",
				       "NMI vector=2 error_code=0x0 ip=* %s", mode));
	EXPECT_GE(NMIS, entries);
	EXPECT_LE(variant->user ? NMIS / 2 : NMIS, entries);
	EXPECT_EQ(trace_count(&trace, "trap_*", "NMI *"), trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of machine checks */

#define MACHINE_CHECKS	20	/* at most, to see one in the wanted mode */

#define ANY_ENTRY	"*: trap_entry: #MC *"
#define ANY_EXIT	"*: trap_exit: #MC *"

FIXTURE(machine_check) {
	struct child child;
};

FIXTURE_VARIANT(machine_check) {
	const char *mode;
};

FIXTURE_VARIANT_ADD(machine_check, user) {
	.mode	= "user",
};

FIXTURE_VARIANT_ADD(machine_check, kernel) {
	.mode	= "kernel",
};

static void spin(struct report *report, bool traced)
{
	if (traced)
		raise_spin(shared);
}

FIXTURE_SETUP(machine_check)
{
	if (!getenv("TRAPS_MONITOR") || !getenv("TRAPS_MACHINE_CHECK"))
		SKIP(return, "no machine check on request: $TRAPS_MONITOR, $TRAPS_MACHINE_CHECK");
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		SKIP(return, "a machine check waits for all CPUs");
	set_up(_metadata);
}

FIXTURE_TEARDOWN_PARENT(machine_check)
{
	tear_down(_metadata);
}

static int count_lines(const char *pattern)
{
	char *text = trace_read("trace"), *line, *next = text;
	int count = 0;

	while ((line = strsep(&next, "\n")))
		count += !fnmatch(pattern, line, 0);
	free(text);
	return count;
}

/* It comes a moment later. */
static void raise_machine_check(struct __test_metadata *_metadata)
{
	int fd = open(getenv("TRAPS_MONITOR"), O_WRONLY), before = count_lines(ANY_EXIT);

	ASSERT_LE(0, fd);
	ASSERT_LT(0, dprintf(fd, "%s\n", getenv("TRAPS_MACHINE_CHECK")));
	close(fd);
	for (int i = 0; i < 1000 && count_lines(ANY_EXIT) == before; i++)
		usleep(10000);
}

/* Each machine check has an entry and an exit, in the mode that it interrupts. */
TEST_F(machine_check, recorded)
{
	char entry[80], exit[80];
	int raised = 0;

	snprintf(entry, sizeof(entry), "*: trap_entry: #MC vector=18 error_code=0x0 ip=* %s",
		 variant->mode);
	snprintf(exit, sizeof(exit),
		 "*: trap_exit: #MC vector=18 error_code=0x0 ip=* %s duration=[1-9]*",
		 variant->mode);
	/* The CPU is idle, or busy in user mode. */
	if (!strcmp(variant->mode, "user")) {
		ASSERT_TRUE(map_shared());
		ASSERT_EQ(0, child_start(&self->child, spin));
		ASSERT_EQ(1, write(self->child.go, "", 1));
	}
	ASSERT_EQ(0, trace_write("events/traps/trap_entry/filter", "vector == 18"));
	ASSERT_EQ(0, trace_write("events/traps/trap_exit/filter", "vector == 18"));
	turn_on(_metadata, "traps/trap_entry");
	turn_on(_metadata, "traps/trap_exit");

	for (; raised < MACHINE_CHECKS && !count_lines(entry); raised++)
		raise_machine_check(_metadata);

	EXPECT_LE(1, count_lines(entry));
	EXPECT_EQ(count_lines(entry), count_lines(exit));
	EXPECT_EQ(raised, count_lines(ANY_ENTRY));
	EXPECT_EQ(raised, count_lines(ANY_EXIT));
	if (shared) {
		shared->end = 1;
		child_end(&self->child);
	}
}

TEST_HARNESS_MAIN
