// SPDX-License-Identifier: GPL-2.0
/*
 * chrome.c - recordings as Chrome trace events (JSON), for Perfetto's UI and others
 *
 * A file has two groups of tracks ("processes"): its CPUs and its tasks. In the track of
 * its task, an exception lasts from entry to exit, and exceptions nest. In the track of a
 * CPU, it lasts while the CPU handled it: if sched_switch is recorded, too, it is cut into
 * pieces where the task was switched out. Otherwise an exception is only in the task's
 * track if it ended on another CPU, or if another task raised one on its CPU meanwhile.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recording.h"

#define HASH		1024
#define MAX_CPUS	8192
#define IDLE_TID	5000000		/* above all pids: swapper runs on each CPU */
#define DATE		1000000000000000000ULL	/* 2001 in ns: longer than any uptime */

/* An exception that has not ended; its entry has this as data. */
struct open {
	bool		on_cpu;		/* @cpu handles it, since: */
	unsigned int	cpu;
	uint64_t	since;
};

struct track {
	int		tid;
	struct track	*next;
};

static struct track *named[HASH];	/* tasks */
static bool cpu_named[MAX_CPUS];
static struct {
	bool	known;
	pid_t	pid;
} running[MAX_CPUS];
static struct traps_pairing *pairing;
static int cpus_pid, tasks_pid;
static uint64_t begin;			/* the time shown as 0 */
static bool comma;

static int tid_of(pid_t pid, unsigned int cpu)
{
	return pid ? pid : (int)(IDLE_TID + cpu);
}

static void print_start(const char *phase, int pid, int tid, const char *name)
{
	printf("%s\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":", comma ? "," : "", phase, pid,
	       tid);
	json_string(name);
	comma = true;
}

static void print_metadata(int pid, int tid, const char *what, const char *name)
{
	print_start("M", pid, tid, what);
	printf(",\"args\":{\"name\":");
	json_string(name);
	printf("}}");
}

/* Microseconds. */
static void print_time(const char *name, uint64_t ns)
{
	printf(",\"%s\":%" PRIu64 ".%03" PRIu64, name, ns / 1000, ns % 1000);
}

static void print_text_arg(const char *name, char *text)
{
	printf(",\"%s\":", name);
	json_string(text);
	free(text);
}

static void print_args(const struct traps_event *e)
{
	struct row row = { .pid = e->pid, .value = e->ip };
	const char *kind;

	strncpy(row.comm, recording_comm(e->pid), COMM_LEN - 1);
	printf(",\"cat\":\"traps\",\"args\":{\"vector\":%u", e->vector);
	print_text_arg("error_code", error_code_name(e->vector, e->error_code));
	printf(",\"ip\":\"0x%" PRIx64 "\"", e->ip);
	print_text_arg("raised by", symbol_of_ip(&row));
	printf(",\"mode\":\"%s\"", e->user_mode ? "user" : "kernel");
	if (e->vector == VECTOR_PF) {
		row.value = e->address;
		printf(",\"address\":\"0x%" PRIx64 "\"", e->address);
		print_text_arg("at", name_of_page(&row, &kind));
		printf(",\"in\":\"%s\"", kind);
	} else {
		printf(",\"event_data\":\"0x%" PRIx64 "\"", e->event_data);
	}
	if (!traps_is_entry(e)) {
		print_text_arg("result", print_string("%s", result_name(e->result)));
		print_text_arg("flags", flags_name(e->flags));
		printf(",\"duration_ns\":%" PRIu64, e->duration);
	}
	printf(",\"cpu\":%u,\"task\":%d,\"command\":", e->cpu, e->pid);
	json_string(row.comm);
	printf("}}");
}

static void print_slice(int pid, int tid, uint64_t from, uint64_t to, const struct traps_event *e)
{
	bool ended = !traps_is_entry(e);
	char *name = print_string("%s%s%s", vector_name(e->vector), ended ? " " : "",
				  ended ? result_name(e->result) : "");

	print_start("X", pid, tid, name);
	print_time("ts", from - begin);
	print_time("dur", to - from);
	print_args(e);
	free(name);
}

static void print_instant(int pid, int tid, uint64_t ts, const char *name)
{
	print_start("i", pid, tid, name);
	print_time("ts", ts - begin);
	printf(",\"s\":\"t\"");
}

static void name_cpu(unsigned int cpu)
{
	char name[16];

	if (cpu >= MAX_CPUS)
		die("CPU %u: too many", cpu);
	if (cpu_named[cpu])
		return;
	cpu_named[cpu] = true;
	snprintf(name, sizeof(name), "cpu%u", cpu);
	print_metadata(cpus_pid, cpu, "thread_name", name);
}

static void name_task(int tid, const char *comm)
{
	struct track **track = &named[tid % HASH];
	char idle[24];

	while (*track && (*track)->tid != tid)
		track = &(*track)->next;
	if (*track)
		return;
	*track = allocate(NULL, sizeof(**track));
	(*track)->tid = tid;
	(*track)->next = NULL;
	snprintf(idle, sizeof(idle), "swapper/%d", tid - IDLE_TID);
	print_metadata(tasks_pid, tid, "thread_name", tid < IDLE_TID ? comm : idle);
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

	if (!open->on_cpu || open->cpu != s->cpu)
		return;
	if (s->exact)
		print_slice(cpus_pid, s->cpu, open->since, s->ts, entry);
	open->on_cpu = false;
}

