// SPDX-License-Identifier: GPL-2.0
/*
 * pairing.c - pairs the entries and exits of each task
 */
#include <stdlib.h>
#include <string.h>
#include "libtraps.h"

#define MAX_OPEN	16	/* how deep exceptions of a task may nest */
#define BUCKETS		1024

/* How much longer than its duration the time between the records of a pair may be, in ns. */
#define SLACK		1000000

struct task {
	int			id;
	unsigned int		nr_open;
	struct traps_event	open[MAX_OPEN];		/* entries, the innermost is the last */
	struct task		*next;
};

struct traps_pairing {
	traps_pair_t	pair;
	void		*arg;
	uint64_t	lost;				/* the last time */
	bool		any_lost;
	struct task	*tasks[BUCKETS];
};

struct traps_pairing *traps_pairing_new(traps_pair_t pair, void *arg)
{
	struct traps_pairing *pairing = calloc(1, sizeof(*pairing));

	if (pairing) {
		pairing->pair = pair;
		pairing->arg = arg;
	}
	return pairing;
}

/* The idle tasks of all CPUs have pid 0. */
static int task_id(pid_t pid, unsigned int cpu)
{
	return pid ? pid : -1 - (int)cpu;
}

static struct task **find_task(struct traps_pairing *pairing, int id)
{
	struct task **task = &pairing->tasks[(unsigned int)id % BUCKETS];

	while (*task && (*task)->id != id)
		task = &(*task)->next;
	return task;
}

/* Their exits are not recorded: the handlers did not return, or the record is lost. */
static void close_open(struct traps_pairing *pairing, struct task *task, unsigned int from)
{
	while (task->nr_open > from)
		pairing->pair(&task->open[--task->nr_open], NULL, pairing->arg);
}

static bool same_exception(const struct traps_event *entry, const struct traps_event *exit)
{
	return entry->type + 1 == exit->type && entry->vector == exit->vector &&
	       entry->ip == exit->ip && entry->address == exit->address &&
	       entry->user_mode == exit->user_mode;
}

/* Does the time between the records agree with the duration? */
static bool same_time(const struct traps_event *entry, const struct traps_event *exit)
{
	uint64_t time = exit->ts - entry->ts;

	return time >= exit->duration / 2 &&
	       (time < SLACK || time - SLACK <= 2 * exit->duration);
}

static void add_entry(struct traps_pairing *pairing, struct task *task,
		      const struct traps_event *entry)
{
	/* If user mode was interrupted, no handler of this task is running. */
	if (entry->user_mode || task->nr_open == MAX_OPEN)
		close_open(pairing, task, 0);
	task->open[task->nr_open++] = *entry;
}

static void add_exit(struct traps_pairing *pairing, struct task *task,
		     const struct traps_event *exit)
{
	const struct traps_event *entry;
	unsigned int i = task ? task->nr_open : 0;

	while (i && !same_exception(&task->open[i - 1], exit))
		i--;
	if (!i) {
		pairing->pair(NULL, exit, pairing->arg);
		return;
	}
	close_open(pairing, task, i);
	entry = &task->open[--task->nr_open];
	if (pairing->any_lost && pairing->lost >= entry->ts && !same_time(entry, exit)) {
		pairing->pair(entry, NULL, pairing->arg);
		entry = NULL;
	}
	pairing->pair(entry, exit, pairing->arg);
}

int traps_pairing_add(struct traps_pairing *pairing, const struct traps_event *event)
{
	int id = task_id(event->pid, event->cpu);
	struct task **task = find_task(pairing, id);

	if (!traps_is_entry(event)) {
		add_exit(pairing, *task, event);
		return 0;
	}
	if (!*task) {
		*task = calloc(1, sizeof(**task));
		if (!*task)
			return -1;
		(*task)->id = id;
	}
	add_entry(pairing, *task, event);
	return 0;
}

void traps_pairing_lost(struct traps_pairing *pairing, uint64_t ts)
{
	pairing->lost = ts;
	pairing->any_lost = true;
}

static void drop_tasks(struct traps_pairing *pairing, bool call)
{
	struct task *task;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		while ((task = pairing->tasks[i])) {
			if (call)
				close_open(pairing, task, 0);
			pairing->tasks[i] = task->next;
			free(task);
		}
	}
}

void traps_pairing_end(struct traps_pairing *pairing)
{
	drop_tasks(pairing, true);
	pairing->any_lost = false;
}

void traps_pairing_free(struct traps_pairing *pairing)
{
	if (pairing)
		drop_tasks(pairing, false);
	free(pairing);
}

void traps_pairing_open(struct traps_pairing *pairing, pid_t pid, unsigned int cpu,
			void (*call)(struct traps_event *entry, void *arg), void *arg)
{
	struct task *task = *find_task(pairing, task_id(pid, cpu));
	unsigned int i;

	for (i = 0; task && i < task->nr_open; i++)
		call(&task->open[i], arg);
}
