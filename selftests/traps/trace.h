/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tracefs instance of this program's own, and what was recorded in it.
 */
#ifndef _TRAPS_TRACE_H
#define _TRAPS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "kselftest.h"

#define TRACEFS		"/sys/kernel/tracing/"

/* Written to trace_marker around what the child does. */
#define TRACE_BEGIN	"traps_test begins"
#define TRACE_END	"traps_test ends"

/* The flags of an exit, and the names of these bits. */
#define SLEPT		0x01
#define PREEMPTED	0x02
#define MIGRATED	0x04
#define MMAP_LOCK	0x08
#define RETRIED		0x10
#define VMA_LOCK_FAILED	0x20
extern const char * const trace_flags[6];

/* An event; its text up to the code or the flags. */
struct trace_record {
	const char *event;
	const char *text;
	const char *code;		/* or NULL */
	bool irqs_on;
	unsigned int flags;
	unsigned long long duration;
};

struct trace {
	struct trace_record *records;
	int count;
};

int file_write(const char *path, const char *value);
char *file_read(const char *path);
bool file_has_word(const char *path, const char *word);

/*
 * What is changed outside of this program is undone by undo_all(), or when all of
 * the program's processes are gone, whatever ended them.
 */
typedef int (*undo_t)(const char *path, const char *text);
void undo_later(undo_t undo, const char *path, const char *text);
int undo_all(void);
int file_change(const char *path, const char *value);

extern char trace_instance[];		/* its path */

bool trace_available(void);
bool has_exceptions(void);
int trace_create(void);
int trace_remove(const char *path, const char *unused);
int trace_write(const char *file, const char *value);
char *trace_read(const char *file);
int trace_open(const char *file, int flags);
int trace_filter(pid_t pid, const char *event, const char *condition);
int trace_prepare(pid_t pid);

int trace_get(struct trace *trace);
bool trace_balanced(const struct trace *trace);
__printf(3, 4)
int trace_count(const struct trace *trace, const char *event,
		const char *pattern, ...);
const struct trace_record *trace_find(const struct trace *trace, const char *event,
				      const char *pattern);
void trace_print(const struct trace *trace, int max);

#endif
