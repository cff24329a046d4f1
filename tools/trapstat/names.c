// SPDX-License-Identifier: GPL-2.0
/*
 * names.c - names of vectors and results, from the formats of the events
 */
#include <stdio.h>
#include <stdlib.h>
#include <tracefs.h>
#include "trapstat.h"

static struct tep_event *trap, *fault, *fault_exit;

void names_load(struct tep_handle *tep)
{
	/* a recording may have only one of a pair */
	trap = tep_find_event_by_name(tep, SYSTEM, "trap_exit") ?:
	       tep_find_event_by_name(tep, SYSTEM, "trap_entry");
	fault_exit = tep_find_event_by_name(tep, SYSTEM, "page_fault_exit");
	fault = fault_exit ?: tep_find_event_by_name(tep, SYSTEM, "page_fault_entry");
}

/* Of the running kernel. tracefs_local_events() would read all of kallsyms, too. */
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

/* The name of @value in the event's first __print_symbolic(). */
static const char *symbol(struct tep_event *event, unsigned int value)
{
	static char number[16];
	struct tep_print_flag_sym *sym;
	struct tep_print_arg *arg;

	for (arg = event ? event->print_fmt.args : NULL; arg; arg = arg->next) {
		if (arg->type != TEP_PRINT_SYMBOL)
			continue;
		for (sym = arg->symbol.symbols; sym; sym = sym->next) {
			if (strtoull(sym->value, NULL, 0) == value)
				return sym->str;
		}
	}
	snprintf(number, sizeof(number), "%u", value);
	return number;
}

const char *vector_name(unsigned int vector)
{
	return vector == VECTOR_PF ? "#PF" : symbol(trap, vector);
}

const char *result_name(unsigned int result)
{
	return symbol(fault_exit, result);
}

static const struct tep_print_flag_sym *find_flags(const struct tep_print_arg *arg)
{
	const struct tep_print_flag_sym *flags = NULL;

	for (; arg && !flags; arg = arg->next) {
		if (arg->type == TEP_PRINT_FLAGS)
			flags = arg->flags.flags;
		else if (arg->type == TEP_PRINT_OP)
			flags = find_flags(arg->op.left) ?: find_flags(arg->op.right);
	}
	return flags;
}

/* A page fault's error code by its bits, as the event shows it; a trap's as a number. */
char *error_code_name(unsigned int vector, uint64_t code)
{
	const struct tep_print_flag_sym *flag;
	char *name = NULL, *longer;
	uint64_t bit;

	if (vector == VECTOR_PF && fault) {
		for (flag = find_flags(fault->print_fmt.args); flag; flag = flag->next) {
			bit = strtoull(flag->value, NULL, 0);
			if (!bit || (code & bit) != bit)
				continue;
			code &= ~bit;
			longer = print_string("%s%s%s", name ?: "", name ? "|" : "", flag->str);
			free(name);
			name = longer;
		}
	}
	if (name && !code)
		return name;
	longer = print_string("%s%s0x%llx", name ?: "", name ? "|" : "", (unsigned long long)code);
	free(name);
	return longer;
}
