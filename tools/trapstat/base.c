// SPDX-License-Identifier: GPL-2.0
/* base - messages and memory */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "trapstat.h"

static void print_note(const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	fprintf(stderr, "trapstat: %s\n", text);
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!screen_note(format, args))
		print_note(format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	screen_close();
	va_start(args, format);
	print_note(format, args);
	va_end(args);
	exit(STATUS_FAILED);
}

void bad_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_note(format, args);
	va_end(args);
	exit(STATUS_USAGE);
}

void *allocate(void *old, size_t size)
{
	void *new = realloc(old, size);

	if (!new)
		die("out of memory");
	return new;
}

char *print_string(const char *format, ...)
{
	va_list args;
	char *text;
	int ret;

	va_start(args, format);
	ret = vasprintf(&text, format, args);
	va_end(args);
	if (ret < 0)
		die("out of memory");
	return text;
}
