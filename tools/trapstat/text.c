// SPDX-License-Identifier: GPL-2.0
/*
 * text.c - prints a sample as tables, which libsmartcols fits to the terminal
 */
#include <inttypes.h>
#include <libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "output.h"

#define CPU_WIDTH	9	/* of a CPU's column, at least */
#define NAMES_WIDTH	40	/* of the columns before the first CPU's */
#define BAR		40

struct column {
	const char	*name;
	int		flags;
};

#define LEFT	0
#define RIGHT	SCOLS_FL_RIGHT
#define WRAP	SCOLS_FL_WRAP

static struct libscols_table *table;
static struct libscols_line *line;
static size_t at;		/* the next column of the line */
static FILE *out;		/* where tables go */
static void (*arrange)(struct libscols_table *table);	/* of the screen */

static void new_column(const char *name, int flags)
{
	char *safe = safe_string(name);

	if (!scols_table_new_column(table, safe, 0, flags))
		die("out of memory");
	free(safe);
}

static void begin_table(const struct column *column, size_t nr)
{
	table = scols_new_table();
	if (!table)
		die("out of memory");
	scols_table_enable_noencoding(table, 1);	/* is done here, of more characters */
	for (; nr; nr--, column++)
		new_column(column->name, column->flags);
}

#define BEGIN_TABLE(columns)	begin_table(columns, sizeof(columns) / sizeof(*(columns)))

static void begin_line(void)
{
	line = scols_table_new_line(table, NULL);
	if (!line)
		die("out of memory");
	at = 0;
}

/* Takes over @text. */
static void cell(char *text)
{
	scols_line_refer_data(line, at++, text ? safe_string(text) : NULL);
	free(text);
}

static void end_table(void)
{
	if (arrange)
		arrange(table);
	scols_table_set_stream(table, out);
	scols_print_table(table);
	scols_unref_table(table);
}

static char *count_text(const struct sample *sample, uint64_t count)
{
	double rate = sample->rates ? count / sample->seconds : count;

	if (!sample->rates || !count)
		return print_string("%" PRIu64, count);
	return print_string(rate >= 9.95 ? "%.0f" : rate >= 0.95 ? "%.1f" : "%.2g", rate);
}

static const char *count_title(const struct sample *sample)
{
	return sample->rates ? "PER SECOND" : "COUNT";
}

static char *ns_text(uint64_t ns)
{
	static const char * const units[] = { "ns", "us", "ms", "s" };
	double value = ns;
	unsigned int unit = 0;

	while (value >= 999.95 && unit < 3) {
		value /= 1000;
		unit++;
	}
	return print_string("%.*f%s", unit ? 1 : 0, value, units[unit]);
}

/* Part of the time of one CPU */
static char *share_text(const struct sample *sample, uint64_t ns)
{
	double percent = sample->seconds > 0 ? ns / sample->seconds / 1e7 : 0;

	return print_string(percent >= 0.995 || !ns ? "%.1f" : "%.2g", percent);
}

static void vector_cells(unsigned int vector)
{
	cell(vector == VECTOR_NONE ? print_string("-") : print_string("%u", vector));
	cell(print_string("%s", vector_name(vector)));
}

/* How many columns fit on a terminal, from @first on: the end of the block */
static unsigned int block_end(const struct sample *sample, unsigned int first)
{
	unsigned int used = NAMES_WIDTH, end, shown = 0;
	struct winsize size = { };

	ioctl(out == stdout ? STDOUT_FILENO : -1, TIOCGWINSZ, &size);
	for (end = first; end < sample->nr_columns; end++) {
		if (!sample->columns[end])
			continue;
		used += strlen(sample->columns[end]) < CPU_WIDTH ? CPU_WIDTH :
								   strlen(sample->columns[end]) + 1;
		if (size.ws_col && used > size.ws_col && shown++)
			break;
	}
	return end;
}

