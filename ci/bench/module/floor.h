/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM floor

#if !defined(_TRACE_FLOOR_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_FLOOR_H

#include <linux/tracepoint.h>

TRACE_EVENT(floor,
	TP_PROTO(int unused),
	TP_ARGS(unused),
	TP_STRUCT__entry(),
	TP_fast_assign(),
	TP_printk("%s", "")
);

#endif /* _TRACE_FLOOR_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE floor
#include <trace/define_trace.h>
