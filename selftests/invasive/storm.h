/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A storm: threads that raise exceptions of all kinds and count them, what disturbs
 * them, and the check of what was recorded. What returns an int returns 0 or an error.
 */
#ifndef _TRAPS_STORM_H
#define _TRAPS_STORM_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#define THREADS		8
#define VECTORS		33
#define SIGNALS		32
#define TIMEOUT		1800		/* seconds, for a million */

struct thread {
	pthread_t id;
	pid_t tid;
	char *fresh, *denied, *beyond_eof;
	int next_fresh;
	unsigned int random;
	long left;			/* exceptions to raise, about */
	/* What it knows of: signals of exceptions by vector, and what causes none */
	unsigned long raised[VECTORS];
	unsigned char codes[VECTORS][SIGNALS];	/* their si_code, always the same */
	unsigned long fixups;
	long minflt, majflt, switches[2];
};

/* --- storm.c: the threads */

extern struct thread storm_threads[THREADS];
extern long storm_pause_us;		/* after every few; set it before storm_start() */
extern long storm_keep;			/* as many a thread does not raise yet */

long storm_size(void);
int storm_prepare(long count);
int storm_start(unsigned int disturbances);
long storm_left(void);			/* exceptions to raise, about */
void storm_stop(void);
int storm_end(void);
unsigned long storm_sum(void);

/* --- disturb.c: what disturbs them */

#define INTERRUPT	0x1
#define PREEMPT		0x2
#define MIGRATE		0x4
#define HOTPLUG		0x8

int disturb_start(unsigned int which);
void disturb_stop(void);
unsigned long disturbed(unsigned int which);	/* how often */

const char *hotplug_file(void);
extern int hotplugs;			/* how often a CPU was switched off */

/* --- pairs.c: what was recorded of them */

/* Written to trace_marker. Between them, events come as they like. */
#define MARK_OFF	"off"
#define MARK_ON		"on"

struct pairs {
	unsigned long records, preempted, migrated;
	unsigned long errors;		/* each of the first ones is printed */
};

int pairs_prepare(long exceptions);
const struct pairs *pairs_read(void);
void pairs_compare(void);

#endif
