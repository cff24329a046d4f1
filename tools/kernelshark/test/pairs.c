// SPDX-License-Identifier: GPL-2.0
/*
 * pairs - prints the exceptions that the plugin finds in trace.dat files, without a window
 *
 * usage: pairs [-r | -a | -o] FILE...
 *
 * Prints a line for each exception: stream, pid, kind, flags, begin, end, duration, CPU of
 * entry and exit, "slow". With -r, loads every file twice, the second time without telling
 * the plugin, as KernelShark does for its advanced filter. With -a, all files but the first are
 * loaded without the plugin, which adopts them. With -o, all times are a second later.
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

static void init(struct kshark_data_stream *stream, struct kshark_dpi *plugin, const char *name)
{
	struct kshark_dpi_list *ours = kshark_register_plugin_to_stream(stream, plugin, true);

	if (!ours || kshark_handle_dpi(stream, ours, KSHARK_PLUGIN_INIT) != 1)
		die("not initialised", name);
}

static void free_rows(struct kshark_entry **rows, ssize_t nr)
{
	while (nr > 0)
		free(rows[--nr]);
	free(rows);
}

int main(int argc, char **argv)
{
	struct kshark_dpi plugin = { .name = "traps", .init = KSHARK_PLOT_PLUGIN_INITIALIZER,
				     .close = KSHARK_PLOT_PLUGIN_DEINITIALIZER };
	char option = argc > 1 && argv[1][0] == '-' ? argv[1][1] : 0;
	struct kshark_context *context = NULL;
	struct kshark_data_stream *stream;
	struct kshark_entry **rows = NULL;
	int i, sd, first = option ? 2 : 1;
	ssize_t nr;

	if (!kshark_instance(&context))
		die("no session", "libkshark");
	for (i = first; i < argc; i++) {
		sd = kshark_open(context, argv[i]);
		if (sd < 0)
			die("cannot open", argv[i]);
		stream = kshark_get_data_stream(context, sd);
		if (option != 'a' || i == first)
			init(stream, &plugin, argv[i]);
		if (option == 'o') {
			stream->calib = kshark_offset_calib;
			stream->calib_array = calloc(1, sizeof(*stream->calib_array));
			stream->calib_array[0] = 1000000000;
			stream->calib_array_size = 1;
		}
	}
	nr = kshark_load_all_entries(context, &rows);
	if (option == 'r') {
		for (sd = 0; sd < context->n_streams; sd++)
			traps_get(sd);
		free_rows(rows, nr);
		nr = kshark_load_all_entries(context, &rows);
	}
	if (nr <= 0)
		die("no entries", argv[first]);
	if (option == 'a')
		traps_adopt(0, rows, nr);
	for (sd = 0; sd < context->n_streams; sd++) {
		print_exceptions(sd);
		/* The next one does not use its names any more. */
		if (option == 'a')
			kshark_handle_all_dpis(kshark_get_data_stream(context, sd), KSHARK_PLUGIN_CLOSE);
	}
	for (sd = 0; option != 'a' && sd < context->n_streams; sd++)
		kshark_handle_all_dpis(kshark_get_data_stream(context, sd), KSHARK_PLUGIN_CLOSE);
	free_rows(rows, nr);
	kshark_free(context);
	return 0;
}
