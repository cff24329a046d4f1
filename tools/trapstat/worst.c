// SPDX-License-Identifier: GPL-2.0
/*
 * worst.c - the longest page faults of a recording, and the time of each task in page faults
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "offcpu.h"
#include "output.h"

#define FLAG_SLEPT	0x01
#define FLAG_PREEMPTED	0x02

/* What a task's time in page faults was, a value of its rows */
enum { SLEEPING, PREEMPTED, RUNNING };

static struct fault *faults, **heap;	/* when it is full, the shortest is its top */
static size_t nr_faults;
static struct fault *last[MAX_CPUS];	/* that was kept of each CPU: its stack may follow */
static bool knows_switches;

/* The shorter ones first; of the same, the later ones */
static int compare_faults(const void *a, const void *b)
{
	const struct fault *x = *(struct fault **)a, *y = *(struct fault **)b;

	if (x->duration != y->duration)
		return x->duration < y->duration ? -1 : 1;
	return (x->ts < y->ts) - (x->ts > y->ts);
}

static void sort_faults(void)
{
	if (nr_faults)
		qsort(heap, nr_faults, sizeof(*heap), compare_faults);
}

/* The top of the heap may be too long for its place. */
static void sift(void)
{
	size_t at = 0, below;
	struct fault *top;

	while ((below = 2 * at + 1) < nr_faults) {
		if (below + 1 < nr_faults && compare_faults(&heap[below + 1], &heap[below]) < 0)
			below++;
		if (compare_faults(&heap[at], &heap[below]) <= 0)
			break;
		top = heap[at];
		heap[at] = heap[below];
		heap[below] = top;
		at = below;
	}
}

static void keep(const struct traps_event *e, const struct offcpu *lost)
{
	bool full = nr_faults == options.worst;
	struct fault *fault;

	if (!faults) {
		faults = allocate(NULL, options.worst * sizeof(*faults));
		heap = allocate(NULL, options.worst * sizeof(*heap));
	}
	if (full && heap[0]->duration >= e->duration)
		return;
	if (!full) {
		heap[nr_faults] = &faults[nr_faults];
		nr_faults++;
	}
	fault = heap[full ? 0 : nr_faults - 1];
	last[e->cpu % MAX_CPUS] = fault;
	*fault = (struct fault){ .duration = e->duration, .address = e->address,
				 .result = TRAPS_OUTCOME(e->result, e->code),
				 .flags = e->flags,
				 .no_exception = e->type == TRAPS_MM_FAULT,
				 .remote = e->type == TRAPS_MM_FAULT && !e->curr,
				 .ts = e->ts, .cpu = e->cpu,
				 .error_code = e->error_code,
				 .slept = lost->slept, .preempted = lost->preempted };
	fault->row.pid = e->pid;
	fault->row.value = e->ip;
	fault->row.kernel = !e->user_mode && !fault->no_exception;
	strncpy(fault->row.comm, recording_comm(e->pid), COMM_LEN - 1);
	if (lost->longest && lost->longest->callers) {
		fault->nr_waits = lost->longest->nr_callers;
		memcpy(fault->waits, lost->longest->callers,
		       fault->nr_waits * sizeof(*fault->waits));
	}
	if (full)
		sift();
	else if (nr_faults == options.worst)	/* in order, they are a heap */
		sort_faults();
}

void worst_switch(const struct task_switch *s)
{
	knows_switches = true;
	offcpu_switch(s);
}

static void add_time(struct rows *rows, const struct traps_event *e, unsigned int what,
		     uint64_t time, unsigned int count)
{
	struct row row = { .vector = VECTOR_PF, .pid = e->pid, .count = count, .sum = time };

	row.value = what;
	strncpy(row.comm, recording_comm(e->pid), COMM_LEN - 1);
	rows_add(rows, &row);
}

void worst_add(struct rows *rows, const struct traps_event *e)
{
	struct offcpu lost = offcpu_between(e->pid, e->ts - e->duration, e->ts);

	keep(e, &lost);
	/* Without switches, the flags only tell whether there was one. */
	if (!knows_switches && e->flags & FLAG_SLEPT)
		lost.slept = e->duration;
	else if (!knows_switches && e->flags & FLAG_PREEMPTED)
		lost.preempted = e->duration;
	if (lost.slept)
		add_time(rows, e, SLEEPING, lost.slept, 0);
	if (lost.preempted)
		add_time(rows, e, PREEMPTED, lost.preempted, 0);
	add_time(rows, e, RUNNING, e->duration - lost.slept - lost.preempted, 1);
	if (e->user_mode)
		offcpu_forget(e->pid);
}

