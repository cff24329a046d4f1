// SPDX-License-Identifier: GPL-2.0
/*
 * output.c - a sample as tables, or as a line of JSON
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "trapstat.h"

#define CPU_WIDTH	10
#define NAME_WIDTH	26	/* vector, name and total, up to the first CPU */

struct durations {
	uint64_t	count;
	uint64_t	sum;
	uint64_t	p50;	/* at most */
	uint64_t	p99;
	uint64_t	max;
};

/* What several rows are called alike. */
struct line {
	unsigned int	vector;
	const char	*kind;
	char		*name;
	uint64_t	count;
};

static const char * const table_names[] = {
	[BY_CPU] = "vectors", [LATENCY] = "latencies", [TASKS] = "tasks",
	[ADDRESSES] = "addresses", [FROM] = "from",
};

/* 0: not a terminal */
static unsigned int terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

void output_check_width(void)
{
	static const unsigned int needed[TABLES] = {
		[BY_CPU] = NAME_WIDTH + CPU_WIDTH, [LATENCY] = 70, [TASKS] = 50,
		[ADDRESSES] = 50, [FROM] = 50,
	};
	unsigned int width = terminal_width(), i;

	for (i = 0; width && !options.json && i < TABLES; i++) {
		if (options.table[i] && width < needed[i])
			die("the terminal has %u columns, this needs %u: make it wider or use --json",
			    width, needed[i]);
	}
}

static void print_count(const struct sample *sample, int width, uint64_t count)
{
	double rate = count / sample->seconds;

	if (sample->rates)
		printf("%*.*f", width, count && rate < 9.95 ? 1 : 0, rate);
	else
		printf("%*" PRIu64, width, count);
}

static const char *count_title(const struct sample *sample)
{
	return sample->rates ? "per second" : "count";
}

/* [@begin, the return value) are the rows of the vector at @begin. */
static size_t vector_end(const struct rows *rows, size_t begin)
{
	size_t end = begin;

	while (end < rows->nr && rows->row[end].vector == rows->row[begin].vector)
		end++;
	return end;
}

static uint64_t sum_counts(const struct row *row, size_t nr, unsigned int cpu)
{
	uint64_t sum = 0;

	for (; nr; nr--, row++)
		sum += cpu == UINT_MAX || row->cpu == cpu ? row->count : 0;
	return sum;
}

/* Column widths: a host's name may be longer than a number. */
static int column_width(const struct sample *sample, unsigned int column)
{
	int len = strlen(sample->columns[column]);

	return len < CPU_WIDTH ? CPU_WIDTH : len + 1;
}

/* The columns from @first on that fit; where the next block begins. */
static unsigned int print_block(const struct sample *sample, unsigned int first)
{
	const struct rows *rows = &sample->table[BY_CPU];
	unsigned int width = terminal_width(), used = NAME_WIDTH, end, i;
	size_t begin, next;

	for (end = first; end < sample->nr_columns; end++) {
		if (!sample->columns[end])
			continue;
		used += column_width(sample, end);
		if (width && used > width && used > NAME_WIDTH + CPU_WIDTH)
			break;
	}
	printf("vct %-10s %10s |", "name", sample->rates ? "total/s" : "total");
	for (i = first; i < end; i++) {
		if (sample->columns[i])
			printf("%*s", column_width(sample, i), sample->columns[i]);
	}
	printf("\n");
	for (begin = 0; begin < rows->nr; begin = next) {
		next = vector_end(rows, begin);
		printf("%3u %-10s ", rows->row[begin].vector, vector_name(rows->row[begin].vector));
		print_count(sample, 10, sum_counts(&rows->row[begin], next - begin, UINT_MAX));
		printf(" |");
		for (i = first; i < end; i++) {
			if (sample->columns[i])
				print_count(sample, column_width(sample, i),
					    sum_counts(&rows->row[begin], next - begin, i));
		}
		printf("\n");
	}
	return end;
}

static void print_vectors(const struct sample *sample)
{
	unsigned int next = 0;

	do {
		next = print_block(sample, next);
	} while (next < sample->nr_columns);
}

