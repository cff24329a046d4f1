// SPDX-License-Identifier: GPL-2.0
/*
 * export.c - what is in the tracks of an exported recording
 *
 * A file has two groups of tracks: its CPUs and its tasks. In the track of its task, an
 * exception lasts from entry to exit, and exceptions nest. In the track of a CPU, it lasts
 * while the CPU handled it: if sched_switch is recorded, too, it is cut into pieces where
 * the task was switched out. Otherwise an exception is only in the task's track if it ended
 * on another CPU, or if another task raised one on its CPU meanwhile.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "export.h"

#define HASH		1024

struct slice {
	struct track		track;
	uint64_t		from, to;
	struct traps_event	event;
	struct slice		*next;
};

/* An exception that has not ended; its entry has this as data. */
struct open {
	uint64_t	begin;
	bool		on_cpu;		/* @cpu handles it, since: */
	unsigned int	cpu;
	uint64_t	since;
	struct held {			/* of exceptions inside of it, to be written after it */
		struct slice	*first, *last;
	} held[2];			/* in the track of the CPU, of the task */
};

struct known {
	struct track	task;
	struct known	*next;
};

static struct known *known[HASH];	/* tasks that have a track */
static bool cpu_known[MAX_CPUS];
static struct {
	bool	known;
	pid_t	pid;
} running[MAX_CPUS];
static struct traps_pairing *pairing;

static struct track cpu_track(unsigned int cpu)
{
	return (struct track){ .cpu = cpu };
}

static struct track task_track(const struct traps_event *e)
{
	return (struct track){ .of_task = true, .pid = e->pid, .cpu = e->pid ? 0 : e->cpu };
}

static void write_slice(const struct slice *slice)
{
	const struct traps_event *e = &slice->event;
	bool ended = !traps_is_entry(e);
	char *name = print_string("%s%s%s", vector_name(e->vector), ended ? " " : "",
				  ended ? outcome_name(TRAPS_OUTCOME(e->result, e->code)) : "");

	perfetto_slice(&slice->track, slice->from, slice->to, name, e);
	free(name);
}

static void append(struct held *to, const struct held *more)
{
	if (to->first)
		to->last->next = more->first;
	else
		to->first = more->first;
	to->last = more->last;
}

static void hold(struct open *outer, const struct slice *slice)
{
	struct slice *copy = allocate(NULL, sizeof(*copy));

	*copy = *slice;
	copy->next = NULL;
	append(&outer->held[slice->track.of_task], &(struct held){ copy, copy });
}

/* Write the slices that @open holds back, or let @outer hold them. */
static void release(struct open *open, bool of_task, struct open *outer)
{
	struct held held = open->held[of_task];
	struct slice *slice;

	open->held[of_task].first = NULL;
	if (held.first && outer) {
		append(&outer->held[of_task], &held);
		return;
	}
	while ((slice = held.first)) {
		write_slice(slice);
		held.first = slice->next;
		free(slice);
	}
}

/*
 * A slice of @open (NULL: there is no entry) has ended, inside of @outer (NULL: of none).
 * If both begin at the same time, @outer has to be written first to be the outer one; so
 * do slices that follow it.
 */
static void end_slice(const struct slice *slice, struct open *open, struct open *outer)
{
	bool of_task = slice->track.of_task;

	if (outer && (outer->held[of_task].first ||
		      slice->from == (of_task ? outer->begin : outer->since)))
		hold(outer, slice);
	else
		write_slice(slice);
	if (open)
		release(open, of_task, outer && outer->held[of_task].first ? outer : NULL);
}

static void name_cpu(unsigned int cpu)
{
	struct track track = cpu_track(cpu);
	char name[16];

	if (cpu >= MAX_CPUS)
		die("CPU %u: too many", cpu);
	if (cpu_known[cpu])
		return;
	cpu_known[cpu] = true;
	snprintf(name, sizeof(name), "cpu%u", cpu);
	perfetto_track(&track, name);
}

static void name_task(const struct traps_event *e)
{
	struct track task = task_track(e);
	struct known **link = &known[(task.pid + task.cpu) % HASH];
	char idle[24];

	while (*link && ((*link)->task.pid != task.pid || (*link)->task.cpu != task.cpu))
		link = &(*link)->next;
	if (*link)
		return;
	*link = allocate(NULL, sizeof(**link));
	(*link)->task = task;
	(*link)->next = NULL;
	snprintf(idle, sizeof(idle), "swapper/%u", task.cpu);
	perfetto_track(&task, task.pid ? recording_comm(task.pid) : idle);
}

struct switched {
	uint64_t	ts;
	unsigned int	cpu;
	bool		exact;
};

static void switch_out(struct traps_event *entry, void *arg)
{
	const struct switched *s = arg;
	struct open *open = entry->data;
	struct slice piece = {
		.track = cpu_track(s->cpu), .from = open->since, .to = s->ts, .event = *entry,
	};

	if (!open->on_cpu || open->cpu != s->cpu)
		return;
	if (s->exact)
		write_slice(&piece);
	release(open, false, NULL);
	open->on_cpu = false;
}

static void switch_in(struct traps_event *entry, void *arg)
{
	const struct switched *s = arg;
	struct open *open = entry->data;

	open->on_cpu = s->exact;
	open->cpu = s->cpu;
	open->since = s->ts;
}