static void switch_in(struct traps_event *entry, void *arg)
{
	const struct switched *s = arg;

	*(struct open *)entry->data = (struct open){ s->exact, s->cpu, s->ts };
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
static void print_entry(const struct traps_event *entry)
{
	char *name = print_string("%s: its end is not recorded", vector_name(entry->vector));

	print_instant(tasks_pid, tid_of(entry->pid, entry->cpu), entry->ts, name);
	print_args(entry);
	free(name);
}

static void on_pair(const struct traps_event *entry, const struct traps_event *exit, void *arg)
{
	struct open *open = entry ? entry->data : NULL;
	uint64_t from;

	(void)arg;
	if (!exit) {
		print_entry(entry);
		free(open);
		return;
	}
	if (entry)
		from = entry->ts;
	else	/* the recording began after the entry, or has no entries */
		from = exit->duration < exit->ts - begin ? exit->ts - exit->duration : begin;
	print_slice(tasks_pid, tid_of(exit->pid, exit->cpu), from, exit->ts, exit);
	if (open && open->on_cpu && open->cpu == exit->cpu)
		print_slice(cpus_pid, exit->cpu, open->since, exit->ts, exit);
	free(open);
}

static void on_event(const struct traps_event *e)
{
	struct traps_event event = *e;
	struct open *open;

	if (e->type == TRAPS_MM_FAULT)
		return;
	name_task(tid_of(e->pid, e->cpu), recording_comm(e->pid));
	name_cpu(e->cpu);
	switch_to(e->pid, e->ts, e->cpu, false);
	if (traps_is_entry(e)) {
		open = allocate(NULL, sizeof(*open));
		*open = (struct open){ true, e->cpu, e->ts };
		event.data = open;
	}
	if (traps_pairing_add(pairing, &event))
		die("no memory");
}

static void on_switch(const struct task_switch *s)
{
	name_cpu(s->cpu);
	switch_to(s->next, s->ts, s->cpu, true);
}

static void on_missed(uint64_t ts, unsigned int cpu)
{
	name_cpu(cpu);
	print_instant(cpus_pid, cpu, ts, "lost events");
	printf("}");
	traps_pairing_lost(pairing, ts);
}

static void forget(void)
{
	struct track *track;
	unsigned int i;

	traps_pairing_end(pairing);
	for (i = 0; i < HASH; i++) {
		while ((track = named[i])) {
			named[i] = track->next;
			free(track);
		}
	}
	memset(running, 0, sizeof(running));
}

static void name_group(int pid, const char *file, const char *what)
{
	char *name = print_string("%s: %s", file, what);

	print_metadata(pid, 0, "process_name", name);
	print_start("M", pid, 0, "process_sort_index");
	printf(",\"args\":{\"sort_index\":%d}}", pid);
	free(name);
}

/*
 * The time of each file that is shown as 0: that of its first event. If all times are
 * dates (trace-cmd record --date), all files share the earliest one.
 */
static uint64_t *first_times(int nr, char **files)
{
	uint64_t *first = allocate(NULL, nr * sizeof(*first)), min = UINT64_MAX;
	struct recording recording;
	bool dates = true;
	int i;

	for (i = 0; i < nr; i++) {
		recording_open(&recording, files[i]);
		first[i] = recording_first(&recording);
		recording_close(&recording);
		dates = dates && first[i] > DATE;
		min = first[i] < min ? first[i] : min;
	}
	for (i = 0; i < nr && dates; i++)
		first[i] = min;
	return first;
}

int chrome_main(int nr_files, char **files)
{
	static const struct reader reader = {
		.event = on_event,
		.sched_switch = on_switch,
		.missed = on_missed,
		.buffer_end = forget,
	};
	uint64_t *first = first_times(nr_files, files);
	struct recording recording;
	int i, status = 0;

	pairing = traps_pairing_new(on_pair, NULL);
	if (!pairing)
		die("no memory");
	printf("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"version\":\"trapstat\"");
	for (i = 0; i < nr_files; i++) {
		printf(",");
		json_string(files[i]);
		printf(":\"0 is %" PRIu64 ".%09" PRIu64 "\"", first[i] / 1000000000,
		       first[i] % 1000000000);
	}
	printf("},\"traceEvents\":[");
	for (i = 0; i < nr_files; i++) {
		begin = first[i];
		cpus_pid = 2 * i + 1;
		tasks_pid = 2 * i + 2;
		memset(cpu_named, 0, sizeof(cpu_named));
		name_group(cpus_pid, files[i], "CPUs");
		name_group(tasks_pid, files[i], "tasks");
		recording_open(&recording, files[i]);
		recording_read(&recording, &reader);
		if (recording.lost) {
			note("%s: at least %" PRIu64 " events are missing: the buffer was full",
			     files[i], recording.lost);
			status = STATUS_INCOMPLETE;
		}
		recording_close(&recording);
	}
	printf("\n]}\n");
	output_flush();
	traps_pairing_free(pairing);
	free(first);
	return status;
}
