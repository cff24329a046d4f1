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
#include "memory.h"
#include "raise.h"
#include "trace.h"

/* Seconds, which only a hang takes, also in an emulator on a busy machine */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	600

#define CLOCK	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* What FIXTURE_SETUP() of all fixtures has in common. */
static inline void set_up(struct __test_metadata *_metadata)
{
	if (geteuid())
		SKIP(return, "needs root");
	if (!trace_available())
		SKIP(return, "no events/traps or no instances in tracefs");
	if (getpagesize() != PAGE)
		SKIP(return, "needs pages of %ld bytes", PAGE);
	ASSERT_EQ(0, trace_create());
}

static inline void tear_down(struct __test_metadata *_metadata)
{
	struct trace trace;

	if (!__test_passed(_metadata) && !trace_get(&trace))
		trace_print(&trace, 40);
	EXPECT_EQ(0, undo_all());
}

/*
 * Starts a child and sets tracing up for it; no event is on yet. Skips for the reason
 * @absent, if not NULL, when the child cannot prepare.
 */
static inline void start_or_skip(struct __test_metadata *_metadata, struct child *child,
				 work_t work, const char *absent)
{
	int error = child_start(child, work);

	if (error == CHILD_UNABLE && absent)
		SKIP(return, "%s", absent);
	ASSERT_EQ(0, error);
	ASSERT_EQ(0, trace_prepare(child->pid));
}

static inline void start(struct __test_metadata *_metadata, struct child *child,
			 work_t work)
{
	start_or_skip(_metadata, child, work, NULL);
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
	ASSERT_EQ(0, trace_write("tracing_on", "0"));
	ASSERT_EQ(0, trace_get(trace));
	ASSERT_EQ(0, trace_write("tracing_on", "1"));
}

/*
 * Lets the child work after the events were on for a moment, and while the condition
 * rejects what it raises. The events remain on, as start() sets them up.
 */
static inline void check_off(struct __test_metadata *_metadata, struct child *child,
			     const char *event, const char *condition, const char *text)
{
	struct trace trace;

	turn_on(_metadata, "traps");
	turn(_metadata, "traps", "0");
	let_work(_metadata, child, &trace);
	EXPECT_EQ(0, trace.count);

	turn_on(_metadata, "traps");
	ASSERT_EQ(0, trace_filter(child->pid, event, condition));
	let_work(_metadata, child, &trace);
	EXPECT_EQ(0, trace_count(&trace, "*", "%s", text));
	ASSERT_EQ(0, trace_prepare(child->pid));
}

static inline bool has_vma_locks(void)
{
	return kernel_bits() == 64 && file_has_word("/proc/sys/kernel/version", "SMP");
}

/* What the exits say of signals is what the child's handler saw, in this order. */
static inline void expect_signals(struct __test_metadata *_metadata, const struct child *child,
				  const struct trace *trace)
{
	const struct report *report = child->report;
	int count = report->raised_count, n = 0;

	ASSERT_GE(ARRAY_SIZE(report->raised), count);
	for (int i = 0; i < trace->count; i++) {
		const struct trace_record *exit = &trace->records[i];
		const struct raised *raised = &report->raised[n];
		const char *signal = strstr(exit->text, " result=SIG");

		if (!exit->code)
			continue;
		if (!signal) {
			EXPECT_STREQ("0", exit->code);
			continue;
		}
		/* What a process sent has none. */
		while (n < count && raised->code <= 0)
			raised = &report->raised[++n];
		ASSERT_LT(n, count) {
			TH_LOG("no signal, but%s %s", signal, exit->code);
		}
		EXPECT_STREQ(signal_name(raised->signal), signal + strlen(" result="));
		EXPECT_STREQ(code_name(raised->signal, raised->code) ?: "?", exit->code);
		n++;
	}
	for (; n < count; n++)
		EXPECT_GE(0, report->raised[n].code);
}

/* Are durations those that the child measures? Otherwise the clocks differ. */
static inline bool clock_is_ours(void)
{
	return file_has_word(CLOCK, "tsc") || file_has_word(CLOCK, "kvm-clock") ||
	       file_has_word(CLOCK, "arch_sys_counter");
}

/*
 * Expects one exit, or mm_fault, with that text and result, those flags, and a true
 * duration. Returns it, or NULL if there is none. Any task may be preempted, or sleep
 * for lack of memory: it may have these flags, too.
 */
static inline const struct trace_record *
expect_exit(struct __test_metadata *_metadata, const struct child *child,
	    const struct trace *trace, const char *text, const char *result,
	    unsigned int flags)
{
	const struct trace_record *exit;
	char pattern[256];

	snprintf(pattern, sizeof(pattern), "%s result=%s", text, result);
	EXPECT_EQ(1, trace_count(trace, "*", "%s", pattern)) {
		TH_LOG("%s", pattern);
	}
	exit = trace_find(trace, "*", pattern);
	if (!exit)
		return NULL;
	EXPECT_EQ(flags, exit->flags & (flags | ~(PREEMPTED | SLEPT)));
	EXPECT_LT(0, exit->duration);
	if (clock_is_ours())
		EXPECT_LT(exit->duration, child->report->time);
	TH_LOG("result %s", result);
	return exit;
}

#endif
