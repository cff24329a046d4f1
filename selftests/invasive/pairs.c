// SPDX-License-Identifier: GPL-2.0
/* Pairs entries and exits of each thread of a storm, and compares them with what it knows. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "raw.h"
#include "storm.h"
#include "trace.h"

#define CLOCK		"/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define RECORD_SIZE	64		/* bytes, at most */

/* enum trap_result */
enum {
	MINOR, MAJOR, RETRY, OOM, SIGBUS_SENT, HWPOISON, SIGSEGV_SENT, FIXUP,
	SIGILL_SENT = 16, SIGTRAP_SENT, SIGFPE_SENT, SIGSYS_SENT, SIGKILL_SENT,
	RESULTS,
};

static const int signals[RESULTS] = {
	[SIGBUS_SENT]	= SIGBUS,
	[SIGSEGV_SENT]	= SIGSEGV,
	[SIGILL_SENT]	= SIGILL,
	[SIGTRAP_SENT]	= SIGTRAP,
	[SIGFPE_SENT]	= SIGFPE,
};

struct task {
	/* The exceptions that have no exit yet, the last one last */
	struct raw_record open[8];
	int depth;
	bool known;		/* that these are all */
	int epoch;
	unsigned long exits[VECTORS], results[RESULTS];
	long switches[2];	/* by itself, and not */
};

static struct task tasks[THREADS];
static struct pairs pairs;
static bool stable_clock;	/* else the clocks of two CPUs may differ */
static bool off;		/* between the marks */
static int epoch;

static bool same(const struct raw_record *entry, const struct raw_record *exit)
{
	return entry->vector == exit->vector && entry->address == exit->address &&
	       entry->error_code == exit->error_code && entry->ip == exit->ip &&
	       entry->event_data == exit->event_data && entry->user_mode == exit->user_mode;
}

static void complain(const char *what, const struct raw_record *record)
{
	if (pairs.errors++ < 10)
		fprintf(stderr, "# %s: %s of %d at %llu on CPU %d, vector %u ip 0x%lx %s\n",
			what, record->kind == RAW_ENTRY ? "entry" : "exit", record->pid,
			record->time, record->cpu, record->vector, record->ip,
			record->user_mode ? "user" : "kernel");
}

/*
 * User mode is at the bottom: no other exception can be open when it raises one,
 * or after the last one.
 */
static void check_entry(struct task *task, const struct raw_record *record)
{
	if (record->user_mode) {
		if (task->known && task->depth)
			complain("no exit of another one before the", record);
		task->known = true;
		task->depth = 0;
	}
	if (task->depth == (int)ARRAY_SIZE(task->open)) {
		complain("nested too deeply", record);
		task->depth = 0;
	}
	task->open[task->depth++] = *record;
}

static void check_exit(struct task *task, const struct raw_record *record)
{
	const struct thread *thread = &storm_threads[task - tasks];
	int signal = signals[record->result % RESULTS];
	const struct raw_record *entry;

	if (signal ? record->code != thread->codes[record->vector % VECTORS][signal] : record->code)
		complain("not the code of the signal", record);
	task->exits[record->vector % VECTORS]++;
	if (record->vector == VECTOR_PF)
		task->results[record->result % RESULTS]++;
	else if (record->vector != VECTOR_NMI && record->user_mode && !signal)
		complain("no signal", record);
	task->switches[0] += !!(record->flags & SLEPT);
	task->switches[1] += !!(record->flags & PREEMPTED);
	pairs.preempted += !!(record->flags & PREEMPTED);
	pairs.migrated += !!(record->flags & MIGRATED);
	if (!record->duration && stable_clock)
		complain("no duration", record);

	if (task->depth) {
		entry = &task->open[--task->depth];
		if (!same(entry, record))
			complain("not what the last entry says", record);
		if (record->duration > record->time - entry->time && stable_clock)
			complain("too long a duration", record);
		if (record->cpu != entry->cpu && !(record->flags & MIGRATED))
			complain("not said to have migrated", record);
		if (record->cpu == entry->cpu && record->flags & MIGRATED)
			complain("not migrated", record);
	} else if (task->known) {
		complain("no entry", record);
	}
	if (record->user_mode) {
		if (task->known && task->depth)
			complain("inner ones without an exit", record);
		task->known = true;
		task->depth = 0;
	}
}

