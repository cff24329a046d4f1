/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the test programs' fixtures have in common: each test has a tracefs
 * instance, a child that raises exceptions, and nothing is left behind.
 */
#ifndef _TRAPS_FIXTURE_H
#define _TRAPS_FIXTURE_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "module.h"
#include "raise.h"
#include "trace.h"

static inline bool is_on(const char *file)
{
	char *text = trace_read(file);
	bool on = text && text[0] != '0';

	free(text);
	return on;
}

/* What FIXTURE_SETUP() of all fixtures has in common. */
static inline void set_up(struct __test_metadata *_metadata)
{
	if (geteuid())
		SKIP(return, "needs root");
	if (!trace_available())
		SKIP(return, "no events/traps or no instances in tracefs");
	ASSERT_EQ(0, trace_create());
}

/* Nothing may be left behind. */
static inline void tear_down(struct __test_metadata *_metadata)
{
	struct trace trace;

	if (!__test_passed(_metadata) && !trace_get(&trace))
		trace_print(&trace, 40);
	EXPECT_EQ(0, trace_write("events/enable", "0"));
	trace_remove_triggers();
	EXPECT_FALSE(is_on("events/traps/enable"));
	EXPECT_EQ(0, trace_remove());
}

/* The same, of tests that need the module. */
static inline void set_up_module(struct __test_metadata *_metadata)
{
	int error = geteuid() ? 0 : module_load();

	if (error)
		SKIP(return, "test_modules/traps_raiser.ko: %s", strerror(error));
	set_up(_metadata);
}

static inline void tear_down_module(struct __test_metadata *_metadata)
{
	tear_down(_metadata);
	EXPECT_EQ(0, module_unload());
}

/* For several children, one after the other: all on one CPU, as tracing is. */
static inline void stay_on_cpu(struct __test_metadata *_metadata)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
}

/* Starts a child and sets tracing up for it; no event is on yet. */
static inline void start(struct __test_metadata *_metadata, struct child *child,
			 work_t work)
{
	ASSERT_EQ(0, child_start(child, work));
	ASSERT_EQ(0, trace_prepare(child->pid, child->cpu));
}

static inline void turn_on(struct __test_metadata *_metadata, const char *event)
{
	char file[64];

	snprintf(file, sizeof(file), "events/%s/enable", event);
	ASSERT_EQ(0, trace_write(file, "1")) {
		TH_LOG("%s", event);
	}
}

/* Lets the child work, and gets what was recorded of it. */
static inline void finish(struct __test_metadata *_metadata, struct child *child,
			  struct trace *trace)
{
	ASSERT_EQ(0, child_go(child));
	ASSERT_EQ(0, trace_write("tracing_on", "0"));
	child_end(child);
	ASSERT_FALSE(trace_lost(child->cpu));
	ASSERT_EQ(0, trace_get(trace));
}

/* Expects one page fault that begins with TEXT, and says how it ended. */
static inline void expect_result(struct __test_metadata *_metadata,
				 const struct trace *trace, const char *text,
				 const char *result)
{
	EXPECT_EQ(1, trace_count(trace, "page_fault_exit", "%s result=%s", text, result));
	TH_LOG("result %s", result);
}

/* Lets the child work after the events were on for a moment. */
static inline void check_off(struct __test_metadata *_metadata, struct child *child)
{
	struct trace trace;

	turn_on(_metadata, "traps");
	ASSERT_EQ(0, trace_write("events/traps/enable", "0"));
	finish(_metadata, child, &trace);
	EXPECT_EQ(0, trace.count);
}

/* Lets the child work while filters accept everything but its exception. */
static inline void check_rejected(struct __test_metadata *_metadata,
				  struct child *child, const char *name,
				  unsigned int vector)
{
	struct trace trace;
	char filter[32];

	snprintf(filter, sizeof(filter), "vector != %u", vector);
	ASSERT_EQ(0, trace_write("events/traps/trap_entry/filter", filter));
	ASSERT_EQ(0, trace_write("events/traps/trap_exit/filter", filter));
	turn_on(_metadata, "traps");
	finish(_metadata, child, &trace);
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "%s *", name));
}

#endif
