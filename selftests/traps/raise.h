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
/* The signal handler returns to this code segment, once; 0: to where it was. */
extern unsigned short raise_cs;
/* How many single steps until the signal handler ends them. */
extern int raise_steps;

/* Between processes: one waits in user mode until the other ends that. */
struct spin {
	int end;
	int begun;
};

/* raise.S */
void raise_de(void);
void raise_db(void);
void raise_bp(void);
void raise_of(void);
void raise_ud(void);
void raise_gp(void);
void raise_into(void);
void raise_br(void);
void raise_int1(void);
void raise_watched(int *watched);
void raise_executed(void);
void raise_es(unsigned int selector);
void raise_ss(unsigned int selector);
void raise_ss_canonical(void);
void raise_iret(void);
void raise_mf(void);
void raise_ac(void);
void raise_xf(void);
void raise_cp(void);
void raise_sgdt(void *address);
void raise_spin(struct spin *spin);
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
extern const char raise_into_ip[];
extern const char raise_br_ip[], raise_br_resume[];
extern const char raise_int1_ip[];
extern const char raise_watched_ip[];
extern const char raise_executed_ip[];
extern const char raise_es_ip[], raise_es_resume[];
extern const char raise_ss_ip[], raise_ss_resume[];
extern const char raise_ss_canonical_ip[], raise_ss_canonical_resume[];
extern const char raise_iret_ip[], raise_iret_resume[];
extern const char raise_mf_ip[], raise_mf_resume[];
extern const char raise_ac_ip[], raise_ac_resume[];
extern const char raise_xf_ip[], raise_xf_resume[];
extern const char raise_cp_ip[], raise_cp_resume[];
extern const char raise_sgdt_ip[];
extern const char raise_read_ip[], raise_read_resume[];
extern const char raise_write_ip[], raise_write_resume[];
extern const char raise_fetch_resume[];

#endif
