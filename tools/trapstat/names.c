// SPDX-License-Identifier: GPL-2.0
/*
 * names.c - names of vectors, error codes, results, codes and flags
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include "trapstat.h"

static struct traps_format *format;

bool names_mixed;

/* From now on, until other ones are loaded. */
void names_load(struct traps_format *loaded)
{
	if (format && !traps_same_vectors(format, loaded))
		names_mixed = true;
	traps_format_free(format);
	format = loaded;
}

/* Load names from the running kernel. tracefs_local_events() would also read all of kallsyms. */
void names_live(void)
{
	static const enum traps_type events[] = { TRAPS_TRAP_EXIT, TRAPS_PAGE_FAULT_EXIT };
	struct tep_handle *tep = tep_alloc();
	const char *missing, *event;
	unsigned int i;
	char *text;
	int size;

	for (i = 0; i < 2; i++) {
		event = traps_event_name(events[i]);
		text = tracefs_event_file_read(NULL, SYSTEM, event, "format", &size);
		if (!tep || !text || tep_parse_event(tep, text, size, SYSTEM))
			die("cannot read the format of " SYSTEM ":%s", event);
		free(text);
	}
	format = traps_format_new(tep, &missing);
	if (!format)
		die("the kernel's events have no %s: this trapstat is for another version",
		    missing ?: "such names");
}

const char *vector_name(unsigned int vector)
{
	static char number[24];

	if (vector == VECTOR_NONE)
		return "mm_fault";
	snprintf(number, sizeof(number), "vector %u", vector);
	return traps_vector_name(format, vector) ?: number;
}

const char *result_name(unsigned int outcome)
{
	static char number[24];
	unsigned int result = outcome / TRAPS_OUTCOME(1, 0);

	snprintf(number, sizeof(number), "result %u", result);
	return traps_result_name(format, result) ?: number;
}

/* NULL without a signal */
const char *code_name(unsigned int outcome)
{
	static char number[24];
	unsigned int code = outcome % TRAPS_OUTCOME(1, 0);

	snprintf(number, sizeof(number), "code %u", code);
	return code ? traps_code_name(format, outcome / TRAPS_OUTCOME(1, 0), code) ?: number : NULL;
}

/* Both: SIGSEGV/MAPERR */
const char *outcome_name(unsigned int outcome)
{
	static char text[48];
	const char *code = code_name(outcome);

	snprintf(text, sizeof(text), "%s%s%s", result_name(outcome), code ? "/" : "", code ?: "");
	return text;
}

uint64_t raised_at(unsigned int vector, uint64_t event_data, uint64_t ip)
{
	return traps_raised_at(format, vector, event_data, ip);
}

/* @list: names or numbers of -e */
void choose_vectors(char *list)
{
	const char *word, *name;
	unsigned int i;

	for (word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		for (i = 0; i < VECTORS; i++) {
			name = i == VECTOR_NONE ? "mm_fault" : traps_vector_name(format, i);
			if (name && !strcasecmp(name, word))
				break;
		}
		if (i == VECTORS && (*word < '0' || *word > '9'))
			bad_usage("-e: %s is no vector: give names such as #PF, or numbers", word);
		if (i == VECTORS)
			i = number("-e", word, 0, VECTOR_NONE - 1);
		options.vectors[i] = true;
		options.some_vectors = true;
	}
	if (!options.some_vectors)
		bad_usage("-e: which vector?");
}

static char *allocated(char *text)
{
	if (!text)
		die("no memory");
	return text;
}

/* The bits of a page fault's error code by name; any other error code as a number. */
char *error_code_name(unsigned int vector, uint64_t code)
{
	return allocated(traps_error_code_name(format, vector, code));
}

char *flags_name(unsigned int flags)
{
	return allocated(traps_flags_name(format, flags));
}
