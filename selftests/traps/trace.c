// SPDX-License-Identifier: GPL-2.0
/*
 * The tracefs instance is named after the process that runs all tests, which
 * removes it at its end if a test that was killed could not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace.h"

#define TRACEFS		"/sys/kernel/tracing"
#define BUFFER_KB	"16384"

#define OPTIMIZATION	"/proc/sys/debug/kprobes-optimization"

static char instance[64], other[80], kprobe_group[32], kprobe[40];
static char optimization[8];
static pid_t traced_pid;	/* 0: any */

int file_write(const char *path, const char *value)
{
	int ret = 0, fd = open(path, O_WRONLY | O_APPEND);

	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* The file's text, to be freed, or NULL. */
char *file_read(const char *path)
{
	size_t size = 0, room = 1 << 16;
	char *text = malloc(room);
	ssize_t got;
	int fd;

	fd = open(path, O_RDONLY);
	if (fd < 0 || !text)
		return NULL;
	while ((got = read(fd, text + size, room - size - 1)) > 0) {
		size += got;
		if (room - size < 1 << 12) {
			room *= 2;
			text = realloc(text, room);
			if (!text)
				break;
		}
	}
	close(fd);
	if (text)
		text[size] = '\0';
	return text;
}

/* Is the word in the file? */
bool file_has_word(const char *path, const char *word)
{
	char *text = file_read(path), *part, *next = text;
	bool found = false;

	while (!found && (part = strsep(&next, " \t\n")))
		found = !strcmp(part, word);
	free(text);
	return found;
}

static void __attribute__((constructor)) find_names(void)
{
	char *text;

	snprintf(instance, sizeof(instance), TRACEFS "/instances/traps_test_%d", getpid());
	snprintf(other, sizeof(other), "%s_other", instance);
	snprintf(kprobe_group, sizeof(kprobe_group), "traps_test_%d", getpid());
	snprintf(kprobe, sizeof(kprobe), "%s/probe", kprobe_group);
	text = file_read(OPTIMIZATION);
	if (text)
		snprintf(optimization, sizeof(optimization), "%s", text);
	free(text);
}

/* Runs at exit() of the harness; its children use _exit(). */
static void __attribute__((destructor)) remove_left(void)
{
	trace_remove();
	trace_remove_other();
	trace_remove_kprobe();
}

static void restore_optimization(void)
{
	if (*optimization)
		file_write(OPTIMIZATION, optimization);
}

bool trace_exists(void)
{
	return !access(instance, F_OK);
}

bool trace_available(void)
{
	return !access(TRACEFS "/events/traps", F_OK) &&
	       !access(TRACEFS "/instances", W_OK);
}

/* A test before may have been killed. */
int trace_create(void)
{
	remove_left();
	return mkdir(instance, 0700) ? -errno : 0;
}

/* A dying child may hold the instance for another moment. */
static int remove_instance(const char *path)
{
	for (int i = 0; i < 100; i++) {
		if (!rmdir(path))
			return 0;
		if (errno != EBUSY)
			break;
		usleep(10000);
	}
	return -errno;
}

int trace_remove(void)
{
	return remove_instance(instance);
}

/* A second instance: TRACE_OTHER in front of a file's name. */
int trace_create_other(void)
{
	return mkdir(other, 0700) ? -errno : 0;
}

int trace_remove_other(void)
{
	return remove_instance(other);
}

/* The path of a file of the instance, or as the name's prefix says. */
static const char *path_of(const char *file)
{
	static __thread char path[256];

	if (!strncmp(file, TRACE_TOP, strlen(TRACE_TOP)))
		snprintf(path, sizeof(path), "%s/%s", TRACEFS, file + strlen(TRACE_TOP));
	else if (!strncmp(file, TRACE_OTHER, strlen(TRACE_OTHER)))
		snprintf(path, sizeof(path), "%s/%s", other, file + strlen(TRACE_OTHER));
	else
		snprintf(path, sizeof(path), "%s/%s", instance, file);
	return path;
}

int trace_write(const char *file, const char *value)
{
	return file_write(path_of(file), value);
}

/* The file's text, to be freed, or NULL. */
char *trace_read(const char *file)
{
	return file_read(path_of(file));
}

bool trace_has_tracer(const char *name)
{
	return file_has_word(TRACEFS "/available_tracers", name);
}

int trace_open(const char *file, int flags)
{
	return open(path_of(file), flags | O_CLOEXEC);
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

/* The exits' first: they may need what the entries' have. */
void trace_remove_triggers(void)
{
	trace_truncate("events/traps/page_fault_exit/trigger");
	trace_truncate("events/traps/trap_exit/trigger");
	trace_truncate("events/traps/page_fault_entry/trigger");
	trace_truncate("events/traps/trap_entry/trigger");
}

int trace_open_marker(void)
{
	return trace_open("trace_marker", O_WRONLY);
}

/*
 * Looks at one process only, which stays on one CPU. Not by set_event_pid: that
 * patches the scheduler, and QEMU (TCG) with several CPUs does not always
 * survive the breakpoints which that takes.
 */
int trace_prepare(pid_t pid, int cpu)
{
	char text[128];
	int ret;

	snprintf(text, sizeof(text), "%x", 1U << cpu % 32);
	for (int word = 0; word < cpu / 32 && strlen(text) < 100; word++)
		strcat(text, ",00000000");
	ret = trace_write("tracing_cpumask", text);
	if (ret)
		return ret;
	traced_pid = pid;
	snprintf(text, sizeof(text), "per_cpu/cpu%d/buffer_size_kb", cpu);
	return trace_write(text, BUFFER_KB);
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

/* Was anything not recorded for lack of room? */
bool trace_lost(int cpu)
{
	return trace_stat(cpu, "overrun") || trace_stat(cpu, "dropped events");
}

/*
 * Probes the function by a breakpoint: behind its first instruction, which may
 * be a call of ftrace that the kernel would use instead.
 */
int trace_add_kprobe(const char *function)
{
	char text[128];
	int ret = -EINVAL;

	/* A breakpoint, not a jump instead of it. */
	file_write(OPTIMIZATION, "0");
	for (int offset = 5; offset < 32 && ret; offset++) {
		snprintf(text, sizeof(text), "p:%s %s+%d", kprobe, function, offset);
		ret = file_write(TRACEFS "/kprobe_events", text);
	}
	if (ret)
		restore_optimization();
	return ret;
}

int trace_enable_kprobe(void)
{
	char file[64];

	snprintf(file, sizeof(file), "events/%s/enable", kprobe);
	return trace_write(file, "1");
}

/* The n-th breakpoint at an address: of a function, or within one. */
int trace_add_kprobe_at(unsigned long address, int n)
{
	char text[64];

	file_write(OPTIMIZATION, "0");
	snprintf(text, sizeof(text), "p:%s_%d 0x%lx", kprobe, n, address);
	return file_write(TRACEFS "/kprobe_events", text);
}

int trace_turn_kprobe_at(int n, bool on)
{
	char file[64];

	snprintf(file, sizeof(file), "events/%s_%d/enable", kprobe, n);
	return trace_write(file, on ? "1" : "0");
}

int trace_filter_kprobes(const char *filter)
{
	char file[64];

	snprintf(file, sizeof(file), "events/%s/filter", kprobe_group);
	return trace_write(file, filter);
}

/* How often each of them was hit, also while another one was handled. */
void trace_get_kprobe_hits(unsigned long *hits, int count)
{
	char *text = file_read(TRACEFS "/kprobe_profile"), *rest = text, *line;
	unsigned long hit, missed;
	int n;

	memset(hits, 0, count * sizeof(*hits));
	while (rest && (line = strsep(&rest, "\n")))
		if (sscanf(line, " probe_%d %lu %lu", &n, &hit, &missed) == 3 && n < count)
			hits[n] = hit + missed;
	free(text);
}

bool trace_kprobe_exists(void)
{
	char *text = file_read(TRACEFS "/kprobe_events");
	bool exists = text && strstr(text, kprobe_group);

	free(text);
	return exists;
}

/* How often was it hit, also while another one was handled? */
long trace_kprobe_hits(void)
{
	char *text = file_read(TRACEFS "/kprobe_profile");
	unsigned long hits = 0, misses = 0;

	if (text)
		sscanf(text, " probe %lu %lu", &hits, &misses);
	free(text);
	return hits + misses;
}

/* All of this program. */
int trace_remove_kprobe(void)
{
	char text[64];

	if (!trace_kprobe_exists())
		return 0;
	restore_optimization();
	snprintf(text, sizeof(text), "-:%s/", kprobe_group);
	return file_write(TRACEFS "/kprobe_events", text);
}

/*
 * Splits "comm-pid [cpu] flags time: event: text", where comm has 16 columns,
 * and takes the duration off the end of the text.
 */
static bool parse_line(char *line, struct trace_record *record)
{
	static const char * const events[] = {
		"trap_entry", "trap_exit", "page_fault_entry", "page_fault_exit",
		"page_fault_user", "page_fault_kernel", "tracing_mark_write",
	};
	char mark[32], *text, *duration;

	if (strlen(line) < 17 || (traced_pid && atoi(line + 17) != traced_pid))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(mark, sizeof(mark), ": %s: ", events[i]);
		text = strstr(line, mark);
		if (!text)
			continue;
		record->event = events[i];
		record->text = text + strlen(mark);
		record->duration = 0;
		duration = strstr(record->text, " duration=");
		if (duration) {
			if (sscanf(duration, " duration=%llu", &record->duration) != 1)
				return false;
			*duration = '\0';
		}
		return true;
	}
	return false;
}

/**
 * trace_get - get what was recorded between the marks, the last ones if several
 * @trace: filled in; it is kept until the process exits
 *
 * Return: 0, or -1 if the trace cannot be read or has no marks.
 */
int trace_get(struct trace *trace)
{
	char *text = trace_read("trace"), *line;
	struct trace_record record;
	bool begun = false, ended = false;
	int room = 0;

	trace->records = NULL;
	trace->count = 0;
	if (!text)
		return -1;
	while ((line = strsep(&text, "\n"))) {
		if (!parse_line(line, &record))
			continue;
		if (!strcmp(record.event, "tracing_mark_write")) {
			begun = !strcmp(record.text, TRACE_BEGIN);
			ended = !strcmp(record.text, TRACE_END);
			if (begun)
				trace->count = 0;
			continue;
		}
		if (!begun)
			continue;
		if (trace->count == room) {
			room = room ? 2 * room : 256;
			trace->records = reallocarray(trace->records, room,
						      sizeof(record));
			if (!trace->records)
				return -1;
		}
		trace->records[trace->count++] = record;
	}
	return ended ? 0 : -1;
}

static bool is_event(const struct trace_record *record, const char *event)
{
	return !fnmatch(event, record->event, 0);
}

/*
 * Does each exit belong to the last entry that has no exit yet? The text of an
 * exit begins with that of its entry.
 */
bool trace_balanced(const struct trace *trace)
{
	const char *open[16];
	int depth = 0;

	for (int i = 0; i < trace->count; i++) {
		const struct trace_record *record = &trace->records[i];

		if (is_event(record, "*_entry")) {
			if (depth == (int)ARRAY_SIZE(open))
				return false;
			open[depth++] = record->text;
		} else if (is_event(record, "*_exit")) {
			if (!depth)
				return false;
			depth--;
			if (strncmp(open[depth], record->text, strlen(open[depth])))
				return false;
		}
	}
	return !depth;
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

/* How many records of the event have that text? Both are shell patterns. */
int trace_count(const struct trace *trace, const char *event,
		const char *pattern, ...)
{
	char text[256];
	va_list args;
	int count = 0;

	va_start(args, pattern);
	vsnprintf(text, sizeof(text), pattern, args);
	va_end(args);
	for (int i = 0; i < trace->count; i++)
		if (is_event(&trace->records[i], event) &&
		    !fnmatch(text, trace->records[i].text, 0))
			count++;
	return count;
}

/* The first record of the event, or NULL. */
const struct trace_record *trace_find(const struct trace *trace,
				      const char *event)
{
	for (int i = 0; i < trace->count; i++)
		if (is_event(&trace->records[i], event))
			return &trace->records[i];
	return NULL;
}

/* For the log of a test that failed. */
void trace_print(const struct trace *trace, int max)
{
	for (int i = 0; i < trace->count && i < max; i++)
		fprintf(stderr, "#   %s: %s\n", trace->records[i].event,
			trace->records[i].text);
}