void worst_user_stack(uint64_t ts, unsigned int cpu, const uint64_t *callers, size_t nr)
{
	struct fault *fault = last[cpu % MAX_CPUS];

	if (!fault || fault->ts != ts || fault->cpu != cpu)
		return;
	if (fault->no_exception)
		fault->row.value = *callers;
	if (fault->row.value == *callers) {
		callers++;
		nr--;
	}
	memcpy(fault->callers, callers, nr * sizeof(*callers));
	fault->nr_callers = nr;
}

/* Before the next recording. */
void worst_restart(void)
{
	nr_faults = 0;
	memset(last, 0, sizeof(last));
	knows_switches = false;
	offcpu_restart();
}

bool worst_knows_switches(void)
{
	return knows_switches;
}

/* What the task waited in: its functions, without those of the scheduler */
static char *name_waits(const struct fault *fault)
{
	char *name = NULL, *more, *longer;
	unsigned int shown = 0;
	size_t i;

	for (i = 0; i < fault->nr_waits && shown < 6; i++) {
		more = kernel_symbol(fault->waits[i] - 1);
		if (shown || !strstr(more, "sched")) {
			longer = print_string("%s%s%s", name ?: "", name ? " < " : "", more);
			free(name);
			name = longer;
			shown++;
		}
		free(more);
	}
	return name;
}

/* The longest first. Valid until the recording is closed; the caller frees the names. */
void each_worst(void (*call)(const struct fault *fault))
{
	struct fault fault;
	struct row page, caller;
	size_t i, n;

	sort_faults();
	for (i = nr_faults; i-- > 0; ) {
		fault = *heap[i];
		page = fault.row;
		page.value = fault.address;
		page.result = fault.result;
		page.kernel = false;
		if (fault.remote) {
			fault.kind = "remote";
			fault.at = print_string("0x%" PRIx64, fault.address);
		} else {
			fault.at = name_of_page(&page, &fault.kind);
		}
		fault.by = fault.row.value ? symbol_of_ip(&fault.row) : print_string("unknown");
		for (n = 0; n < fault.nr_callers; n++) {
			caller = fault.row;
			caller.value = fault.callers[n] - 1;	/* the call, not what follows it */
			caller.kernel = false;
			fault.stack[n] = symbol_of_ip(&caller);
		}
		fault.flag_names = flags_name(fault.flags);
		fault.error_names = error_code_name(VECTOR_PF, fault.error_code);
		fault.waited_in = name_waits(&fault);
		call(&fault);
		while (n)
			free(fault.stack[--n]);
		free(fault.at);
		free(fault.by);
		free(fault.flag_names);
		free(fault.error_names);
		free(fault.waited_in);
	}
}

static int compare_pid(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int compare_time(const void *a, const void *b)
{
	const struct task_time *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The rows of WORST, added up by task, those with the most time first. */
struct task_time *top_times(const struct rows *rows, size_t *nr)
{
	struct task_time *times = allocate(NULL, (rows->nr + 1) * sizeof(*times)), *time;
	const struct row *row;
	size_t i;

	*nr = 0;
	if (rows->nr)
		qsort(rows->row, rows->nr, sizeof(*rows->row), compare_pid);
	for (i = 0; i < rows->nr; i++) {
		row = &rows->row[i];
		if (!i || row->pid != row[-1].pid)
			times[(*nr)++] = (struct task_time){ .pid = row->pid, .comm = row->comm };
		time = &times[*nr - 1];
		time->count += row->count;
		time->total += row->sum;
		if (row->value == SLEEPING)
			time->sleeping += row->sum;
		else if (row->value == PREEMPTED)
			time->preempted += row->sum;
		else
			time->running += row->sum;
	}
	qsort(times, *nr, sizeof(*times), compare_time);
	if (*nr > options.top)
		*nr = options.top;
	return times;
}
