// SPDX-License-Identifier: GPL-2.0
/*
 * perfetto.c - Perfetto's trace format (protobuf)
 *
 * A trace is a sequence of packets in any order of time, so each is written when it is
 * known. Slices are track events. Switches of tasks are events of ftrace, so that Perfetto
 * shows the scheduler. Each file is a machine.
 *
 * Packets have no clock: their times are those of the trace, whatever clock recorded it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "export.h"
#include "perfetto.pb-c.h"

#define MAX_FIELDS	16
#define SHOWN_CPUS	1024	/* Perfetto refuses a trace with switches on more */

/* Of an idle task, and of a task that waits */
#define IDLE_COMM	"swapper"
#define IDLE_PRIO	120
#define SLEEPING	1

/* Tracks; the first is that of all CPUs. */
enum kind { OF_GROUP = 1, OF_CPU, OF_PROCESS, OF_TASK, OF_IDLE_TASK };

static unsigned int machine;
static uint64_t first_zero, shift, start;

static struct task_switch last_switch[SHOWN_CPUS];
static DebugAnnotation field[MAX_FIELDS], *fields[MAX_FIELDS];
static size_t nr_fields;

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
	(void)buffer;
	if (fwrite(data, 1, size, stdout) != size)
		die("standard output: %s", strerror(errno));
}

/* What began before all recordings begins with them. */
static uint64_t shifted(uint64_t ts)
{
	int64_t after = ts - shift;

	return after > 0 ? after : 0;
}

/* Traces of one packet, one after the other, are a trace of all packets. */
static void write_packet(TracePacket *packet, uint64_t ts)
{
	ProtobufCBuffer out = { append };
	Trace trace = TRACE__INIT;

	packet->timestamp = shifted(ts);
	packet->trusted_packet_sequence_id = machine + 1;
	packet->has_machine_id = machine;
	packet->machine_id = machine;
	trace.n_packet = 1;
	trace.packet = &packet;
	protobuf_c_message_pack_to_buffer(&trace.base, &out);
}

static uint64_t uuid(enum kind kind, uint32_t id)
{
	return (uint64_t)machine << 40 | (uint64_t)kind << 32 | id;
}

static uint64_t track_uuid(const struct track *track)
{
	if (track->pid)
		return uuid(OF_TASK, track->pid);
	return uuid(track->of_task ? OF_IDLE_TASK : OF_CPU, track->cpu);
}

static void write_descriptor(TrackDescriptor *descriptor)
{
	TracePacket packet = TRACE_PACKET__INIT;

	packet.track_descriptor = descriptor;
	write_packet(&packet, start);
}

/*
 * The recording does not know which tasks are threads of one process, so each is a
 * process. Perfetto knows one idle task only: those of the CPUs are tracks beside theirs.
 */
void perfetto_track(const struct track *track, const char *text)
{
	char *name = valid_utf8(text);
	TrackDescriptor descriptor = TRACK_DESCRIPTOR__INIT;
	ProcessDescriptor process = PROCESS_DESCRIPTOR__INIT;
	ThreadDescriptor thread = THREAD_DESCRIPTOR__INIT;

	if (track->pid) {
		process.pid = track->pid;
		process.process_name = name;
		descriptor.uuid = uuid(OF_PROCESS, track->pid);
		descriptor.process = &process;
		write_descriptor(&descriptor);
		descriptor.process = NULL;
		thread.pid = track->pid;
		thread.tid = track->pid;
		thread.thread_name = name;
		descriptor.thread = &thread;
	} else {
		descriptor.name = name;
		descriptor.has_parent_uuid = true;
		descriptor.parent_uuid = uuid(OF_GROUP, 0);
	}
	descriptor.uuid = track_uuid(track);
	write_descriptor(&descriptor);
	free(name);
}

static DebugAnnotation *add_field(const char *name)
{
	DebugAnnotation *added = &field[nr_fields];

	if (nr_fields == MAX_FIELDS)
		die("an event has more than %d fields", MAX_FIELDS);
	debug_annotation__init(added);
	added->name = (char *)name;
	fields[nr_fields++] = added;
	return added;
}

static void add_text(const char *name, const char *value)
{
	add_field(name)->string_value = valid_utf8(value);
}

