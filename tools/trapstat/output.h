/* SPDX-License-Identifier: GPL-2.0 */
/*
 * output.h - what tables and JSON have in common
 */
#ifndef TRAPSTAT_OUTPUT_H
#define TRAPSTAT_OUTPUT_H

#include <stdio.h>
#include "recording.h"

/* Percentiles are upper bounds: the highest duration of a bucket */
struct durations {
	uint64_t	count;
	uint64_t	sum;
	uint64_t	p50;
	uint64_t	p90;
	uint64_t	p99;
	uint64_t	p999;
	uint64_t	max;
	struct rows	buckets;
};

typedef void (*show_durations)(const struct sample *sample, unsigned int vector,
			       unsigned int result, const struct durations *d);

/* What a task has raised, a line for each vector */
struct task_lines {
	struct line	**line;
	size_t		nr;
	uint64_t	count;
	uint64_t	sum;
};

/* A page fault, and its names */
struct fault {
	uint64_t	duration;
	uint64_t	address;
	unsigned int	result;		/* TRAPS_OUTCOME() */
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
int note_incomplete(const struct sample *sample, const bool *tables);

/* summary.c */
size_t vector_end(const struct rows *rows, size_t begin);
uint64_t sum_counts(const struct row *row, size_t nr, unsigned int cpu);
struct outcome outcome_of(const struct sample *sample, unsigned int vector, unsigned int result);
void each_duration(const struct sample *sample, show_durations call);
struct task_lines *top_tasks(const struct lines *lines, struct line ***sorted, size_t *nr);
struct line **top_lines(const struct lines *lines, size_t *nr);

/* worst.c */
bool worst_knows_switches(void);
void each_worst(void (*call)(const struct fault *fault));
struct task_time *top_times(const struct rows *rows, size_t *nr);

/* text.c, json.c */
struct libscols_table;

void print_source(const struct sample *sample, FILE *to);
void print_time(const struct sample *sample, FILE *to);
void print_tables(const struct sample *sample, const bool *tables, bool bars, FILE *to,
		  void (*change)(struct libscols_table *table));
void print_text(const struct sample *sample);
void print_json(const struct sample *sample);

#endif