static int compare_value(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/*
 * An upper bound of the @rank-th smallest duration of a bucket, from 1: it and those
 * above are at least as long, those below are at least as long as the bucket's lowest.
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
	/* a bucket of all results is a bucket of each: their counts and sums add up */
	for (i = 0; i < nr; i++) {
		struct row row = rows[i];

		row.result = NO_RESULT;
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

static void print_ns(uint64_t ns)
{
	static const char * const units[] = { "ns", "us", "ms", "s" };
	double value = ns;
	unsigned int unit = 0;

	while (value >= 999.95 && unit < 3) {
		value /= 1000;
		unit++;
	}
	if (unit)
		printf(" %7.1f%-2s", value, units[unit]);
	else
		printf(" %7" PRIu64 "%-2s", ns, units[0]);
}

static void print_durations(const struct sample *sample, const char *vector,
			    const char *result, const struct durations *d)
{
	printf("%-14s %-8s ", vector, result);
	print_count(sample, 10, d->count);
	print_ns(d->sum / d->count);
	print_ns(d->p50);
	print_ns(d->p99);
	print_ns(d->max);
	printf("\n");
}

/* For all of a vector's rows and, for page faults, each result's. */
static void each_duration(const struct sample *sample,
			  void (*call)(const struct sample *sample, unsigned int vector,
				       unsigned int result, const struct durations *d))
{
	const struct rows *rows = &sample->table[LATENCY];
	size_t begin, end, from, to;
	struct durations d;

	for (begin = 0; begin < rows->nr; begin = end) {
		end = vector_end(rows, begin);
		get_durations(&rows->row[begin], end - begin, sample->buckets, &d);
		call(sample, rows->row[begin].vector, NO_RESULT, &d);
		for (from = begin; from < end; from = to) {
			for (to = from; to < end; to++) {
				if (rows->row[to].result != rows->row[from].result)
					break;
			}
			if (rows->row[from].result == NO_RESULT)
				continue;
			get_durations(&rows->row[from], to - from, sample->buckets, &d);
			call(sample, rows->row[from].vector, rows->row[from].result, &d);
		}
	}
}

static void print_latency(const struct sample *sample, unsigned int vector,
			  unsigned int result, const struct durations *d)
{
	char name[32];

	snprintf(name, sizeof(name), "%3u %s", vector, vector_name(vector));
	print_durations(sample, name, result == NO_RESULT ? "" : result_name(result), d);
}

static void print_latencies(const struct sample *sample)
{
	const char *most = sample->buckets == EXACT ? "" : "<=";
	char titles[3][8];

	snprintf(titles[0], sizeof(titles[0]), "p50%s", most);
	snprintf(titles[1], sizeof(titles[1]), "p99%s", most);
	snprintf(titles[2], sizeof(titles[2]), "max%s", most);
	printf("vct %-10s %-8s %10s %9s %9s %9s %9s\n", "name", "result", count_title(sample),
	       "mean", titles[0], titles[1], titles[2]);
	each_duration(sample, print_latency);
}

static int compare_pid(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->vector > y->vector) - (x->vector < y->vector);
}

/* By count, then something that does not change from run to run. */
static int compare_task(const void *a, const void *b)
{
	const struct row *x = *(const struct row * const *)a;
	const struct row *y = *(const struct row * const *)b;

	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	return compare_pid(x, y);
}

/* The rows of TASKS in groups of a pid, the first of each in order; sum is the group's. */
static struct row **top_tasks(const struct rows *rows, size_t *nr)
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

static const struct row *end_of(const struct rows *rows)
{
	return rows->row + rows->nr;
}

static void print_tasks(const struct sample *sample)
{
	const struct rows *rows = &sample->table[TASKS];
	const struct row *row;
	struct row **task;
	size_t nr, i;

	printf("%7s %-15s %10s  vectors\n", "pid", "command", count_title(sample));
	task = top_tasks(rows, &nr);
	for (i = 0; i < nr; i++) {
		printf("%7d %-15s ", task[i]->pid, task[i]->comm);
		print_count(sample, 10, task[i]->sum);
		printf(" ");
		for (row = task[i]; row < end_of(rows) && row->pid == task[i]->pid; row++) {
			printf(" %s ", vector_name(row->vector));
			print_count(sample, 0, row->count);
		}
		printf("\n");
	}
	free(task);
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

/* The rows of ADDRESSES or FROM by name, the most frequent ones first. */
static struct line *top_lines(const struct sample *sample, enum table table, size_t *nr)
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

static void free_lines(struct line *lines, size_t nr)
{
	while (nr)
		free(lines[--nr].name);
	free(lines);
}

static void print_lines(const struct sample *sample, enum table table)
{
	unsigned int width = terminal_width();
	struct line *line;
	size_t nr, i;
	int room = width > 25 ? (int)width - 25 : INT_MAX;

	if (table == ADDRESSES)
		printf("%10s  %-11s  page at\n", count_title(sample), "in");
	else
		printf("%10s  vct %-7s  raised by\n", count_title(sample), "name");
	line = top_lines(sample, table, &nr);
	for (i = 0; i < nr; i++) {
		print_count(sample, 10, line[i].count);
		if (table == ADDRESSES)
			printf("  %-11s", line[i].kind);
		else
			printf("  %3u %-7s", line[i].vector, vector_name(line[i].vector));
		printf("  %.*s\n", room, line[i].name);
	}
	free_lines(line, nr);
}

static void print_text(struct sample *sample)
{
	if (sample->title)
		printf("%s (%.3f s):\n", sample->title, sample->seconds);
	if (options.table[BY_CPU])
		print_vectors(sample);
	if (options.table[LATENCY])
		print_latencies(sample);
	if (options.table[TASKS])
		print_tasks(sample);
	if (options.table[ADDRESSES])
		print_lines(sample, ADDRESSES);
	if (options.table[FROM])
		print_lines(sample, FROM);
	printf("\n");
}

static void json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void json_vectors(const struct sample *sample)
{
	const struct rows *rows = &sample->table[BY_CPU];
	const char *separator;
	size_t begin, end, i;

	for (begin = 0; begin < rows->nr; begin = end) {
		end = vector_end(rows, begin);
		printf("%s{\"vector\":%u,\"name\":", begin ? "," : "", rows->row[begin].vector);
		json_string(vector_name(rows->row[begin].vector));
		printf(",\"count\":%" PRIu64 ",\"columns\":{",
		       sum_counts(&rows->row[begin], end - begin, UINT_MAX));
		separator = "";
		for (i = begin; i < end; i++) {
			printf("%s", separator);
			json_string(sample->columns[rows->row[i].cpu]);
			printf(":%" PRIu64, rows->row[i].count);
			separator = ",";
		}
		printf("}}");
	}
}

static void json_latency(const struct sample *sample, unsigned int vector,
			 unsigned int result, const struct durations *d)
{
	if (result != NO_RESULT || vector != sample->table[LATENCY].row[0].vector)
		putchar(',');
	printf("{\"vector\":%u,\"name\":", vector);
	json_string(vector_name(vector));
	if (result != NO_RESULT) {
		printf(",\"result\":");
		json_string(result_name(result));
	}
	printf(",\"count\":%" PRIu64 ",\"mean\":%" PRIu64, d->count, d->sum / d->count);
	printf(",\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}", d->p50, d->p99,
	       d->max);
}

static void json_tasks(const struct sample *sample)
{
	const struct rows *rows = &sample->table[TASKS];
	const struct row *row;
	struct row **task;
	size_t nr, i;

	task = top_tasks(rows, &nr);
	for (i = 0; i < nr; i++) {
		printf("%s{\"pid\":%d,\"command\":", i ? "," : "", task[i]->pid);
		json_string(task[i]->comm);
		printf(",\"count\":%" PRIu64 ",\"vectors\":{", task[i]->sum);
		for (row = task[i]; row < end_of(rows) && row->pid == task[i]->pid; row++) {
			printf("%s", row == task[i] ? "" : ",");
			json_string(vector_name(row->vector));
			printf(":%" PRIu64, row->count);
		}
		printf("}}");
	}
	free(task);
}

static void json_lines(const struct sample *sample, enum table table)
{
	struct line *line;
	size_t nr, i;

	line = top_lines(sample, table, &nr);
	for (i = 0; i < nr; i++) {
		printf("%s{\"count\":%" PRIu64, i ? "," : "", line[i].count);
		if (table == ADDRESSES) {
			printf(",\"in\":");
			json_string(line[i].kind);
		} else {
			printf(",\"vector\":%u,\"name\":", line[i].vector);
			json_string(vector_name(line[i].vector));
		}
		printf(",\"at\":");
		json_string(line[i].name);
		putchar('}');
	}
	free_lines(line, nr);
}

static void print_json(struct sample *sample)
{
	unsigned int i;

	printf("{\"title\":");
	json_string(sample->title ? sample->title : "");
	printf(",\"seconds\":%.6f,\"duration_buckets\":", sample->seconds);
	if (sample->buckets == LOG2)
		printf("\"log2\"");
	else
		printf("%lu", sample->buckets);
	for (i = 0; i < TABLES; i++) {
		if (!options.table[i])
			continue;
		printf(",\"%s\":{\"missing\":%" PRIu64 ",\"cleared\":%s,\"rows\":[",
		       table_names[i], sample->missing[i],
		       sample->cleared[i] ? "true" : "false");
		if (i == BY_CPU)
			json_vectors(sample);
		else if (i == LATENCY)
			each_duration(sample, json_latency);
		else if (i == TASKS)
			json_tasks(sample);
		else
			json_lines(sample, i);
		printf("]}");
	}
	printf("}\n");
}

static void note_missing(const struct sample *sample, enum table table)
{
	if (sample->buckets == EXACT)
		note("%s: %s: at least %" PRIu64 " events are missing: the buffer was full",
		     sample->title, table_names[table], sample->missing[table]);
	else
		note("%s: %" PRIu64 " exceptions are missing: the histogram was full%s",
		     table_names[table], sample->missing[table],
		     table == BY_CPU ? "" : ", use a larger one (-S)");
}

/* 0, or STATUS_INCOMPLETE if something is missing in the sample. */
int output(struct sample *sample)
{
	int status = 0;
	unsigned int i;

	if (options.json)
		print_json(sample);
	else
		print_text(sample);
	if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE)
		die("standard output: %s", strerror(errno));
	for (i = 0; i < TABLES; i++) {
		if (sample->missing[i])
			note_missing(sample, i);
		if (sample->cleared[i])
			note("%s: the histogram was nearly full and was cleared: the next table may lack what was raised meanwhile, use a larger one (-S)",
			     table_names[i]);
		if (sample->missing[i] || sample->cleared[i])
			status = STATUS_INCOMPLETE;
	}
	return status;
}
