/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recording.h - the exceptions in a recording of trace-cmd
 */
#ifndef TRAPSTAT_RECORDING_H
#define TRAPSTAT_RECORDING_H

#include "trapstat.h"

struct recording {
	const char		*name;
	struct tracecmd_input	*handle;
	uint64_t		first, last;	/* times of the first and last event */
	uint64_t		lost;
	char			*host, *kernel;	/* NULL: not recorded */
	const char		*arch;		/* of the kernel */
};

/* Times may be dates, in ns since 1970: from 2001 on, longer than any uptime. */
static inline bool is_date(uint64_t ts)
{
	return ts > 1000000000000000000ULL;
}

#define STACK_DEPTH	16

struct task_switch {
	uint64_t	ts;
	unsigned int	cpu;
	pid_t		prev, next;
	bool		preempted;	/* prev could have run on */
	uint64_t	prev_state;
	int		prev_prio, next_prio;
	char		prev_comm[COMM_LEN], next_comm[COMM_LEN];
};

struct task_waking {
	uint64_t	ts;
	unsigned int	cpu, target_cpu;
	pid_t		waker, pid;
	int		prio;
	char		comm[COMM_LEN];
};

/* All functions except the first may be NULL. */
struct reader {
	void (*event)(const struct traps_event *e);
	/* of the page fault that ended at @ts */
	void (*user_stack)(uint64_t ts, unsigned int cpu, const uint64_t *callers, size_t nr);
	void (*sched_switch)(const struct task_switch *s);
	void (*sched_waking)(const struct task_waking *w);
	void (*kernel_stack)(pid_t pid, const uint64_t *callers, size_t nr);
	void (*missed)(uint64_t ts, unsigned int cpu);
	void (*buffer_end)(void);
};

void recording_open(struct recording *recording, const char *name);
uint64_t recording_first(struct recording *recording);
void recording_read(struct recording *recording, const struct reader *reader);
void recording_close(struct recording *recording);

/* The name of a task in what is being read */
const char *recording_comm(pid_t pid);

#endif
