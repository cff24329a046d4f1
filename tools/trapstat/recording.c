// SPDX-License-Identifier: GPL-2.0
/*
 * recording.c - reads the exceptions in a recording of trace-cmd
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <trace-cmd.h>
#include "recording.h"

/* libtracecmd exports this, but installs no header for it. */
const char *tracecmd_get_uname(struct tracecmd_input *handle);

struct buffer {
	struct recording	*recording;
	const struct reader	*reader;
	struct tep_handle	*tep;
	struct traps_format	*format;
	struct tep_event	*sched_switch;
	struct tep_event	*sched_waking;
	struct tep_event	*user_stack;
	struct tep_event	*kernel_stack;
	uint64_t		*fault;		/* the last event on each CPU, if it is one's end */
	int			nr_cpus;
};

#define TASK_STATES	0xff	/* of prev_state: none is set if the task could have run on */

static const struct buffer *reading;

static bool is_event(const struct tep_event *event, int id)
{
	return event && event->id == id;
}

/* A file that is damaged may have records that are too short. */
static bool has_fields(const struct tep_event *event, const struct tep_record *record)
{
	const struct tep_format_field *field = event->format.fields;

	while (field && field->offset + field->size <= record->size)
		field = field->next;
	return !field;
}

const char *recording_comm(pid_t pid)
{
	return tep_data_comm_from_pid(reading->tep, pid) ?: "?";
}

static uint64_t field(struct tep_event *event, const char *name, struct tep_record *record)
{
	unsigned long long value;

	if (tep_get_field_val(NULL, event, name, record, &value, 0))
		die("%s: its %s has no field %s", reading->recording->name, event->name, name);
	return value;
}

