/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fixtures of these tests have in common, besides that of ../traps/fixture.h.
 */
#ifndef _INVASIVE_FIXTURE_H
#define _INVASIVE_FIXTURE_H

#include <sched.h>
#include <sys/wait.h>

#include "fixture.h"
#include "invasive.h"

/* A fixture without data of its own; @set_up may skip the test. */
#define SIMPLE_FIXTURE(name, set_up) \
	FIXTURE(name) {}; \
	FIXTURE_SETUP(name) { set_up(_metadata); } \
	FIXTURE_TEARDOWN_PARENT(name) { tear_down(_metadata); }

/* For tests that need a module */
static inline void set_up_with(struct __test_metadata *_metadata, const char *module)
{
	char path[64];

	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	snprintf(path, sizeof(path), "test_modules/%s.ko", module);
	if (access(path, F_OK))
		SKIP(return, "no %s", path);
	ASSERT_EQ(0, module_load(module));
}

static inline void set_up_module(struct __test_metadata *_metadata)
{
	set_up_with(_metadata, "traps_raiser");
}

/* After start(), which leaves them out */
static inline void record_nmis(struct __test_metadata *_metadata, const struct child *child)
{
	ASSERT_EQ(0, trace_filter(child->pid, "trap", "vector != 20 && vector != 29"));
}

/* The children that are started then stay there, too. */
static inline void stay_on_cpu(struct __test_metadata *_metadata, int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
}

/* Lets the child do work that ends it, one event being on. Returns its status. */
static inline int work_last(struct __test_metadata *_metadata, struct child *child,
			    const char *event, const char *condition)
{
	char file[64], name[32], filter[128];
	int status;

	snprintf(file, sizeof(file), "events/traps/%s/filter", event);
	snprintf(filter, sizeof(filter), "common_pid == %d && %s", child->pid, condition);
	EXPECT_EQ(0, trace_write(file, filter));
	snprintf(name, sizeof(name), "traps/%s", event);
	turn_on(_metadata, name);
	EXPECT_EQ(0, trace_truncate("trace"));
	EXPECT_EQ(-1, child_go(child));
	EXPECT_EQ(child->pid, waitpid(child->pid, &status, 0));
	return status;
}

/* How many were recorded then, besides the mark of its beginning? */
static inline long last_events(void)
{
	return trace_stat("entries") - 1;
}

/* Gets all that a child recorded, all events being on. */
static inline void record(struct __test_metadata *_metadata, struct child *child,
			  work_t work, struct trace *trace)
{
	start(_metadata, child, work);
	turn_on(_metadata, "traps");
	let_work(_metadata, child, trace);
}

#endif
