// SPDX-License-Identifier: GPL-2.0
/*
 * recording.c - reads the exceptions in a recording of trace-cmd
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <trace-cmd.h>
#include "recording.h"

struct buffer {
	struct recording	*recording;
	const struct reader	*reader;
	struct tep_handle	*tep;
	struct tep_event	*trap_entry, *trap_exit;
	struct tep_event	*fault_entry, *fault_exit;
	struct tep_event	*mm_fault;
	struct tep_event	*sched_switch;
	struct tep_event	*user_stack;
	struct last {
		struct tep_event	*event;
		uint64_t		ts;
	} *last;				/* of each CPU */
	int			nr_cpus;
};

static uint64_t field(struct buffer *buffer, struct tep_event *event, const char *name,
		      struct tep_record *record)
{
	unsigned long long value;

	if (tep_get_field_val(NULL, event, name, record, &value, 0))
		die("%s: its %s has no field %s: recorded by another version",
		    buffer->recording->name, event->name, name);
	return value;
}

static const char *comm(struct buffer *buffer, pid_t pid)
{
	const char *name = tep_data_comm_from_pid(buffer->tep, pid);

	return name ? name : "?";
}

static void seen(struct buffer *buffer, const struct tep_record *record)
{
	struct recording *recording = buffer->recording;

	if (!recording->first || record->ts < recording->first)
		recording->first = record->ts;
	if (record->ts > recording->last)
		recording->last = record->ts;
}

/* Count entries; if a recording has only exits, count those. */
static void read_exception(struct buffer *buffer, struct tep_event *event,
			   struct tep_record *record, int cpu)
{
	bool fault = event == buffer->fault_entry || event == buffer->fault_exit;
	struct exception e = { .ts = record->ts, .cpu = cpu };

	e.is_exit = event == buffer->trap_exit || event == buffer->fault_exit;
	e.counts = !e.is_exit || !(fault ? buffer->fault_entry : buffer->trap_entry);
	e.pid = tep_data_pid(buffer->tep, record);
	e.comm = comm(buffer, e.pid);
	e.vector = fault ? VECTOR_PF : field(buffer, event, "vector", record);
	e.error_code = field(buffer, event, "error_code", record);
	e.ip = field(buffer, event, "ip", record);
	e.user_mode = field(buffer, event, "user_mode", record);
	if (fault)
		e.address = field(buffer, event, "address", record);
	else
		e.event_data = field(buffer, event, "event_data", record);
	if (e.is_exit) {
		e.result = field(buffer, event, "result", record);
		e.flags = field(buffer, event, "flags", record);
		e.duration = field(buffer, event, "duration", record);
	}
	seen(buffer, record);
	buffer->reader->exception(&e);
}

static void read_mm_fault(struct buffer *buffer, struct tep_record *record, int cpu)
{
	struct tep_event *event = buffer->mm_fault;
	struct exception e = {
		.ts		= record->ts,
		.cpu		= cpu,
		.pid		= tep_data_pid(buffer->tep, record),
		.is_exit	= true,
		.no_exception	= true,
		.address	= field(buffer, event, "address", record),
		.remote		= !field(buffer, event, "curr", record),
		.result		= field(buffer, event, "result", record),
		.flags		= field(buffer, event, "flags", record),
		.duration	= field(buffer, event, "duration", record),
	};

	e.comm = comm(buffer, e.pid);
	seen(buffer, record);
	buffer->reader->mm_fault(&e);
}

static void read_user_stack(struct buffer *buffer, struct tep_record *record, int cpu,
			    uint64_t ts)
{
	struct tep_format_field *caller = tep_find_field(buffer->user_stack, "caller");
	uint64_t callers[STACK_DEPTH];
	size_t nr = 0, size;

	if (!caller || !caller->arraylen)
		return;
	size = caller->size / caller->arraylen;
	for (; nr < caller->arraylen && nr < STACK_DEPTH; nr++) {
		callers[nr] = tep_read_number(buffer->tep,
					      record->data + caller->offset + nr * size, size);
		if (!callers[nr])
			break;
	}
	if (nr)
		buffer->reader->user_stack(ts, cpu, callers, nr);
}

/* Returns the event before it on this CPU. */
static struct last remember(struct buffer *buffer, struct tep_event *event, uint64_t ts, int cpu)
{
	struct last before;

	if (cpu >= buffer->nr_cpus) {
		buffer->last = allocate(buffer->last, (cpu + 1) * sizeof(*buffer->last));
		while (buffer->nr_cpus <= cpu)
			buffer->last[buffer->nr_cpus++] = (struct last){ };
	}
	before = buffer->last[cpu];
	buffer->last[cpu] = (struct last){ event, ts };
	return before;
}