static void check_record(const struct raw_record *record)
{
	struct task *task = NULL;

	if (record->kind == RAW_MARK) {
		off = !strncmp(record->mark, MARK_OFF, strlen(MARK_OFF));
		epoch++;
		return;
	}
	pairs.records++;
	for (int i = 0; i < THREADS; i++)
		if (storm_threads[i].tid == record->pid)
			task = &tasks[i];
	if (!task || off)
		return;
	/* What was begun before the mark may end without having an entry. */
	if (task->epoch != epoch) {
		task->epoch = epoch;
		task->known = false;
		task->depth = 0;
	}
	if (record->kind == RAW_ENTRY)
		check_entry(task, record);
	else
		check_exit(task, record);
}

/* The clock is the one of the durations, and in order across CPUs. One CPU may record all. */
int pairs_prepare(long exceptions)
{
	char kb[24];

	snprintf(kb, sizeof(kb), "%ld", exceptions * 2 * RECORD_SIZE / 1024 + 1024);
	return trace_write("trace_clock", "global") ?: trace_write("buffer_size_kb", kb);
}

/**
 * pairs_read - read all that was recorded, and pair entries and exits of each thread
 *
 * Return: what was found, until the next call; NULL: it could not be read.
 */
const struct pairs *pairs_read(void)
{
	struct raw *raw = raw_open();
	struct raw_record record;
	bool complete;

	if (!raw)
		return NULL;
	memset(tasks, 0, sizeof(tasks));
	memset(&pairs, 0, sizeof(pairs));
	off = false;
	epoch = 0;
	stable_clock = file_has_word(CLOCK, "tsc") || file_has_word(CLOCK, "kvm-clock");
	if (!stable_clock)
		fprintf(stderr, "# the TSC is not stable: durations are not checked\n");
	for (int i = 0; i < THREADS; i++)
		tasks[i].known = true;
	while (raw_next(raw, &record))
		check_record(&record);
	complete = !raw_failed(raw) && !raw_missed(raw);
	raw_close(raw);
	return complete ? &pairs : NULL;
}

static void expect(int thread, const char *what, int n, long least, long recorded, long most)
{
	if ((recorded < least || recorded > most) && pairs.errors++ < 10)
		fprintf(stderr, "# thread %d, %s %d: %ld recorded, it knows of %ld to %ld\n",
			thread, what, n, recorded, least, most);
}

/* Are as many of each kind recorded as the threads know of? Else that is an error. */
void pairs_compare(void)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread *thread = &storm_threads[i];
		const unsigned long *raised = thread->raised, *results = tasks[i].results;

		expect(i, "no exit", 0, 0, tasks[i].depth, 0);
		for (int n = 0; n < VECTORS; n++)
			if (n != VECTOR_PF && n != VECTOR_NMI)
				expect(i, "vector", n, raised[n], tasks[i].exits[n], raised[n]);
		expect(i, "vector", VECTOR_PF, raised[VECTOR_PF],
		       results[SIGSEGV_SENT] + results[SIGBUS_SENT], raised[VECTOR_PF]);
		/* The kernel adds some, when it touches the area of rseq. */
		expect(i, "result", FIXUP, thread->fixups, results[FIXUP], LONG_MAX);
		expect(i, "result", MINOR, thread->minflt, results[MINOR], thread->minflt);
		expect(i, "result", MAJOR, thread->majflt, results[MAJOR], thread->majflt);
		for (int n = 0; n < 2; n++)
			expect(i, "switches", n, 0, tasks[i].switches[n], thread->switches[n]);
	}
}
