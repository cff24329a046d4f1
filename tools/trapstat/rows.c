// SPDX-License-Identifier: GPL-2.0
/*
 * rows.c - collects the rows of a table, merges those of the same key, subtracts
 */
#include <stdlib.h>
#include <string.h>
#include "trapstat.h"

#define COMPARE(x, y)	(((x) > (y)) - ((x) < (y)))

static int compare_keys(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int ret;

	ret = COMPARE(x->vector, y->vector);
	if (!ret)
		ret = COMPARE(x->result, y->result);
	if (!ret)
		ret = COMPARE(x->cpu, y->cpu);
	if (!ret)
		ret = COMPARE(x->pid, y->pid);
	if (!ret)
		ret = COMPARE(x->kernel, y->kernel);
	if (!ret)
		ret = COMPARE(x->value, y->value);
	return ret;
}

/* Merges when the memory is used up, so that the single events of a file become few rows. */
void rows_add(struct rows *rows, const struct row *row)
{
	if (rows->nr == rows->size) {
		rows_merge(rows);
		if (rows->nr * 2 > rows->size || !rows->size) {
			rows->size = rows->size ? 2 * rows->size : 64;
			rows->row = allocate(rows->row, rows->size * sizeof(*rows->row));
		}
	}
	rows->row[rows->nr++] = *row;
}

void rows_merge(struct rows *rows)
{
	struct row *last;
	size_t i;

	if (!rows->nr)
		return;
	qsort(rows->row, rows->nr, sizeof(*rows->row), compare_keys);
	last = rows->row;
	for (i = 1; i < rows->nr; i++) {
		if (compare_keys(last, &rows->row[i])) {
			*++last = rows->row[i];
		} else {
			last->count += rows->row[i].count;
			last->sum += rows->row[i].sum;
			memcpy(last->comm, rows->row[i].comm, COMM_LEN);
		}
	}
	rows->nr = last - rows->row + 1;
}

/* Both must be merged. Rows that have not changed are left out. */
void rows_subtract(struct rows *rows, const struct rows *before)
{
	struct row *row, *to = rows->row, *end = rows->row + rows->nr;
	const struct row *old = before->row, *old_end = before->row + before->nr;

	for (row = rows->row; row < end; row++) {
		while (old < old_end && compare_keys(old, row) < 0)
			old++;
		if (old < old_end && !compare_keys(old, row)) {
			row->count -= old->count;
			row->sum -= old->sum;
		}
		if (row->count)
			*to++ = *row;
	}
	rows->nr = to - rows->row;
}

void rows_free(struct rows *rows)
{
	free(rows->row);
	memset(rows, 0, sizeof(*rows));
}
