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
	uint64_t		first, last;	/* times of the first and last exception */
	uint64_t		lost;
};

#define STACK_DEPTH	8	/* ftrace's */

/* A page fault without an exception, mm_fault, has no vector, error code, ip and event data. */
struct exception {
	uint64_t	ts;
	unsigned int	cpu;
	pid_t		pid;
	const char	*comm;
	bool		is_exit;
	bool		counts;		/* only one event of a pair counts */
	bool		user_mode;
	unsigned int	vector;
	uint64_t	error_code;
	uint64_t	ip;
	uint64_t	address;	/* page faults only */
	bool		no_exception;
	bool		remote;		/* mm_fault of another process's address space */
	uint64_t	event_data;	/* all others */
	/* exits only */
	unsigned int	result;
	unsigned int	flags;
	uint64_t	duration;
};

/* All functions except the first may be NULL. */
struct reader {
	void (*exception)(const struct exception *e);
	void (*mm_fault)(const struct exception *e);
	/* of the page fault that ended at @ts */
	void (*user_stack)(uint64_t ts, unsigned int cpu, const uint64_t *callers, size_t nr);
	void (*sched_switch)(uint64_t ts, unsigned int cpu, pid_t next);
	void (*missed)(uint64_t ts, unsigned int cpu);
	void (*buffer_end)(void);
};

void recording_open(struct recording *recording, const char *name);
uint64_t recording_first(struct recording *recording);
void recording_read(struct recording *recording, const struct reader *reader);
void recording_close(struct recording *recording);

#endif
