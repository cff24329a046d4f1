// SPDX-License-Identifier: GPL-2.0
/*
 * A page fault, or an exception whose handler takes one, that sleeps while events are switched on
 * and off, here or in another instance: what was off when it began has no exit, and the duration
 * covers the sleep. One of the kernel's, whose task is killed meanwhile, has its flags.
 */
#include <sched.h>
#include <signal.h>

#include "invasive_fixture.h"
#include "memory.h"

#define SLEEP_US	50000

static struct {
	const char *file, *value;	/* written while it sleeps */
	bool migrate;
	pid_t tid;
} asleep;

/* To the CPUs on which it may not run now */
static void move(pid_t tid)
{
	cpu_set_t all, now;

	CPU_ZERO(&all);
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		CPU_SET(cpu, &all);
	sched_getaffinity(tid, sizeof(now), &now);
	CPU_XOR(&now, &now, &all);
	sched_setaffinity(tid, sizeof(now), &now);
}

static void on_fault(void *address)
{
	usleep(SLEEP_US);
	if (asleep.file)
		trace_write(asleep.file, asleep.value);
	if (asleep.migrate)
		move(asleep.tid);
	userfault_copy(address);
}

static char *map_missing(void)
{
	asleep.tid = gettid();
	return userfault_map(ROUNDS, on_fault);
}

static void (*raise_one)(void *address);

static void raise_asleep(struct report *report, int round)
{
	void *page = page_of_round(report, round, map_missing);

	if (page)
		raise_one(page);
}

SIMPLE_FIXTURE(asleep, set_up)

FIXTURE_VARIANT(asleep) {
	int entries, exits;
	/* The rest by name */
	const char *before;		/* on from the beginning */
	const char *off;		/* but off again */
	const char *other;		/* on in another instance */
	const char *file, *value;	/* written while it sleeps */
	bool migrate;
	void (*raise)(void *address);	/* if not a page fault */
	const char *entry, *exit, *text;
};

#define ASLEEP(name, ...) FIXTURE_VARIANT_ADD(asleep, name) { __VA_ARGS__ }

ASLEEP(on, 1, 1, .before = "traps");
ASLEEP(migrated, 1, 1, .before = "traps", .migrate = true);
ASLEEP(exit_alone, 0, 1, .before = "traps", .off = "events/traps/page_fault_entry/enable");
ASLEEP(entry_alone, 1, 0, .before = "traps", .off = "events/traps/page_fault_exit/enable");
ASLEEP(switched_on, 0, 0, .file = "events/traps/enable", .value = "1");
ASLEEP(exit_switched_on, 1, 0, .before = "traps/page_fault_entry",
	.file = "events/traps/page_fault_exit/enable", .value = "1");
ASLEEP(switched_off, 1, 0, .before = "traps", .file = "events/traps/enable", .value = "0");
ASLEEP(entry_switched_off, 1, 1, .before = "traps",
	.file = "events/traps/page_fault_entry/enable", .value = "0");
/* The handler of #GP emulates the instruction. An exit alone might have any vector. */
#define UMIP	.raise = raise_sgdt, .entry = "trap_entry", .exit = "trap_exit", .text = "*"
ASLEEP(trap, 1, 1, UMIP, .before = "traps");
ASLEEP(trap_switched_on, 0, 0, UMIP, .file = "events/traps/enable", .value = "1");
ASLEEP(trap_exit_switched_on, 1, 0, UMIP, .before = "traps/trap_entry",
	.file = "events/traps/trap_exit/enable", .value = "1");
#define MM	.raise = read_remotely, .entry = "", .exit = "mm_fault"
ASLEEP(mm_fault, 0, 1, MM, .before = "traps");
ASLEEP(mm_fault_switched_on, 0, 0, MM, .file = "events/traps/enable", .value = "1");
/* What is recorded at all is decided for all instances together. */
ASLEEP(switched_on_as_another, 0, 1, .other = OTHER "events/traps/enable",
	.file = "events/traps/enable", .value = "1");

