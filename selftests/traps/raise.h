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
	unsigned long minflt, majflt;	/* getrusage() of the work */
	bool failed;			/* preparations failed */
	int error;			/* errno of a system call that raised */
};

/*
 * Done twice: a first time to have all memory that it needs present, a second
 * time traced. Must not touch the same page to be faulted in again.
 */
typedef void (*work_t)(struct report *report, bool traced);

struct child {
	pid_t pid;
	int cpu;			/* on which it runs */
	int go, done;			/* pipes */
	struct report *report;
};

int child_start(struct child *child, work_t work);
int child_go(struct child *child);
void child_end(struct child *child);

/* Where the signal handler resumes, 0: where the signal was raised. */
extern const char *raise_resume;
/* How many single steps until the signal handler ends them. */
extern int raise_steps;

/* raise.S */
void raise_de(void);
void raise_db(void);
void raise_bp(void);
void raise_of(void);
void raise_ud(void);
void raise_gp(void);
void raise_gp_selector(void);
void raise_read(const void *address);
void raise_write(void *address);
void raise_fetch(const void *address);
void raise_read_framed(const void *address, const void *frame);

extern const char raise_de_ip[], raise_de_resume[];
extern const char raise_db_ip1[], raise_db_ip2[], raise_db_ip3[];
extern const char raise_bp_ip[];
extern const char raise_of_ip[];
extern const char raise_ud_ip[], raise_ud_resume[];
extern const char raise_gp_ip[], raise_gp_resume[];
extern const char raise_gp_selector_ip[], raise_gp_selector_resume[];
extern const char raise_read_ip[], raise_read_resume[];
extern const char raise_write_ip[], raise_write_resume[];
extern const char raise_fetch_resume[];

#endif
