// SPDX-License-Identifier: GPL-2.0
/*
 * json.c - prints a sample as a line of JSON
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "output.h"

#define SCHEMA	3

static struct json_object *rows;	/* of the table that is made */

/* Returns the length of the character, or 0 if it is not UTF-8. */
static int decode(const char *text, uint32_t *code)
{
	static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int len, i;

	len = (unsigned char)*text < 0x80 ? 1 : (*text & 0xe0) == 0xc0 ? 2 :
	      (*text & 0xf0) == 0xe0 ? 3 : (*text & 0xf8) == 0xf0 ? 4 : 0;
	*code = *text & (len == 1 ? 0x7f : 0x7f >> len);
	for (i = 1; i < len && (text[i] & 0xc0) == 0x80; i++)
		*code = *code << 6 | (text[i] & 0x3f);
	return len && i == len && *code >= lowest[len] && *code <= 0x10ffff &&
	       (*code < 0xd800 || *code > 0xdfff) ? len : 0;
}

/* Names may be any bytes, JSON and Perfetto's strings must be UTF-8: what is not becomes \xNN. */
char *valid_utf8(const char *text)
{
	char *valid = allocate(NULL, 4 * strlen(text) + 1), *to = valid;
	uint32_t code;
	int len;

	while (*text) {
		len = decode(text, &code);
		if (len) {
			to = mempcpy(to, text, len);
			text += len;
		} else {
			to += sprintf(to, "\\x%02x", (unsigned char)*text++);
		}
	}
	*to = '\0';
	return valid;
}

static struct json_object *string(const char *text)
{
	char *valid = valid_utf8(text);
	struct json_object *object = json_object_new_string(valid);

	free(valid);
	return object;
}

/* With numbers for what a terminal does not show */
static void put_json(struct json_object *object)
{
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							  JSON_C_TO_STRING_NOSLASHESCAPE);
	uint32_t code;
	int len;

	for (; *text; text += len) {
		len = decode(text, &code) ?: 1;
		if (is_printable(code))
			fwrite(text, 1, len, stdout);
		else if (code > 0xffff)
			printf("\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 | (code & 0x3ff));
		else
			printf("\\u%04x", code);
	}
}

static void add_string(struct json_object *to, const char *key, const char *text)
{
	json_object_object_add(to, key, string(text));
}

static void add_number(struct json_object *to, const char *key, uint64_t number)
{
	json_object_object_add(to, key, json_object_new_uint64(number));
}

static void add_outcome(struct json_object *to, unsigned int outcome)
{
	const char *code = code_name(outcome);

	add_string(to, "result", result_name(outcome));
	if (code)
		add_string(to, "code", code);
}

static struct json_object *new_row(void)
{
	struct json_object *row = json_object_new_object();

	json_object_array_add(rows, row);
	return row;
}

static struct json_object *new_vector_row(unsigned int vector)
{
	struct json_object *row = new_row();

	if (vector != VECTOR_NONE)
		add_number(row, "vector", vector);
	add_string(row, "name", vector_name(vector));
	return row;
}

static void add_vectors(const struct sample *sample)
{
	const struct rows *all = &sample->rows[BY_CPU];
	struct json_object *row, *columns;
	struct outcome outcome;
	size_t begin, end, i;
	char *column;

	for (begin = 0; begin < all->nr; begin = end) {
		end = vector_end(all, begin);
		row = new_vector_row(all->row[begin].vector);
		add_number(row, "count", sum_counts(&all->row[begin], end - begin, UINT_MAX));
		outcome = outcome_of(sample, all->row[begin].vector, ALL_RESULTS);
		if (outcome.count)
			add_number(row, "time", outcome.ran + outcome.waited);
		if (outcome.count && !sample->no_flags)
			add_number(row, "waited", outcome.waited);
		columns = json_object_new_object();
		for (i = begin; i < end; i++) {
			column = valid_utf8(sample->columns[all->row[i].cpu]);
			add_number(columns, column, all->row[i].count);
			free(column);
		}
		json_object_object_add(row, "columns", columns);
	}
}

static void add_latency(const struct sample *sample, unsigned int vector, unsigned int result,
			const struct durations *d)
{
	struct json_object *row = new_vector_row(vector), *buckets, *bucket;
	size_t i;

	if (result != ALL_RESULTS)
		add_outcome(row, result);
	add_number(row, "count", d->count);
	add_number(row, "mean", d->sum / d->count);
	add_number(row, "p50", d->p50);
	add_number(row, "p90", d->p90);
	add_number(row, "p99", d->p99);
	add_number(row, "p99.9", d->p999);
	add_number(row, "max", d->max);
	if (sample->recorded)
		return;
	buckets = json_object_new_array();
	for (i = 0; i < d->buckets.nr; i++) {
		bucket = json_object_new_array();
		json_object_array_add(bucket, json_object_new_uint64(d->buckets.row[i].low));
		json_object_array_add(bucket, d->buckets.row[i].value == UINT64_MAX ? NULL :
				      json_object_new_uint64(d->buckets.row[i].value));
		json_object_array_add(bucket, json_object_new_uint64(d->buckets.row[i].count));
		json_object_array_add(buckets, bucket);
	}
	json_object_object_add(row, "buckets", buckets);
}

static void add_outcomes(const struct sample *sample)
{
	const struct outcomes *all = &sample->outcomes;
	struct json_object *row, *flags;
	const struct outcome *o;
	unsigned int i;
	char *name;

	for (o = all->outcome; o < all->outcome + all->nr; o++) {
		row = new_vector_row(o->vector);
		add_outcome(row, o->result);
		add_number(row, "count", o->count);
		if (o->vector != VECTOR_NONE)
			add_number(row, "user", o->user);
		add_number(row, "ran", o->ran);
		add_number(row, "waited", o->waited);
		flags = json_object_new_object();
		for (i = 0; i < FLAGS; i++) {
			name = flags_name(1U << i);
			add_number(flags, name, o->flag[i]);
			free(name);
		}
		json_object_object_add(row, "flags", flags);
	}
}

