// SPDX-License-Identifier: GPL-2.0
/*
 * balance - do the entries and exits of a recording pair, and how many page faults had the
 * processes that a process created?
 *
 * usage: balance FILE [PID]
 *
 * FILE is a recording of trace-cmd record -e traps -e sched:sched_process_fork. Prints words
 * NAME=NUMBER:
 *
 * pairs      entries with their exits
 * before     exits of exceptions that were raised before the first entry of their kind
 * open       entries without an exit: the recording ended first, or the handler did not return
 * unpaired   other records without their counterpart
 * mm_faults  page faults without an exception
 * lost       records
 * minor, major  page faults, as getrusage() counts them, of PID's children and theirs
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <trace-cmd.h>
#include "libtraps.h"

#define PIDS	(1 << 22)	/* PID_MAX_LIMIT */

enum { MINOR, MAJOR };		/* enum trap_result */

struct buffer {
	struct tep_handle	*tep;
	struct traps_format	*format;
	struct traps_pairing	*pairing;
	struct tep_event	*fork;
	uint64_t		first[TRAPS_TYPES];	/* time of the first entry */
	uint64_t		early[TRAPS_TYPES];	/* exits before that */
	bool			at_end;
};

static uint64_t pairs, before, open_entries, unpaired, mm_faults, lost, faults[MAJOR + 1];
static bool created[PIDS];
static pid_t root;

static void die(const char *what)
{
	fprintf(stderr, "balance: %s\n", what);
	exit(1);
}

/* @first: when the first entry of the kind was */
static void complain(const char *what, const struct traps_event *e, uint64_t first)
{
	if (unpaired++ < 10)
		fprintf(stderr, "%s: pid %d, CPU %u, vector %u, ip 0x%" PRIx64 ", at %" PRIu64
			", of %" PRIu64 " ns, first entry at %" PRIu64 "\n",
			what, e->pid, e->cpu, e->vector, e->ip, e->ts, e->duration, first);
}

static void on_pair(const struct traps_event *entry, const struct traps_event *exit, void *arg)
{
	struct buffer *buffer = arg;
	enum traps_type kind = entry ? entry->type : exit->type - 1;
	uint64_t first = buffer->first[kind];

	if (entry && exit)
		pairs++;
	else if (entry && buffer->at_end)
		open_entries++;
	else if (entry)
		complain("no exit", entry, first);
	else if (!first || exit->ts - exit->duration <= first)
		buffer->early[kind]++;
	else
		complain("no entry", exit, first);
}

static void on_traps_event(struct buffer *buffer, const struct traps_event *e)
{
	bool mm_fault = e->type == TRAPS_MM_FAULT;

	if ((mm_fault || e->type == TRAPS_PAGE_FAULT_EXIT) && created[e->pid] && e->result <= MAJOR)
		faults[e->result]++;
	if (traps_is_entry(e) && !buffer->first[e->type])
		buffer->first[e->type] = e->ts;
	if (mm_fault)
		mm_faults++;
	else if (traps_pairing_add(buffer->pairing, e))
		die("no memory");
}

static unsigned int read_pid(struct tep_event *event, const char *name, struct tep_record *record)
{
	unsigned long long pid;

	if (tep_get_field_val(NULL, event, name, record, &pid, 0) || pid >= PIDS)
		die("sched_process_fork is not as expected");
	return pid;
}

static int on_event(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *data)
{
	struct buffer *buffer = data;
	struct traps_event e;
	pid_t parent;

	(void)handle;
	(void)cpu;
	if (traps_read(buffer->format, record, &e)) {
		on_traps_event(buffer, &e);
	} else if (buffer->fork && tep_data_type(buffer->tep, record) == buffer->fork->id) {
		parent = read_pid(buffer->fork, "parent_pid", record);
		created[read_pid(buffer->fork, "child_pid", record)] =
			parent == root || created[parent];
	}
	return 0;
}

static int on_missed(struct tracecmd_input *handle, struct tep_event *event,
		     struct tep_record *record, int cpu, void *data)
{
	struct buffer *buffer = data;

	(void)handle;
	(void)event;
	(void)cpu;
	/* negative if the kernel does not know the number */
	lost += record->missed_events > 0 ? record->missed_events : 1;
	traps_pairing_lost(buffer->pairing, record->ts);
	return 0;
}

static void read_buffer(struct tracecmd_input *handle)
{
	struct buffer buffer = { .tep = tracecmd_get_tep(handle) };
	const char *missing;
	unsigned int type;

	buffer.format = traps_format_new(buffer.tep, &missing);
	buffer.pairing = traps_pairing_new(on_pair, &buffer);
	buffer.fork = tep_find_event_by_name(buffer.tep, "sched", "sched_process_fork");
	if (!buffer.format || !buffer.pairing)
		die("no events of traps");
	tracecmd_follow_missed_events(handle, on_missed, &buffer);
	if (tracecmd_iterate_events(handle, NULL, 0, on_event, &buffer))
		die("cannot read all events");
	buffer.at_end = true;
	traps_pairing_end(buffer.pairing);
	for (type = 0; type < TRAPS_TYPES; type++) {
		if (buffer.first[type]) {
			before += buffer.early[type];
		} else if (buffer.early[type]) {
			unpaired += buffer.early[type];
			fprintf(stderr, "exits, but no %s\n", traps_event_name(type));
		}
	}
	traps_pairing_free(buffer.pairing);
	traps_format_free(buffer.format);
}

int main(int argc, char **argv)
{
	struct tracecmd_input *handle, *instance;
	int nr;

	if (argc < 2 || argc > 3)
		die("usage: balance FILE [PID]");
	tep_set_loglevel(TEP_LOG_NONE);
	tracecmd_set_loglevel(TEP_LOG_NONE);
	root = argc > 2 ? atoi(argv[2]) : -1;
	handle = tracecmd_open(argv[1], 0);
	if (!handle)
		die("not a recording");
	/* The top level last, as in tools/trapstat/recording.c */
	for (nr = tracecmd_buffer_instances(handle); nr-- > 0; ) {
		instance = tracecmd_buffer_instance_handle(handle, nr);
		if (!instance)
			die("cannot read an instance");
		read_buffer(instance);
		tracecmd_close(instance);
	}
	read_buffer(handle);
	tracecmd_close(handle);
	printf("pairs=%" PRIu64 " before=%" PRIu64 " open=%" PRIu64 " unpaired=%" PRIu64
	       " mm_faults=%" PRIu64 " lost=%" PRIu64 " minor=%" PRIu64 " major=%" PRIu64 "\n",
	       pairs, before, open_entries, unpaired, mm_faults, lost, faults[MINOR], faults[MAJOR]);
	return 0;
}
