// SPDX-License-Identifier: GPL-2.0
/*
 * chrome.c - the Chrome trace event format (JSON), for Perfetto's UI and others
 *
 * The groups of tracks are "processes". Each file begins at 0, unless all times are dates.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "export.h"

#define IDLE_TID	5000000		/* above all pids: swapper runs on each CPU */

static int cpus_pid, tasks_pid;
static uint64_t begin;			/* the time shown as 0 */
static const char *comma = "";

static void print_start(const char *phase, int pid, int tid, const char *name)
{
	printf("%s\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":", comma, phase, pid, tid);
	json_string(name);
	comma = ",";
}

static void print_track_start(const char *phase, const struct track *track, const char *name)
{
	int tid = track->pid ? track->pid : (int)(IDLE_TID + track->cpu);

	if (track->of_task)
		print_start(phase, tasks_pid, tid, name);
	else
		print_start(phase, cpus_pid, track->cpu, name);
}

static void print_name_arg(const char *name)
{
	printf(",\"args\":{\"name\":");
	json_string(name);
	printf("}}");
}

static void print_track(const struct track *track, const char *name)
{
	print_track_start("M", track, "thread_name");
	print_name_arg(name);
}

/* Microseconds. */
static void print_time(const char *name, uint64_t ns)
{
	printf(",\"%s\":%" PRIu64 ".%03" PRIu64, name, ns / 1000, ns % 1000);
}

static void print_text(const char *name, const char *text)
{
	printf("%s\"%s\":", comma, name);
	json_string(text);
	comma = ",";
}

static void print_number(const char *name, uint64_t value)
{
	printf("%s\"%s\":%" PRIu64, comma, name, value);
	comma = ",";
}

static void print_address(const char *name, uint64_t value)
{
	printf("%s\"%s\":\"0x%" PRIx64 "\"", comma, name, value);
	comma = ",";
}

static void print_args(const struct traps_event *e)
{
	static const struct field_writer args = {
		.text = print_text,
		.number = print_number,
		.address = print_address,
	};

	printf(",\"cat\":\"traps\",\"args\":{");
	comma = "";
	export_fields(e, &args);
	printf("}");
}

static void print_slice(const struct track *track, uint64_t from, uint64_t to, const char *name,
			const struct traps_event *e)
{
	if (from < begin)
		from = begin;
	print_track_start("X", track, name);
	print_time("ts", from - begin);
	print_time("dur", to - from);
	print_args(e);
	printf("}");
}

static void print_instant(const struct track *track, uint64_t ts, const char *name,
			  const struct traps_event *e)
{
	print_track_start("i", track, name);
	print_time("ts", ts - begin);
	printf(",\"s\":\"t\"");
	if (e)
		print_args(e);
	printf("}");
}

static void name_group(int pid, const char *file, const char *what)
{
	char *name = print_string("%s: %s", file, what);

	print_start("M", pid, 0, "process_name");
	print_name_arg(name);
	print_start("M", pid, 0, "process_sort_index");
	printf(",\"args\":{\"sort_index\":%d}}", pid);
	free(name);
}

static void print_file(int nr, const struct recording *recording, uint64_t zero)
{
	begin = zero;
	cpus_pid = 2 * nr + 1;
	tasks_pid = 2 * nr + 2;
	name_group(cpus_pid, recording->name, "CPUs");
	name_group(tasks_pid, recording->name, "tasks");
}

static void print_begin(int nr_files, char **files, const uint64_t *zero)
{
	char *key;
	int i, j;

	printf("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"version\":\"trapstat\"");
	for (i = 0; i < nr_files; i++) {
		for (j = 0; strcmp(files[i], files[j]); j++)
			;
		if (j < i)	/* one key of a file that is named twice */
			continue;
		key = print_string("file %s", files[i]);
		printf(",");
		json_string(key);
		free(key);
		printf(":\"0 is %" PRIu64 ".%09" PRIu64 "\"", zero[i] / 1000000000,
		       zero[i] % 1000000000);
	}
	printf("},\"traceEvents\":[");
}

static void print_end(void)
{
	printf("\n]}\n");
}

const struct export_format chrome = {
	.name = "chrome",
	.begin = print_begin,
	.file = print_file,
	.track = print_track,
	.slice = print_slice,
	.instant = print_instant,
	.end = print_end,
};
