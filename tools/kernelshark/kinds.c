// SPDX-License-Identifier: GPL-2.0
/*
 * kinds.c - names and colours of exceptions
 *
 * The names come from the formats of the events. All colours are different, and light
 * enough for a black label.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libkshark-tepdata.h>
#include "../trapstat/format.h"
#include "traps.h"

#define MAX_NAMES	64
#define NAME_SIZE	16

/* The numbers never change, so the names of one stream serve all. */
struct names {
	size_t	nr;
	struct {
		unsigned long	value;
		char		text[NAME_SIZE];
	} names[MAX_NAMES];
};

static struct names vectors, results, flags;

static const struct {
	const char	*name;
	unsigned int	color;
} colors[] = {
	{ "#DE",		0xfdd835 },
	{ "#DB",		0x8c9eff },
	{ "NMI",		0x90a4ae },
	{ "#BP",		0x42a5f5 },
	{ "#OF",		0xffb74d },
	{ "#BR",		0xff8a65 },
	{ "#UD",		0xba68c8 },
	{ "#NM",		0x26c6da },
	{ "#DF",		0xff5252 },
	{ "OLD_MF",		0xbcaaa4 },
	{ "#TS",		0x80cbc4 },
	{ "#NP",		0x9fa8da },
	{ "#SS",		0xf8bbd0 },
	{ "#GP",		0xf06292 },
	{ "SPURIOUS",		0xcfd8dc },
	{ "#MF",		0xc0ca33 },
	{ "#AC",		0xb39ddb },
	{ "#XF",		0xdce775 },
	{ "#VE",		0x80deea },
	{ "#CP",		0xea80fc },
	{ "#VC",		0x4db6ac },
	{ "IRET",		0xa1887f },
	{ "#PF MINOR",		0x66bb6a },
	{ "#PF MAJOR",		0xfb8c00 },
	{ "#PF RETRY",		0xaeea00 },
	{ "#PF OOM",		0x8d6e63 },
	{ "#PF SIGBUS",		0xff4081 },
	{ "#PF HWPOISON",	0xb388ff },
	{ "#PF SIGSEGV",	0xef5350 },
	{ "#PF FIXUP",		0x26a69a },
	{ "#PF SPURIOUS",	0xb0bec5 },
	{ "#PF KERNEL",		0x82b1ff },
	{ "#PF CONSUMED",	0xd7ccc8 },
	{ "#PF EMULATED",	0xc5e1a5 },
	{ "#PF HANDLED",	0xff7043 },
	{ "#PF OOPS",		0xff1744 },
	{ "#PF SIGNAL",		0xffe082 },
};

static const unsigned int unknown_color = 0x9e9e9e;

static void learn(struct names *names, const struct tep_event *event, const char *field)
{
	const struct tep_print_flag_sym *symbol = format_names(event, field);

	if (symbol)
		names->nr = 0;
	for (; symbol && names->nr < MAX_NAMES; symbol = symbol->next) {
		names->names[names->nr].value = strtoul(symbol->value, NULL, 0);
		snprintf(names->names[names->nr++].text, NAME_SIZE, "%s", symbol->str);
	}
}

void kinds_learn(struct kshark_data_stream *stream, int event_id)
{
	const struct tep_event *event;

	event = kshark_is_tep(stream) ? tep_find_event(kshark_get_tep(stream), event_id) : NULL;
	if (!event)
		return;
	learn(&vectors, event, "vector");
	learn(&results, event, "result");
	learn(&flags, event, "flags");
}

static void name_number(char *text, const char *what, const struct names *names, unsigned int value)
{
	size_t i;

	for (i = 0; i < names->nr && names->names[i].value != value; i++)
		;
	if (i < names->nr)
		strcpy(text, names->names[i].text);
	else
		snprintf(text, NAME_SIZE, "%s %u", what, value);
}

static void name_vector(char *text, uint32_t kind)
{
	if (kind_vector(kind) == VECTOR_PF)
		strcpy(text, "#PF");
	else
		name_number(text, "vector", &vectors, kind_vector(kind));
}

const char *kind_name(uint32_t kind, char name[KIND_NAME_SIZE])
{
	char vector[NAME_SIZE], result[NAME_SIZE] = "";

	name_vector(vector, kind);
	if (kind_result(kind) != RESULT_NONE)
		name_number(result, "result", &results, kind_result(kind));
	snprintf(name, KIND_NAME_SIZE, "%s%s%s", vector, *result ? " " : "", result);
	return name;
}

unsigned int kind_color(uint32_t kind)
{
	char name[KIND_NAME_SIZE];
	size_t i;

	if (kind_vector(kind) == VECTOR_PF)
		kind_name(kind, name);
	else
		name_vector(name, kind);
	for (i = 0; i < sizeof(colors) / sizeof(*colors); i++) {
		if (!strcmp(colors[i].name, name))
			return colors[i].color;
	}
	return unknown_color;
}

const char *flags_name(unsigned int value, char name[FLAGS_NAME_SIZE])
{
	size_t i, length = 0;

	for (i = 0; i < flags.nr; i++) {
		if (!(value & flags.names[i].value))
			continue;
		value &= ~flags.names[i].value;
		length += snprintf(name + length, FLAGS_NAME_SIZE - length, "%s%s",
				   length ? "|" : "", flags.names[i].text);
	}
	if (value || !length)
		snprintf(name + length, FLAGS_NAME_SIZE - length, value ? "%s0x%x" : "%s%x",
			 length ? "|" : "", value);
	return name;
}
