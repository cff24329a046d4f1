// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - prints the tables from recordings of trace-cmd, one file per host
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "offcpu.h"

static struct sample sample;
static uint64_t user, unmapped;		/* ips in user space; of these, in no known mapping */

/* What was counted of the events of a type in a buffer */
static struct counts {
	bool		any;
	struct rows	rows[TABLES];
	uint64_t	user, unmapped;
} counts[TRAPS_TYPES];

static void add(struct counts *to, enum table table, const struct row *row)
{
	if (options.table[table])
		rows_add(&to->rows[table], row);
}

static bool names_places(void)
{
	return options.table[ADDRESSES] || options.table[FROM] || options.table[WORST];
}

/* mm_fault is no page fault exception. */
static unsigned int vector_of(const struct traps_event *e)
{
	return e->type == TRAPS_MM_FAULT ? VECTOR_NONE : e->vector;
}

static void count(const struct traps_event *e)
{
	struct row row = { .vector = vector_of(e), .count = 1 };
	struct counts *to = &counts[e->type];

	to->any = true;
	row.cpu = e->cpu;
	add(to, BY_CPU, &row);

	row.cpu = 0;
	row.pid = e->pid;
	strncpy(row.comm, recording_comm(e->pid), COMM_LEN - 1);
	add(to, TASKS, &row);
	if (e->type == TRAPS_MM_FAULT)
		return;

	row.kernel = !e->user_mode;
	row.value = raised_at(e->vector, e->event_data, e->ip);
	add(to, FROM, &row);
	row.kernel = false;
	if (e->user_mode && names_places()) {
		to->user++;
		to->unmapped += !procmaps_find(e->pid, e->ip, NULL);
	}
	if (e->vector == VECTOR_PF) {
		row.value = e->address & ~(PAGE_BYTES - 1ULL);
		add(to, ADDRESSES, &row);
	}
}

static void count_duration(const struct traps_event *e)
{
	struct row row = { .vector = vector_of(e), .count = 1,
			   .result = TRAPS_OUTCOME(e->result, e->code),
			   .low = e->duration, .value = e->duration };
	struct row task = { .vector = vector_of(e), .pid = e->pid, .sum = e->duration };

	if (options.table[LATENCY])
		rows_add(&sample.rows[LATENCY], &row);
	strncpy(task.comm, recording_comm(e->pid), COMM_LEN - 1);
	if (options.table[TASKS])
		rows_add(&sample.rows[TASKS], &task);
}

static void add_outcome(const struct traps_event *e)
{
	struct outcome *outcome = sample_outcome(&sample, vector_of(e),
						 TRAPS_OUTCOME(e->result, e->code));
	unsigned int i;

	outcome->count++;
	outcome->user += e->user_mode;
	if (e->flags & TRAP_FLAGS_WAITED)
		outcome->waited += e->duration;
	else
		outcome->ran += e->duration;
	for (i = 0; i < FLAGS; i++)
		outcome->flag[i] += e->flags >> i & 1;
}

/* Entries count. Exits do as long as there was no entry: only they may have been recorded. */
static bool is_counted(const struct traps_event *e)
{
	return traps_is_entry(e) || e->type == TRAPS_MM_FAULT || !counts[e->type - 1].any;
}

static void on_event(const struct traps_event *e)
{
	if (is_counted(e))
		count(e);
	if (traps_is_entry(e))
		return;
	count_duration(e);
	add_outcome(e);
	if (options.table[WORST] && e->type != TRAPS_TRAP_EXIT)
		worst_add(&sample.rows[WORST], e);
}

static void add_counts(struct counts *from)
{
	unsigned int i;
	size_t n;

	for (i = 0; i < TABLES; i++) {
		for (n = 0; n < from->rows[i].nr; n++)
			rows_add(&sample.rows[i], &from->rows[i].row[n]);
	}
	user += from->user;
	unmapped += from->unmapped;
}

static void on_buffer_end(void)
{
	static const enum traps_type exits[] = { TRAPS_TRAP_EXIT, TRAPS_PAGE_FAULT_EXIT };
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		if (counts[exits[i] - 1].any)
			counts[exits[i]].any = false;
	}
	for (i = 0; i < TRAPS_TYPES; i++) {
		if (counts[i].any)
			add_counts(&counts[i]);
		for (n = 0; n < TABLES; n++)
			rows_free(&counts[i].rows[n]);
	}
	memset(counts, 0, sizeof(counts));
	offcpu_restart();
}

