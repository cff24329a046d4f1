// SPDX-License-Identifier: GPL-2.0
/*
 * The traps events, see Documentation/trace/events-traps.rst: their format and
 * text, that faults are counted as getrusage() counts them, filters and
 * histograms.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config; for
 * major faults also mkfs.ext4 and a loop device. Works in a tracefs instance of
 * its own and traces only its own children.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "memory.h"

/* --- Tests of what userspace reads about the events */

FIXTURE(format) {
	int unused;
};

FIXTURE_VARIANT(format) {
	const char *event;
	/* "type name size signed" */
	const char *fields[8];
};

#ifdef __x86_64__
#define LONG_FIELD(name)	"unsigned long " name " 8 0"
#else
#define LONG_FIELD(name)	"unsigned long " name " 4 0"
#endif

FIXTURE_VARIANT_ADD(format, trap_entry) {
	.event	= "trap_entry",
	.fields	= {
		"unsigned int vector 4 0",
		LONG_FIELD("error_code"),
		LONG_FIELD("ip"),
		"bool user_mode 1 0",
	},
};

FIXTURE_VARIANT_ADD(format, trap_exit) {
	.event	= "trap_exit",
	.fields	= {
		"unsigned int vector 4 0",
		LONG_FIELD("error_code"),
		LONG_FIELD("ip"),
		"bool user_mode 1 0",
		"u64 duration 8 0",
	},
};

FIXTURE_VARIANT_ADD(format, page_fault_entry) {
	.event	= "page_fault_entry",
	.fields	= {
		LONG_FIELD("address"),
		LONG_FIELD("error_code"),
		LONG_FIELD("ip"),
		"bool user_mode 1 0",
	},
};

FIXTURE_VARIANT_ADD(format, page_fault_exit) {
	.event	= "page_fault_exit",
	.fields	= {
		LONG_FIELD("address"),
		LONG_FIELD("error_code"),
		LONG_FIELD("ip"),
		"bool user_mode 1 0",
		"unsigned int result 4 0",
		"u64 duration 8 0",
	},
};

FIXTURE_SETUP(format)
{
	set_up(_metadata);
}

FIXTURE_TEARDOWN_PARENT(format)
{
	tear_down(_metadata);
}

/* Exactly these fields, in this order, with these types. */
TEST_F(format, fields)
{
	char file[64], *text, *line, type[64], seen[128];
	unsigned int offset, size, end = 0;
	int is_signed, count = 0;

	snprintf(file, sizeof(file), "events/traps/%s/format", variant->event);
	text = trace_read(file);
	ASSERT_NE(NULL, text);

	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, " field:%63[^;]; offset:%u; size:%u; signed:%d;",
			   type, &offset, &size, &is_signed) != 4)
			continue;
		EXPECT_LE(end, offset);
		end = offset + size;
		if (strstr(type, " common_"))
			continue;
		snprintf(seen, sizeof(seen), "%s %u %d", type, size, is_signed);
		ASSERT_NE(NULL, variant->fields[count]);
		EXPECT_STREQ(variant->fields[count], seen);
		count++;
	}
	EXPECT_EQ(NULL, variant->fields[count]);
}

/* --- Tests with many events of several kinds */

#define MINOR_FAULTS	8
#define SEGV_FAULTS	3
#define BREAKPOINTS	2
#define INVALID_OPCODES	1

static void raise_many(struct report *report, bool traced)
{
	static char *untouched, *absent;
	char *page;

	if (!traced) {
		untouched = map_anonymous(2 * MINOR_FAULTS);
		absent = map_absent();
	}
	if (!untouched || !absent) {
		report->failed = true;
		return;
	}

	page = untouched + (traced ? MINOR_FAULTS * PAGE : 0);
	for (int i = 0; i < MINOR_FAULTS; i++)
		raise_write(page + i * PAGE);
	raise_resume = raise_read_resume;
	for (int i = 0; i < SEGV_FAULTS; i++)
		raise_read(absent);
	raise_resume = NULL;
	for (int i = 0; i < BREAKPOINTS; i++)
		raise_bp();
	raise_resume = raise_ud_resume;
	for (int i = 0; i < INVALID_OPCODES; i++)
		raise_ud();
}

FIXTURE(events) {
	struct child child;
};

FIXTURE_SETUP(events)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	start(_metadata, &self->child, raise_many);
}

FIXTURE_TEARDOWN_PARENT(events)
{
	tear_down(_metadata);
}

