// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - prints a sample as tables
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "output.h"

#define CPU_WIDTH	10
#define NAME_WIDTH	26	/* of vector, name and total, before the first CPU */

/* Returns 0 if standard output is not a terminal. */
static unsigned int terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

void output_check_width(void)
{
	static const unsigned int needed[TABLES] = {
		[BY_CPU] = NAME_WIDTH + CPU_WIDTH, [LATENCY] = 70, [TASKS] = 50,
		[ADDRESSES] = 50, [FROM] = 50, [WORST] = 80,
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

/* The name of a host may be wider than a number. */
static int column_width(const struct sample *sample, unsigned int column)
{
	int len = strlen(sample->columns[column]);

	return len < CPU_WIDTH ? CPU_WIDTH : len + 1;
}

/* Print the columns that fit, from @first on. Returns where the next block begins. */
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

static void print_latency(const struct sample *sample, unsigned int vector,
			  unsigned int result, const struct durations *d)
{
	char name[32];

	snprintf(name, sizeof(name), "%3u %s", vector, vector_name(vector));
	print_durations(sample, name, result == ALL_RESULTS ? "" : result_name(result), d);
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

static void print_fault(const struct fault *fault, bool first)
{
	unsigned int width = terminal_width();
	char *line;
	size_t i;

	if (first)
		printf(" duration     pid command         result   flags; at; by\n");
	line = print_string("%s; %s %s; %s%s", fault->flag_names, fault->kind, fault->at,
			    fault->no_exception ? "mm_fault, " : "", fault->by);
	print_ns(fault->duration);
	printf(" %7d %-15s %-8s %.*s\n", fault->row.pid, fault->row.comm,
	       result_name(fault->result), width > 44 ? (int)width - 44 : INT_MAX, line);
	free(line);
	printf("%9s at %" PRIu64 ".%06" PRIu64 " cpu%u", "", fault->ts / 1000000000,
	       fault->ts / 1000 % 1000000, fault->cpu);
	if (!fault->no_exception)
		printf(" %s", fault->error_names);
	if (fault->slept) {
		printf("; slept");
		print_ns(fault->slept);
	}
	if (fault->preempted) {
		printf("; preempted");
		print_ns(fault->preempted);
	}
	printf("%s%s\n", fault->waited_in ? " in " : "", fault->waited_in ?: "");
	for (i = 0; i < fault->nr_callers; i++)
		printf("%35s called by %.*s\n", "", width > 46 ? (int)width - 46 : INT_MAX,
		       fault->stack[i]);
}

static void print_times(const struct sample *sample)
{
	bool exact = worst_knows_switches();
	struct task_time *time;
	size_t nr, i;

	printf("%7s %-15s %10s %9s %9s %9s %9s\n", "pid", "command", "faults", "time",
	       exact ? "sleeping" : "slept", "preempted", exact ? "running" : "neither");
	time = top_times(&sample->table[WORST], &nr);
	for (i = 0; i < nr; i++) {
		printf("%7d %-15s %10" PRIu64, time[i].pid, time[i].comm, time[i].count);
		print_ns(time[i].total);
		print_ns(time[i].sleeping);
		print_ns(time[i].preempted);
		print_ns(time[i].running);
		printf("\n");
	}
	free(time);
}

void print_text(struct sample *sample)
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
	if (options.table[WORST]) {
		each_worst(print_fault);
		print_times(sample);
	}
	printf("\n");
}

