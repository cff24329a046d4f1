// SPDX-License-Identifier: GPL-2.0
/*
 * hist.c - counts by the kernel's histograms, where BPF cannot
 *
 * The triggers are written as text, because tracefs_hist_alloc() cannot set a size. They have at
 * most three keys: so only page faults have the code of a signal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include "trapstat.h"

#define MIN_ENTRIES	128
#define MAX_ENTRIES	131072

enum key { NO_KEY, VECTOR, CPU, PID, RESULT, CODE, DURATION, PAGE, IP };

static const struct {
	const char	*trigger;
	const char	*shown;
} keys[] = {
	[VECTOR]	= { "vector", "vector" },
	[CPU]		= { "common_cpu", "common_cpu" },
	[PID]		= { "common_pid.execname", "common_pid" },
	[RESULT]	= { "result", "result" },
	[CODE]		= { "code", "code" },
	[DURATION]	= { "duration.log2", "duration" },
	[PAGE]		= { "address.buckets=4096", "address" },
	[IP]		= { "ip", "ip" },
};

static struct hist {
	enum table	table;
	const char	*event;
	enum key	key[4];		/* ends with NO_KEY */
	char		*trigger;	/* NULL: not in use */
	char		*filter;
	unsigned int	made;		/* counts up, in the order of an event's file */
	bool		descending;	/* sort order; tells a histogram from its replacement */
	unsigned long	entries;
	struct rows	before;
	uint64_t	dropped;
} hists[] = {
	{ .table = BY_CPU, .event = "trap_exit", .key = { VECTOR, CPU } },
	{ .table = BY_CPU, .event = "page_fault_exit", .key = { CPU } },
	{ .table = BY_CPU, .event = "mm_fault", .key = { CPU } },
	{ .table = LATENCY, .event = "trap_exit", .key = { VECTOR, RESULT, DURATION } },
	{ .table = LATENCY, .event = "page_fault_exit", .key = { RESULT, CODE, DURATION } },
	{ .table = LATENCY, .event = "mm_fault", .key = { RESULT, DURATION } },
	{ .table = TASKS, .event = "trap_exit", .key = { PID, VECTOR } },
	{ .table = TASKS, .event = "page_fault_exit", .key = { PID } },
	{ .table = TASKS, .event = "mm_fault", .key = { PID } },
	{ .table = ADDRESSES, .event = "page_fault_exit", .key = { PID, PAGE } },
	{ .table = FROM, .event = "trap_exit", .key = { PID, VECTOR, IP } },
	{ .table = FROM, .event = "page_fault_exit", .key = { PID, IP } },
	{ .table = TABLES },	/* the replacement of another histogram */
};

#define NR_HISTS	(sizeof(hists) / sizeof(*hists) - 1)
#define END		(hists + NR_HISTS)

static const char * const events[] = { "trap_exit", "page_fault_exit", "mm_fault" };

#define NR_EVENTS	(sizeof(events) / sizeof(*events))

static unsigned int nr_made;

static unsigned long entries_of(const struct hist *hist, unsigned int nr_cpus)
{
	unsigned long entries = options.entries;

	if (hist->table == BY_CPU)
		entries = 32UL * nr_cpus;
	else if (hist->table == LATENCY)
		entries = 2048;
	if (entries < MIN_ENTRIES)
		return MIN_ENTRIES;
	return entries > MAX_ENTRIES ? MAX_ENTRIES : entries;
}

static char *make_trigger(const struct hist *hist, unsigned long entries)
{
	const char *key[3] = { "", "", "" };
	int i;

	for (i = 0; i < 3 && hist->key[i]; i++)
		key[i] = keys[hist->key[i]].trigger;
	return print_string("hist:keys=%s%s%s%s%s%s%s:size=%lu", key[0], *key[1] ? "," : "",
			    key[1], *key[2] ? "," : "", key[2],
			    hist->table == LATENCY ? ":vals=duration" : "",
			    hist->descending ? ":sort=hitcount.descending" : "", entries);
}

static void write_trigger(struct tracefs_instance *instance, const struct hist *hist,
			  const char *before, const char *trigger, const char *after)
{
	char *command = print_string("%s%s%s%s", before, trigger, after, hist->filter);

	if (tracefs_event_file_append(instance, SYSTEM, hist->event, "trigger", command) < 0)
		die("the kernel does not take the trigger %s: %s", command, strerror(errno));
	free(command);
}

