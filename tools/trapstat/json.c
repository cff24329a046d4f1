// SPDX-License-Identifier: GPL-2.0
/*
 * json.c - prints a sample as a line of JSON
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "output.h"

void json_string(const char *text)
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
	if (result != ALL_RESULTS || vector != sample->table[LATENCY].row[0].vector)
		putchar(',');
	printf("{\"vector\":%u,\"name\":", vector);
	json_string(vector_name(vector));
	if (result != ALL_RESULTS) {
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

static void json_member(const char *name, const char *text)
{
	printf(",\"%s\":", name);
	json_string(text);
}

static void json_fault(const struct fault *fault, bool first)
{
	size_t i;

	printf("%s{\"duration\":%" PRIu64 ",\"pid\":%d", first ? "" : ",", fault->duration,
	       fault->row.pid);
	json_member("command", fault->row.comm);
	json_member("result", result_name(fault->result));
	json_member("flags", fault->flag_names);
	json_member("in", fault->kind);
	json_member("at", fault->at);
	json_member("by", fault->by);
	json_member("error_code", fault->no_exception ? "" : fault->error_names);
	printf(",\"end\":%" PRIu64 ",\"cpu\":%u,\"slept\":%" PRIu64 ",\"preempted\":%" PRIu64,
	       fault->ts, fault->cpu, fault->slept, fault->preempted);
	json_member("waited_in", fault->waited_in ?: "");
	json_member("event", fault->no_exception ? "mm_fault" : "page_fault_exit");
	printf(",\"stack\":[");
	for (i = 0; i < fault->nr_callers; i++) {
		if (i)
			putchar(',');
		json_string(fault->stack[i]);
	}
	printf("]}");
}

static void json_worst(const struct sample *sample)
{
	struct task_time *time;
	size_t nr, i;

	each_worst(json_fault);
	printf("],\"sched_switch\":%s,\"tasks\":[", worst_knows_switches() ? "true" : "false");
	time = top_times(&sample->table[WORST], &nr);
	for (i = 0; i < nr; i++) {
		printf("%s{\"pid\":%d", i ? "," : "", time[i].pid);
		json_member("command", time[i].comm);
		printf(",\"count\":%" PRIu64 ",\"time\":%" PRIu64 ",\"sleeping\":%" PRIu64
		       ",\"preempted\":%" PRIu64 ",\"running\":%" PRIu64 "}", time[i].count,
		       time[i].total, time[i].sleeping, time[i].preempted, time[i].running);
	}
	free(time);
}

void print_json(struct sample *sample)
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
		printf(",\"%s\":{\"missing\":%" PRIu64 ",\"twice\":%" PRIu64
		       ",\"replaced\":%s,\"rows\":[", table_names[i], sample->missing[i],
		       sample->twice[i], sample->replaced[i] ? "true" : "false");
		if (i == BY_CPU)
			json_vectors(sample);
		else if (i == LATENCY)
			each_duration(sample, json_latency);
		else if (i == TASKS)
			json_tasks(sample);
		else if (i == WORST)
			json_worst(sample);
		else
			json_lines(sample, i);
		printf("]}");
	}
	printf("}\n");
}