static bool is_on_cpu(int cpu, const char *event, unsigned long address)
{
	char file[64], record[64], *text;
	bool found;

	snprintf(file, sizeof(file), "per_cpu/cpu%d/trace", cpu);
	snprintf(record, sizeof(record), " %s: address=0x%lx ", event, address);
	text = trace_read(file);
	found = text && strstr(text, record);
	free(text);
	return found;
}

/* The duration covers the sleep, also if it ends on another CPU. */
TEST_F(asleep, recorded)
{
	const struct trace_record *exit;
	const struct report *report;
	struct child child;
	struct trace trace;
	char text[64];

	if (variant->migrate && sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU only");
	if (variant->text && !has_umip())
		SKIP(return, "the CPU or the kernel has no UMIP");
	raise_one = variant->raise ?: raise_write;
	asleep.file = variant->file;
	asleep.value = variant->value;
	asleep.migrate = variant->migrate;
	start_or_skip(_metadata, &child, raise_asleep, "no userfaultfd");
	if (_metadata->exit_code)
		return;
	/* The untraced page fault may have switched something on. */
	ASSERT_EQ(0, trace_write("events/traps/enable", "0"));
	if (variant->before)
		turn_on(_metadata, variant->before);
	if (variant->off)
		ASSERT_EQ(0, trace_write(variant->off, "0"));
	if (variant->other) {
		ASSERT_EQ(0, other_create());
		ASSERT_EQ(0, trace_write(variant->other, "1"));
	}
	let_work(_metadata, &child, &trace);
	report = child.report;
	snprintf(text, sizeof(text), "address=0x%lx *", report->address);

	EXPECT_EQ(variant->entries, trace_count(&trace, variant->entry ?: "page_fault_entry",
						"%s", variant->text ?: text));
	EXPECT_EQ(variant->exits, trace_count(&trace, variant->exit ?: "page_fault_exit",
					      "%s", variant->text ?: text));
	if (!variant->raise)
		EXPECT_LE(1, report->minflt + report->majflt);
	EXPECT_LE(SLEEP_US * 1000, report->time);
	if (!variant->exits || variant->raise)
		return;
	snprintf(text, sizeof(text), "* result=%s", has_vma_locks() ? "MINOR" : "MAJOR");
	exit = trace_find(&trace, "page_fault_exit", text);
	ASSERT_TRUE(!!exit);
	EXPECT_EQ(SLEPT | MMAP_LOCK | RETRIED | (variant->migrate ? MIGRATED : 0) |
		  (has_vma_locks() ? VMA_LOCK_FAILED : 0),
		  exit->flags & ~PREEMPTED);
	EXPECT_LE(SLEEP_US * 1000, exit->duration);
	if (clock_is_ours())
		EXPECT_LT(exit->duration, report->time);
	/* The untraced one has migrated the child, too, this one moves it back. */
	EXPECT_TRUE(is_on_cpu(child.cpu, "page_fault_exit", report->address));
	EXPECT_EQ(!variant->migrate && variant->entries,
		  is_on_cpu(child.cpu, "page_fault_entry", report->address));
}

static void kill_itself(void *address)
{
	kill(getpid(), SIGKILL);
}

/* The kernel reads a byte that is missing. */
static void write_missing(struct report *report, int round)
{
	static char *page;
	static int fds[2];

	if (round)
		_exit(write(fds[1], page, 1) < 0);
	page = userfault_map(1, kill_itself);
	report->failed = !page || pipe(fds);
}

SIMPLE_FIXTURE(killed, set_up)

/* The task is killed while the kernel's page fault sleeps: the access is given up. */
TEST_F(killed, recorded)
{
	struct child child;

	start_or_skip(_metadata, &child, write_missing, "no userfaultfd");
	if (_metadata->exit_code)
		return;
	/* FIXUP with MMAP_LOCK */
	EXPECT_EQ(SIGKILL, work_last(_metadata, &child, "page_fault_exit",
				     "user_mode == 0 && result == 7 && flags & 8"));
	EXPECT_EQ(1, last_events());
}

TEST_HARNESS_MAIN
