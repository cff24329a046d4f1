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

/* One of the four events. */
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
	uint64_t	event_data;	/* all others */
	/* exits only */
	unsigned int	result;
	unsigned int	flags;
	uint64_t	duration;
};

/* All functions except the first may be NULL. */
struct reader {
	void (*exception)(const struct exception *e);
	void (*sched_switch)(uint64_t ts, unsigned int cpu, pid_t next);
	void (*missed)(uint64_t ts, unsigned int cpu);
	void (*buffer_end)(void);
};

void recording_open(struct recording *recording, const char *name);
uint64_t recording_first(struct recording *recording);
void recording_read(struct recording *recording, const struct reader *reader);
void recording_close(struct recording *recording);

#endif
