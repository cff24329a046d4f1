// SPDX-License-Identifier: GPL-2.0
/* The tracefs instance is named after the process that runs all tests. */
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

#include "raise.h"
#include "trace.h"

char trace_instance[64];
const char * const trace_flags[] = {
	"SLEPT", "PREEMPTED", "MIGRATED", "MMAP_LOCK", "RETRIED", "VMA_LOCK_FAILED",
};

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
	pid_t pid;

	snprintf(trace_instance, sizeof(trace_instance), TRACEFS "instances/%s_%d",
		 program_invocation_short_name, getpid());
	undos = mmap(NULL, sizeof(*undos), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (undos == MAP_FAILED || pipe2(fds, O_CLOEXEC))
		exit(KSFT_FAIL);
	pid = fork();
	if (pid < 0)
		exit(KSFT_FAIL);
	if (!pid) {
		setsid();
		/* fds[0] is one of these if it was started without them. */
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			if (fd != fds[0])
				close(fd);
		close(fds[1]);
		signal(SIGHUP, SIG_IGN);
		/* fds[1] may be what the others print to. */
		while (read(fds[0], &byte, 1))
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

/* Not all architectures have these older events. */
bool has_exceptions(void)
{
	return !access(TRACEFS "events/exceptions", F_OK);
}

/* A dying child may hold the instance for another moment. */
int trace_remove(const char *path, const char *unused)
{
	for (int i = 0; i < 3000; i++) {
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

/* Records of that process only the trap_* or page_fault_* events that meet the condition. */
int trace_filter(pid_t pid, const char *event, const char *condition)
{
	static const char * const ends[] = { "entry", "exit" };
	char file[64], filter[128];
	int ret = 0;

	snprintf(filter, sizeof(filter), "common_pid == %d && %s", pid, condition);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(ends); i++) {
		snprintf(file, sizeof(file), "events/traps/%s_%s/filter", event, ends[i]);
		ret = trace_write(file, filter);
	}
	return ret;
}

/* Records one process only, without what comes at any time, and what it tells its parent. */
int trace_prepare(pid_t pid)
{
	char filter[32], signals[64];

	snprintf(filter, sizeof(filter), "common_pid == %d", pid);
	snprintf(signals, sizeof(signals), "%s && sig != %d", filter, SIGCHLD);
	return trace_write("events/traps/filter", filter) ?:
	       trace_write("events/signal/filter", signals) ?:
	       (has_exceptions() ? trace_write("events/exceptions/filter", filter) : 0) ?:
	       trace_filter(pid, "trap", ORDINARY_TRAP);
}

/* --- What was recorded */

static unsigned int parse_flags(char *text)
{
	unsigned int flags = 0;
	char *name;

	while ((name = strsep(&text, "|")))
		for (size_t i = 0; i < ARRAY_SIZE(trace_flags); i++)
			if (!strcmp(name, trace_flags[i]))
				flags |= 1U << i;
	return flags;
}

/*
 * Finds event and text in "comm-pid [cpu] flags time: event: text", and takes code, flags
 * and duration off the end of the text.
 */
static bool parse_line(char *line, struct trace_record *record)
{
	static const char * const events[] = {
		"trap_entry", "trap_exit", "page_fault_entry", "page_fault_exit",
		"mm_fault", "page_fault_user", "page_fault_kernel", "signal_generate",
		"signal_deliver", "tracing_mark_write",
	};
	char mark[32], *text, *end, *code, *irqs = strstr(line, "] "), flags[64];

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(mark, sizeof(mark), ": %s: ", events[i]);
		text = strstr(line, mark);
		if (!text)
			continue;
		*record = (struct trace_record) { events[i], text + strlen(mark) };
		/* "d" or "D" if they are off */
		record->irqs_on = irqs && strchr(".b", irqs[2]);
		end = strstr(record->text, " flags=");
		if (end) {
			if (sscanf(end, " flags=%63s duration=%lluns", flags,
				   &record->duration) != 2)
				return false;
			record->flags = parse_flags(flags);
			*end = '\0';
			code = strstr(record->text, " code=");
			if (code) {
				record->code = code + strlen(" code=");
				*code = '\0';
			}
		}
		return true;
	}
	return false;
}

/* Was anything overwritten? The head of the trace says how much was recorded. */
static bool is_complete(const char *text)
{
	const char *counts = strstr(text, "entries-in-buffer/entries-written: ");
	unsigned long kept, written;

	return counts && sscanf(counts, "%*s %lu/%lu", &kept, &written) == 2 && kept == written;
}

/*
 * What was recorded between the marks, the last ones if several, kept until the
 * process exits. Returns 0, or -1 if the trace cannot be read, has lost something
 * or has no marks.
 */
int trace_get(struct trace *trace)
{
	char *text = trace_read("trace"), *line;
	struct trace_record record;
	bool begun = false, ended = false;
	int room = 0;

	*trace = (struct trace) {};
	if (!text || !is_complete(text))
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
 * exit is that of its entry, and the result. Interrupts are off at both. Signals are
 * sent between the two, and delivered after them.
 */
bool trace_balanced(const struct trace *trace)
{
	const char *open[16];
	int depth = 0;

	for (int i = 0; i < trace->count; i++) {
		const struct trace_record *record = &trace->records[i];

		if (is_event(record, "*_e[nx]*") && record->irqs_on)
			return false;
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
		} else if ((is_event(record, "signal_generate") && !depth) ||
			   (is_event(record, "signal_deliver") && depth)) {
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
	const struct trace_record *record = trace->records;

	for (; max-- && record < trace->records + trace->count; record++)
		fprintf(stderr, "#   %s: %s %s %#x\n", record->event, record->text,
			record->code ?: "", record->flags);
}