static void add_tasks(const struct sample *sample)
{
	struct json_object *row, *vectors;
	struct task_lines *task;
	struct line **sorted;
	size_t nr, i, n;

	task = top_tasks(&sample->lines[TASKS], &sorted, &nr);
	for (i = 0; i < nr; i++) {
		row = new_row();
		if (options.group != COMMAND && options.group != CGROUP)
			add_number(row, options.group == USER ? "uid" :
					options.group == PROCESS ? "pid" : "tid",
				   (*task[i].line)->id);
		add_string(row, options.group == USER ? "user" :
				options.group == CGROUP ? "cgroup" : "command",
			   (*task[i].line)->name);
		add_number(row, "count", task[i].count);
		if (task[i].sum)
			add_number(row, "time", task[i].sum);
		vectors = json_object_new_object();
		for (n = 0; n < task[i].nr; n++)
			add_number(vectors, vector_name(task[i].line[n]->vector),
				   task[i].line[n]->count);
		json_object_object_add(row, "vectors", vectors);
	}
	free(task);
	free(sorted);
}

static void add_lines(const struct sample *sample, enum table table)
{
	struct json_object *row;
	struct line **top;
	size_t nr, i;

	top = top_lines(&sample->lines[table], &nr);
	for (i = 0; i < nr; i++) {
		if (table == ADDRESSES) {
			row = new_row();
			add_string(row, "in", top[i]->kind);
		} else {
			row = new_vector_row(top[i]->vector);
		}
		add_number(row, "count", top[i]->count);
		add_string(row, "at", top[i]->name);
	}
	free(top);
}

static void add_fault(const struct fault *fault)
{
	struct json_object *row = new_row(), *stack = json_object_new_array();
	size_t i;

	add_number(row, "duration", fault->duration);
	add_number(row, "tid", fault->row.pid);
	add_string(row, "command", fault->row.comm);
	add_outcome(row, fault->result);
	add_string(row, "flags", fault->flag_names);
	add_string(row, "in", fault->kind);
	add_string(row, "at", fault->at);
	add_string(row, "by", fault->by);
	add_string(row, "error_code", fault->no_exception ? "" : fault->error_names);
	add_number(row, "end", fault->ts);
	add_number(row, "cpu", fault->cpu);
	add_number(row, "slept", fault->slept);
	add_number(row, "preempted", fault->preempted);
	add_string(row, "waited_in", fault->waited_in ?: "");
	add_string(row, "event", fault->no_exception ? "mm_fault" : "page_fault_exit");
	for (i = 0; i < fault->nr_callers; i++)
		json_object_array_add(stack, string(fault->stack[i]));
	json_object_object_add(row, "stack", stack);
}

static void add_worst(const struct sample *sample, struct json_object *table)
{
	struct json_object *row;
	struct task_time *time;
	size_t nr, i;

	each_worst(add_fault);
	json_object_object_add(table, "sched_switch", json_object_new_boolean(worst_knows_switches()));
	rows = json_object_new_array();
	json_object_object_add(table, "tasks", rows);
	time = top_times(&sample->rows[WORST], &nr);
	for (i = 0; i < nr; i++) {
		row = new_row();
		add_number(row, "tid", time[i].pid);
		add_string(row, "command", time[i].comm);
		add_number(row, "count", time[i].count);
		add_number(row, "time", time[i].total);
		add_number(row, "sleeping", time[i].sleeping);
		add_number(row, "preempted", time[i].preempted);
		add_number(row, "running", time[i].running);
	}
	free(time);
}

static struct json_object *new_table(const struct sample *sample, enum table which)
{
	struct json_object *table = json_object_new_object();

	add_number(table, "missing", sample->uncounted + sample->missing[which]);
	add_number(table, "twice", sample->twice[which]);
	if (which == TASKS || which == ADDRESSES || which == FROM) {
		add_number(table, "others", sample->lines[which].others);
		add_number(table, "other_lines", sample->lines[which].nr_others);
	}
	rows = json_object_new_array();
	json_object_object_add(table, "rows", rows);
	if (which == BY_CPU)
		add_vectors(sample);
	else if (which == LATENCY)
		each_duration(sample, add_latency);
	else if (which == OUTCOMES)
		add_outcomes(sample);
	else if (which == TASKS)
		add_tasks(sample);
	else if (which == WORST)
		add_worst(sample, table);
	else
		add_lines(sample, which);
	return table;
}

static void add_decimal(struct json_object *to, const char *key, double number)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6f", number);
	json_object_object_add(to, key, json_object_new_double_s(number, text));
}

void print_json(const struct sample *sample)
{
	struct json_object *all = json_object_new_object();
	unsigned int i;

	add_number(all, "schema", SCHEMA);
	add_string(all, "version", VERSION);
	if (sample->host)
		add_string(all, "host", sample->host);
	if (sample->kernel)
		add_string(all, "kernel", sample->kernel);
	if (sample->source)
		add_string(all, "source", sample->source);
	if (sample->time)
		add_decimal(all, "time", sample->time);
	add_string(all, "title", sample->title ?: "");
	add_decimal(all, "seconds", sample->seconds);
	add_string(all, "duration_buckets", sample->buckets);
	if (!sample->recorded)
		add_number(all, "missing_tasks", sample->lost_tasks);
	for (i = 0; i < TABLES; i++) {
		if (options.table[i])
			json_object_object_add(all, table_names[i], new_table(sample, i));
	}
	put_json(all);
	putchar('\n');
	json_object_put(all);
}
