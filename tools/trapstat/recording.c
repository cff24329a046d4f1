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
	struct traps_format	*format;
	struct tep_event	*sched_switch;
	struct tep_event	*user_stack;
	struct last {				/* on each CPU */
		enum traps_type	type;		/* TRAPS_TYPES: another event */
		uint64_t	ts;
	} *last;
	int			nr_cpus;
};

static const struct buffer *reading;

const char *recording_comm(pid_t pid)
{
	return tep_data_comm_from_pid(reading->tep, pid) ?: "?";
}

/* Count entries; if a recording has only exits, count those. No exception, no count. */
bool recording_counts(const struct traps_event *e)
{
	return traps_is_entry(e) || (e->type != TRAPS_MM_FAULT &&
				     !traps_format_has(reading->format, e->type - 1));
}

static uint64_t field(struct tep_event *event, const char *name, struct tep_record *record)
{
	unsigned long long value;

	if (tep_get_field_val(NULL, event, name, record, &value, 0))
		die("%s: its %s has no field %s", reading->recording->name, event->name, name);
	return value;
}

static void read_event(struct buffer *buffer, const struct traps_event *e)
{
	struct recording *recording = buffer->recording;

	if (!recording->first || e->ts < recording->first)
		recording->first = e->ts;
	if (e->ts > recording->last)
		recording->last = e->ts;
	buffer->reader->event(e);
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
static struct last remember(struct buffer *buffer, enum traps_type type, uint64_t ts, int cpu)
{
	struct last before;

	if (cpu >= buffer->nr_cpus) {
		buffer->last = allocate(buffer->last, (cpu + 1) * sizeof(*buffer->last));
		while (buffer->nr_cpus <= cpu)
			buffer->last[buffer->nr_cpus++].type = TRAPS_TYPES;
	}
	before = buffer->last[cpu];
	buffer->last[cpu] = (struct last){ type, ts };
	return before;
}

static int on_event(struct tracecmd_input *handle, struct tep_record *record, int cpu,
		    void *data)
{
	struct buffer *buffer = data;
	const struct reader *reader = buffer->reader;
	struct tep_event *event;
	struct traps_event e;
	struct last before;
	bool ours;

	(void)handle;
	ours = traps_read(buffer->format, record, &e);
	before = remember(buffer, ours ? e.type : TRAPS_TYPES, record->ts, cpu);
	if (ours) {
		read_event(buffer, &e);
		return 0;
	}
	event = tep_find_event_by_record(buffer->tep, record);
	if (!event)
		return 0;
	if (event == buffer->sched_switch && reader->sched_switch)
		reader->sched_switch(record->ts, cpu, field(event, "next_pid", record));
	else if (event == buffer->user_stack && reader->user_stack &&
		 (before.type == TRAPS_PAGE_FAULT_EXIT || before.type == TRAPS_MM_FAULT))
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
	const char *missing;

	buffer.format = traps_format_new(tep, &missing);
	if (!buffer.format)
		die("%s: no %s in it: record with trace-cmd record -e " SYSTEM
		    " on a kernel of this version", recording->name, missing);
	buffer.sched_switch = tep_find_event_by_name(tep, "sched", "sched_switch");
	buffer.user_stack = tep_find_event_by_name(tep, "ftrace", "user_stack");
	reading = &buffer;
	names_load(buffer.format);
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