/* The rows of tasks, pages and instructions become lines while their names are known. */
static void name_rows(void)
{
	enum table table;
	size_t i;

	for (table = TASKS; table <= FROM; table++) {
		rows_merge(&sample.rows[table]);
		for (i = 0; i < sample.rows[table].nr; i++)
			sample_add_line(&sample, table, &sample.rows[table].row[i]);
		rows_free(&sample.rows[table]);
	}
}

static void read_recording(struct recording *recording, const char *name)
{
	struct reader reader = { .event = on_event, .buffer_end = on_buffer_end };
	unsigned int i;

	memset(&sample, 0, sizeof(sample));
	user = 0;
	unmapped = 0;
	if (options.table[WORST]) {
		worst_restart();
		reader.user_stack = worst_user_stack;
		reader.sched_switch = worst_switch;
		reader.kernel_stack = offcpu_stack;
	}
	recording_open(recording, name);
	recording_read(recording, &reader);
	sample.host = recording->host;
	sample.kernel = recording->kernel;
	sample.source = "recording";
	sample.time = is_date(recording->first) ? recording->last / 1e9 : 0;
	sample.title = name;
	sample.seconds = (recording->last - recording->first) / 1e9;
	sample.recorded = true;
	sample.buckets = "exact";
	name_rows();
	sample_merge(&sample);
	for (i = 0; i < TABLES; i++) {
		sample.missing[i] = options.table[i] ? recording->lost : 0;
	}
	if (unmapped)
		note("%s: what user space had mapped is not recorded for %" PRIu64 " of %" PRIu64
		     " exceptions, these addresses stay numbers: record with trapstat -o, or trace-cmd record --proc-map",
		     name, unmapped, user);
}

static void name_cpus(void)
{
	const struct rows *rows = &sample.rows[BY_CPU];
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		if (rows->row[i].cpu >= sample.nr_columns)
			sample.nr_columns = rows->row[i].cpu + 1;
	}
	sample.columns = allocate(NULL, (sample.nr_columns + 1) * sizeof(char *));
	memset(sample.columns, 0, (sample.nr_columns + 1) * sizeof(char *));
	for (i = 0; i < rows->nr; i++) {
		if (!sample.columns[rows->row[i].cpu])
			sample.columns[rows->row[i].cpu] = print_string("cpu%u", rows->row[i].cpu);
	}
}

/* Add vectors and latencies. PIDs and addresses mean something else on every host. */
static void add_host(struct sample *all, unsigned int host)
{
	enum table table;
	size_t i;

	for (i = 0; i < sample.rows[BY_CPU].nr; i++)
		sample.rows[BY_CPU].row[i].cpu = host;
	for (table = TASKS; table <= FROM; table++)
		lines_free(&sample.lines[table]);
	rows_free(&sample.rows[WORST]);
	sample_add(all, &sample);
	if (sample.seconds > all->seconds)
		all->seconds = sample.seconds;
}

static int report_all(struct sample *all)
{
	enum table table;

	for (table = TASKS; table <= WORST; table++)
		options.table[table] = false;
	if (!options.table[BY_CPU] && !options.table[LATENCY] && !options.table[OUTCOMES])
		return 0;
	if (names_mixed) {
		note("no sums of all files: they are of several architectures, whose vectors differ");
		return 0;
	}
	sample_merge(all);
	return output(all);
}

static void free_recorded(void)
{
	unsigned int i;

	for (i = 0; i < sample.nr_columns; i++)
		free(sample.columns[i]);
	free(sample.columns);
	sample_free(&sample);
}

/* The names for the summary come from the last file, so it stays open. */
int report_main(int nr_files, char **files)
{
	struct sample all = { .title = "all files", .recorded = true, .buckets = "exact",
			      .columns = files, .nr_columns = nr_files };
	struct recording recording;
	int i, j, status = 0;

	for (i = 0; i < nr_files; i++) {
		if (i)
			recording_close(&recording);
		read_recording(&recording, files[i]);
		name_cpus();
		if (output(&sample))
			status = STATUS_INCOMPLETE;
		add_host(&all, i);
		free_recorded();
	}
	/* Each column has a name of its own. */
	for (i = 1; i < nr_files; i++) {
		for (j = 0; j < i; j++) {
			if (!strcmp(files[i], files[j])) {
				files[i] = print_string("%s (%d)", files[i], i + 1);
				j = -1;
			}
		}
	}
	if (nr_files > 1 && report_all(&all))
		status = STATUS_INCOMPLETE;
	sample_free(&all);
	recording_close(&recording);
	return status;
}
