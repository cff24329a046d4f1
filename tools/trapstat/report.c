// SPDX-License-Identifier: GPL-2.0
/*
 * report.c - the tables from recordings of trace-cmd, one file per host
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace-cmd.h>
#include "trapstat.h"

struct file {
	const char		*name;
	struct tep_handle	*tep;
	struct tep_event	*trap_entry, *trap_exit;
	struct tep_event	*fault_entry, *fault_exit;
	struct sample		*sample;
	uint64_t		first, last;	/* times */
	uint64_t		lost;
	uint64_t		user, unmapped;	/* from user space, and by nobody knows what */
};

static uint64_t field(struct file *file, struct tep_event *event, const char *name,
		      struct tep_record *record)
{
	unsigned long long value;

	if (tep_get_field_val(NULL, event, name, record, &value, 0))
		die("%s: its %s has no field %s: recorded by another version", file->name,
		    event->name, name);
	return value;
}

static void add(struct file *file, enum table table, const struct row *row)
{
	if (options.table[table])
		rows_add(&file->sample->table[table], row);
}

static void count(struct file *file, struct tep_event *event, struct tep_record *record,
		  int cpu, unsigned int vector)
{
	struct row row = { .vector = vector, .count = 1 };
	struct place place;
	const char *comm;

	row.cpu = cpu;
	add(file, BY_CPU, &row);

	row.cpu = 0;
	row.pid = tep_data_pid(file->tep, record);
	comm = tep_data_comm_from_pid(file->tep, row.pid);
	strncpy(row.comm, comm ? comm : "?", COMM_LEN - 1);
	add(file, TASKS, &row);

	row.value = field(file, event, "ip", record);
	add(file, FROM, &row);
	if (!(row.value >> 63)) {
		file->user++;
		file->unmapped += !procmaps_find(row.pid, row.value, &place);
	}
	if (vector == VECTOR_PF) {
		row.value = field(file, event, "address", record) & ~(PAGE_BYTES - 1ULL);
		add(file, ADDRESSES, &row);
	}
}

static void add_duration(struct file *file, struct tep_event *event,
			 struct tep_record *record, unsigned int vector, unsigned int result)
{
	struct row row = { .vector = vector, .result = result, .count = 1 };

	row.value = field(file, event, "duration", record);
	row.sum = row.value;
	add(file, LATENCY, &row);
}

/* Entries are counted. A recording of exits alone has these. */
static int on_event(struct tracecmd_input *handle, struct tep_record *record, int cpu,
		    void *data)
{
	struct file *file = data;
	struct tep_event *event = tep_find_event_by_record(file->tep, record);
	unsigned int vector, result;
	bool is_exit;

	(void)handle;
	if (!event)
		return 0;
	if (event == file->trap_entry || event == file->trap_exit) {
		is_exit = event == file->trap_exit;
		vector = field(file, event, "vector", record);
		result = NO_RESULT;
		if (!is_exit || !file->trap_entry)
			count(file, event, record, cpu, vector);
	} else if (event == file->fault_entry || event == file->fault_exit) {
		is_exit = event == file->fault_exit;
		vector = VECTOR_PF;
		result = is_exit ? field(file, event, "result", record) : 0;
		if (!is_exit || !file->fault_entry)
			count(file, event, record, cpu, vector);
	} else {
		return 0;
	}
	if (is_exit)
		add_duration(file, event, record, vector, result);
	if (!file->first || record->ts < file->first)
		file->first = record->ts;
	if (record->ts > file->last)
		file->last = record->ts;
	return 0;
}

static int on_missed(struct tracecmd_input *handle, struct tep_event *event,
		     struct tep_record *record, int cpu, void *data)
{
	struct file *file = data;

	(void)handle;
	(void)event;
	(void)cpu;
	/* negative: the kernel could not say how many */
	file->lost += record->missed_events > 0 ? record->missed_events : 1;
	return 0;
}

static void read_buffer(struct file *file, struct tracecmd_input *handle)
{
	file->tep = tracecmd_get_tep(handle);
	file->trap_entry = tep_find_event_by_name(file->tep, SYSTEM, "trap_entry");
	file->trap_exit = tep_find_event_by_name(file->tep, SYSTEM, "trap_exit");
	file->fault_entry = tep_find_event_by_name(file->tep, SYSTEM, "page_fault_entry");
	file->fault_exit = tep_find_event_by_name(file->tep, SYSTEM, "page_fault_exit");
	if (!file->trap_entry && !file->trap_exit && !file->fault_entry && !file->fault_exit)
		die("%s: no events of " SYSTEM " in it: record with trace-cmd record -e " SYSTEM,
		    file->name);
	names_load(file->tep);
	symbols_recorded(file->tep);
	tracecmd_follow_missed_events(handle, on_missed, file);
	if (tracecmd_iterate_events(handle, NULL, 0, on_event, file))
		die("%s: cannot read all of its events", file->name);
}

