// SPDX-License-Identifier: GPL-2.0
/*
 * offcpu.c - when tasks had no CPU, from sched_switch, and the kernel's stack then
 */
#include <stdlib.h>
#include <string.h>
#include "offcpu.h"

#define HASH	1024
#define PERIODS	16384	/* of a task, which may never be in user mode */

struct task {
	pid_t		pid;
	size_t		nr, size;
	struct period	*period;	/* the last one may not have ended */
	struct task	*next;
};

static struct task *tasks[HASH];

/* Of a damaged file, a PID may be negative. */
static struct task **list_of(pid_t pid)
{
	return &tasks[(unsigned int)pid % HASH];
}

static struct task *find_task(pid_t pid)
{
	struct task *task = *list_of(pid);

	while (task && task->pid != pid)
		task = task->next;
	return task;
}

static struct task *get_task(pid_t pid)
{
	struct task *task = find_task(pid);

	if (task)
		return task;
	task = allocate(NULL, sizeof(*task));
	*task = (struct task){ .pid = pid };
	task->next = *list_of(pid);
	*list_of(pid) = task;
	return task;
}

static void forget_periods(struct task *task, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		free(task->period[i].callers);
	task->nr -= nr;
	memmove(task->period, task->period + nr, task->nr * sizeof(*task->period));
}

/* The idle tasks have pid 0. */
void offcpu_switch(const struct task_switch *s)
{
	struct period *period;
	struct task *task;

	if (s->prev) {
		task = get_task(s->prev);
		if (task->nr == PERIODS)
			forget_periods(task, PERIODS / 2);
		if (task->nr == task->size) {
			task->size = task->size ? 2 * task->size : 16;
			task->period = allocate(task->period, task->size * sizeof(*period));
		}
		task->period[task->nr++] = (struct period){
			.from = s->ts, .preempted = s->preempted,
		};
	}
	task = s->next ? find_task(s->next) : NULL;
	if (!task || !task->nr)
		return;
	period = &task->period[task->nr - 1];
	if (!period->to)
		period->to = s->ts;
}

/*
 * The first stack after a switch is the switch's. Recording the user's stack in between
 * may raise a page fault, which is recorded, too.
 */
void offcpu_stack(pid_t pid, const uint64_t *callers, size_t nr)
{
	struct task *task = find_task(pid);
	struct period *period;

	if (!task || !task->nr)
		return;
	period = &task->period[task->nr - 1];
	if (period->to || period->nr_callers)
		return;
	period->callers = allocate(NULL, nr * sizeof(*callers));
	memcpy(period->callers, callers, nr * sizeof(*callers));
	period->nr_callers = nr;
}

/* What a task lost between two times; the longest period is valid until its next switch. */
struct offcpu offcpu_between(pid_t pid, uint64_t from, uint64_t to)
{
	const struct task *task = find_task(pid);
	const struct period *period;
	struct offcpu lost = { };
	uint64_t begin, end, longest = 0;
	size_t i;

	for (i = task ? task->nr : 0; i; i--) {
		period = &task->period[i - 1];
		/* The task runs now: this one has just begun, or its end is lost. */
		if (!period->to)
			continue;
		end = period->to < to ? period->to : to;
		begin = period->from > from ? period->from : from;
		if (end <= begin)
			break;
		if (period->preempted)
			lost.preempted += end - begin;
		else
			lost.slept += end - begin;
		if (end - begin > longest) {
			longest = end - begin;
			lost.longest = period;
		}
	}
	return lost;
}

/* The task was in user mode: what is asked for later begins later. */
void offcpu_forget(pid_t pid)
{
	struct task *task = find_task(pid);

	if (task)
		forget_periods(task, task->nr);
}

void offcpu_restart(void)
{
	struct task *task;
	unsigned int i;

	for (i = 0; i < HASH; i++) {
		while ((task = tasks[i])) {
			tasks[i] = task->next;
			forget_periods(task, task->nr);
			free(task->period);
			free(task);
		}
	}
}
