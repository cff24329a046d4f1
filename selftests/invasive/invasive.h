/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What only these tests need: more of tracefs, a second instance, kprobe events, the
 * module that raises exceptions, a loop.
 */
#ifndef _INVASIVE_H
#define _INVASIVE_H

#include "trace.h"

/* In front of a file's name: that of the second instance. */
#define OTHER	TRACEFS "instances/traps_other/"

int other_create(void);
int other_remove(void);

bool trace_has_tracer(const char *name);
bool trace_is_on(const char *file);
int trace_truncate(const char *file);
long trace_stat(int cpu, const char *name);
__printf(2, 3)
struct trace trace_inside(const struct trace *trace, const char *pattern, ...);

int kprobe_add(const char *function);
int kprobe_enable(void);
int kprobe_remove(void);
long kprobe_hits(void);
int kprobe_add_at(unsigned long address, int n);
int kprobe_turn_at(int n, bool on);
int kprobe_filter(const char *filter);
void kprobe_get_hits(unsigned long *hits, int count);

/* test_modules/raiser.c; both return 0 or the error. */
int module_load(const char *name);
int module_write(const char *file, const char *text);
int module_send_nmi(int cpu);

/* Between processes: one waits in user mode until the other ends that. */
struct spin {
	int end;
	int begun;
};

void raise_spin(struct spin *spin);
extern const char raise_spin_end[];

#endif