/* Instances, too: trapstat -o records in one. */
static struct tracecmd_input *read_recording(const char *name, struct sample *sample)
{
	struct file file = { .name = name, .sample = sample };
	struct tracecmd_input *handle, *instance;
	unsigned int i;
	int nr;

	errno = 0;
	handle = tracecmd_open(name, 0);
	if (!handle)
		die("%s: %s", name, errno == ENOENT || errno == EACCES ? strerror(errno) :
		    "not a complete recording of trace-cmd");
	memset(sample, 0, sizeof(*sample));
	procmaps_use(handle);
	read_buffer(&file, handle);
	for (nr = tracecmd_buffer_instances(handle); nr-- > 0; ) {
		instance = tracecmd_buffer_instance_handle(handle, nr);
		if (!instance)
			die("%s: cannot read its instance %d", name, nr);
		read_buffer(&file, instance);
		tracecmd_close(instance);
	}
	sample->title = name;
	sample->seconds = (file.last - file.first) / 1e9;
	for (i = 0; i < TABLES; i++) {
		rows_merge(&sample->table[i]);
		sample->missing[i] = options.table[i] ? file.lost : 0;
	}
	if (file.unmapped && (options.table[ADDRESSES] || options.table[FROM]))
		note("%s: what user space had mapped is not recorded for %" PRIu64 " of %" PRIu64
		     " exceptions, these addresses stay numbers: record with trapstat -o, or trace-cmd record --proc-map",
		     name, file.unmapped, file.user);
	return handle;
}

static void name_cpus(struct sample *sample)
{
	const struct rows *rows = &sample->table[BY_CPU];
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		if (rows->row[i].cpu >= sample->nr_columns)
			sample->nr_columns = rows->row[i].cpu + 1;
	}
	sample->columns = allocate(NULL, (sample->nr_columns + 1) * sizeof(char *));
	memset(sample->columns, 0, (sample->nr_columns + 1) * sizeof(char *));
	for (i = 0; i < rows->nr; i++) {
		if (!sample->columns[rows->row[i].cpu])
			sample->columns[rows->row[i].cpu] = print_string("cpu%u", rows->row[i].cpu);
	}
}

/* Only these mean the same on every host: a pid and an address do not. */
static void add_host(struct sample *all, const struct sample *sample, unsigned int host)
{
	struct row row;
	size_t i;

	all->missing[BY_CPU] += sample->missing[BY_CPU];
	for (i = 0; i < sample->table[BY_CPU].nr; i++) {
		row = sample->table[BY_CPU].row[i];
		row.cpu = host;
		rows_add(&all->table[BY_CPU], &row);
	}
	all->missing[LATENCY] += sample->missing[LATENCY];
	for (i = 0; i < sample->table[LATENCY].nr; i++)
		rows_add(&all->table[LATENCY], &sample->table[LATENCY].row[i]);
	if (sample->seconds > all->seconds)
		all->seconds = sample->seconds;
}

static int report_all(struct sample *all)
{
	options.table[TASKS] = false;
	options.table[ADDRESSES] = false;
	options.table[FROM] = false;
	if (!options.table[BY_CPU] && !options.table[LATENCY])
		return 0;
	rows_merge(&all->table[BY_CPU]);
	rows_merge(&all->table[LATENCY]);
	return output(all);
}

static void free_sample(struct sample *sample)
{
	unsigned int i;

	for (i = 0; i < sample->nr_columns; i++)
		free(sample->columns[i]);
	free(sample->columns);
	sample_free(sample);
}

/* The names of vectors and results are those of the last file, which stays open. */
int report_main(int nr_files, char **files)
{
	struct sample all = { .title = "all files", .columns = files, .nr_columns = nr_files };
	struct tracecmd_input *handle = NULL;
	int i, status = 0;
	struct sample sample;

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	for (i = 0; i < nr_files; i++) {
		if (handle)
			tracecmd_close(handle);
		handle = read_recording(files[i], &sample);
		name_cpus(&sample);
		if (output(&sample))
			status = STATUS_INCOMPLETE;
		add_host(&all, &sample, i);
		free_sample(&sample);
	}
	if (nr_files > 1 && report_all(&all))
		status = STATUS_INCOMPLETE;
	sample_free(&all);
	tracecmd_close(handle);
	return status;
}
