// SPDX-License-Identifier: GPL-2.0
/*
 * The tracefs instance is named after the process that runs all tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace.h"

#define BUFFER_KB	"16384"

char trace_instance[64];
bool trace_nmis;
static pid_t traced_pid;	/* 0: any */

int file_write(const char *path, const char *value)
{
	int ret = 0, fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(room);
	ssize_t got;

	while (text && (got = read(fd, text + size, room - size - 1)) > 0) {
		size += got;
		if (room - size < 1 << 12) {
			room *= 2;
			text = realloc(text, room);
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

/* --- Undoing, in the reverse order */

struct undo {
	undo_t undo;
	char path[128], text[128];
};

static struct {			/* shared by the processes of the program */
	int count;
	struct undo list[32];
} *undos;

/* Call it before what is to be undone is done. */
void undo_later(undo_t undo, const char *path, const char *text)
{
	struct undo *new = &undos->list[undos->count];

	if (undos->count == ARRAY_SIZE(undos->list))
		abort();
	new->undo = undo;
	snprintf(new->path, sizeof(new->path), "%s", path);
	snprintf(new->text, sizeof(new->text), "%s", text);
	undos->count++;
}

/* Returns the first error. */
int undo_all(void)
{
	int ret = 0;

	for (; undos->count; undos->count--) {
		const struct undo *last = &undos->list[undos->count - 1];
		int error = last->undo(last->path, last->text);

		ret = ret ?: error;
	}
	return ret;
}

/* Writes to a file of one line, until undo_all(). */
int file_change(const char *path, const char *value)
{
	char *before = file_read(path);

	if (!before)
		return -errno;
	undo_later(file_write, path, before);
	free(before);
	return file_write(path, value);
}

/* A process of its own session undoes what the others leave: they hold the pipe. */
static void __attribute__((constructor)) begin(void)
{
	int fds[2];
	char byte;

	snprintf(trace_instance, sizeof(trace_instance), TRACEFS "instances/%s_%d",
		 program_invocation_short_name, getpid());
	undos = mmap(NULL, sizeof(*undos), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (undos == MAP_FAILED || pipe2(fds, O_CLOEXEC))
		exit(KSFT_FAIL);
	if (!fork()) {
		setsid();
		/* fds[0] is one of these if it was started without them. */
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			if (fd != fds[0])
				close(fd);
		close(fds[1]);
		signal(SIGHUP, SIG_IGN);
		while (read(fds[0], &byte, 1) < 0 && errno == EINTR)
			;
		undo_all();
		_exit(0);
	}
	close(fds[0]);
}

/* Runs at exit() of the harness; its children use _exit(). */
static void __attribute__((destructor)) end(void)
{
	undo_all();
}

/* --- The instance */

bool trace_available(void)
{
	return !access(TRACEFS "events/traps", F_OK) && !access(TRACEFS "instances", W_OK);
}

/* A dying child may hold the instance for another moment. */
int trace_remove(const char *path, const char *unused)
{
	for (int i = 0; i < 200; i++) {
		if (!rmdir(path) || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			break;
		usleep(10000);
	}
	return -errno;
}

/* A test before may have been killed. */
int trace_create(void)
{
	undo_all();
	undo_later(trace_remove, trace_instance, "");
	return mkdir(trace_instance, 0700) ? -errno : 0;
}

/* The path of a file of the instance, unless it begins with a slash. */
static const char *path_of(const char *file)
{
	static __thread char path[256];

	if (*file == '/')
		return file;
	snprintf(path, sizeof(path), "%s/%s", trace_instance, file);
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

int trace_open(const char *file, int flags)
{
	return open(path_of(file), flags | O_CLOEXEC);
}

/*
 * Looks at one process only, which stays on one CPU, or not if @cpu is -1. Not by
 * set_event_pid: that patches the scheduler, and QEMU (TCG) with several CPUs does
 * not always survive the breakpoints which that takes.
 */
int trace_prepare(pid_t pid, int cpu)
{
	char text[128];
	int ret;

	traced_pid = pid;
	if (cpu < 0)
		return 0;
	snprintf(text, sizeof(text), "%x", 1U << cpu % 32);
	for (int word = 0; word < cpu / 32 && strlen(text) < 100; word++)
		strcat(text, ",00000000");
	ret = trace_write("tracing_cpumask", text);
	snprintf(text, sizeof(text), "per_cpu/cpu%d/buffer_size_kb", cpu);
	return ret ?: trace_write(text, BUFFER_KB);
}

/* Was anything not recorded for lack of room? */
bool trace_lost(int cpu)
{
	char file[64], *text;
	bool lost;

	snprintf(file, sizeof(file), "per_cpu/cpu%d/stats", cpu);
	text = trace_read(file);
	lost = !text || !strstr(text, "\noverrun: 0\n") || !strstr(text, "\ndropped events: 0\n");
	free(text);
	return lost;
}

/* --- What was recorded */

static unsigned int parse_flags(char *text)
{
	static const char * const names[] = {
		"SLEPT", "PREEMPTED", "MIGRATED", "MMAP_LOCK", "RETRIED",
	};
	unsigned int flags = 0;
	char *name;

	while ((name = strsep(&text, "|")))
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (!strcmp(name, names[i]))
				flags |= 1U << i;
	return flags;
}

/* Exceptions that no test raises, and that come at any time. */
static bool is_unwanted(const char *text)
{
	return !trace_nmis && (!fnmatch("vector=NMI *", text, 0) ||
			       !fnmatch("vector=#V[EC] *", text, 0));
}

/*
 * Splits "comm-pid [cpu] flags time: event: text", where comm has 16 columns,
 * and takes flags and duration off the end of the text.
 */
static bool parse_line(char *line, struct trace_record *record)
{
	static const char * const events[] = {
		"trap_entry", "trap_exit", "page_fault_entry", "page_fault_exit",
		"page_fault_user", "page_fault_kernel", "tracing_mark_write",
	};
	char mark[32], *text, *end, flags[64];

	if (strlen(line) < 17 || (traced_pid && atoi(line + 17) != traced_pid))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(mark, sizeof(mark), ": %s: ", events[i]);
		text = strstr(line, mark);
		if (!text)
			continue;
		*record = (struct trace_record) { events[i], text + strlen(mark) };
		end = strstr(record->text, " flags=");
		if (end) {
			if (sscanf(end, " flags=%63s duration=%lluns", flags,
				   &record->duration) != 2)
				return false;
			record->flags = parse_flags(flags);
			*end = '\0';
		}
		return !is_unwanted(record->text);
	}
	return false;
}

/*
 * What was recorded between the marks, the last ones if several, kept until the
 * process exits. Returns 0, or -1 if the trace cannot be read or has no marks.
 */
int trace_get(struct trace *trace)
{
	char *text = trace_read("trace"), *line;
	struct trace_record record;
	bool begun = false, ended = false;
	int room = 0;

	*trace = (struct trace) {};
	while (text && (line = strsep(&text, "\n"))) {
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
			trace->records = reallocarray(trace->records, room, sizeof(record));
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
 * exit is that of its entry, and the result.
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
			const char *result = strstr(record->text, " result=");
			size_t length = result ? result - record->text : 0;

			if (!depth-- || strlen(open[depth]) != length ||
			    strncmp(open[depth], record->text, length))
				return false;
		}
	}
	return !depth;
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
		count += is_event(&trace->records[i], event) &&
			 !fnmatch(text, trace->records[i].text, 0);
	return count;
}

/* The first such record, or NULL. */
const struct trace_record *trace_find(const struct trace *trace, const char *event,
				      const char *pattern)
{
	for (int i = 0; i < trace->count; i++)
		if (is_event(&trace->records[i], event) &&
		    !fnmatch(pattern, trace->records[i].text, 0))
			return &trace->records[i];
	return NULL;
}

/* For the log of a test that failed. */
void trace_print(const struct trace *trace, int max)
{
	for (int i = 0; i < trace->count && i < max; i++)
		fprintf(stderr, "#   %s: %s flags=0x%x\n", trace->records[i].event,
			trace->records[i].text, trace->records[i].flags);
}
