// SPDX-License-Identifier: GPL-2.0
/* base - messages and memory */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>
#include "trapstat.h"

/* Not controls, nor what changes how other characters are shown: Unicode's Cf, Zl and Zp */
bool is_printable(uint32_t code)
{
	static const uint32_t ranges[][2] = {
		{ 0x0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x600, 0x605 },
		{ 0x61c, 0x61c }, { 0x6dd, 0x6dd }, { 0x70f, 0x70f }, { 0x890, 0x891 },
		{ 0x8e2, 0x8e2 }, { 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
		{ 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f },
		{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe007f },
	};
	unsigned int i;

	for (i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return false;
	}
	return true;
}

/* Bytes that are not of a printable character become \xNN, as in tables. */
void put_safe(const char *text, FILE *to)
{
	mbstate_t state = { };
	size_t len, i;
	wchar_t c;

	for (; *text; text += len) {
		len = mbrtowc(&c, text, strlen(text), &state);
		if (len <= strlen(text) && iswprint(c) && is_printable(c)) {
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

char *safe_string(const char *text)
{
	char *safe;
	size_t size;
	FILE *to = open_memstream(&safe, &size);

	if (!to)
		die("out of memory");
	put_safe(text, to);
	if (fclose(to))
		die("out of memory");
	return safe;
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
	if (!screen_note || !screen_note(format, args))
		print_note(format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	if (screen_close)
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
