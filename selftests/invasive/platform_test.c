// SPDX-License-Identifier: GPL-2.0
/*
 * What comes from outside of the CPU: each NMI is recorded once; machine checks are
 * not, and what is raised after them is, by perf too.
 *
 * NMIs need the module test_modules/traps_raiser.ko, machine checks a CPU that is the
 * only one, and a machine that raises one which the kernel survives when the line
 * $TRAPS_MACHINE_CHECK is written to $TRAPS_MONITOR, such as QEMU with a monitor at a
 * virtio port.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "invasive_fixture.h"
#include "memory.h"

/* --- Tests of NMIs */

SIMPLE_FIXTURE(nmi, set_up_module)

FIXTURE_VARIANT(nmi) {
	bool user;
};

FIXTURE_VARIANT_ADD(nmi, user) { true };
FIXTURE_VARIANT_ADD(nmi, kernel) { false };

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
	void *page = page_of_round(report, round, map_untouched);

	report->error = send_nmis(sched_getcpu());
	if (page)
		raise_write(page);
}

/* Sends NMIs to the CPU from another one. */
static int interrupt_cpu(pid_t spinning, int cpu)
{
	cpu_set_t others;

	CPU_ZERO(&others);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (i != cpu)
			CPU_SET(i, &others);
	return sched_setaffinity(0, sizeof(others), &others) ?: send_nmis(cpu);
}

static void interrupt_user(struct report *report, int round)
{
	report->error = spin_during(interrupt_cpu);
}

/*
 * Each NMI has an entry and an exit. Those that a program sends to itself all
 * interrupt the kernel. Of those from another CPU some interrupt user mode, others
 * the kernel, or another task. More may come from a watchdog or from perf.
 */
TEST_F(nmi, recorded)
{
	struct child child;
	struct trace trace;
	char text[96];
	int entries;

	if (variant->user && sysconf(_SC_NPROCESSORS_ONLN) == 1)
		SKIP(return, "no second CPU to send an NMI to this one in user mode");
	start(_metadata, &child, variant->user ? interrupt_user : interrupt_kernel);
	record_nmis(_metadata, &child);
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);

	EXPECT_EQ(0, child.report->error);
	snprintf(text, sizeof(text), "vector=NMI mode=%s error_code=0x0 ip=* event_data=0x0",
		 variant->user ? "user" : "kernel");
	entries = trace_count(&trace, "trap_entry", "%s", text);
	EXPECT_EQ(entries, trace_count(&trace, "trap_exit", "%s result=HANDLED", text));
	EXPECT_LE(variant->user ? 1 : NMIS, entries);
	TH_LOG("result HANDLED");
	EXPECT_EQ(trace_count(&trace, "trap_*", "vector=NMI *"), trace_count(&trace, "trap_*", "*"));
	/* They interrupt no recording, and leave no guard behind. */
	if (!variant->user)
		EXPECT_EQ(1, trace_count(&trace, "page_fault_exit", "address=0x%lx *",
					 child.report->address));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of machine checks */

static void set_up_machine_check(struct __test_metadata *_metadata)
{
	if (!getenv("TRAPS_MONITOR") || !getenv("TRAPS_MACHINE_CHECK"))
		SKIP(return, "no machine check on request: $TRAPS_MONITOR, $TRAPS_MACHINE_CHECK");
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		SKIP(return, "a machine check waits for all CPUs");
	set_up(_metadata);
}

/* Those that the kernel has seen */
static long machine_checks(void)
{
	return file_number("/proc/interrupts", " MCE: %ld");
}

/* Returns when it has come. */
static void raise_machine_check(struct __test_metadata *_metadata)
{
	int fd = open(getenv("TRAPS_MONITOR"), O_WRONLY | O_CLOEXEC);
	long before = machine_checks();

	ASSERT_LE(0, fd);
	ASSERT_LE(0, before);
	ASSERT_LT(0, dprintf(fd, "%s\n", getenv("TRAPS_MACHINE_CHECK")));
	close(fd);
	while (machine_checks() == before)
		usleep(10000);
}

SIMPLE_FIXTURE(machine_check, set_up_machine_check)

FIXTURE_VARIANT(machine_check) {
	bool user;
};

/* The CPU is idle, or busy in user mode. */
FIXTURE_VARIANT_ADD(machine_check, user) { true };
FIXTURE_VARIANT_ADD(machine_check, kernel) { false };

