// SPDX-License-Identifier: GPL-2.0
/*
 * What is done here outside of the program's own instance is undone by undo_all().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "invasive.h"

#define KPROBE_EVENTS	TRACEFS "kprobe_events"
#define KPROBE_PROFILE	TRACEFS "kprobe_profile"
#define GROUP		"traps_invasive"
#define OPTIMIZATION	"/proc/sys/debug/kprobes-optimization"

/* --- Files */

int other_create(void)
{
	undo_later(trace_remove, OTHER, "");
	return mkdir(OTHER, 0700) ? -errno : 0;
}

int other_remove(void)
{
	return trace_remove(OTHER, "");
}

bool trace_has_tracer(const char *name)
{
	return file_has_word(TRACEFS "available_tracers", name);
}

bool trace_is_on(const char *file)
{
	char *text = trace_read(file);
	bool on = text && text[0] != '0';

	free(text);
	return on;
}

/* Empties a file that takes that as a command, such as trace. */
int trace_truncate(const char *file)
{
	int fd = trace_open(file, O_WRONLY | O_TRUNC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* A number in the CPU's stats, such as "entries", or -1. */
long trace_stat(int cpu, const char *name)
{
	char file[64], *text, *line, *rest;
	size_t length = strlen(name);
	long number = -1;

	snprintf(file, sizeof(file), "per_cpu/cpu%d/stats", cpu);
	text = trace_read(file);
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, name, length) && line[length] == ':')
			number = atol(line + length + 1);
	free(text);
	return number;
}

/**
 * trace_inside - the records between an entry and its exit
 * @trace: all records
 * @pattern: what the text of both begins with, the first ones if several
 *
 * Return: a part of @trace, empty if there is no such pair.
 */
struct trace trace_inside(const struct trace *trace, const char *pattern, ...)
{
	struct trace inside = { .records = trace->records };
	int first = -1;
	char text[256];
	va_list args;

	va_start(args, pattern);
	vsnprintf(text, sizeof(text), pattern, args);
	va_end(args);
	for (int i = 0; i < trace->count; i++) {
		if (strncmp(trace->records[i].text, text, strlen(text)))
			continue;
		if (first < 0) {
			first = i;
		} else {
			inside.records += first + 1;
			inside.count = i - first - 1;
			break;
		}
	}
	return inside;
}

/* --- Kprobe events, each a breakpoint */

/* All of them. */
static int kprobes_remove(const char *path, const char *text)
{
	char *events = file_read(path);
	bool exists = events && strstr(events, GROUP "/");

	free(events);
	return exists ? file_write(path, text) : 0;
}

static int kprobe_write(const char *text)
{
	static bool prepared;

	if (!prepared) {
		undo_later(kprobes_remove, KPROBE_EVENTS, "-:" GROUP "/");
		/* What uses them is undone before. */
		undo_later(trace_remove, trace_instance, "");
		/* A breakpoint, not a jump instead of it. */
		if (!access(OPTIMIZATION, F_OK))
			file_change(OPTIMIZATION, "0");
		prepared = true;
	}
	return file_write(KPROBE_EVENTS, text);
}

/* Behind the first instruction, which may be a call of ftrace, used instead. */
int kprobe_add(const char *function)
{
	char text[128];
	int ret = -EINVAL;

	for (int offset = 5; offset < 32 && ret; offset++) {
		snprintf(text, sizeof(text), "p:" GROUP "/probe %s+%d", function, offset);
		ret = kprobe_write(text);
	}
	return ret;
}

int kprobe_enable(void)
{
	return trace_write("events/" GROUP "/probe/enable", "1");
}

/* That of kprobe_add(), so that there may be another one. */
int kprobe_remove(void)
{
	int ret = trace_write("events/" GROUP "/probe/enable", "0");

	return ret ?: kprobe_write("-:" GROUP "/probe");
}

/* The n-th breakpoint at an address: of a function, or within one. */
int kprobe_add_at(unsigned long address, int n)
{
	char text[64];

	snprintf(text, sizeof(text), "p:" GROUP "/probe_%d 0x%lx", n, address);
	return kprobe_write(text);
}

int kprobe_turn_at(int n, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "events/" GROUP "/probe_%d/enable", n);
	return trace_write(file, on ? "1" : "0");
}

/* If there are any. */
int kprobe_filter(const char *filter)
{
	int ret = trace_write("events/" GROUP "/filter", filter);

	return ret == -ENOENT ? 0 : ret;
}

/* How often each of them was hit, also while another one was handled. */
void kprobe_get_hits(unsigned long *hits, int count)
{
	char *text = file_read(KPROBE_PROFILE), *rest = text, *line;
	unsigned long hit, missed;
	int n;

	memset(hits, 0, count * sizeof(*hits));
	while (rest && (line = strsep(&rest, "\n")))
		if (sscanf(line, " probe_%d %lu %lu", &n, &hit, &missed) == 3 && n < count)
			hits[n] = hit + missed;
	free(text);
}

/* The same of kprobe_add()'s. */
long kprobe_hits(void)
{
	char *text = file_read(KPROBE_PROFILE);
	unsigned long hits = 0, misses = 0;

	if (text)
		sscanf(text, " probe %lu %lu", &hits, &misses);
	free(text);
	return hits + misses;
}

/* --- The modules */

static int module_unload(const char *name, const char *unused)
{
	/* A process that is being ended may still have its file open. */
	for (int i = 0; syscall(SYS_delete_module, name, O_NONBLOCK) && errno != ENOENT; i++) {
		if (errno != EAGAIN || i == 200)
			return -errno;
		usleep(10000);
	}
	return 0;
}

int module_load(const char *name)
{
	char path[64];
	int error = 0, fd;

	snprintf(path, sizeof(path), "test_modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	undo_later(module_unload, name, "");
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		error = errno;
	close(fd);
	return error;
}

int module_write(const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/traps_raiser/%s", file);
	return -file_write(path, text);
}

int module_send_nmi(int cpu)
{
	char command[16];

	snprintf(command, sizeof(command), "nmi %d", cpu);
	return module_write("raise", command);
}
