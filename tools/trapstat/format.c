// SPDX-License-Identifier: GPL-2.0
/*
 * format.c - names for the numbers in an event's fields, from its print fmt
 *
 * libtraceevent can only name the fields of a record, not the keys of a histogram.
 */
#include <stdlib.h>
#include <string.h>
#include "format.h"

static bool prints(const struct tep_print_arg *arg, const char *field)
{
	return arg->type == TEP_PRINT_FIELD && !strcmp(arg->field.name, field);
}

static const struct tep_print_flag_sym *find_names(const struct tep_print_arg *arg,
						   const char *field)
{
	const struct tep_print_flag_sym *names = NULL;

	for (; arg && !names; arg = arg->next) {
		if (arg->type == TEP_PRINT_SYMBOL && prints(arg->symbol.field, field))
			names = arg->symbol.symbols;
		else if (arg->type == TEP_PRINT_FLAGS && prints(arg->flags.field, field))
			names = arg->flags.flags;
		else if (arg->type == TEP_PRINT_OP)	/* field ? __print_flags() : "0" */
			names = find_names(arg->op.left, field) ?: find_names(arg->op.right, field);
	}
	return names;
}

/* NULL if @event is NULL or prints @field as a number. */
const struct tep_print_flag_sym *format_names(const struct tep_event *event, const char *field)
{
	return event ? find_names(event->print_fmt.args, field) : NULL;
}

/* NULL if @value has no name. */
const char *format_name(const struct tep_event *event, const char *field,
			unsigned long long value)
{
	const struct tep_print_flag_sym *names = format_names(event, field);

	while (names && strtoull(names->value, NULL, 0) != value)
		names = names->next;
	return names ? names->str : NULL;
}
