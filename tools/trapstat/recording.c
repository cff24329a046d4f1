// SPDX-License-Identifier: GPL-2.0
/*
 * recording.c - reads the exceptions in a recording of trace-cmd
 */
#include <errno.h>
#include <string.h>
#include <trace-cmd.h>
#include "recording.h"

struct buffer {
	struct recording	*recording;
	const struct reader	*reader;
	struct tep_handle	*tep;
	struct tep_event	*trap_entry, *trap_exit;
	struct tep_event	*fault_entry, *fault_exit;
	struct tep_event	*sched_switch;
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

/* Count entries; if a recording has only exits, count those. */
static void read_exception(struct buffer *buffer, struct tep_event *event,
			   struct tep_record *record, int cpu)
{
	bool fault = event == buffer->fault_entry || event == buffer->fault_exit;
	struct exception e = { .ts = record->ts, .cpu = cpu };

	e.is_exit = event == buffer->trap_exit || event == buffer->fault_exit;
	e.counts = !e.is_exit || !(fault ? buffer->fault_entry : buffer->trap_entry);
	e.pid = tep_data_pid(buffer->tep, record);
	e.comm = tep_data_comm_from_pid(buffer->tep, e.pid);
	if (!e.comm)
		e.comm = "?";
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
	if (!buffer->recording->first || record->ts < buffer->recording->first)
		buffer->recording->first = record->ts;
	if (record->ts > buffer->recording->last)
		buffer->recording->last = record->ts;
	buffer->reader->exception(&e);
}

static int on_event(struct tracecmd_input *handle, struct tep_record *record, int cpu,
		    void *data)
{
	struct buffer *buffer = data;
	struct tep_event *event = tep_find_event_by_record(buffer->tep, record);

	(void)handle;
	if (!event)
		return 0;
	if (event == buffer->trap_entry || event == buffer->trap_exit ||
	    event == buffer->fault_entry || event == buffer->fault_exit)
		read_exception(buffer, event, record, cpu);
	else if (event == buffer->sched_switch && buffer->reader->sched_switch)
		buffer->reader->sched_switch(record->ts, cpu,
					     field(buffer, event, "next_pid", record));
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
	buffer.sched_switch = tep_find_event_by_name(tep, "sched", "sched_switch");
	if (!buffer.trap_entry && !buffer.trap_exit && !buffer.fault_entry && !buffer.fault_exit)
		die("%s: no events of " SYSTEM " in it: record with trace-cmd record -e " SYSTEM,
		    recording->name);
	names_load(tep);
	symbols_recorded(tep);
	tracecmd_follow_missed_events(handle, on_missed, &buffer);
	if (tracecmd_iterate_events(handle, NULL, 0, on_event, &buffer))
		die("%s: cannot read all of its events", recording->name);
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
