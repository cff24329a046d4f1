/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Raising exceptions in a child process, and what the child saw of them.
 */
#ifndef _TRAPS_RAISE_H
#define _TRAPS_RAISE_H

#include <stdbool.h>
#include <sys/types.h>

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
	struct raised raised[8];	/* the first ones */
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
 * Done ROUNDS times at most: in round 0 to have all memory that it needs present,
 * then for child_go(). Must not touch the same page to be faulted in again.
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

int kernel_bits(void);
int perf_type(const char *name);

/* Where the signal handler resumes, 0: where the signal was raised. */
extern const char *raise_resume;
/* The signal handler returns to this code segment, once; 0: to where it was. */
extern unsigned short raise_cs;
/* How many single steps until the signal handler ends them. */
extern int raise_steps;

/* raise.S; not all have both labels. */
#define RAISER(name, ...) \
	void raise_##name(__VA_ARGS__); \
	extern const char raise_##name##_ip[], raise_##name##_resume[]

RAISER(bp, void);
RAISER(watched, int *watched);
RAISER(probed, void);
RAISER(read, const void *address);
RAISER(write, void *address);
RAISER(fetch, const void *address);
RAISER(read_framed, const void *address, const void *frame);

/* What raise_bp() raises */
#ifdef __aarch64__
#define BREAKPOINT_NAME	"BRK64"

RAISER(undefined, void);
RAISER(sctlr, void);
RAISER(midr, void);
RAISER(ccsidr, void);
RAISER(cntvct, void);
RAISER(wfi, void);
RAISER(sve, void);
RAISER(sme, void);
RAISER(bti, void);
RAISER(pc, void);
RAISER(step, void);
extern const char raise_step_from[];
RAISER(exclusive, const void *address);
#else
#define BREAKPOINT_NAME	"#BP"

RAISER(de, void);
RAISER(db, void);
RAISER(of, void);
RAISER(ud, void);
RAISER(gp, void);
RAISER(cli, void);
RAISER(br, void);
RAISER(es, unsigned int selector);
RAISER(ss, unsigned int selector);
RAISER(iret, void);
RAISER(mf, void);
RAISER(ac, void);
RAISER(xf, void);
RAISER(cp, void);
RAISER(sgdt, void *address);
RAISER(call_stackless, const void *address);

extern const char raise_db1_ip[], raise_db2_ip[], raise_db3_ip[];
#endif

#endif
