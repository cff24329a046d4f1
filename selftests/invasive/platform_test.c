// SPDX-License-Identifier: GPL-2.0
/*
 * What comes from outside of the CPU: each NMI is recorded once; machine checks are
 * not, and what is raised after them is.
 *
 * Needs root, tracefs at /sys/kernel/tracing, the options in ./config; for NMIs
 * the module test_modules/traps_raiser.ko, for machine checks a CPU that is the
 * only one, and a machine that raises one which the kernel survives when the line
 * $TRAPS_MACHINE_CHECK is written to $TRAPS_MONITOR, such as QEMU with
 * a monitor at a virtio port.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "invasive_fixture.h"

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

static void interrupt_kernel(struct report *report, int round)
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

static void interrupt_user(struct report *report, int round)
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
	record_nmis(_metadata, &self->child);
}

FIXTURE_TEARDOWN_PARENT(nmi)
{
	tear_down(_metadata);
}

/*
 * Each NMI has an entry and an exit. Those that a program sends to itself all
 * interrupt the kernel. Of those from another CPU most interrupt user mode: some
 * may hit the kernel, or another task. Others may come from a watchdog or from perf.
 */
TEST_F(nmi, recorded)
{
	const char *mode = variant->user ? "user" : "kernel";
	struct trace trace;
	char text[96];
	int entries;

	snprintf(text, sizeof(text), "vector=NMI mode=%s error_code=0x0 ip=* event_data=0x0",
		 mode);
	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);

	EXPECT_EQ(0, self->child.report->error);
	entries = trace_count(&trace, "trap_entry", "%s", text);
	EXPECT_EQ(entries, trace_count(&trace, "trap_exit", "%s result=HANDLED", text));
	EXPECT_LE(variant->user ? NMIS / 2 : NMIS, entries);
	EXPECT_EQ(trace_count(&trace, "trap_*", "vector=NMI *"), trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of machine checks */

FIXTURE(machine_check) {
	struct child child;
};

FIXTURE_VARIANT(machine_check) {
	bool user;
};

/* The CPU is idle, or busy in user mode. */
FIXTURE_VARIANT_ADD(machine_check, user) {
	.user	= true,
};

FIXTURE_VARIANT_ADD(machine_check, kernel) {
	.user	= false,
};

/* Machine checks that the kernel has seen, of all CPUs */
static long machine_checks(void)
{
	char *text = file_read("/proc/interrupts");
	char *line = text ? strstr(text, "MCE:") : NULL;
	long count = -1;

	if (line)
		sscanf(line, "MCE: %ld", &count);
	free(text);
	return count;
}

static void spin(struct report *report, int round)
{
	if (round == 1)
		raise_spin(shared);
	else
		raise_ud();
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

/* It comes a moment later. */
static void raise_machine_check(struct __test_metadata *_metadata)
{
	int fd = open(getenv("TRAPS_MONITOR"), O_WRONLY | O_CLOEXEC);
	long before = machine_checks();

	ASSERT_LE(0, fd);
	ASSERT_LE(0, before);
	ASSERT_LT(0, dprintf(fd, "%s\n", getenv("TRAPS_MACHINE_CHECK")));
	close(fd);
	for (int i = 0; i < 1000 && machine_checks() == before; i++)
		usleep(10000);
	EXPECT_LT(before, machine_checks());
}

/* No event of it; what is raised before and after is recorded. */
TEST_F(machine_check, not_recorded)
{
	struct trace trace;
	char *text, byte;

	raise_resume = raise_ud_resume;
	ASSERT_TRUE(map_shared());
	start(_metadata, &self->child, spin);
	turn_on(_metadata, "traps");
	if (variant->user) {
		ASSERT_EQ(1, write(self->child.go, "", 1));
		while (!shared->begun)
			usleep(1000);
	}
	raise_machine_check(_metadata);
	shared->end = 1;
	if (!variant->user)
		ASSERT_EQ(1, write(self->child.go, "", 1));
	ASSERT_EQ(1, read(self->child.done, &byte, 1));
	text = trace_read("trace");
	ASSERT_TRUE(!!text);
	EXPECT_FALSE(!!strstr(text, "#MC"));
	EXPECT_FALSE(!!strstr(text, "vector=18"));
	free(text);

	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "vector=#UD *"));
	EXPECT_EQ(1, trace_count(&trace, "trap_exit", "vector=#UD * result=SIGNAL"));
	EXPECT_EQ(2, trace_count(&trace, "trap_*", "*"));
}

TEST_HARNESS_MAIN
