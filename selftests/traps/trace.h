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

/* Written to trace_marker around what the child does. */
#define TRACE_BEGIN	"traps_test begins"
#define TRACE_END	"traps_test ends"

/* An event; its text without the duration. */
struct trace_record {
	const char *event;
	const char *text;
	unsigned long long duration;
};

struct trace {
	struct trace_record *records;
	int count;
};

int file_write(const char *path, const char *value);
char *file_read(const char *path);
bool file_has_word(const char *path, const char *word);

/* In front of a file's name: that of the top level, of the second instance. */
#define TRACE_TOP	"/top/"
#define TRACE_OTHER	"/other/"

bool trace_available(void);
int trace_create(void);
int trace_remove(void);
int trace_create_other(void);
int trace_remove_other(void);
int trace_write(const char *file, const char *value);
bool trace_exists(void);
bool trace_has_tracer(const char *name);
char *trace_read(const char *file);
int trace_open(const char *file, int flags);
int trace_truncate(const char *file);
void trace_remove_triggers(void);
int trace_open_marker(void);
int trace_prepare(pid_t pid, int cpu);
long trace_stat(int cpu, const char *name);
bool trace_lost(int cpu);

int trace_add_kprobe(const char *function);
int trace_enable_kprobe(void);
long trace_kprobe_hits(void);
int trace_add_kprobe_at(unsigned long address, int n);
int trace_turn_kprobe_at(int n, bool on);
int trace_filter_kprobes(const char *filter);
void trace_get_kprobe_hits(unsigned long *hits, int count);
int trace_remove_kprobe(void);
bool trace_kprobe_exists(void);

int trace_get(struct trace *trace);
bool trace_balanced(const struct trace *trace);
__printf(2, 3)
struct trace trace_inside(const struct trace *trace, const char *pattern, ...);
__printf(3, 4)
int trace_count(const struct trace *trace, const char *event,
		const char *pattern, ...);
const struct trace_record *trace_find(const struct trace *trace,
				      const char *event);
void trace_print(const struct trace *trace, int max);

#endif
