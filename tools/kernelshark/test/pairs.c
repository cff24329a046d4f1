// SPDX-License-Identifier: GPL-2.0
/*
 * pairs - prints the exceptions that the plugin finds in trace.dat files, without a window
 *
 * usage: pairs [-r] FILE...
 *
 * Prints a line for each exception: stream, pid, kind, flags, begin, end, duration, CPU of
 * entry and exit, "slow". With -r, loads every file twice, the second time without telling
 * the plugin, as KernelShark does for its advanced filter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "traps.h"

int KSHARK_PLOT_PLUGIN_INITIALIZER(struct kshark_data_stream *stream);
int KSHARK_PLOT_PLUGIN_DEINITIALIZER(struct kshark_data_stream *stream);

void plot_draw(struct kshark_cpp_argv *argv, int sd, int value, int action)
{
	(void)argv;
	(void)sd;
	(void)value;
	(void)action;
}

void plot_free(void *plot)
{
	(void)plot;
}

static void die(const char *what, const char *name)
{
	fprintf(stderr, "pairs: %s: %s\n", name, what);
	exit(1);
}

static void print_cpu(const struct kshark_entry *entry)
{
	if (entry)
		printf(" %d", entry->cpu);
	else
		printf(" -");
}

static void print_exceptions(int sd)
{
	struct traps *traps = traps_get(sd);
	char name[KIND_NAME_SIZE], flags[FLAGS_NAME_SIZE];
	size_t i;

	for (i = 0; traps && i < traps->nr_exceptions; i++) {
		const struct exception *e = &traps->exceptions[i];
		int64_t shift = traps_shift(traps);

		printf("%d %d %s flags=%s %" PRId64 " %" PRId64 " %" PRId64, sd, e->pid,
		       kind_name(e->kind, name), flags_name(e->flags, flags),
		       e->begin + shift, e->end + shift, e->duration);
		print_cpu(e->entry);
		print_cpu(e->exit);
		printf("%s\n", e->slow ? " slow" : "");
	}
}

static void free_rows(struct kshark_entry **rows, ssize_t nr)
{
	while (nr > 0)
		free(rows[--nr]);
	free(rows);
}

int main(int argc, char **argv)
{
	struct kshark_context *context = NULL;
	struct kshark_entry **rows = NULL;
	int i, sd, first = 1;
	ssize_t nr;

	if (argc > 1 && !strcmp(argv[1], "-r"))
		first++;
	if (!kshark_instance(&context))
		die("no session", "libkshark");
	for (i = first; i < argc; i++) {
		sd = kshark_open(context, argv[i]);
		if (sd < 0)
			die("cannot open", argv[i]);
		if (KSHARK_PLOT_PLUGIN_INITIALIZER(kshark_get_data_stream(context, sd)) != 1)
			die("not initialised", argv[i]);
	}
	nr = kshark_load_all_entries(context, &rows);
	if (first > 1) {
		for (sd = 0; sd < context->n_streams; sd++)
			traps_get(sd);
		free_rows(rows, nr);
		nr = kshark_load_all_entries(context, &rows);
	}
	if (nr <= 0)
		die("no entries", argv[first]);
	for (sd = 0; sd < context->n_streams; sd++)
		print_exceptions(sd);
	for (sd = 0; sd < context->n_streams; sd++)
		KSHARK_PLOT_PLUGIN_DEINITIALIZER(kshark_get_data_stream(context, sd));
	free_rows(rows, nr);
	kshark_free(context);
	return 0;
}
