/* SPDX-License-Identifier: GPL-2.0 */
/*
 * format.h - names for the numbers in an event's fields, from its print fmt
 */
#ifndef TRAPSTAT_FORMAT_H
#define TRAPSTAT_FORMAT_H

#include <event-parse.h>

const struct tep_print_flag_sym *format_names(const struct tep_event *event, const char *field);
const char *format_name(const struct tep_event *event, const char *field,
			unsigned long long value);

#endif
