/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _INVASIVE_FIXTURE_H
#define _INVASIVE_FIXTURE_H

#include <sched.h>

#include "fixture.h"
#include "invasive.h"

/* What FIXTURE_SETUP() of tests that need the module has in common. */
static inline void set_up_module(struct __test_metadata *_metadata)
{
	int error;

	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	error = module_load("traps_raiser");
	if (error)
		SKIP(return, "test_modules/traps_raiser.ko: %s", strerror(error));
}

/* After start(), which leaves them out */
static inline void record_nmis(struct __test_metadata *_metadata, const struct child *child)
{
	ASSERT_EQ(0, trace_filter(child->pid, "trap", "vector != 20 && vector != 29"));
}

/* For several children, one after the other: all on one CPU, as tracing is. */
static inline void stay_on_cpu(struct __test_metadata *_metadata)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(cpus), &cpus));
}

#endif
