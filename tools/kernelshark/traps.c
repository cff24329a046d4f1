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

struct record {
	struct traps_event	event;
	int64_t			offset;
};

/* Indexes are those of enum traps_type. */
static const char *const event_names[NR_EVENTS] = {
	"traps/trap_entry", "traps/trap_exit", "traps/page_fault_entry", "traps/page_fault_exit",
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
	kinds_forget(traps->format);
	traps_format_free(traps->format);
	free(traps);
}

KS_DEFINE_PLUGIN_CONTEXT(struct traps, traps_free)

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

static void add_record(struct traps *traps, void *rec, const struct kshark_entry *entry)
{
	struct record *records, *record;
	struct traps_event event;

	if (!traps_read(traps->format, rec, &event) || event.type == TRAPS_MM_FAULT)
		return;
	records = make_room(traps->records, traps->nr_records, &traps->max_records,
			    sizeof(*records));
	if (!records)
		return;
	traps->records = records;
	record = &records[traps->nr_records++];
	record->event = event;
	record->event.ts = entry->ts;	/* as calibrated */
	record->event.data = (void *)entry;
	record->offset = entry->offset;
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
	if (!traps)
		return;
	/*
	 * Its offset is how many were lost. If only one CPU has records, the first of them tells a
	 * reload soon enough: no pair is around a loss before it.
	 */
	if (entry->cpu < traps->last_cpu)
		traps_reset(traps);
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

	if (x->event.ts != y->event.ts)
		return x->event.ts < y->event.ts ? -1 : 1;
	if (x->event.cpu != y->event.cpu)
		return x->event.cpu < y->event.cpu ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_begins(const void *a, const void *b)
{
	const struct exception *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

static void add_exception(const struct traps_event *entry, const struct traps_event *exit,
			  void *arg)
{
	const struct traps_event *known = exit ? exit : entry;
	struct traps *traps = arg;
	struct exception *exceptions, *e;

	exceptions = make_room(traps->exceptions, traps->nr_exceptions, &traps->max_exceptions,
			       sizeof(*exceptions));
	if (!exceptions)
		return;
	traps->exceptions = exceptions;
	e = &exceptions[traps->nr_exceptions++];
	e->entry = entry ? entry->data : NULL;
	e->exit = exit ? exit->data : NULL;
	e->begin = entry ? entry->ts : exit->ts;
	e->end = known->ts;
	e->duration = exit ? (int64_t)exit->duration : -1;
	e->pid = known->pid;
	e->kind = make_kind(traps->arch, known->vector,
			    exit ? TRAPS_OUTCOME(exit->result, exit->code) : OUTCOME_NONE);
	e->flags = known->flags;
	e->slow = false;
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
	struct traps_pairing *pairing = traps_pairing_new(add_exception, traps);
	size_t i, lost = 0;

	if (traps->nr_lost)
		qsort(traps->lost, traps->nr_lost, sizeof(*traps->lost), compare_times);
	qsort(traps->records, traps->nr_records, sizeof(*traps->records), compare_records);
	for (i = 0; pairing && i < traps->nr_records; i++) {
		const struct traps_event *event = &traps->records[i].event;

		for (; lost < traps->nr_lost && traps->lost[lost] <= (int64_t)event->ts; lost++)
			traps_pairing_lost(pairing, traps->lost[lost]);
		traps_pairing_add(pairing, event);
	}
	if (pairing)
		traps_pairing_end(pairing);
	traps_pairing_free(pairing);
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
	struct traps_format *format = NULL;
	const char *missing;
	struct traps *traps;
	int i;

	if (kshark_is_tep(stream))
		format = traps_format_new(kshark_get_tep(stream), &missing);
	/* Nothing to do is not a failure: KernelShark would complain about one. */
	if (!format)
		return 1;
	traps = __init(stream->stream_id);
	if (!traps) {
		traps_format_free(format);
		return 0;
	}

	traps->stream = stream;
	traps->format = format;
	traps->last_cpu = -1;
	traps->arch = kinds_learn(format);
	for (i = 0; i < NR_EVENTS; i++) {
		traps->event_ids[i] = kshark_find_event_id(stream, event_names[i]);
		if (traps->event_ids[i] >= 0)
			kshark_register_event_handler(stream, traps->event_ids[i], load_record);
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

static bool is_ours(const struct traps *traps, const struct kshark_entry *entry)
{
	int i;

	for (i = 0; i < NR_EVENTS && traps->event_ids[i] != entry->event_id; i++)
		;
	return i < NR_EVENTS;
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
		if (!is_ours(traps, rows[i]))
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