/* The filter for the chosen vectors; NULL if the event has none of them. */
static char *make_filter(const char *event)
{
	char *filter = NULL, *longer;
	unsigned int i;

	if (!options.some_vectors)
		return print_string("%s", "");
	if (strcmp(event, "trap_exit"))
		return options.vectors[strcmp(event, "mm_fault") ? VECTOR_PF : VECTOR_NONE] ?
			       print_string("%s", "") : NULL;
	for (i = 0; i < VECTORS; i++) {
		if (!options.vectors[i] || i == VECTOR_PF || i == VECTOR_NONE)
			continue;
		longer = print_string("%s vector == %u", filter ? filter : " if", i);
		free(filter);
		filter = print_string("%s ||", longer);
		free(longer);
	}
	if (filter)
		filter[strlen(filter) - strlen(" ||")] = '\0';
	return filter;
}

void hist_start(struct tracefs_instance *instance, unsigned int nr_cpus)
{
	struct hist *hist;

	for (hist = hists; hist < END; hist++) {
		if (!options.table[hist->table] ||
		    !tracefs_event_file_exists(instance, SYSTEM, hist->event, "trigger"))
			continue;
		hist->filter = make_filter(hist->event);
		if (!hist->filter)
			continue;
		hist->entries = entries_of(hist, nr_cpus);
		hist->trigger = make_trigger(hist, hist->entries);
		hist->made = nr_made++;
		write_trigger(instance, hist, "", hist->trigger, "");
	}
}

/* Read "NAME: VALUE" at *@text; anything else is an error. */
static bool read_key(const char **text, enum key key, struct row *row)
{
	size_t len = strlen(keys[key].shown);
	uint64_t value;
	char *end;

	if (strncmp(*text, keys[key].shown, len) || (*text)[len] != ':')
		return false;
	*text += len + 2;
	if (key == PID) {
		/* any 16 characters, and "[pid]" */
		if (strnlen(*text, COMM_LEN + 1) <= COMM_LEN || (*text)[COMM_LEN] != '[')
			return false;
		memcpy(row->comm, *text, COMM_LEN - 1);
		for (len = COMM_LEN - 1; len && row->comm[len - 1] == ' '; len--)
			row->comm[len - 1] = '\0';
		*text += COMM_LEN + 1;
	} else if (key == DURATION || key == PAGE) {
		if (strncmp(*text, "~ ", 2))
			return false;
		*text += 2;
	}
	value = strtoull(*text, &end, 10);
	if (end == *text)
		return false;
	if (*end == '^') {
		row->value = strtoull(end + 1, &end, 10);
		row->value = row->value < 64 ? 1ULL << row->value : UINT64_MAX;
		row->low = row->value > 1 ? row->value / 2 + 1 : 0;
	} else if (*end == '-') {
		strtoull(end + 1, &end, 10);
		row->value = value;
	} else if (key == IP) {
		row->value = value;
		row->kernel = value >> 63;	/* most likely: user mode may jump there */
	} else if (key == VECTOR) {
		row->vector = value;
	} else if (key == CPU) {
		row->cpu = value;
	} else if (key == RESULT) {
		row->result = TRAPS_OUTCOME(value, 0);
	} else if (key == CODE) {
		row->result += value;
	} else {
		row->pid = value;
	}
	*text = end + strspn(end, " ],");
	return true;
}

static bool read_value(const char **text, const char *name, uint64_t *value)
{
	const char *at = *text + strspn(*text, " ");
	char *end;

	if (strncmp(at, name, strlen(name)))
		return false;
	*value = strtoull(at + strlen(name), &end, 10);
	*text = end;
	return true;
}

static bool read_row(const char **text, const struct hist *hist, struct row *row)
{
	const enum key *key;

	memset(row, 0, sizeof(*row));
	if (strcmp(hist->event, "trap_exit"))
		row->vector = strcmp(hist->event, "mm_fault") ? VECTOR_PF : VECTOR_NONE;
	*text += 2;	/* "{ " */
	for (key = hist->key; *key; key++) {
		if (!read_key(text, *key, row))
			return false;
	}
	return *(*text)++ == '}' && read_value(text, "hitcount: ", &row->count) &&
	       (hist->table != LATENCY || read_value(text, "duration: ", &row->sum));
}

/* Read the next histogram of the file at *@text. */
static bool read_hist(const char **text, const struct hist *hist, struct rows *rows,
		      uint64_t *dropped)
{
	const char *at = strstr(*text, "# trigger info:");
	struct row row;

	while (at && (at = strchr(at, '\n'))) {
		at++;
		if (!strncmp(at, "{ ", 2)) {
			if (!read_row(&at, hist, &row))
				return false;
			rows_add(rows, &row);
		} else if (read_value(&at, "Dropped: ", dropped)) {
			*text = at;
			return true;
		}
	}
	return false;
}