/* All events on: everything is recorded, in pairs. */
TEST_F(events, all)
{
	struct trace trace;

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);

	EXPECT_LE(MINOR_FAULTS, self->child.report->minflt);
	EXPECT_EQ(self->child.report->minflt,
		  trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(SEGV_FAULTS,
		  trace_count(&trace, "page_fault_exit", "* result=SIGSEGV"));
	EXPECT_EQ(BREAKPOINTS, trace_count(&trace, "trap_exit", "#BP *"));
	EXPECT_EQ(INVALID_OPCODES, trace_count(&trace, "trap_exit", "#UD *"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* All events off: nothing is recorded. */
TEST_F(events, none)
{
	struct trace trace;

	turn_on(_metadata, "traps");
	ASSERT_TRUE(is_on("events/traps/enable"));
	ASSERT_EQ(0, trace_write("events/traps/enable", "0"));
	ASSERT_FALSE(is_on("events/traps/enable"));
	finish(_metadata, &self->child, &trace);
	EXPECT_EQ(0, trace.count);
}

/* An exit event does not need its entry event. */
TEST_F(events, exit_alone)
{
	struct trace trace;

	turn_on(_metadata, "traps/page_fault_exit");
	finish(_metadata, &self->child, &trace);

	EXPECT_EQ(self->child.report->minflt,
		  trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(SEGV_FAULTS,
		  trace_count(&trace, "page_fault_exit",
			      "address=0x* error_code=USER ip=0x%lx user result=SIGSEGV",
			      (unsigned long)raise_read_ip));
	EXPECT_EQ(trace.count, trace_count(&trace, "page_fault_exit", "*"));
}

/* An entry event does not need its exit event. */
TEST_F(events, entry_alone)
{
	struct trace trace;

	turn_on(_metadata, "traps/trap_entry");
	finish(_metadata, &self->child, &trace);

	EXPECT_EQ(BREAKPOINTS, trace_count(&trace, "trap_entry", "#BP *"));
	EXPECT_EQ(INVALID_OPCODES, trace_count(&trace, "trap_entry", "#UD *"));
	EXPECT_EQ(BREAKPOINTS + INVALID_OPCODES, trace.count);
}

/* A duration that none has. */
TEST_F(events, filter_no_duration)
{
	struct trace trace;

	ASSERT_EQ(0, trace_write("events/traps/page_fault_exit/filter",
				 "duration > 1000000000000000000"));
	turn_on(_metadata, "traps/page_fault_exit");
	finish(_metadata, &self->child, &trace);
	EXPECT_EQ(0, trace.count);
}

/* A duration that all have. */
TEST_F(events, filter_any_duration)
{
	struct trace trace;

	ASSERT_EQ(0, trace_write("events/traps/page_fault_exit/filter", "duration > 0"));
	turn_on(_metadata, "traps/page_fault_exit");
	finish(_metadata, &self->child, &trace);
	EXPECT_EQ(self->child.report->minflt + SEGV_FAULTS, trace.count);
}

/* A result, by its number. */
TEST_F(events, filter_result)
{
	struct trace trace;

	ASSERT_EQ(0, trace_write("events/traps/page_fault_exit/filter", "result == 6"));
	turn_on(_metadata, "traps/page_fault_exit");
	finish(_metadata, &self->child, &trace);
	EXPECT_EQ(SEGV_FAULTS,
		  trace_count(&trace, "page_fault_exit", "* result=SIGSEGV"));
	EXPECT_EQ(SEGV_FAULTS, trace.count);
}

/* A vector. */
TEST_F(events, filter_vector)
{
	struct trace trace;

	ASSERT_EQ(0, trace_write("events/traps/trap_entry/filter", "vector == 3"));
	turn_on(_metadata, "traps/trap_entry");
	finish(_metadata, &self->child, &trace);
	EXPECT_EQ(BREAKPOINTS, trace_count(&trace, "trap_entry", "#BP *"));
	EXPECT_EQ(BREAKPOINTS, trace.count);
}

/* A field that is not there is refused, with the reason. */
TEST_F(events, filter_bad_field)
{
	char *text;

	EXPECT_EQ(-EINVAL, trace_write("events/traps/page_fault_exit/filter",
				       "vector == 14"));
	text = trace_read("events/traps/page_fault_exit/filter");
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "parse_error: Field not found")) {
		TH_LOG("%s", text);
	}
}

static int count_text(const char *text, const char *part)
{
	int count = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		count++;
	}
	return count;
}

/* A histogram by result and duration counts each fault that is recorded. */
TEST_F(events, histogram)
{
	static const char file[] = "events/traps/page_fault_exit/trigger";
	int minor = 0, segv = 0, others = 0, result, hits;
	char trigger[128], pid[32], *text, *line, *recorded;

	snprintf(pid, sizeof(pid), "common_pid == %d", self->child.pid);
	ASSERT_EQ(0, trace_write("events/traps/page_fault_exit/filter", pid));
	snprintf(trigger, sizeof(trigger),
		 "!hist:keys=result,duration.log2 if %s", pid);
	turn_on(_metadata, "traps/page_fault_exit");
	if (trace_write(file, trigger + 1))
		SKIP(return, "no hist triggers");
	/* A histogram is filled also while tracing_on is 0: until the end. */
	ASSERT_EQ(0, child_go(&self->child));
	child_end(&self->child);
	ASSERT_FALSE(trace_lost(self->child.cpu));

	text = trace_read("events/traps/page_fault_exit/hist");
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "Dropped: 0"));
	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, "{ result: %d, duration: ~ 2^%*d } hitcount: %d",
			   &result, &hits) != 2)
			continue;
		if (result == 0)
			minor += hits;
		else if (result == 6)
			segv += hits;
		else
			others += hits;
	}

	/* The whole trace, also what is not between the marks. */
	recorded = trace_read("trace");
	ASSERT_NE(NULL, recorded);
	EXPECT_LE(MINOR_FAULTS, minor);
	EXPECT_EQ(count_text(recorded, " result=MINOR "), minor);
	EXPECT_EQ(SEGV_FAULTS, segv);
	EXPECT_EQ(count_text(recorded, " result=") - minor - segv, others);
	EXPECT_EQ(0, trace_write(file, trigger));
}

