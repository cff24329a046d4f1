/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instance's ring buffer in binary form, all CPUs merged: for so many
 * records that their text takes too long.
 */
#ifndef _TRAPS_RAW_H
#define _TRAPS_RAW_H

#include <stdbool.h>
#include <sys/types.h>

#define VECTOR_NMI	2
#define VECTOR_PF	14

enum raw_kind {
	RAW_ENTRY,
	RAW_EXIT,
	RAW_MARK,		/* written to trace_marker */
	RAW_RING,		/* of test_modules/ring.c */
};

struct raw_record {
	enum raw_kind kind;
	pid_t pid;
	int cpu;
	unsigned long long time;
	unsigned int vector;	/* VECTOR_PF for a page fault */
	unsigned long address;
	unsigned long error_code;
	unsigned long ip;
	bool user_mode;
	unsigned long event_data;
	unsigned int result;
	unsigned int code;
	unsigned int flags;
	unsigned long long duration;
	char mark[16];		/* the mark's beginning */
	const void *data;	/* of RAW_RING, until the next record */
	size_t length;
};

struct raw;

struct raw *raw_open(void);
bool raw_next(struct raw *raw, struct raw_record *record);
bool raw_failed(const struct raw *raw);
unsigned long raw_missed(const struct raw *raw);
void raw_close(struct raw *raw);

#endif