static void add(struct sample *sample, enum table table, struct row *row)
{
	struct outcome *outcome;
	const char *comm;

	if (table == LATENCY) {
		outcome = sample_outcome(sample, row->vector, row->result);
		outcome->count += row->count;
		outcome->ran += row->sum;
	}
	if (table < TASKS) {
		rows_add(&sample->rows[table], row);
		return;
	}
	if (table == FROM)
		row->value = raised_at(row->vector, 0, row->value);
	comm = maps_comm(row->pid);
	if (comm)
		memcpy(row->comm, comm, COMM_LEN - 1);
	sample_add_line(sample, table, row);
}

static void add_difference(struct sample *sample, struct hist *hist, struct rows *now,
			   uint64_t dropped)
{
	struct rows difference = { };
	size_t i;

	rows_merge(now);
	for (i = 0; i < now->nr; i++)
		rows_add(&difference, &now->row[i]);
	rows_subtract(&difference, &hist->before);
	for (i = 0; i < difference.nr; i++)
		add(sample, hist->table, &difference.row[i]);
	rows_free(&difference);

	sample->missing[hist->table] += dropped - hist->dropped;
	hist->dropped = dropped;
	rows_free(&hist->before);
	hist->before = *now;
}

/* The histogram after @last in the event's file; the first one if @last is NULL. */
static struct hist *next_made(const char *event, const struct hist *last)
{
	struct hist *hist, *next = NULL;

	for (hist = hists; hist <= END; hist++) {
		if (hist->trigger && !strcmp(hist->event, event) &&
		    (!last || hist->made > last->made) && (!next || hist->made < next->made))
			next = hist;
	}
	return next;
}

/* @old: read only this histogram, which the one at END replaces. NULL: read all. */
static void read_event(struct tracefs_instance *instance, const char *event,
		       const struct hist *old, struct sample *sample)
{
	struct hist *hist = next_made(event, NULL);
	uint64_t dropped;
	const char *at;
	char *text = NULL;
	struct rows now;
	size_t i;

	if (hist)
		text = tracefs_event_file_read(instance, SYSTEM, event, "hist", NULL);
	at = text;
	for (; hist; hist = next_made(event, hist)) {
		memset(&now, 0, sizeof(now));
		if (!text || !read_hist(&at, hist, &now, &dropped))
			die("cannot read the histogram %s", hist->trigger);
		if (!old || hist == old) {
			add_difference(sample, hist, &now, dropped);
			continue;
		}
		for (i = 0; hist == END && i < now.nr; i++)
			sample->twice[hist->table] += now.row[i].count;
		rows_free(&now);
	}
	free(text);
}

/*
 * Replace a histogram that fills up. Both count exceptions that are raised between the
 * two writes that switch over. The new one's counts when the old one is read for the last
 * time are an upper limit for these.
 */
static void replace(struct tracefs_instance *instance, struct hist *old, struct sample *sample)
{
	struct hist *new = END;
	char *new_command, *old_command;

	*new = *old;
	memset(&new->before, 0, sizeof(new->before));
	new->dropped = 0;
	new->descending = !old->descending;
	new->trigger = make_trigger(new, new->entries);
	new->made = nr_made++;
	/* only the trigger that makes a histogram sets its size; a small one costs less */
	new_command = make_trigger(new, MIN_ENTRIES);
	old_command = make_trigger(old, MIN_ENTRIES);
	write_trigger(instance, new, "", new->trigger, ":pause");
	write_trigger(instance, new, "", new_command, ":continue");
	write_trigger(instance, old, "", old_command, ":pause");
	read_event(instance, old->event, old, sample);
	write_trigger(instance, old, "!", old_command, "");
	free(old_command);
	free(new_command);
	rows_free(&old->before);
	free(old->trigger);
	*old = *new;
	new->trigger = NULL;
}

/* Read what was counted since the last call. @last: there will be no other call. */
void hist_read(struct tracefs_instance *instance, struct sample *sample, bool last)
{
	struct hist *hist;
	unsigned int i;

	sideband_read();
	maps_period();
	for (i = 0; i < NR_EVENTS; i++)
		read_event(instance, events[i], NULL, sample);
	for (hist = hists; hist < END && !last; hist++) {
		if (hist->trigger && hist->before.nr > hist->entries / 4 * 3)
			replace(instance, hist, sample);
	}
	maps_next_period();
}

/* The instance has gone; hist_start() may follow. */
void hist_stop(void)
{
	struct hist *hist;

	for (hist = hists; hist < END; hist++) {
		free(hist->trigger);
		free(hist->filter);
		hist->trigger = hist->filter = NULL;
		rows_free(&hist->before);
		hist->dropped = 0;
	}
}
