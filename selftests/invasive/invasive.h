/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What only these tests need: more of tracefs, a second instance, kprobe events, the
 * module that raises exceptions, machine checks, samples of perf, a loop.
 */
#ifndef _INVASIVE_H
#define _INVASIVE_H

#include "raise.h"
#include "trace.h"

/* In front of a file's name: that of the second instance. */
#define OTHER	TRACEFS "instances/traps_other/"

int other_create(void);
int other_remove(void);

int file_write_again(const char *path, const char *text);
long file_number(const char *path, const char *format);
bool kernel_is_preemptible(void);

bool trace_has_tracer(const char *name);
bool trace_is_on(const char *file);
int trace_truncate(const char *file);
long trace_stat(const char *name);

/* Breakpoints in the kernel, each an event: all are switched, filtered and removed at once. */
int kprobe_add(const char *place, const char *what);
int kprobe_add_in(const char *function);
int kprobes_turn(bool on);
int kprobes_filter(const char *filter);
int kprobes_remove(void);
int kprobes_hit(void);

/* Samples of an event with call chains, as perf record -g takes them. */
struct sampling {
	int fd;
	void *ring;
};

bool sampling_start(struct sampling *sampling, const char *event, pid_t pid);
void sampling_stop(struct sampling *sampling);

/* All return 0 or the error; the last two are for test_modules/raiser.c. */
int module_load(const char *name);
int module_load_forever(const char *name);
int module_write(const char *file, const char *text);
int module_send_nmi(int cpu);

/* Reads a byte as a debugger does, without an exception; errno is 0 or the error. */
void read_remotely(void *address);

/* Between processes: one waits in user mode until the other ends that. */
struct spin {
	int end;
	int begun;
};

struct spin *spin_map(void);
void raise_spin(struct spin *spin);
extern const char raise_spin_end[];

/* Spins while another process does that; -1: it could not, or returned something else than 0. */
int spin_during(int (*work)(pid_t spinning, int cpu));

#endif
