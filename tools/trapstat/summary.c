// SPDX-License-Identifier: GPL-2.0
/*
 * summary.c - computes what is shown from a sample
 */
#include <stdlib.h>
#include <string.h>
#include "output.h"

#define COMPARE(x, y)	(((x) > (y)) - ((x) < (y)))

/* Returns the end of the rows that have the same vector as the row at @begin. */
size_t vector_end(const struct rows *rows, size_t begin)
{
	size_t end = begin;

	while (end < rows->nr && rows->row[end].vector == rows->row[begin].vector)
		end++;
	return end;
}

uint64_t sum_counts(const struct row *row, size_t nr, unsigned int cpu)
{
	uint64_t sum = 0;

	for (; nr; nr--, row++)
		sum += cpu == UINT_MAX || row->cpu == cpu ? row->count : 0;
	return sum;
}

/* The outcomes of a vector added up, or one of them; all 0 if there is none. */
struct outcome outcome_of(const struct sample *sample, unsigned int vector, unsigned int result)
{
	struct outcome sum = { .vector = vector, .result = result };
	const struct outcomes *all = &sample->outcomes;
	const struct outcome *one;
	unsigned int i;

	for (one = all->outcome; one < all->outcome + all->nr; one++) {
		if (one->vector != vector || (result != ALL_RESULTS && one->result != result))
			continue;
		sum.count += one->count;
		sum.user += one->user;
		sum.waited += one->waited;
		sum.ran += one->ran;
		for (i = 0; i < FLAGS; i++)
			sum.flag[i] += one->flag[i];
		if (one->longest > sum.longest)
			sum.longest = one->longest;
	}
	return sum;
}

static int compare_value(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return COMPARE(x->value, y->value);
}

/*
 * The highest duration of the bucket that has the @rank-th smallest one, which begins at 1;
 * @longest if the bucket has no end
 */
static uint64_t percentile(const struct rows *buckets, uint64_t rank, uint64_t longest)
{
	size_t i = 0;

	while (i + 1 < buckets->nr && rank > buckets->row[i].count)
		rank -= buckets->row[i++].count;
	if (!buckets->nr)
		return 0;
	return buckets->row[i].value == UINT64_MAX ? longest : buckets->row[i].value;
}

static void call_durations(const struct sample *sample, const struct row *row, size_t nr,
			   unsigned int result, show_durations call)
{
	struct outcome outcome = outcome_of(sample, row->vector, result);
	struct durations d = { .sum = outcome.ran + outcome.waited };
	struct row one;
	size_t i;

	for (i = 0; i < nr; i++) {
		one = row[i];
		one.result = result;
		rows_add(&d.buckets, &one);
		d.count += one.count;
	}
	rows_merge(&d.buckets);
	qsort(d.buckets.row, d.buckets.nr, sizeof(*d.buckets.row), compare_value);
	d.p50 = percentile(&d.buckets, (d.count + 1) / 2, outcome.longest);
	d.p90 = percentile(&d.buckets, d.count - d.count / 10, outcome.longest);
	d.p99 = percentile(&d.buckets, d.count - d.count / 100, outcome.longest);
	d.p999 = percentile(&d.buckets, d.count - d.count / 1000, outcome.longest);
	d.max = percentile(&d.buckets, d.count, outcome.longest);
	call(sample, row->vector, result, &d);
	rows_free(&d.buckets);
}

/* Call @call for all rows of each vector, and for those of each of its results. */
void each_duration(const struct sample *sample, show_durations call)
{
	const struct rows *rows = &sample->rows[LATENCY];
	size_t begin, end, from, to;

	for (begin = 0; begin < rows->nr; begin = end) {
		end = vector_end(rows, begin);
		call_durations(sample, &rows->row[begin], end - begin, ALL_RESULTS, call);
		for (from = begin; from < end; from = to) {
			for (to = from; to < end; to++) {
				if (rows->row[to].result != rows->row[from].result)
					break;
			}
			call_durations(sample, &rows->row[from], to - from,
				       rows->row[from].result, call);
		}
	}
}

static int compare_owner(const struct line *x, const struct line *y)
{
	return COMPARE(x->id, y->id) ?: strcmp(x->name, y->name);
}

static int compare_task_line(const void *a, const void *b)
{
	const struct line *x = *(const struct line * const *)a;
	const struct line *y = *(const struct line * const *)b;

	return compare_owner(x, y) ?: COMPARE(x->vector, y->vector);
}

static int compare_task(const void *a, const void *b)
{
	const struct task_lines *x = a, *y = b;

	return COMPARE(y->count, x->count) ?: compare_owner(*x->line, *y->line);
}

/* The lines of TASKS by task, those with the most exceptions first; both to be freed */
struct task_lines *top_tasks(const struct lines *lines, struct line ***sorted, size_t *nr)
{
	struct task_lines *tasks = allocate(NULL, (lines->nr + 1) * sizeof(*tasks)), *task;
	struct line **line = lines_sorted(lines, compare_task_line);
	size_t i;

	*nr = 0;
	for (i = 0; i < lines->nr; i++) {
		if (!i || compare_owner(line[i], line[i - 1]))
			tasks[(*nr)++] = (struct task_lines){ .line = &line[i] };
		task = &tasks[*nr - 1];
		task->nr++;
		task->count += line[i]->count;
		task->sum += line[i]->sum;
	}
	qsort(tasks, *nr, sizeof(*tasks), compare_task);
	if (*nr > options.top)
		*nr = options.top;
	*sorted = line;
	return tasks;
}

static int compare_line(const void *a, const void *b)
{
	const struct line *x = *(const struct line * const *)a;
	const struct line *y = *(const struct line * const *)b;

	return COMPARE(y->count, x->count) ?: COMPARE(x->vector, y->vector) ?:
	       strcmp(x->name, y->name);
}

/* The most frequent lines of ADDRESSES or FROM, to be freed */
struct line **top_lines(const struct lines *lines, size_t *nr)
{
	*nr = lines->nr < options.top ? lines->nr : options.top;
	return lines_sorted(lines, compare_line);
}
