// SPDX-License-Identifier: GPL-2.0
/*
 * A page fault that sleeps while events are switched on and off, here or in another
 * instance: what was off when it began has no exit, and the duration covers the sleep.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config.
 */
#include <sched.h>

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

static void raise_asleep(struct report *report, int round)
{
	static char *map;

	if (!round) {
		asleep.tid = gettid();
		map = userfault_map(ROUNDS, on_fault);
	}
	if (!map) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)map + round * PAGE;
	raise_write((void *)report->address);
}

FIXTURE(asleep) {
	struct child child;
};

FIXTURE_VARIANT(asleep) {
	const char *before;		/* on from the beginning */
	const char *off;		/* but off again */
	const char *other;		/* on in another instance */
	const char *file, *value;
	bool migrate;
	int entries, exits;
};

FIXTURE_VARIANT_ADD(asleep, on) {
	.before		= "traps",
	.entries	= 1,
	.exits		= 1,
};

FIXTURE_VARIANT_ADD(asleep, migrated) {
	.before		= "traps",
	.migrate	= true,
	.entries	= 1,
	.exits		= 1,
};

FIXTURE_VARIANT_ADD(asleep, exit_alone) {
	.before		= "traps",
	.off		= "events/traps/page_fault_entry/enable",
	.exits		= 1,
};

FIXTURE_VARIANT_ADD(asleep, entry_alone) {
	.before		= "traps",
	.off		= "events/traps/page_fault_exit/enable",
	.entries	= 1,
};

FIXTURE_VARIANT_ADD(asleep, switched_on) {
	.file		= "events/traps/enable",
	.value		= "1",
};

FIXTURE_VARIANT_ADD(asleep, exit_switched_on) {
	.before		= "traps/page_fault_entry",
	.file		= "events/traps/page_fault_exit/enable",
	.value		= "1",
	.entries	= 1,
};

FIXTURE_VARIANT_ADD(asleep, switched_off) {
	.before		= "traps",
	.file		= "events/traps/enable",
	.value		= "0",
	.entries	= 1,
};

FIXTURE_VARIANT_ADD(asleep, entry_switched_off) {
	.before		= "traps",
	.file		= "events/traps/page_fault_entry/enable",
	.value		= "0",
	.entries	= 1,
	.exits		= 1,
};

/* What is recorded at all is decided for all instances together. */
FIXTURE_VARIANT_ADD(asleep, switched_on_as_another) {
	.other		= OTHER "events/traps/enable",
	.file		= "events/traps/enable",
	.value		= "1",
	.exits		= 1,
};

FIXTURE_SETUP(asleep)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	asleep.file = variant->file;
	asleep.value = variant->value;
	asleep.migrate = variant->migrate;
	if (child_start(&self->child, raise_asleep))
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, trace_prepare(self->child.pid));
	/* The untraced page fault may have switched something on. */
	ASSERT_EQ(0, trace_write("events/traps/enable", "0"));
}

FIXTURE_TEARDOWN_PARENT(asleep)
{
	tear_down(_metadata);
}

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
	const struct report *report = self->child.report;
	struct trace trace;
	char text[64];

	if (variant->migrate && sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU only");
	if (variant->before)
		turn_on(_metadata, variant->before);
	if (variant->off)
		ASSERT_EQ(0, trace_write(variant->off, "0"));
	if (variant->other) {
		ASSERT_EQ(0, other_create());
		ASSERT_EQ(0, trace_write(variant->other, "1"));
	}
	let_work(_metadata, &self->child, &trace);
	snprintf(text, sizeof(text), "address=0x%lx *", report->address);

	EXPECT_EQ(variant->entries, trace_count(&trace, "page_fault_entry", "%s", text));
	EXPECT_EQ(variant->exits, trace_count(&trace, "page_fault_exit", "%s", text));
	EXPECT_LE(1, report->minflt + report->majflt);
	EXPECT_LE(SLEEP_US * 1000, report->time);
	if (!variant->exits)
		return;
	snprintf(text, sizeof(text), "* result=%s", kernel_bits() == 64 ? "MINOR" : "MAJOR");
	exit = trace_find(&trace, "page_fault_exit", text);
	ASSERT_TRUE(!!exit);
	EXPECT_EQ(SLEPT | MMAP_LOCK | RETRIED | (variant->migrate ? MIGRATED : 0),
		  exit->flags & ~PREEMPTED);
	EXPECT_LE(SLEEP_US * 1000, exit->duration);
	EXPECT_LT(exit->duration, report->time);
	/* The untraced one has migrated the child, too, this one moves it back. */
	EXPECT_TRUE(is_on_cpu(self->child.cpu, "page_fault_exit", report->address));
	EXPECT_EQ(!variant->migrate && variant->entries,
		  is_on_cpu(self->child.cpu, "page_fault_entry", report->address));
}

TEST_HARNESS_MAIN
