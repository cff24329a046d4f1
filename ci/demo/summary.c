// SPDX-License-Identifier: GPL-2.0
/*
 * summary - what a trace-cmd recording of the traps events says
 *
 * usage: summary TRACE.DAT
 *
 * Prints one event of each kind, a table of exceptions with their results, and the
 * durations of page faults by result.  Names come from the recorded event formats.
 *
 * needs: libtracecmd, libtraceevent
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event-parse.h>
#include <trace-cmd.h>
#include "../trapstat/format.h"

#define MAX_VECTORS	64
#define MAX_RESULTS	32
#define MAX_LOG2	64
#define VECTOR_PF	14

struct exception {
	unsigned long		entries;
	unsigned long		user;
	unsigned long		kernel;
	unsigned long		results[MAX_RESULTS];
	unsigned long long	*durations;
	size_t			nr;
	size_t			size;
};

struct summary {
	struct tep_event	*trap_entry, *trap_exit;
	struct tep_event	*fault_entry, *fault_exit;
	struct exception	exceptions[MAX_VECTORS];
	unsigned long		faults[MAX_RESULTS][MAX_LOG2];
	unsigned long		missed;
	bool			missed_unknown;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "summary: %s: %s\n", what, why);
	exit(1);
}

/* Of a vector other than page faults', or of a result. */
static const char *name_of(struct tep_event *event, const char *field, unsigned int value)
{
	return format_name(event, field, value) ?: "?";
}

static unsigned long long field(struct tep_event *event, const char *name,
				struct tep_record *record)
{
	unsigned long long val;

	if (tep_get_field_val(NULL, event, name, record, &val, 0))
		die(event->name, "unexpected fields, recorded by another version?");
	return val;
}

static unsigned int log2_of(unsigned long long val)
{
	return val ? 63 - __builtin_clzll(val) : 0;
}

static void print_example(struct tep_event *event, struct tep_record *record)
{
	struct trace_seq s;

	trace_seq_init(&s);
	tep_print_event(event->tep, &s, record, "%16s-%-5d [%03d] %6.1000d: %s: %s\n",
			TEP_PRINT_COMM, TEP_PRINT_PID, TEP_PRINT_CPU,
			TEP_PRINT_TIME, TEP_PRINT_NAME, TEP_PRINT_INFO);
	trace_seq_do_printf(&s);
	trace_seq_destroy(&s);
}

static void add_exit(struct summary *sum, struct exception *e, struct tep_event *event,
		     struct tep_record *record)
{
	unsigned int result = field(event, "result", record) % MAX_RESULTS;
	unsigned long long duration = field(event, "duration", record);

	if (!e->results[result]++)
		print_example(event, record);
	if (event == sum->fault_exit)
		sum->faults[result][log2_of(duration)]++;
	if (field(event, "user_mode", record))
		e->user++;
	else
		e->kernel++;

	if (e->nr == e->size) {
		e->size = e->size ? 2 * e->size : 1024;
		e->durations = realloc(e->durations, e->size * sizeof(*e->durations));
		if (!e->durations)
			die("memory", strerror(errno));
	}
	e->durations[e->nr++] = duration;
}

static int add_event(struct tracecmd_input *handle, struct tep_record *record,
		     int cpu, void *data)
{
	struct tep_event *event = tep_find_event_by_record(tracecmd_get_tep(handle), record);
	struct summary *sum = data;
	unsigned int vector = VECTOR_PF;
	struct exception *e;

	(void)cpu;
	if (event == sum->trap_entry || event == sum->trap_exit)
		vector = field(event, "vector", record) % MAX_VECTORS;
	e = &sum->exceptions[vector];
	if (event == sum->trap_exit || event == sum->fault_exit)
		add_exit(sum, e, event, record);
	else if ((event == sum->trap_entry || event == sum->fault_entry) && !e->entries++)
		print_example(event, record);
	return 0;
}

static int add_missed(struct tracecmd_input *handle, struct tep_event *event,
		      struct tep_record *record, int cpu, void *data)
{
	struct summary *sum = data;

