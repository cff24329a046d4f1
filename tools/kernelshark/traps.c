// SPDX-License-Identifier: GPL-2.0
/*
 * traps.c - collects the traps events while KernelShark loads them, and pairs them
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <libkshark-tepdata.h>
#include <trace-cmd.h>
#include "traps.h"

/* How deep the exceptions of a task may nest. */
#define MAX_OPEN	16

/* How much longer than its duration the time between the records of a pair may be, in ns. */
#define SLACK		1000000

enum event { TRAP_ENTRY, TRAP_EXIT, FAULT_ENTRY, FAULT_EXIT };

static const char *const event_names[NR_EVENTS] = {
	[TRAP_ENTRY]	= "traps/trap_entry",
	[TRAP_EXIT]	= "traps/trap_exit",
	[FAULT_ENTRY]	= "traps/page_fault_entry",
	[FAULT_EXIT]	= "traps/page_fault_exit",
};

struct record {
	const struct kshark_entry	*entry;
	int64_t				ts;
	int64_t				offset;
	int64_t				duration;	/* -1: an entry */
	uint64_t			ip;
	uint64_t			subject;	/* address or vector */
	int32_t				task;
	int32_t				pid;
	uint32_t			kind;
	int16_t				cpu;
	uint16_t			flags;
	bool				fault;
	bool				user_mode;
};

/* Pairing of one task's records. */
struct pairing {
	struct traps			*traps;
	const struct record		*open[MAX_OPEN];
	unsigned int			nr_open;
};

unsigned long traps_generation;

/* Make room for another element of @array, which has @nr. Returns NULL without memory. */
static void *make_room(void *array, size_t nr, size_t *max, size_t size)
{
	void *more;

	if (nr < *max)
		return array;
	more = realloc(array, (*max ? 2 * *max : 1024) * size);
	if (more)
		*max = *max ? 2 * *max : 1024;
	return more;
}

static void traps_reset(struct traps *traps)
{
	traps_generation++;
	plot_free(traps->plot);
	free(traps->records);
	free(traps->lost);
	free(traps->exceptions);
	traps->plot = NULL;
	traps->records = NULL;
	traps->lost = NULL;
	traps->exceptions = NULL;
	traps->nr_records = 0;
	traps->max_records = 0;
	traps->nr_lost = 0;
	traps->max_lost = 0;
	traps->nr_exceptions = 0;
	traps->max_exceptions = 0;
	traps->paired = false;
	traps->last_cpu = -1;
}

static void traps_free(struct traps *traps)
{
	traps_reset(traps);
	free(traps);
}

KS_DEFINE_PLUGIN_CONTEXT(struct traps, traps_free)

static int64_t read_field(struct kshark_data_stream *stream, void *rec, const char *name)
{
	int64_t value = 0;

	kshark_read_record_field_int(stream, rec, name, &value);
	return value;
}

/*
 * KernelShark reads a file CPU by CPU, each from its first record to its last. To apply an
 * advanced filter, it frees all entries and reads again, without telling the plugin.
 */
static void detect_reload(struct traps *traps, const struct kshark_entry *entry)
{
	if (entry->cpu < traps->last_cpu ||
	    (entry->cpu == traps->last_cpu && entry->offset <= traps->last_offset))
		traps_reset(traps);
	traps->last_cpu = entry->cpu;
	traps->last_offset = entry->offset;
}

static int find_event(const struct traps *traps, const struct kshark_entry *entry)
{
	int event;

	for (event = 0; event < NR_EVENTS; event++) {
		if (traps->event_ids[event] == entry->event_id)
			return event;
	}
	return -1;
}

static void add_record(struct traps *traps, void *rec, const struct kshark_entry *entry)
{
	struct kshark_data_stream *stream = traps->stream;
	int event = find_event(traps, entry);
	uint16_t result = RESULT_NONE;
	struct record *records, *record;

	if (event < 0)
		return;
	records = make_room(traps->records, traps->nr_records, &traps->max_records,
			    sizeof(*records));
	if (!records)
		return;
	traps->records = records;
	record = &records[traps->nr_records++];

	record->entry = entry;
	record->ts = entry->ts;
	record->offset = entry->offset;
	record->cpu = entry->cpu;
	record->pid = entry->pid;
	/* The idle tasks of all CPUs have pid 0. */
	record->task = entry->pid ? entry->pid : -1 - entry->cpu;
	record->ip = read_field(stream, rec, "ip");
	record->user_mode = read_field(stream, rec, "user_mode");
	record->fault = event == FAULT_ENTRY || event == FAULT_EXIT;
	record->subject = read_field(stream, rec, record->fault ? "address" : "vector");
	record->flags = 0;
	record->duration = -1;
	if (event == TRAP_EXIT || event == FAULT_EXIT) {
		result = read_field(stream, rec, "result");
		record->flags = read_field(stream, rec, "flags");
		record->duration = read_field(stream, rec, "duration");
	}
	record->kind = make_kind(record->fault ? VECTOR_PF : record->subject, result);
}