static struct spin *shared;

static void spin(struct report *report, int round)
{
	if (round == 1)
		raise_spin(shared);
	else
		raise_ud();
}

/* No event of it; what is raised before and after is recorded. */
TEST_F(machine_check, not_recorded)
{
	struct child child;
	struct trace trace;
	char *text, byte;

	raise_resume = raise_ud_resume;
	shared = spin_map();
	ASSERT_TRUE(!!shared);
	start(_metadata, &child, spin);
	turn_on(_metadata, "traps");
	if (variant->user) {
		ASSERT_EQ(1, write(child.go, "", 1));
		while (!shared->begun)
			usleep(1000);
	}
	raise_machine_check(_metadata);
	shared->end = 1;
	if (!variant->user)
		ASSERT_EQ(1, write(child.go, "", 1));
	ASSERT_EQ(1, read(child.done, &byte, 1));
	text = trace_read("trace");
	ASSERT_TRUE(!!text);
	EXPECT_FALSE(!!strstr(text, "#MC"));
	EXPECT_FALSE(!!strstr(text, "vector=18"));
	free(text);

	let_work(_metadata, &child, &trace);
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "vector=#UD *"));
	EXPECT_EQ(1, trace_count(&trace, "trap_exit", "vector=#UD * result=SIGILL"));
	EXPECT_EQ(2, trace_count(&trace, "trap_*", "*"));
}

/* --- A test of machine checks under a load that perf records with call chains */

#define MACHINE_CHECKS	5
#define PAGES		64

SIMPLE_FIXTURE(machine_checks, set_up_machine_check)

/* Page faults until it is killed, or so many. */
static pid_t start_load(const char *comm, int faults)
{
	pid_t pid = fork_bound();
	char *memory;

	if (pid)
		return pid;
	prctl(PR_SET_NAME, comm);
	memory = map_anonymous(PAGES);
	for (int i = 0; memory && i != faults; i++) {
		if (i % PAGES == 0) {
			madvise(memory, PAGES * PAGE, MADV_DONTNEED);
			usleep(1000);
		}
		raise_write(memory + i % PAGES * PAGE);
	}
	_exit(0);
}

/* Returns when it records. */
static pid_t start_perf(struct __test_metadata *_metadata, const char *data)
{
	int begun[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe2(begun, O_CLOEXEC));
	pid = fork_bound();
	if (!pid) {
		dup2(begun[1], STDOUT_FILENO);
		execlp("perf", "perf", "record", "-q", "-a", "-g", "-e", "traps:*", "-o", data,
		       "--", "sh", "-c", "echo; exec sleep 900", NULL);
		_exit(127);
	}
	close(begun[1]);
	ASSERT_EQ(1, read(begun[0], &byte, 1));
	return pid;
}

/* Lines of perf script, or -1 */
static long count_recorded(const char *data, const char *pattern)
{
	char command[200];
	long count = -1;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "perf script -i %s -G -F comm,event,trace 2>/dev/null | grep -cE '%s'",
		 data, pattern);
	pipe = popen(command, "r");
	if (pipe && fscanf(pipe, "%ld", &count) != 1)
		count = -1;
	if (pipe)
		pclose(pipe);
	return count;
}

static int remove_file(const char *path, const char *unused)
{
	return unlink(path) ? -errno : 0;
}

/* The kernel survives them and goes on recording, and no trap event is of one. */
TEST_F(machine_checks, recording_goes_on)
{
	char data[] = "/tmp/traps_mce.XXXXXX";
	pid_t load, perf;

	if (system("perf --version >/dev/null"))
		SKIP(return, "no perf");
	close(mkstemp(data));
	undo_later(remove_file, data, "");
	load = start_load("traps_load", -1);
	perf = start_perf(_metadata, data);
	for (int i = 0; i < MACHINE_CHECKS; i++)
		raise_machine_check(_metadata);
	waitpid(start_load("traps_after", PAGES), NULL, 0);
	kill(load, SIGKILL);
	kill(perf, SIGINT);
	waitpid(perf, NULL, 0);

	EXPECT_LE(1, count_recorded(data, "traps_load .*page_fault_exit"));
	EXPECT_LE(PAGES, count_recorded(data, "traps_after .*page_fault_exit"));
	EXPECT_EQ(0, count_recorded(data, "traps:trap_e.*#MC"));
}

TEST_HARNESS_MAIN