static void read_comm(struct tep_event *event, const char *name, struct tep_record *record,
		      char comm[COMM_LEN])
{
	int size;
	const char *text = tep_get_field_raw(NULL, event, name, record, &size, 0);

	if (!text)
		die("%s: its %s has no field %s", reading->recording->name, event->name, name);
	snprintf(comm, COMM_LEN, "%.*s", size, text);
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

/* Returns how many there are; the record has as many as fit. */
static size_t read_stack(struct tep_event *event, struct tep_record *record,
			 uint64_t callers[STACK_DEPTH])
{
	struct tep_format_field *caller = tep_find_field(event, "caller");
	int size, at;
	size_t nr = 0;

	if (!caller || !caller->elementsize)
		return 0;
	size = caller->elementsize;
	for (at = caller->offset; at + size <= record->size && nr < STACK_DEPTH; at += size) {
		callers[nr] = tep_read_number(event->tep, record->data + at, size);
		if (!callers[nr] || callers[nr] == UINT64_MAX)
			break;
		nr++;
	}
	return nr;
}

static void read_switch(const struct buffer *buffer, struct tep_record *record)
{
	struct tep_event *event = buffer->sched_switch;
	struct task_switch s = {
		.ts		= record->ts,
		.cpu		= record->cpu,
		.prev		= field(event, "prev_pid", record),
		.next		= field(event, "next_pid", record),
		.prev_state	= field(event, "prev_state", record),
		.prev_prio	= field(event, "prev_prio", record),
		.next_prio	= field(event, "next_prio", record),
	};

	s.preempted = !(s.prev_state & TASK_STATES);
	read_comm(event, "prev_comm", record, s.prev_comm);
	read_comm(event, "next_comm", record, s.next_comm);
	buffer->reader->sched_switch(&s);
}

static void read_waking(const struct buffer *buffer, struct tep_record *record)
{
	struct tep_event *event = buffer->sched_waking;
	struct task_waking w = {
		.ts		= record->ts,
		.cpu		= record->cpu,
		.target_cpu	= field(event, "target_cpu", record),
		.waker		= tep_data_pid(buffer->tep, record),
		.pid		= field(event, "pid", record),
		.prio		= field(event, "prio", record),
	};

	read_comm(event, "comm", record, w.comm);
	buffer->reader->sched_waking(&w);
}

static uint64_t *last_fault(struct buffer *buffer, int cpu)
{
	if (cpu >= buffer->nr_cpus) {
		buffer->fault = allocate(buffer->fault, (cpu + 1) * sizeof(*buffer->fault));
		while (buffer->nr_cpus <= cpu)
			buffer->fault[buffer->nr_cpus++] = 0;
	}
	return &buffer->fault[cpu];
}

static void read_stacks(struct buffer *buffer, struct tep_record *record, int cpu, int id)
{
	const struct reader *reader = buffer->reader;
	uint64_t callers[STACK_DEPTH], fault = *last_fault(buffer, cpu);
	size_t nr;

	if (is_event(buffer->user_stack, id) && reader->user_stack && fault) {
		nr = read_stack(buffer->user_stack, record, callers);
		if (nr)
			reader->user_stack(fault, cpu, callers, nr);
	}
	if (is_event(buffer->kernel_stack, id) && reader->kernel_stack) {
		nr = read_stack(buffer->kernel_stack, record, callers);
		if (nr)
			reader->kernel_stack(tep_data_pid(buffer->tep, record), callers, nr);
	}
}

static int on_event(struct tracecmd_input *handle, struct tep_record *record, int cpu,
		    void *data)
{
	struct buffer *buffer = data;
	int id = tep_data_type(buffer->tep, record);
	struct traps_event e;

	(void)handle;
	if (is_event(buffer->user_stack, id) || is_event(buffer->kernel_stack, id)) {
		read_stacks(buffer, record, cpu, id);
		return 0;
	}
	*last_fault(buffer, cpu) = 0;
	if (traps_read(buffer->format, record, &e)) {
		if (e.type == TRAPS_PAGE_FAULT_EXIT || e.type == TRAPS_MM_FAULT)
			*last_fault(buffer, cpu) = e.ts;
		read_event(buffer, &e);
	} else if (is_event(buffer->sched_switch, id) && buffer->reader->sched_switch) {
		if (has_fields(buffer->sched_switch, record))
			read_switch(buffer, record);
	} else if (is_event(buffer->sched_waking, id) && buffer->reader->sched_waking) {
		if (has_fields(buffer->sched_waking, record))
			read_waking(buffer, record);
	}
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
	if (!buffer.format && missing)
		die("%s: its events have no %s: recorded by another version", recording->name,
		    missing);
	if (!buffer.format)
		die("%s: no events of " SYSTEM " in it: record with trace-cmd record -e " SYSTEM,
		    recording->name);
	buffer.sched_switch = tep_find_event_by_name(tep, "sched", "sched_switch");
	buffer.sched_waking = tep_find_event_by_name(tep, "sched", "sched_waking");
	buffer.user_stack = tep_find_event_by_name(tep, "ftrace", "user_stack");
	buffer.kernel_stack = tep_find_event_by_name(tep, "ftrace", "kernel_stack");
	reading = &buffer;
	names_load(buffer.format);
	symbols_recorded(tep);
	tracecmd_follow_missed_events(handle, on_missed, &buffer);
	if (tracecmd_iterate_events(handle, NULL, 0, on_event, &buffer))
		die("%s: cannot read all of its events", recording->name);
	free(buffer.fault);
	if (reader->buffer_end)
		reader->buffer_end();
}

/* It has what "uname -a" prints. */
static void read_uname(struct recording *recording)
{
	const char *uname = tracecmd_get_uname(recording->handle);

	if (uname && sscanf(uname, "Linux %ms %ms", &recording->host, &recording->kernel) == 2)
		recording->arch = strrchr(uname, ' ') + 1;
}

void recording_open(struct recording *recording, const char *name)
{
	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	memset(recording, 0, sizeof(*recording));
	recording->name = name;
	if (access(name, R_OK))
		die("%s: %s", name, strerror(errno));
	recording->handle = tracecmd_open(name, 0);
	if (!recording->handle)
		die("%s: not a complete recording of trace-cmd", name);
	read_uname(recording);
	procmaps_use(recording->handle, name);
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

/*
 * Reads the instances, too, because trapstat -o records in one. The top level comes last, as the
 * handle of an instance begins as a copy of the top level's: a callback for missed events that this
 * has would be called for both and, since trace-cmd 3.2, freed twice.
 */
void recording_read(struct recording *recording, const struct reader *reader)
{
	struct tracecmd_input *instance;
	int nr;

	for (nr = tracecmd_buffer_instances(recording->handle); nr-- > 0; ) {
		instance = tracecmd_buffer_instance_handle(recording->handle, nr);
		if (!instance)
			die("%s: cannot read its instance %d", recording->name, nr);
		read_buffer(recording, instance, reader);
		tracecmd_close(instance);
	}
	read_buffer(recording, recording->handle, reader);
}

void recording_close(struct recording *recording)
{
	tracecmd_close(recording->handle);
	free(recording->host);
	free(recording->kernel);
}
