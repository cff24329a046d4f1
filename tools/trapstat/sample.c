// SPDX-License-Identifier: GPL-2.0
/*
 * sample.c - collects what was counted in an interval, a run or a recording
 */
#include <stdlib.h>
#include <string.h>
#include "trapstat.h"

struct outcome *sample_outcome(struct sample *sample, unsigned int vector, unsigned int result)
{
	struct outcomes *all = &sample->outcomes;
	size_t i;

	for (i = 0; i < all->nr; i++) {
		if (all->outcome[i].vector == vector && all->outcome[i].result == result)
			return &all->outcome[i];
	}
	all->outcome = allocate(all->outcome, ++all->nr * sizeof(*all->outcome));
	all->outcome[i] = (struct outcome){ .vector = vector, .result = result };
	return &all->outcome[i];
}

/* @row: of a task (by -g), a page or an instruction */
void sample_add_line(struct sample *sample, enum table table, const struct row *row)
{
	struct line line = { .vector = row->vector, .kind = "", .count = row->count,
			     .sum = row->sum };

	if (table == ADDRESSES) {
		line.name = name_of_page(row, &line.kind);
	} else if (table == FROM) {
		line.name = symbol_of_ip(row);
	} else if (options.group == CGROUP) {
		line.name = task_cgroup(row->value);
	} else if (options.group == USER) {
		line.id = row->pid;
		line.name = task_user(row->pid);
	} else {
		line.id = options.group == COMMAND ? 0 : row->pid;
		line.name = print_string("%s", row->comm);
	}
	lines_add(&sample->lines[table], &line);
}

static void add_lines(struct lines *to, const struct lines *from)
{
	struct line **line = lines_sorted(from, NULL), copy;
	size_t i;

	for (i = 0; i < from->nr; i++) {
		copy = *line[i];
		copy.name = print_string("%s", copy.name);
		lines_add(to, &copy);
	}
	to->others += from->others;
	to->nr_others += from->nr_others;
	free(line);
}

void sample_add(struct sample *to, const struct sample *from)
{
	const struct outcome *more;
	struct outcome *sum;
	unsigned int i;
	size_t n;

	for (i = 0; i < TABLES; i++) {
		for (n = 0; n < from->rows[i].nr; n++)
			rows_add(&to->rows[i], &from->rows[i].row[n]);
		add_lines(&to->lines[i], &from->lines[i]);
		to->missing[i] += from->missing[i];
		to->twice[i] += from->twice[i];
	}
	for (n = 0; n < from->outcomes.nr; n++) {
		more = &from->outcomes.outcome[n];
		sum = sample_outcome(to, more->vector, more->result);
		sum->count += more->count;
		sum->user += more->user;
		sum->waited += more->waited;
		sum->ran += more->ran;
		for (i = 0; i < FLAGS; i++)
			sum->flag[i] += more->flag[i];
		if (more->longest > sum->longest)
			sum->longest = more->longest;
	}
	to->uncounted += from->uncounted;
	to->lost_tasks += from->lost_tasks;
}

static int compare_outcomes(const void *a, const void *b)
{
	const struct outcome *x = a, *y = b;

	if (x->vector != y->vector)
		return x->vector < y->vector ? -1 : 1;
	return x->result < y->result ? -1 : 1;
}

/* What print_text() and others expect: all in order, each once. */
void sample_merge(struct sample *sample)
{
	unsigned int i;

	for (i = 0; i < TABLES; i++)
		rows_merge(&sample->rows[i]);
	if (sample->outcomes.nr)
		qsort(sample->outcomes.outcome, sample->outcomes.nr,
		      sizeof(struct outcome), compare_outcomes);
}

void sample_free(struct sample *sample)
{
	unsigned int i;

	for (i = 0; i < TABLES; i++) {
		rows_free(&sample->rows[i]);
		lines_free(&sample->lines[i]);
	}
	free(sample->outcomes.outcome);
	memset(sample, 0, sizeof(*sample));
}
