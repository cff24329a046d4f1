// SPDX-License-Identifier: GPL-2.0
/*
 * names.c - names of vectors, error codes, results and flags
 */
#include <stdio.h>
#include <stdlib.h>
#include <tracefs.h>
#include "format.h"
#include "trapstat.h"

static struct tep_event *trap, *fault, *any_exit;

/* A recording may have only one of the two events. */
static struct tep_event *one_of(struct tep_handle *tep, const char *event, const char *other)
{
	return tep_find_event_by_name(tep, SYSTEM, event) ?:
	       tep_find_event_by_name(tep, SYSTEM, other);
}

void names_load(struct tep_handle *tep)
{
	trap = one_of(tep, "trap_exit", "trap_entry");
	fault = one_of(tep, "page_fault_exit", "page_fault_entry");
	any_exit = one_of(tep, "page_fault_exit", "trap_exit");
}

/* Load names from the running kernel. tracefs_local_events() would also read all of kallsyms. */
void names_live(void)
{
	static const char * const events[] = { "trap_exit", "page_fault_exit" };
	struct tep_handle *tep = tep_alloc();
	unsigned int i;
	char *format;
	int size;

	for (i = 0; i < 2; i++) {
		format = tracefs_event_file_read(NULL, SYSTEM, events[i], "format", &size);
		if (!tep || !format || tep_parse_event(tep, format, size, SYSTEM))
			die("cannot read the format of " SYSTEM ":%s", events[i]);
		free(format);
	}
	names_load(tep);
}

static const char *name_or_number(struct tep_event *event, const char *field, unsigned int value)
{
	static char number[16];

	snprintf(number, sizeof(number), "%u", value);
	return format_name(event, field, value) ?: number;
}

const char *vector_name(unsigned int vector)
{
	return vector == VECTOR_PF ? "#PF" : name_or_number(trap, "vector", vector);
}

const char *result_name(unsigned int result)
{
	return name_or_number(any_exit, "result", result);
}

static char *name_bits(struct tep_event *event, const char *field, uint64_t value)
{
	const struct tep_print_flag_sym *flag;
	char *name = NULL, *longer;
	uint64_t bit;

	for (flag = format_names(event, field); flag; flag = flag->next) {
		bit = strtoull(flag->value, NULL, 0);
		if (!bit || (value & bit) != bit)
			continue;
		value &= ~bit;
		longer = print_string("%s%s%s", name ?: "", name ? "|" : "", flag->str);
		free(name);
		name = longer;
	}
	if (name && !value)
		return name;
	longer = print_string("%s%s%#llx", name ?: "", name ? "|" : "", (unsigned long long)value);
	free(name);
	return longer;
}

/* The bits of a page fault's error code by name; any other error code as a number. */
char *error_code_name(unsigned int vector, uint64_t code)
{
	if (vector == VECTOR_PF)
		return name_bits(fault, "error_code", code);
	return print_string("0x%llx", (unsigned long long)code);
}

char *flags_name(unsigned int flags)
{
	return name_bits(any_exit, "flags", flags);
}
