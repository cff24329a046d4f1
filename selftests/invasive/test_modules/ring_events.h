/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM traps_ring

#if !defined(_TRAPS_RING_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRAPS_RING_EVENTS_H

#include <linux/tracepoint.h>

TRACE_EVENT(ring,
	TP_PROTO(u32 context, u32 sequence, u32 length),
	TP_ARGS(context, sequence, length),
	TP_STRUCT__entry(
		__field(u32, context)
		__field(u32, sequence)
		__dynamic_array(u8, fill, length)
	),
	TP_fast_assign(
		__entry->context = context;
		__entry->sequence = sequence;
		memset(__get_dynamic_array(fill), context + sequence, length);
	),
	TP_printk("context=%u sequence=%u", __entry->context, __entry->sequence)
);

#endif /* _TRAPS_RING_EVENTS_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE ring_events
#include <trace/define_trace.h>
