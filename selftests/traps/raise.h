/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Raising exceptions in a child process, and what the child saw of them.
 */
#ifndef _TRAPS_RAISE_H
#define _TRAPS_RAISE_H

#include <stdbool.h>
#include <sys/types.h>
#include <ucontext.h>

/* One delivered signal, with the exception as the kernel saved it. */
struct raised {
	int signal;
	int code;			/* si_code */
	bool told;			/* are the next two known? */
	unsigned long vector;
	unsigned long error_code;
	unsigned long ip;
};

/* What the child tells, in memory shared with it. */
struct report {
	int raised_count;
	struct raised raised[2000];	/* the first ones */
	unsigned long long time;	/* nanoseconds that the work took */
	unsigned long address;		/* what was accessed */
	long step;			/* to that of the next round */
	/* getrusage() of the work, of the thread that does it */
	unsigned long minflt, majflt, nvcsw, nivcsw;
	bool failed;			/* preparations failed */
	int error;			/* errno of a system call that raised */
};

#define ROUNDS		4

/*
 * Done in round 0 to have all memory that it needs present, then for each child_go(). Must
 * not touch the same page to be faulted in again; its memory is for ROUNDS rounds.
 */
typedef void (*work_t)(struct report *report, int round);

struct child {
	pid_t pid;
	int cpu;			/* on which it runs */
	int go, done;			/* pipes */
	struct report *report;
};

#define CHILD_UNABLE	1		/* preparations failed */

int child_start(struct child *child, work_t work);
int child_go(struct child *child);

/* What the events call a signal, and its si_code */
const char *signal_name(int signal);
const char *code_name(int signal, int code);

/* fork(); the child is killed when this thread ends. */
pid_t fork_bound(void);

int kernel_bits(void);
int perf_type(const char *name);

/* Where the signal handler resumes, 0: where the signal was raised. */
extern const char *raise_resume;
/* The signal handler returns to this code segment, once; 0: to where it was. */
extern unsigned short raise_cs;
/* How many single steps until the signal handler ends them. */
extern int raise_steps;

/* raise.S of the architecture; not all have both labels. */
#define RAISER(name, ...) \
	void raise_##name(__VA_ARGS__); \
	extern const char raise_##name##_ip[], raise_##name##_resume[]

RAISER(bp, void);
RAISER(watched, int *watched);
RAISER(probed, void);
RAISER(read, void *address);
RAISER(write, void *address);
RAISER(fetch, void *address);
RAISER(read_framed, const void *address, const void *frame);

#include "arch.h"

/* arch.c: what a signal handler sees of an exception, and where it goes on */
void context_note(struct raised *raised, const mcontext_t *context);
void context_resume(mcontext_t *context);

#endif