/* Frees the text. */
static void add_made(const char *name, char *text)
{
	add_text(name, text);
	free(text);
}

static void add_number(const char *name, uint64_t value)
{
	DebugAnnotation *added = add_field(name);

	added->has_uint_value = true;
	added->uint_value = value;
}

static void add_address(const char *name, uint64_t value)
{
	DebugAnnotation *added = add_field(name);

	added->has_pointer_value = true;
	added->pointer_value = value;
}

static void add_fields(const struct traps_event *e)
{
	struct row row = { .pid = e->pid, .kernel = !e->user_mode,
			   .value = raised_at(e->vector, e->event_data, e->ip),
			   .result = TRAPS_OUTCOME(e->result, e->code) };
	const char *kind;
	char *page;

	strncpy(row.comm, recording_comm(e->pid), COMM_LEN - 1);
	add_number("vector", e->vector);
	add_made("error_code", error_code_name(e->vector, e->error_code));
	add_address("ip", e->ip);
	add_made("raised by", symbol_of_ip(&row));
	add_text("mode", e->user_mode ? "user" : "kernel");
	if (e->vector == VECTOR_PF) {
		row.value = e->address;
		row.kernel = false;
		page = name_of_page(&row, &kind);
		add_address("address", e->address);
		add_made("at", page);
		add_text("in", kind);
	} else {
		add_address("event_data", e->event_data);
	}
	if (!traps_is_entry(e)) {
		add_text("result", result_name(row.result));
		if (e->code)
			add_text("code", code_name(row.result));
		add_made("flags", flags_name(e->flags));
		add_number("duration_ns", e->duration);
	}
	add_number("cpu", e->cpu);
	add_number("task", e->pid);
	add_text("command", row.comm);
}

static void write_event(TrackEvent__Type type, const struct track *track, uint64_t ts,
			const char *name, const struct traps_event *e)
{
	TracePacket packet = TRACE_PACKET__INIT;
	TrackEvent event = TRACK_EVENT__INIT;
	char *category = SYSTEM;

	event.type = type;
	event.track_uuid = track_uuid(track);
	event.name = (char *)name;
	if (name) {
		event.n_categories = 1;
		event.categories = &category;
	}
	nr_fields = 0;
	if (e)
		add_fields(e);
	event.n_debug_annotations = nr_fields;
	event.debug_annotations = fields;
	packet.track_event = &event;
	write_packet(&packet, ts);
	while (nr_fields)
		free((char *)field[--nr_fields].string_value);
}

void perfetto_slice(const struct track *track, uint64_t from, uint64_t to, const char *name,
		    const struct traps_event *e)
{
	write_event(TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, track, from, name, e);
	write_event(TRACK_EVENT__TYPE__TYPE_SLICE_END, track, to, NULL, NULL);
}

void perfetto_instant(const struct track *track, uint64_t ts, const char *name,
		      const struct traps_event *e)
{
	write_event(TRACK_EVENT__TYPE__TYPE_INSTANT, track, ts, name, e);
}

static bool is_shown(unsigned int cpu)
{
	static bool noted;

	if (cpu >= SHOWN_CPUS && !noted)
		note("CPU %u: Perfetto shows switches of tasks on %d CPUs, not on more", cpu,
		     SHOWN_CPUS);
	noted = noted || cpu >= SHOWN_CPUS;
	return cpu < SHOWN_CPUS;
}

static void write_bundle(FtraceEventBundle *bundle, unsigned int cpu, uint64_t ts)
{
	TracePacket packet = TRACE_PACKET__INIT;

	bundle->cpu = cpu;
	packet.ftrace_events = bundle;
	write_packet(&packet, ts);
}

void perfetto_lost(unsigned int cpu)
{
	FtraceEventBundle bundle = FTRACE_EVENT_BUNDLE__INIT;

	bundle.has_lost_events = true;
	bundle.lost_events = true;
	if (is_shown(cpu))
		write_bundle(&bundle, cpu, start);
}

static void write_ftrace(FtraceEvent *event, unsigned int cpu, uint64_t ts)
{
	FtraceEventBundle bundle = FTRACE_EVENT_BUNDLE__INIT;

	event->timestamp = shifted(ts);
	bundle.n_event = 1;
	bundle.event = &event;
	write_bundle(&bundle, cpu, ts);
}

