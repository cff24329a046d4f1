// SPDX-License-Identifier: GPL-2.0
/*
 * lines.c - counts by name; keeps the heaviest
 *
 * There are at most as many lines as -S says: when there are more, the lighter half is left
 * out, and its exceptions are among the others. So a line that is left out and comes again
 * lacks what it had.
 *
 * Those for Prometheus must not lose anything, nor count it twice, however many servers ask and
 * when. So a line is left out only if all have seen its last count, and if there is none, a new
 * one is counted as "other". Those of an interval have not been seen; of these, only lines that
 * are new to what they are added to need room.
 */
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "trapstat.h"

#define COMPARE(x, y)	(((x) > (y)) - ((x) < (y)))
#define OTHER		"other"
#define SEEN		300	/* s: by then, as Prometheus itself forgets what is older */

static int compare_key(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int ret = COMPARE(x->id, y->id);

	if (!ret)
		ret = COMPARE(x->vector, y->vector);
	if (!ret)
		ret = strcmp(x->kind, y->kind);
	if (!ret)
		ret = strcmp(x->name, y->name);
	return ret;
}

static int compare_count(const void *a, const void *b)
{
	const struct line *x = *(const struct line * const *)a;
	const struct line *y = *(const struct line * const *)b;

	return COMPARE(y->count, x->count) ?: compare_key(x, y);
}

static void free_line(void *line)
{
	free(((struct line *)line)->name);
	free(line);
}

static void leave_out_half(struct lines *lines)
{
	struct line **line = lines_sorted(lines, compare_count);
	size_t i, nr = lines->nr, keep = nr / 2;

	for (i = keep; i < nr; i++) {
		lines->others += line[i]->count;
		lines->nr_others++;
		tdelete(line[i], &lines->tree, compare_key);
	}
	lines->nr = keep;
	for (i = keep; i < nr; i++)
		free_line(line[i]);
	free(line);
}

static void leave_out_seen(struct lines *lines)
{
	struct line **line = lines_sorted(lines, NULL);
	size_t i, nr = lines->nr;

	lines->next_seen = HUGE_VAL;
	for (i = 0; i < nr; i++) {
		if (line[i]->changed + SEEN <= clock_now()) {
			tdelete(line[i], &lines->tree, compare_key);
			lines->nr--;
			free_line(line[i]);
		} else if (line[i]->changed + SEEN < lines->next_seen) {
			lines->next_seen = line[i]->changed + SEEN;
		}
	}
	free(line);
}

static void make_room(struct lines *lines, struct line *new)
{
	if (!lines->known && clock_now() >= lines->next_seen)
		leave_out_seen(lines);
	if (lines->nr <= options.entries || !strcmp(new->name, OTHER) ||
	    (lines->known && tfind(new, &lines->known->tree, compare_key)))
		return;
	tdelete(new, &lines->tree, compare_key);
	lines->nr--;
	free(new->name);
	new->name = print_string(OTHER);
	lines_add(lines, new);
	free(new);
}

/* Takes over the name. */
void lines_add(struct lines *lines, const struct line *line)
{
	struct line *new = allocate(NULL, sizeof(*new)), *old;
	void *found;

	*new = *line;
	new->changed = options.metrics ? clock_now() : 0;
	found = tsearch(new, &lines->tree, compare_key);
	if (!found)
		die("out of memory");
	old = *(struct line **)found;
	if (old == new) {
		if (++lines->nr > options.entries && options.metrics)
			make_room(lines, new);
		else if (lines->nr > options.entries)
			leave_out_half(lines);
		return;
	}
	old->count += line->count;
	old->sum += line->sum;
	old->changed = new->changed;
	free(old->name);
	old->name = line->name;
	free(new);
}

static void collect(const void *node, VISIT visit, void *to)
{
	struct line ***next = to;

	if (visit == postorder || visit == leaf)
		*(*next)++ = *(struct line * const *)node;
}

/* The lines in the order of @compare (NULL: by id or name, vectors together), to be freed. */
struct line **lines_sorted(const struct lines *lines,
			   int (*compare)(const void *a, const void *b))
{
	struct line **sorted = allocate(NULL, (lines->nr + 1) * sizeof(*sorted)), **next = sorted;

	twalk_r(lines->tree, collect, &next);
	if (compare && lines->nr)
		qsort(sorted, lines->nr, sizeof(*sorted), compare);
	return sorted;
}

void lines_free(struct lines *lines)
{
	tdestroy(lines->tree, free_line);
	memset(lines, 0, sizeof(*lines));
}