static void add_lost(struct traps *traps, const struct kshark_entry *entry)
{
	int64_t *lost = make_room(traps->lost, traps->nr_lost, &traps->max_lost, sizeof(*lost));

	if (!lost)
		return;
	traps->lost = lost;
	lost[traps->nr_lost++] = entry->ts;
}

static void load_record(struct kshark_data_stream *stream, void *rec, struct kshark_entry *entry)
{
	struct traps *traps = __get_context(stream->stream_id);

	if (!traps)
		return;
	detect_reload(traps, entry);
	add_record(traps, rec, entry);
}

static void load_lost(struct kshark_data_stream *stream, void *rec, struct kshark_entry *entry)
{
	struct traps *traps = __get_context(stream->stream_id);

	(void)rec;
	if (traps)
		add_lost(traps, entry);
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int compare_records(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu - y->cpu;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_begins(const void *a, const void *b)
{
	const struct exception *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

static bool lost_between(const struct traps *traps, int64_t begin, int64_t end)
{
	size_t low = 0, high = traps->nr_lost, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (traps->lost[middle] < begin)
			low = middle + 1;
		else
			high = middle;
	}
	return low < traps->nr_lost && traps->lost[low] <= end;
}

/* Does the time between the records agree with the duration? */
static bool same_time(const struct record *entry, const struct record *exit)
{
	int64_t time = exit->ts - entry->ts;

	return time >= exit->duration / 2 && time - SLACK <= 2 * exit->duration;
}

static bool same_exception(const struct record *entry, const struct record *exit)
{
	return entry->fault == exit->fault && entry->ip == exit->ip &&
	       entry->subject == exit->subject && entry->user_mode == exit->user_mode;
}

static void add_exception(struct traps *traps, const struct record *entry,
			  const struct record *exit)
{
	const struct record *known = exit ? exit : entry;
	struct exception *exceptions, *e;

	exceptions = make_room(traps->exceptions, traps->nr_exceptions, &traps->max_exceptions,
			       sizeof(*exceptions));
	if (!exceptions)
		return;
	traps->exceptions = exceptions;
	e = &exceptions[traps->nr_exceptions++];
	e->entry = entry ? entry->entry : NULL;
	e->exit = exit ? exit->entry : NULL;
	e->begin = entry ? entry->ts : exit->ts;
	e->end = known->ts;
	e->duration = known->duration;
	e->pid = known->pid;
	e->kind = known->kind;
	e->flags = known->flags;
	e->slow = false;
}

static void close_open(struct pairing *p, unsigned int from)
{
	while (p->nr_open > from)
		add_exception(p->traps, p->open[--p->nr_open], NULL);
}

static void pair_entry(struct pairing *p, const struct record *entry)
{
	/* If user mode was interrupted, no handler of this task is running. */
	if (entry->user_mode || p->nr_open == MAX_OPEN)
		close_open(p, 0);
	p->open[p->nr_open++] = entry;
}

static void pair_exit(struct pairing *p, const struct record *exit)
{
	const struct record *entry;
	unsigned int i;

	for (i = p->nr_open; i > 0 && !same_exception(p->open[i - 1], exit); i--)
		;
	if (i == 0) {
		add_exception(p->traps, NULL, exit);
		return;
	}
	close_open(p, i);
	entry = p->open[--p->nr_open];
	if (lost_between(p->traps, entry->ts, exit->ts) && !same_time(entry, exit)) {
		add_exception(p->traps, entry, NULL);
		entry = NULL;
	}
	add_exception(p->traps, entry, exit);
}

/* Does the trace's clock count nanoseconds? Most of the exceptions decide. */
static bool clock_is_ns(const struct traps *traps)
{
	const struct exception *e, *end = traps->exceptions + traps->nr_exceptions;
	size_t agree = 0, all = 0;

	for (e = traps->exceptions; e < end; e++) {
		if (!e->exit)
			continue;
		all++;
		if (!e->entry)	/* a counter is often smaller than a duration */
			agree += e->end >= e->duration;
		else
			agree += e->end - e->begin >= e->duration / 2;
	}
	return 2 * agree >= all;
}

/* An exception with only an exit begins its duration before the exit. */
static void set_begins(struct traps *traps)
{
	struct exception *e, *end = traps->exceptions + traps->nr_exceptions;

	if (!clock_is_ns(traps))
		return;
	for (e = traps->exceptions; e < end; e++) {
		if (!e->entry)
			e->begin = e->end - e->duration;
	}
}

static void mark_slow(struct traps *traps)
{
	struct exception *slow[NR_SLOW], *e, *end = traps->exceptions + traps->nr_exceptions;
	unsigned int nr = 0, i;

	for (e = traps->exceptions; e < end; e++) {
		if (!e->exit || (nr == NR_SLOW && e->duration <= slow[nr - 1]->duration))
			continue;
		if (nr < NR_SLOW)
			nr++;
		for (i = nr - 1; i > 0 && slow[i - 1]->duration < e->duration; i--)
			slow[i] = slow[i - 1];
		slow[i] = e;
	}
	for (i = 0; i < nr; i++)
		slow[i]->slow = true;
}

static void pair_records(struct traps *traps)
{
	struct pairing p = { .traps = traps };
	size_t i;

	if (traps->nr_lost)
		qsort(traps->lost, traps->nr_lost, sizeof(*traps->lost), compare_times);
	qsort(traps->records, traps->nr_records, sizeof(*traps->records), compare_records);
	for (i = 0; i < traps->nr_records; i++) {
		const struct record *record = &traps->records[i];

		if (i && record->task != record[-1].task)
			close_open(&p, 0);
		if (record->duration < 0)
			pair_entry(&p, record);
		else
			pair_exit(&p, record);
	}
	close_open(&p, 0);
	set_begins(traps);
	qsort(traps->exceptions, traps->nr_exceptions, sizeof(*traps->exceptions), compare_begins);
	mark_slow(traps);

	free(traps->records);
	traps->records = NULL;
	traps->nr_records = 0;
	traps->max_records = 0;
	traps->paired = true;
}

struct traps *traps_get(int sd)
{
	struct traps *traps = __get_context(sd);

	if (!traps)
		return NULL;
	if (!traps->paired && traps->nr_records)
		pair_records(traps);
	return traps->nr_exceptions ? traps : NULL;
}

int64_t traps_shift(const struct traps *traps)
{
	const struct exception *e = traps->exceptions;

	return e->exit ? e->exit->ts - e->end : e->entry->ts - e->begin;
}

EXPORT int KSHARK_PLOT_PLUGIN_INITIALIZER(struct kshark_data_stream *stream)
{
	int ids[NR_EVENTS], nr = 0, i;
	struct traps *traps;

	for (i = 0; i < NR_EVENTS; i++) {
		ids[i] = kshark_find_event_id(stream, event_names[i]);
		nr += ids[i] >= 0;
	}
	/* Nothing to do is not a failure: KernelShark would complain about one. */
	if (!nr)
		return 1;
	traps = __init(stream->stream_id);
	if (!traps)
		return 0;

	traps->stream = stream;
	traps->last_cpu = -1;
	memcpy(traps->event_ids, ids, sizeof(ids));
	for (i = 0; i < NR_EVENTS; i++) {
		if (ids[i] < 0)
			continue;
		kinds_learn(stream, ids[i]);
		kshark_register_event_handler(stream, ids[i], load_record);
	}
	kshark_register_event_handler(stream, KS_EVENT_OVERFLOW, load_lost);
	kshark_register_draw_handler(stream, plot_draw);
	return 1;
}

EXPORT int KSHARK_PLOT_PLUGIN_DEINITIALIZER(struct kshark_data_stream *stream)
{
	struct traps *traps = __get_context(stream->stream_id);
	int i;

	if (!traps)
		return 1;
	for (i = 0; i < NR_EVENTS; i++) {
		if (traps->event_ids[i] >= 0)
			kshark_unregister_event_handler(stream, traps->event_ids[i], load_record);
	}
	kshark_unregister_event_handler(stream, KS_EVENT_OVERFLOW, load_lost);
	kshark_unregister_draw_handler(stream, plot_draw);
	__close(stream->stream_id);
	return 1;
}

static struct kshark_dpi_list *find_plugin(const struct kshark_data_stream *stream)
{
	struct kshark_dpi_list *plugin;

	for (plugin = stream->plugins; plugin; plugin = plugin->next) {
		if (plugin->interface->init == KSHARK_PLOT_PLUGIN_INITIALIZER)
			break;
	}
	return plugin;
}

/* Read the exceptions in @rows of a stream that was loaded without this plugin. */
static void adopt(struct kshark_data_stream *stream, struct kshark_entry **rows, size_t nr)
{
	struct traps *traps = __get_context(stream->stream_id);
	struct tep_record *rec;
	size_t i;

	if (!traps || !kshark_is_tep(stream))
		return;
	for (i = 0; i < nr; i++) {
		if (rows[i]->stream_id != stream->stream_id)
			continue;
		if (rows[i]->event_id == KS_EVENT_OVERFLOW)
			add_lost(traps, rows[i]);
		if (find_event(traps, rows[i]) < 0)
			continue;
		rec = tracecmd_read_at(kshark_get_tep_input(stream), rows[i]->offset, NULL);
		if (!rec)
			continue;
		add_record(traps, rec, rows[i]);
		tracecmd_free_record(rec);
	}
	traps->last_cpu = INT_MAX;	/* the next record begins a reload */
}

void traps_adopt(int sd, struct kshark_entry **rows, size_t nr)
{
	struct kshark_context *context = NULL;
	struct kshark_data_stream *stream;
	struct kshark_dpi_list *ours, *plugin;
	int i;

	if (!kshark_instance(&context))
		return;
	stream = kshark_get_data_stream(context, sd);
	ours = stream ? find_plugin(stream) : NULL;
	if (!ours)
		return;
	for (i = 0; i <= context->stream_info.max_stream_id; i++) {
		stream = kshark_get_data_stream(context, i);
		if (!stream || find_plugin(stream))
			continue;
		plugin = kshark_register_plugin_to_stream(stream, ours->interface, true);
		if (!plugin)
			continue;
		kshark_handle_dpi(stream, plugin, KSHARK_PLUGIN_INIT);
		adopt(stream, rows, nr);
	}
}