static void write_one_switch(const struct task_switch *s)
{
	SchedSwitchFtraceEvent sched_switch = SCHED_SWITCH_FTRACE_EVENT__INIT;
	FtraceEvent event = FTRACE_EVENT__INIT;
	char *prev = valid_utf8(s->prev_comm), *next = valid_utf8(s->next_comm);

	sched_switch.prev_comm = prev;
	sched_switch.prev_pid = s->prev;
	sched_switch.prev_prio = s->prev_prio;
	sched_switch.prev_state = s->prev_state;
	sched_switch.next_comm = next;
	sched_switch.next_pid = s->next;
	sched_switch.next_prio = s->next_prio;
	event.pid = s->prev;
	event.sched_switch = &sched_switch;
	write_ftrace(&event, s->cpu, s->ts);
	free(prev);
	free(next);
}

/*
 * Not the task that was switched in last is switched out: only switches of some tasks are
 * recorded, or some are lost. Who ran in between is not known: show the CPU as idle.
 */
static void write_gap(const struct task_switch *last, const struct task_switch *s)
{
	struct task_switch out = {
		.ts = last->ts, .cpu = s->cpu,
		.prev = last->next, .prev_prio = last->next_prio, .prev_state = SLEEPING,
		.next_prio = IDLE_PRIO, .next_comm = IDLE_COMM,
	};
	struct task_switch in = {
		.ts = s->ts, .cpu = s->cpu,
		.prev_prio = IDLE_PRIO, .prev_comm = IDLE_COMM,
		.next = s->prev, .next_prio = s->prev_prio,
	};

	memcpy(out.prev_comm, last->next_comm, COMM_LEN);
	memcpy(in.next_comm, s->prev_comm, COMM_LEN);
	if (out.prev)
		write_one_switch(&out);
	if (in.next)
		write_one_switch(&in);
}

void perfetto_switch(const struct task_switch *s)
{
	struct task_switch *last = &last_switch[s->cpu % SHOWN_CPUS];

	if (!is_shown(s->cpu))
		return;
	if (last->ts && last->next != s->prev)
		write_gap(last, s);
	write_one_switch(s);
	*last = *s;
}

void perfetto_waking(const struct task_waking *w)
{
	SchedWakingFtraceEvent waking = SCHED_WAKING_FTRACE_EVENT__INIT;
	FtraceEvent event = FTRACE_EVENT__INIT;
	char *comm = valid_utf8(w->comm);

	waking.comm = comm;
	waking.pid = w->pid;
	waking.prio = w->prio;
	waking.target_cpu = w->target_cpu;
	event.pid = w->waker;
	event.sched_waking = &waking;
	if (is_shown(w->cpu))
		write_ftrace(&event, w->cpu, w->ts);
	free(comm);
}

/* What the bits of prev_state mean depends on the kernel's release. */
static void write_system(const struct recording *recording)
{
	TracePacket packet = TRACE_PACKET__INIT;
	SystemInfo info = SYSTEM_INFO__INIT;
	Utsname utsname = UTSNAME__INIT;
	char *release, *arch;

	if (!recording->kernel)
		return;
	release = valid_utf8(recording->kernel);
	arch = valid_utf8(recording->arch);
	utsname.sysname = "Linux";
	utsname.release = release;
	utsname.machine = arch;
	info.utsname = &utsname;
	packet.system_info = &info;
	write_packet(&packet, start);
	free(release);
	free(arch);
}

void perfetto_file(int nr, const struct recording *recording, uint64_t zero)
{
	TrackDescriptor group = TRACK_DESCRIPTOR__INIT;
	char *of_cpus = print_string("%s: CPUs", recording->name), *name = valid_utf8(of_cpus);

	memset(last_switch, 0, sizeof(last_switch));
	machine = nr;
	if (!nr)
		first_zero = zero;
	shift = zero - first_zero;
	start = zero;
	write_system(recording);
	group.uuid = uuid(OF_GROUP, 0);
	group.name = name;
	write_descriptor(&group);
	free(of_cpus);
	free(name);
}