static unsigned int print_block(const struct sample *sample, unsigned int first)
{
	const struct column columns[] = {
		{ "VCT", RIGHT }, { "NAME", LEFT },
		{ sample->rates ? "TOTAL/S" : "TOTAL", RIGHT },
		{ sample->no_flags ? "%RUN+WAIT" : "%RUN", RIGHT }, { "%WAIT", RIGHT },
	};
	unsigned int end = block_end(sample, first), i;
	const struct rows *rows = &sample->rows[BY_CPU];
	struct outcome outcome;
	size_t begin, next;

	begin_table(columns, sizeof(columns) / sizeof(*columns) - sample->no_flags);
	for (i = first; i < end; i++) {
		if (sample->columns[i])
			new_column(sample->columns[i], RIGHT);
	}
	for (begin = 0; begin < rows->nr; begin = next) {
		next = vector_end(rows, begin);
		outcome = outcome_of(sample, rows->row[begin].vector, ALL_RESULTS);
		begin_line();
		vector_cells(rows->row[begin].vector);
		cell(count_text(sample, sum_counts(&rows->row[begin], next - begin, UINT_MAX)));
		cell(outcome.count ? share_text(sample, outcome.ran) : NULL);
		if (!sample->no_flags)
			cell(share_text(sample, outcome.waited));
		for (i = first; i < end; i++) {
			if (sample->columns[i])
				cell(count_text(sample, sum_counts(&rows->row[begin],
								   next - begin, i)));
		}
	}
	end_table();
	return end;
}

static void print_vectors(const struct sample *sample)
{
	unsigned int next = 0;

	do {
		next = print_block(sample, next);
	} while (next < sample->nr_columns);
}

static bool has_one_result(const struct sample *sample, unsigned int vector)
{
	const struct outcomes *all = &sample->outcomes;
	unsigned int nr = 0;
	size_t i;

	for (i = 0; i < all->nr; i++)
		nr += all->outcome[i].vector == vector;
	return nr == 1;
}

static void print_durations(const struct sample *sample, unsigned int vector,
			    unsigned int result, const struct durations *d)
{
	if (result == ALL_RESULTS && has_one_result(sample, vector))
		return;
	begin_line();
	vector_cells(vector);
	cell(result == ALL_RESULTS ? NULL : print_string("%s", outcome_name(result)));
	cell(count_text(sample, d->count));
	cell(ns_text(d->sum / d->count));
	cell(ns_text(d->p50));
	cell(ns_text(d->p90));
	cell(ns_text(d->p99));
	cell(ns_text(d->p999));
	cell(ns_text(d->max));
}

static void print_latencies(const struct sample *sample)
{
	const struct column columns[] = {
		{ "VCT", RIGHT }, { "NAME", LEFT }, { "RESULT", LEFT },
		{ count_title(sample), RIGHT }, { "MEAN", RIGHT },
		{ sample->recorded ? "P50" : "P50<=", RIGHT },
		{ sample->recorded ? "P90" : "P90<=", RIGHT },
		{ sample->recorded ? "P99" : "P99<=", RIGHT },
		{ sample->recorded ? "P99.9" : "P99.9<=", RIGHT },
		{ sample->recorded ? "MAX" : "MAX<=", RIGHT },
	};

	BEGIN_TABLE(columns);
	each_duration(sample, print_durations);
	end_table();
}

/* The power of two above @duration */
static unsigned int octave(uint64_t duration)
{
	unsigned int bits = 0;

	for (; duration; duration >>= 1)
		bits++;
	return bits;
}

