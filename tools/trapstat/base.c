// SPDX-License-Identifier: GPL-2.0
/* base - messages and memory */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>
#include "trapstat.h"

/* Bytes that are not of a printable character become \xNN, as in tables. */
void put_safe(const char *text, FILE *to)
{
	mbstate_t state = { };
	size_t len, i;
	wchar_t c;

	for (; *text; text += len) {
		len = mbrtowc(&c, text, strlen(text), &state);
		if (len <= strlen(text) && iswprint(c)) {
			fwrite(text, 1, len, to);
			continue;
		}
		if (len > strlen(text)) {
			len = 1;
			memset(&state, 0, sizeof(state));
		}
		for (i = 0; i < len; i++)
			fprintf(to, "\\x%02x", (unsigned char)text[i]);
	}
}

static void print_note(const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	write_begins();
	fputs("trapstat: ", stderr);
	put_safe(text, stderr);
	fputs("\n", stderr);
	write_ends();
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
