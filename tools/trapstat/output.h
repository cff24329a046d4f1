/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - what tables and JSON have in common
 */
#ifndef TRAPSTAT_OUTPUT_H
#define TRAPSTAT_OUTPUT_H

#include "recording.h"

struct durations {
	uint64_t	count;
	uint64_t	sum;
	uint64_t	p50;	/* this and the next two are upper bounds */
	uint64_t	p99;
	uint64_t	max;
};

/* Rows with the same name, added up. */
struct line {
	unsigned int	vector;
	const char	*kind;
	char		*name;
	uint64_t	count;
};

/* A page fault, and its names */
struct fault {
	uint64_t	duration;
	uint64_t	address;
	unsigned int	result;
	unsigned int	flags;
	struct row	row;		/* its task and ip */
	bool		no_exception;
	bool		remote;
	uint64_t	ts;
	unsigned int	cpu;
	uint64_t	callers[STACK_DEPTH];
	size_t		nr_callers;
	const char	*kind;
	char		*at;
	char		*by;
	char		*stack[STACK_DEPTH];	/* callers */
	char		*flag_names;
	char		*error_names;
	uint64_t	error_code;
	/* With sched_switch: the time without a CPU, and the functions of the longest one */
	uint64_t	slept;
	uint64_t	preempted;
	uint64_t	waits[STACK_DEPTH];
	size_t		nr_waits;
	char		*waited_in;	/* NULL: not recorded */
};

/* The page faults of a task, and their time */
struct task_time {
	pid_t		pid;
	const char	*comm;
	uint64_t	count;
	uint64_t	total;
	uint64_t	sleeping;	/* without sched_switch: of those that slept */
	uint64_t	preempted;	/* ... of the others that were preempted */
	uint64_t	running;
};

/* output.c */
extern const char * const table_names[];

/* summary.c */
size_t vector_end(const struct rows *rows, size_t begin);
uint64_t sum_counts(const struct row *row, size_t nr, unsigned int cpu);
void each_duration(const struct sample *sample,
		   void (*call)(const struct sample *sample, unsigned int vector,
				unsigned int result, const struct durations *d));
struct row **top_tasks(const struct rows *rows, size_t *nr);
const struct row *end_of(const struct rows *rows);
struct line *top_lines(const struct sample *sample, enum table table, size_t *nr);
void free_lines(struct line *lines, size_t nr);

/* worst.c */
bool worst_knows_switches(void);
void each_worst(void (*call)(const struct fault *fault, bool first));
struct task_time *top_times(const struct rows *rows, size_t *nr);

/* text.c, json.c */
void print_text(struct sample *sample);
void print_json(struct sample *sample);

#endif
