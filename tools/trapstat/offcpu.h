/* SPDX-License-Identifier: GPL-2.0 */
/*
 * offcpu.h - when tasks had no CPU
 */
#ifndef TRAPSTAT_OFFCPU_H
#define TRAPSTAT_OFFCPU_H

#include "recording.h"

struct period {
	uint64_t	from;
	uint64_t	to;		/* 0: has not ended */
	bool		preempted;	/* the task could have run on */
	size_t		nr_callers;
	uint64_t	*callers;
};

struct offcpu {
	uint64_t		slept;
	uint64_t		preempted;
	const struct period	*longest;
};

void offcpu_switch(const struct task_switch *s);
void offcpu_stack(pid_t pid, const uint64_t *callers, size_t nr);
struct offcpu offcpu_between(pid_t pid, uint64_t from, uint64_t to);
void offcpu_forget(pid_t pid);
void offcpu_restart(void);

#endif