/* --- Tests of counting */

#define TOUCHED_PAGES	200
#define FILE_PAGES	16

static int counted_file = -1;

/* Touches pages of memory in both modes, and of a file that is not cached. */
static void raise_counted(struct report *report, bool traced)
{
	static char *memory, *file;
	char *pages;

	if (!traced) {
		memory = map_anonymous(2 * TOUCHED_PAGES);
		file = mmap(NULL, 2 * FILE_PAGES * PAGE, PROT_READ, MAP_SHARED,
			    counted_file, 0);
		if (!memory || file == MAP_FAILED) {
			report->failed = true;
			return;
		}
		madvise(file, 2 * FILE_PAGES * PAGE, MADV_RANDOM);
	}

	pages = memory + (traced ? TOUCHED_PAGES * PAGE : 0);
	for (int i = 0; i < TOUCHED_PAGES - 1; i++)
		raise_write(pages + i * PAGE);
	read_pipe(pages + (TOUCHED_PAGES - 1) * PAGE);

	pages = file + (traced ? FILE_PAGES * PAGE : 0);
	for (int i = 0; i < FILE_PAGES; i++)
		raise_read(pages + i * PAGE);
}

FIXTURE(counts) {
	struct child child;
};

FIXTURE_SETUP(counts)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	counted_file = open_uncached(2 * FILE_PAGES);
	if (counted_file < 0) {
		trace_remove();
		SKIP(return, "no ext4 file system on a loop device can be made");
	}
	start(_metadata, &self->child, raise_counted);
}

FIXTURE_TEARDOWN_PARENT(counts)
{
	tear_down(_metadata);
}

/* As many minor and major faults as getrusage() counts. */
TEST_F(counts, getrusage)
{
	const struct report *report;
	struct trace trace;

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);
	report = self->child.report;

	EXPECT_LE(TOUCHED_PAGES, report->minflt);
	EXPECT_LE(FILE_PAGES, report->majflt);
	EXPECT_EQ(report->minflt,
		  trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(report->majflt,
		  trace_count(&trace, "page_fault_exit", "* result=MAJOR"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Last: is anything left of all that? */

FIXTURE(end) {
	int unused;
};

FIXTURE_SETUP(end)
{
	if (geteuid())
		SKIP(return, "needs root");
}

FIXTURE_TEARDOWN(end)
{
}

/* No instance and no kprobe. */
TEST_F(end, nothing_left)
{
	EXPECT_FALSE(trace_exists());
	EXPECT_FALSE(trace_kprobe_exists());
}

TEST_HARNESS_MAIN