	(void)handle;
	(void)event;
	(void)cpu;
	if (record->missed_events > 0)
		sum->missed += record->missed_events;
	else
		sum->missed_unknown = true;
	return 0;
}

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a;
	unsigned long long y = *(const unsigned long long *)b;

	return (x > y) - (x < y);
}

static void print_exceptions(struct summary *sum)
{
	unsigned long long total;
	struct exception *e;
	unsigned int v, r;
	size_t i;

	printf("\n%-10s %8s %8s %9s %9s %9s %9s %9s %9s  results\n", "exception", "user",
	       "kernel", "no exit", "total us", "mean ns", "p50 ns", "p99 ns", "max ns");
	for (v = 0; v < MAX_VECTORS; v++) {
		e = &sum->exceptions[v];
		if (!e->entries && !e->nr)
			continue;
		printf("%-10s %8lu %8lu %9ld",
		       v == VECTOR_PF ? "#PF" : name_of(sum->trap_exit, "vector", v), e->user,
		       e->kernel, (long)e->entries - (long)e->nr);
		if (!e->nr) {
			printf("\n");
			continue;
		}
		qsort(e->durations, e->nr, sizeof(*e->durations), compare);
		for (total = i = 0; i < e->nr; i++)
			total += e->durations[i];
		printf(" %9llu %9llu %9llu %9llu %9llu ", total / 1000, total / e->nr,
		       e->durations[(e->nr - 1) / 2], e->durations[(e->nr - 1) * 99 / 100],
		       e->durations[e->nr - 1]);
		for (r = 0; r < MAX_RESULTS; r++) {
			if (e->results[r])
				printf(" %s %lu", name_of(sum->trap_exit, "result", r),
				       e->results[r]);
		}
		printf("\n");
	}
}

static void print_faults(struct summary *sum)
{
	const unsigned long *results = sum->exceptions[VECTOR_PF].results;
	unsigned int b, first = MAX_LOG2, last = 0, r;

	printf("\npage faults, duration ns");
	for (r = 0; r < MAX_RESULTS; r++) {
		if (results[r])
			printf(" %9s", name_of(sum->fault_exit, "result", r));
		for (b = 0; b < MAX_LOG2; b++) {
			if (sum->faults[r][b]) {
				first = b < first ? b : first;
				last = b > last ? b : last;
			}
		}
	}
	printf("\n");
	for (b = first; b <= last; b++) {
		printf("%11llu .. %9llu", 1ULL << b, (2ULL << b) - 1);
		for (r = 0; r < MAX_RESULTS; r++) {
			if (results[r])
				printf(" %9lu", sum->faults[r][b]);
		}
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	static struct summary sum;
	struct tracecmd_input *handle;
	struct tep_handle *tep;

	if (argc != 2)
		die("usage", "summary TRACE.DAT");
	handle = tracecmd_open(argv[1], 0);
	if (!handle)
		die(argv[1], "not a complete trace-cmd recording");

	tep = tracecmd_get_tep(handle);
	sum.trap_entry = tep_find_event_by_name(tep, "traps", "trap_entry");
	sum.trap_exit = tep_find_event_by_name(tep, "traps", "trap_exit");
	sum.fault_entry = tep_find_event_by_name(tep, "traps", "page_fault_entry");
	sum.fault_exit = tep_find_event_by_name(tep, "traps", "page_fault_exit");
	if (!sum.trap_entry || !sum.trap_exit || !sum.fault_entry || !sum.fault_exit)
		die(argv[1], "no events of traps in it: record with -e traps");

	tracecmd_follow_missed_events(handle, add_missed, &sum);
	if (tracecmd_iterate_events(handle, NULL, 0, add_event, &sum))
		die(argv[1], "cannot read all events");

	print_exceptions(&sum);
	print_faults(&sum);
	if (sum.missed || sum.missed_unknown)
		printf("\nLOST: %s%lu events, the figures are too low; record with a larger -b\n",
		       sum.missed_unknown ? "more than " : "", sum.missed);
	tracecmd_close(handle);
	return 0;
}