/* The task runs on @cpu now. @exact: since @ts, otherwise since some time before. */
static void switch_to(pid_t pid, uint64_t ts, unsigned int cpu, bool exact)
{
	struct switched s = { ts, cpu, exact };

	if (running[cpu].known && running[cpu].pid == pid)
		return;
	if (running[cpu].known)
		traps_pairing_open(pairing, running[cpu].pid, cpu, switch_out, &s);
	traps_pairing_open(pairing, pid, cpu, switch_in, &s);
	running[cpu].known = true;
	running[cpu].pid = pid;
}

/* The exit is not in the recording. */
static void write_entry(const struct traps_event *entry)
{
	struct track track = task_track(entry);
	char *name = print_string("%s: its end is not recorded", vector_name(entry->vector));

	perfetto_instant(&track, entry->ts, name, entry);
	free(name);
}

static void innermost(struct traps_event *entry, void *arg)
{
	*(struct open **)arg = entry->data;
}

static void write_pair(const struct traps_event *exit, struct open *open)
{
	struct slice slice = { .track = task_track(exit), .to = exit->ts, .event = *exit };
	struct open *outer = NULL;

	traps_pairing_open(pairing, exit->pid, exit->cpu, innermost, &outer);
	if (open)
		slice.from = open->begin;
	else if (exit->duration < exit->ts)	/* the recording has no entries, or began later */
		slice.from = exit->ts - exit->duration;
	end_slice(&slice, open, outer);
	if (open && open->on_cpu && open->cpu == exit->cpu) {
		slice.track = cpu_track(exit->cpu);
		slice.from = open->since;
		end_slice(&slice, open, outer);
	}
}

static void on_pair(const struct traps_event *entry, const struct traps_event *exit, void *arg)
{
	struct open *open = entry ? entry->data : NULL;

	(void)arg;
	if (exit)
		write_pair(exit, open);
	else
		write_entry(entry);
	if (open) {
		release(open, true, NULL);
		release(open, false, NULL);
		free(open);
	}
}

static void on_event(const struct traps_event *e)
{
	struct traps_event event = *e;
	struct open *open;

	if (e->type == TRAPS_MM_FAULT)
		return;
	name_task(e);
	name_cpu(e->cpu);
	switch_to(e->pid, e->ts, e->cpu, false);
	if (traps_is_entry(e)) {
		open = allocate(NULL, sizeof(*open));
		*open = (struct open){ .begin = e->ts, .on_cpu = true, .cpu = e->cpu, .since = e->ts };
		event.data = open;
	}
	if (traps_pairing_add(pairing, &event))
		die("no memory");
}

static void on_switch(const struct task_switch *s)
{
	name_cpu(s->cpu);
	switch_to(s->next, s->ts, s->cpu, true);
	perfetto_switch(s);
}

static void on_missed(uint64_t ts, unsigned int cpu)
{
	struct track track = cpu_track(cpu);

	name_cpu(cpu);
	perfetto_instant(&track, ts, "lost events", NULL);
	perfetto_lost(cpu);
	traps_pairing_lost(pairing, ts);
}

static void forget(void)
{
	struct known *task;
	unsigned int i;

	traps_pairing_end(pairing);
	for (i = 0; i < HASH; i++) {
		while ((task = known[i])) {
			known[i] = task->next;
			free(task);
		}
	}
	memset(running, 0, sizeof(running));
}

/*
 * The time of each file that is the same moment for all: that of its first event. If all
 * times are dates (trace-cmd record --date), it is the earliest one.
 */
static uint64_t *find_zeros(int nr, char **files)
{
	uint64_t *zero = allocate(NULL, nr * sizeof(*zero)), min = UINT64_MAX;
	struct recording recording;
	bool dates = true;
	int i;

	for (i = 0; i < nr; i++) {
		recording_open(&recording, files[i]);
		zero[i] = recording_first(&recording);
		recording_close(&recording);
		dates = dates && is_date(zero[i]);
		min = zero[i] < min ? zero[i] : min;
	}
	for (i = 0; i < nr && dates; i++)
		zero[i] = min;
	return zero;
}

int export_main(int nr_files, char **files)
{
	struct reader reader = {
		.event = on_event,
		.sched_switch = on_switch,
		.sched_waking = perfetto_waking,
		.missed = on_missed,
		.buffer_end = forget,
	};
	struct recording recording;
	int i, status = 0;
	uint64_t *zero;

	if (isatty(STDOUT_FILENO))
		bad_usage("--perfetto: it is binary: redirect it to a file");
	zero = find_zeros(nr_files, files);
	pairing = traps_pairing_new(on_pair, NULL);
	if (!pairing)
		die("no memory");
	for (i = 0; i < nr_files; i++) {
		memset(cpu_known, 0, sizeof(cpu_known));
		recording_open(&recording, files[i]);
		perfetto_file(i, &recording, zero[i]);
		recording_read(&recording, &reader);
		if (recording.lost) {
			note("%s: at least %" PRIu64 " events are missing: the buffer was full",
			     files[i], recording.lost);
			status = STATUS_INCOMPLETE;
		}
		recording_close(&recording);
	}
	output_flush();
	traps_pairing_free(pairing);
	free(zero);
	return status;
}
