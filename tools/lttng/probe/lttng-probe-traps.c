// SPDX-License-Identifier: GPL-2.0-only
/*
 * LTTng's probe for the traps events
 */
#include <linux/module.h>
#include <lttng/tracer.h>

/* The kernel's own declarations, which those below must match. */
#include <trace/events/mm_fault.h>
#include <trace/events/traps.h>

#include <wrapper/tracepoint.h>

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE

#define LTTNG_PACKAGE_BUILD
#define CREATE_TRACE_POINTS
#define TRACE_INCLUDE_PATH .

#include "traps.h"

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("LTTng traps probes");
MODULE_VERSION(__stringify(LTTNG_MODULES_MAJOR_VERSION) "."
	       __stringify(LTTNG_MODULES_MINOR_VERSION) "."
	       __stringify(LTTNG_MODULES_PATCHLEVEL_VERSION)
	       LTTNG_MODULES_EXTRAVERSION);