static int on_event(struct tracecmd_input *handle, struct tep_record *record, int cpu,
		    void *data)
{
	struct buffer *buffer = data;
	struct tep_event *event = tep_find_event_by_record(buffer->tep, record);
	const struct reader *reader = buffer->reader;
	struct last before;

	(void)handle;
	if (!event)
		return 0;
	before = remember(buffer, event, record->ts, cpu);
	if (event == buffer->trap_entry || event == buffer->trap_exit ||
	    event == buffer->fault_entry || event == buffer->fault_exit)
		read_exception(buffer, event, record, cpu);
	else if (event == buffer->mm_fault && reader->mm_fault)
		read_mm_fault(buffer, record, cpu);
	else if (event == buffer->sched_switch && reader->sched_switch)
		reader->sched_switch(record->ts, cpu, field(buffer, event, "next_pid", record));
	else if (event == buffer->user_stack && reader->user_stack && before.event &&
		 (before.event == buffer->fault_exit || before.event == buffer->mm_fault))
		read_user_stack(buffer, record, cpu, before.ts);
	return 0;
}

static int on_missed(struct tracecmd_input *handle, struct tep_event *event,
		     struct tep_record *record, int cpu, void *data)
{
	struct buffer *buffer = data;

	(void)handle;
	(void)event;
	/* negative if the kernel does not know the number */
	buffer->recording->lost += record->missed_events > 0 ? record->missed_events : 1;
	if (buffer->reader->missed)
		buffer->reader->missed(record->ts, cpu);
	return 0;
}

static void read_buffer(struct recording *recording, struct tracecmd_input *handle,
			const struct reader *reader)
{
	struct tep_handle *tep = tracecmd_get_tep(handle);
	struct buffer buffer = { .recording = recording, .reader = reader, .tep = tep };

	buffer.trap_entry = tep_find_event_by_name(tep, SYSTEM, "trap_entry");
	buffer.trap_exit = tep_find_event_by_name(tep, SYSTEM, "trap_exit");
	buffer.fault_entry = tep_find_event_by_name(tep, SYSTEM, "page_fault_entry");
	buffer.fault_exit = tep_find_event_by_name(tep, SYSTEM, "page_fault_exit");
	buffer.mm_fault = tep_find_event_by_name(tep, SYSTEM, "mm_fault");
	buffer.sched_switch = tep_find_event_by_name(tep, "sched", "sched_switch");
	buffer.user_stack = tep_find_event_by_name(tep, "ftrace", "user_stack");
	if (!buffer.trap_entry && !buffer.trap_exit && !buffer.fault_entry &&
	    !buffer.fault_exit && !buffer.mm_fault)
		die("%s: no events of " SYSTEM " in it: record with trace-cmd record -e " SYSTEM,
		    recording->name);
	names_load(tep);
	symbols_recorded(tep);
	tracecmd_follow_missed_events(handle, on_missed, &buffer);
	if (tracecmd_iterate_events(handle, NULL, 0, on_event, &buffer))
		die("%s: cannot read all of its events", recording->name);
	free(buffer.last);
	if (reader->buffer_end)
		reader->buffer_end();
}

void recording_open(struct recording *recording, const char *name)
{
	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	memset(recording, 0, sizeof(*recording));
	recording->name = name;
	errno = 0;
	recording->handle = tracecmd_open(name, 0);
	if (!recording->handle)
		die("%s: %s", name, errno == ENOENT || errno == EACCES ? strerror(errno) :
		    "not a complete recording of trace-cmd");
	procmaps_use(recording->handle);
}

/* The time of the first event in all buffers. A buffer without events has 0 or -1. */
uint64_t recording_first(struct recording *recording)
{
	uint64_t first = tracecmd_get_first_ts(recording->handle) - 1, ts;
	struct tracecmd_input *instance;
	int nr;

	for (nr = tracecmd_buffer_instances(recording->handle); nr-- > 0; ) {
		instance = tracecmd_buffer_instance_handle(recording->handle, nr);
		ts = instance ? tracecmd_get_first_ts(instance) - 1 : first;
		first = ts < first ? ts : first;
		if (instance)
			tracecmd_close(instance);
	}
	return first + 1;
}

/* Reads the instances, too, because trapstat -o records in one. */
void recording_read(struct recording *recording, const struct reader *reader)
{
	struct tracecmd_input *instance;
	int nr;

	read_buffer(recording, recording->handle, reader);
	for (nr = tracecmd_buffer_instances(recording->handle); nr-- > 0; ) {
		instance = tracecmd_buffer_instance_handle(recording->handle, nr);
		if (!instance)
			die("%s: cannot read its instance %d", recording->name, nr);
		read_buffer(recording, instance, reader);
		tracecmd_close(instance);
	}
}

void recording_close(struct recording *recording)
{
	tracecmd_close(recording->handle);
}
