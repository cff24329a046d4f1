/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the test programs' fixtures have in common: each test has a tracefs
 * instance and a child that raises exceptions, and nothing is left behind.
 */
#ifndef _TRAPS_FIXTURE_H
#define _TRAPS_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "raise.h"
#include "trace.h"

#define CLOCK	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* What FIXTURE_SETUP() of all fixtures has in common. */
static inline void set_up(struct __test_metadata *_metadata)
{
	if (geteuid())
		SKIP(return, "needs root");
	if (!trace_available())
		SKIP(return, "no events/traps or no instances in tracefs");
	ASSERT_EQ(0, trace_create());
}

static inline void tear_down(struct __test_metadata *_metadata)
{
	struct trace trace;

	if (!__test_passed(_metadata) && !trace_get(&trace))
		trace_print(&trace, 40);
	EXPECT_EQ(0, undo_all());
}

/* Starts a child and sets tracing up for it; no event is on yet. */
static inline void start(struct __test_metadata *_metadata, struct child *child,
			 work_t work)
{
	ASSERT_EQ(0, child_start(child, work));
	ASSERT_EQ(0, trace_prepare(child->pid, child->cpu));
}

static inline void turn(struct __test_metadata *_metadata, const char *event,
			const char *on)
{
	char file[64];

	snprintf(file, sizeof(file), "events/%s/enable", event);
	ASSERT_EQ(0, trace_write(file, on)) {
		TH_LOG("%s", event);
	}
}

static inline void turn_on(struct __test_metadata *_metadata, const char *event)
{
	turn(_metadata, event, "1");
}

/* Lets the child work, and gets what was recorded of it. */
static inline void let_work(struct __test_metadata *_metadata, struct child *child,
			    struct trace *trace)
{
	ASSERT_EQ(0, child_go(child));
	ASSERT_FALSE(trace_lost(child->cpu));
	ASSERT_EQ(0, trace_get(trace));
}

/*
 * Lets the child work after the events were on for a moment, and while the filter
 * rejects what it raises. The events remain on, without a filter.
 */
static inline void check_off(struct __test_metadata *_metadata, struct child *child,
			     const char *event, const char *filter, const char *text)
{
	char files[2][64];
	struct trace trace;

	turn_on(_metadata, "traps");
	turn(_metadata, "traps", "0");
	let_work(_metadata, child, &trace);
	EXPECT_EQ(0, trace.count);

	turn_on(_metadata, "traps");
	for (int i = 0; i < 2; i++) {
		snprintf(files[i], sizeof(files[i]), "events/traps/%s_%s/filter", event,
			 i ? "exit" : "entry");
		ASSERT_EQ(0, trace_write(files[i], filter));
	}
	let_work(_metadata, child, &trace);
	EXPECT_EQ(0, trace_count(&trace, "*", "%s", text));
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, trace_write(files[i], "0"));
}

/* Flags that nothing is known of: the task may be preempted anywhere. */
static unsigned int ignored_flags;

/* Expects one exit with that text and result, those flags, and a true duration. */
static inline void expect_exit(struct __test_metadata *_metadata, const struct child *child,
			       const struct trace *trace, const char *text,
			       const char *result, unsigned int flags)
{
	const struct trace_record *exit;
	char pattern[256];

	snprintf(pattern, sizeof(pattern), "%s result=%s", text, result);
	EXPECT_EQ(1, trace_count(trace, "*_exit", "%s", pattern)) {
		TH_LOG("%s", pattern);
	}
	exit = trace_find(trace, "*_exit", pattern);
	if (!exit)
		return;
	EXPECT_EQ(flags, exit->flags & ~(ignored_flags | PREEMPTED));
	EXPECT_LT(0, exit->duration);
	/* Otherwise the clocks of the kernel and of the child differ. */
	if (file_has_word(CLOCK, "tsc") || file_has_word(CLOCK, "kvm-clock"))
		EXPECT_LT(exit->duration, child->report->time);
	TH_LOG("result %s", result);
}

#endif