static void print_bars(const struct sample *sample, unsigned int vector, unsigned int result,
		       const struct durations *d)
{
	uint64_t sums[65] = { }, most = 0;
	unsigned int i, first = 64, last = 0, open = 65;	/* open: without an end */
	char bar[BAR + 1];

	if (result != ALL_RESULTS)
		return;
	for (i = 0; i < d->buckets.nr; i++) {
		sums[octave(d->buckets.row[i].low)] += d->buckets.row[i].count;
		if (d->buckets.row[i].value == UINT64_MAX)
			open = octave(d->buckets.row[i].low);
	}
	for (i = 0; i <= 64; i++) {
		if (!sums[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = sums[i] > most ? sums[i] : most;
	}
	memset(bar, '#', BAR);
	for (i = first; i <= last; i++) {
		begin_line();
		vector_cells(vector);
		cell(ns_text(i ? 1ULL << (i - 1) : 0));
		cell(i < open && i < 64 ? ns_text(1ULL << i) : NULL);
		cell(count_text(sample, sums[i]));
		cell(print_string("%.*s", (int)((sums[i] * BAR + most - 1) / most), bar));
	}
}

static void print_distributions(const struct sample *sample)
{
	const struct column columns[] = {
		{ "VCT", RIGHT }, { "NAME", LEFT }, { "FROM", RIGHT }, { "BELOW", RIGHT },
		{ count_title(sample), RIGHT }, { "DISTRIBUTION", LEFT },
	};

	BEGIN_TABLE(columns);
	each_duration(sample, print_bars);
	end_table();
}

static void print_outcomes(const struct sample *sample)
{
	static const struct column columns[] = {
		{ "VCT", RIGHT }, { "NAME", LEFT }, { "RESULT", LEFT }, { "USER", RIGHT },
		{ "KERNEL", RIGHT }, { "RAN", RIGHT }, { "WAITED", RIGHT },
	};
	const struct outcomes *all = &sample->outcomes;
	const struct outcome *o;
	unsigned int i;
	char *name;

	BEGIN_TABLE(columns);
	for (i = 0; i < FLAGS; i++) {
		name = flags_name(1U << i);
		new_column(name, RIGHT);
		free(name);
	}
	for (o = all->outcome; o < all->outcome + all->nr; o++) {
		begin_line();
		vector_cells(o->vector);
		cell(print_string("%s", outcome_name(o->result)));
		cell(o->vector == VECTOR_NONE ? NULL : count_text(sample, o->user));
		cell(count_text(sample, o->count - o->user));
		cell(ns_text(o->ran));
		cell(ns_text(o->waited));
		for (i = 0; i < FLAGS; i++)
			cell(count_text(sample, o->flag[i]));
	}
	end_table();
}

static void print_others(const struct lines *lines)
{
	if (lines->others && !arrange)
		fprintf(out, "and %" PRIu64 " exceptions of %" PRIu64 " lines that were left out\n",
			lines->others, lines->nr_others);
}

static char *vectors_text(const struct sample *sample, const struct task_lines *task)
{
	char *text = print_string("%s", ""), *longer, *count;
	size_t i;

	for (i = 0; i < task->nr; i++) {
		count = count_text(sample, task->line[i]->count);
		longer = print_string("%s%s%s %s", text, i ? " " : "",
				      vector_name(task->line[i]->vector), count);
		free(text);
		free(count);
		text = longer;
	}
	return text;
}

static void print_tasks(const struct sample *sample)
{
	static const char * const titles[] = {
		[THREAD] = "COMMAND", [PROCESS] = "COMMAND", [COMMAND] = "COMMAND",
		[USER] = "USER", [CGROUP] = "CGROUP",
	};
	const char *title = titles[options.group];
	const struct column columns[] = {
		{ options.group == USER ? "UID" : options.group == THREAD ? "TID" : "PID", RIGHT },
		{ title, LEFT }, { count_title(sample), RIGHT }, { "TIME", RIGHT },
		{ "VECTORS", WRAP },
	};
	bool by_name = options.group == COMMAND || options.group == CGROUP;
	struct task_lines *task;
	struct line **sorted;
	size_t nr, i;

	begin_table(columns + by_name, sizeof(columns) / sizeof(*columns) - by_name);
	task = top_tasks(&sample->lines[TASKS], &sorted, &nr);
	for (i = 0; i < nr; i++) {
		begin_line();
		if (!by_name)
			cell(print_string("%u", (*task[i].line)->id));
		cell(print_string("%s", (*task[i].line)->name));
		cell(count_text(sample, task[i].count));
		cell(task[i].sum ? ns_text(task[i].sum) : NULL);
		cell(vectors_text(sample, &task[i]));
	}
	free(task);
	free(sorted);
	end_table();
	print_others(&sample->lines[TASKS]);
}

static void print_lines(const struct sample *sample, enum table which)
{
	const struct column pages[] = {
		{ count_title(sample), RIGHT }, { "IN", LEFT }, { "PAGE AT", WRAP },
	};
	const struct column ips[] = {
		{ count_title(sample), RIGHT }, { "VCT", RIGHT }, { "NAME", LEFT },
		{ "RAISED BY", WRAP },
	};
	struct line **top;
	size_t nr, i;

	if (which == ADDRESSES)
		BEGIN_TABLE(pages);
	else
		BEGIN_TABLE(ips);
	top = top_lines(&sample->lines[which], &nr);
	for (i = 0; i < nr; i++) {
		begin_line();
		cell(count_text(sample, top[i]->count));
		if (which == ADDRESSES)
			cell(print_string("%s", top[i]->kind));
		else
			vector_cells(top[i]->vector);
		cell(print_string("%s", top[i]->name));
	}
	free(top);
	end_table();
	print_others(&sample->lines[which]);
}

/* Takes over both. Only between them is an end of a line. */
static char *add_line(char *text, char *more)
{
	char *safe = safe_string(more), *longer = print_string("%s%s%s", text ?: "",
							       text ? "\n" : "", safe);

	free(text);
	free(more);
	free(safe);
	return longer;
}

/* When it ended, what the task waited for, and the callers */
static char *details_text(const struct fault *fault)
{
	char *slept = ns_text(fault->slept), *preempted = ns_text(fault->preempted);
	char *text;
	size_t i;

	text = add_line(NULL, print_string("%s; %s %s; %s%s",
			fault->flag_names, fault->kind, fault->at,
			fault->no_exception ? "mm_fault, " : "", fault->by));
	text = add_line(text, print_string("at %" PRIu64 ".%06" PRIu64 " cpu%u %s%s%s%s%s%s%s",
			fault->ts / 1000000000, fault->ts / 1000 % 1000000, fault->cpu,
			fault->no_exception ? "" : fault->error_names,
			fault->slept ? "; slept " : "", fault->slept ? slept : "",
			fault->preempted ? "; preempted " : "",
			fault->preempted ? preempted : "",
			fault->waited_in ? " in " : "", fault->waited_in ?: ""));
	for (i = 0; i < fault->nr_callers; i++)
		text = add_line(text, print_string("called by %s", fault->stack[i]));
	free(slept);
	free(preempted);
	return text;
}

static void print_fault(const struct fault *fault)
{
	begin_line();
	cell(ns_text(fault->duration));
	cell(print_string("%d", fault->row.pid));
	cell(print_string("%s", fault->row.comm));
	cell(print_string("%s", outcome_name(fault->result)));
	scols_line_refer_data(line, at, details_text(fault));
}

static void print_worst(const struct sample *sample)
{
	static const struct column columns[] = {
		{ "DURATION", RIGHT }, { "TID", RIGHT }, { "COMMAND", LEFT }, { "RESULT", LEFT },
		{ "FLAGS; AT; BY", WRAP },
	};
	bool exact = worst_knows_switches();
	const struct column times[] = {
		{ "TID", RIGHT }, { "COMMAND", LEFT }, { "FAULTS", RIGHT }, { "TIME", RIGHT },
		{ exact ? "SLEEPING" : "SLEPT", RIGHT }, { "PREEMPTED", RIGHT },
		{ exact ? "RUNNING" : "NEITHER", RIGHT },
	};
	struct libscols_column *last;
	struct task_time *time;
	size_t nr, i;

	BEGIN_TABLE(columns);
	last = scols_table_get_column(table, sizeof(columns) / sizeof(*columns) - 1);
	scols_column_set_safechars(last, "\n");
	scols_column_set_wrapfunc(last, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
	each_worst(print_fault);
	end_table();

	BEGIN_TABLE(times);
	time = top_times(&sample->rows[WORST], &nr);
	for (i = 0; i < nr; i++) {
		begin_line();
		cell(print_string("%d", time[i].pid));
		cell(print_string("%s", time[i].comm));
		cell(print_string("%" PRIu64, time[i].count));
		cell(ns_text(time[i].total));
		cell(ns_text(time[i].sleeping));
		cell(ns_text(time[i].preempted));
		cell(ns_text(time[i].running));
	}
	free(time);
	end_table();
}

/* What has counted */
void print_source(const struct sample *sample, FILE *to)
{
	char *text = print_string("trapstat " VERSION "%s%s%s%s, %s", sample->host ? ", " : "",
				  sample->host ?: "", sample->kernel ? ", Linux " : "",
				  sample->kernel ?: "", sample->source);

	put_safe(text, to);
	fputc('\n', to);
	free(text);
}

/* When, for how long */
void print_time(const struct sample *sample, FILE *to)
{
	time_t seconds = sample->time;
	char when[32];

	strftime(when, sizeof(when), "%F %T", localtime(&seconds));
	put_safe(sample->title ?: when, to);
	if (sample->recorded && sample->time)
		fprintf(to, ", %s", when);
	fprintf(to, " (%.3f s):", sample->seconds);
}

/* Print those of @tables, after @change (NULL: nothing) has arranged each. */
void print_tables(const struct sample *sample, const bool *tables, bool bars, FILE *to,
		  void (*change)(struct libscols_table *table))
{
	out = to;
	arrange = change;
	if (tables[BY_CPU])
		print_vectors(sample);
	if (tables[LATENCY])
		print_latencies(sample);
	if (bars)
		print_distributions(sample);
	if (tables[OUTCOMES])
		print_outcomes(sample);
	if (tables[TASKS])
		print_tasks(sample);
	if (tables[ADDRESSES])
		print_lines(sample, ADDRESSES);
	if (tables[FROM])
		print_lines(sample, FROM);
	if (tables[WORST])
		print_worst(sample);
}

void print_text(const struct sample *sample)
{
	static bool printed;

	if (sample->source && (sample->recorded || !printed)) {
		print_source(sample, stdout);
		printed = true;
	}
	print_time(sample, stdout);
	printf("\n");
	print_tables(sample, options.table, options.bars, stdout, NULL);
	printf("\n");
}
