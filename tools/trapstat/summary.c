// SPDX-License-Identifier: GPL-2.0
/*
 * summary.c - computes what is shown from the rows of a sample
 */
#include <stdlib.h>
#include <string.h>
#include "output.h"

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

static int compare_value(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/*
 * An upper bound of the @rank-th smallest duration of a bucket (@rank begins at 1). The
 * smaller durations are at least the bucket's lowest value; the rest of the sum is shared
 * by this duration and those that are at least as long.
 */
static uint64_t bound(const struct row *bucket, unsigned long buckets, uint64_t rank)
{
	uint64_t low = bucket_low(buckets, bucket->value), most;

	most = (bucket->sum - (rank - 1) * low) / (bucket->count - rank + 1);
	return most < bucket->value ? most : bucket->value;
}

/* @row: rows of the same exception, sorted by duration */
static uint64_t percentile(const struct row *row, size_t nr, unsigned long buckets,
			   uint64_t rank)
{
	for (; nr && rank > row->count; nr--, row++)
		rank -= row->count;
	return nr ? bound(row, buckets, rank) : 0;
}

static void get_durations(const struct row *rows, size_t nr, unsigned long buckets,
			  struct durations *d)
{
	struct rows sorted = { };
	size_t i;

	memset(d, 0, sizeof(*d));
	/* all results have the same buckets, so their counts and sums add up */
	for (i = 0; i < nr; i++) {
		struct row row = rows[i];

		row.result = ALL_RESULTS;
		rows_add(&sorted, &row);
		d->count += row.count;
		d->sum += row.sum;
	}
	rows_merge(&sorted);
	qsort(sorted.row, sorted.nr, sizeof(*sorted.row), compare_value);
	d->p50 = percentile(sorted.row, sorted.nr, buckets, (d->count + 1) / 2);
	d->p99 = percentile(sorted.row, sorted.nr, buckets, d->count - d->count / 100);
	d->max = percentile(sorted.row, sorted.nr, buckets, d->count);
	rows_free(&sorted);
}

/* Call @call for all rows of each vector, and for those of each of its results. */
void each_duration(const struct sample *sample,
		   void (*call)(const struct sample *sample, unsigned int vector,
				unsigned int result, const struct durations *d))
{
	const struct rows *rows = &sample->table[LATENCY];
	size_t begin, end, from, to;
	struct durations d;

	for (begin = 0; begin < rows->nr; begin = end) {
		end = vector_end(rows, begin);
		get_durations(&rows->row[begin], end - begin, sample->buckets, &d);
		call(sample, rows->row[begin].vector, ALL_RESULTS, &d);
		for (from = begin; from < end; from = to) {
			for (to = from; to < end; to++) {
				if (rows->row[to].result != rows->row[from].result)
					break;
			}
			get_durations(&rows->row[from], to - from, sample->buckets, &d);
			call(sample, rows->row[from].vector, rows->row[from].result, &d);
		}
	}
}

static int compare_pid(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->vector > y->vector) - (x->vector < y->vector);
}

/* Sort by count, then by what does not change from run to run. */
static int compare_task(const void *a, const void *b)
{
	const struct row *x = *(const struct row * const *)a;
	const struct row *y = *(const struct row * const *)b;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return compare_pid(x, y);
}

/*
 * Groups the rows of TASKS by pid. Returns the first row of each group, those with the
 * most exceptions first; its sum is the count of the group.
 */
struct row **top_tasks(const struct rows *rows, size_t *nr)
{
	struct row **first = allocate(NULL, (rows->nr + 1) * sizeof(*first));
	size_t i;

	*nr = 0;
	if (rows->nr)
		qsort(rows->row, rows->nr, sizeof(*rows->row), compare_pid);
	for (i = 0; i < rows->nr; i++) {
		if (!i || rows->row[i].pid != rows->row[i - 1].pid) {
			first[(*nr)++] = &rows->row[i];
			rows->row[i].sum = 0;
		}
		first[*nr - 1]->sum += rows->row[i].count;
	}
	qsort(first, *nr, sizeof(*first), compare_task);
	if (*nr > options.top)
		*nr = options.top;
	return first;
}

const struct row *end_of(const struct rows *rows)
{
	return rows->row + rows->nr;
}

static int compare_name(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->vector != y->vector)
		return x->vector < y->vector ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return compare_name(a, b);
}

/* The rows of ADDRESSES or FROM, added up by name, the most frequent first. */
struct line *top_lines(const struct sample *sample, enum table table, size_t *nr)
{
	const struct rows *rows = &sample->table[table];
	struct line *lines = allocate(NULL, (rows->nr + 1) * sizeof(*lines)), *last = lines;
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		lines[i].vector = rows->row[i].vector;
		lines[i].count = rows->row[i].count;
		lines[i].kind = "";
		if (table == ADDRESSES)
			lines[i].name = name_of_page(&rows->row[i], &lines[i].kind);
		else
			lines[i].name = symbol_of_ip(&rows->row[i]);
	}
	qsort(lines, rows->nr, sizeof(*lines), compare_name);
	for (i = 1; i < rows->nr; i++) {
		if (compare_name(last, &lines[i])) {
			*++last = lines[i];
		} else {
			last->count += lines[i].count;
			free(lines[i].name);
		}
	}
	*nr = rows->nr ? last - lines + 1 : 0;
	qsort(lines, *nr, sizeof(*lines), compare_line);
	while (*nr > options.top)
		free(lines[--*nr].name);
	return lines;
}

void free_lines(struct line *lines, size_t nr)
{
	while (nr)
		free(lines[--nr].name);
	free(lines);
}

