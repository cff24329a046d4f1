// SPDX-License-Identifier: GPL-2.0
/*
 * output.c - prints a sample and reports what is missing in it
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "output.h"

const char * const table_names[] = {
	[BY_CPU] = "vectors", [LATENCY] = "latencies", [OUTCOMES] = "outcomes",
	[TASKS] = "tasks", [ADDRESSES] = "addresses", [FROM] = "from", [WORST] = "worst",
};

static void note_missing(const struct sample *sample, enum table table)
{
	bool sized = table == TASKS || table == ADDRESSES || table == FROM;

	if (sample->recorded)
		note("%s: %s: at least %" PRIu64 " events are missing: the buffer was full",
		     sample->title, table_names[table], sample->missing[table]);
	else
		note("%s: %" PRIu64 " exceptions are missing: the table was full%s",
		     table_names[table], sample->missing[table],
		     sized ? ", use a larger one (-S)" : "");
}

/* The caller checks for a closed pipe, and for a signal that came while nobody read. */
void output_flush(void)
{
	if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE && errno != EINTR)
		die("standard output: %s", strerror(errno));
}

/* Returns 0, or STATUS_INCOMPLETE if something is missing in the sample. */
int note_incomplete(const struct sample *sample, const bool *tables)
{
	int status = sample->uncounted || sample->lost_tasks ? STATUS_INCOMPLETE : 0;
	unsigned int i;

	if (sample->uncounted)
		note("up to %" PRIu64 " exceptions are missing: they were raised while another one was counted, or are of too many kinds",
		     sample->uncounted);
	if (sample->lost_tasks)
		note("up to %" PRIu64 " child processes or threads are not counted: there were too many at once",
		     sample->lost_tasks);
	for (i = 0; i < TABLES; i++) {
		if (!tables[i])
			continue;
		if (sample->missing[i])
			note_missing(sample, i);
		if (sample->twice[i])
			note("%s: up to %" PRIu64 " exceptions are counted twice: the histogram was nearly full and was replaced, use a larger one (-S)",
			     table_names[i], sample->twice[i]);
		if (sample->missing[i] || sample->twice[i])
			status = STATUS_INCOMPLETE;
	}
	return status;
}

int output(const struct sample *sample)
{
	if (options.json)
		print_json(sample);
	else
		print_text(sample);
	output_flush();
	return note_incomplete(sample, options.table);
}
