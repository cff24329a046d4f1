/* SPDX-License-Identifier: GPL-2.0 */
/*
 * counter.h - what the BPF programs (counter.bpf.c) share with trapstat
 */
#ifndef TRAPSTAT_COUNTER_H
#define TRAPSTAT_COUNTER_H

/* Index of mm_fault beside the exceptions' vectors */
#define MM_FAULT	64
#define VECTORS		(MM_FAULT + 1)
#define RESULTS		32
#define FLAGS		5	/* TRAP_FLAG_*, from bit 0 on */
#define TRAP_FLAGS_WAITED	3	/* TRAP_FLAG_SLEPT | TRAP_FLAG_PREEMPTED */

/*
 * Log-linear: 32 buckets for each power of two, so that a bucket is at most 1/32 wider
 * than its lowest duration. Durations up to 2^37 ns (137 s); the last bucket has the longer ones.
 */
#define SUB_BITS	5
#define SUBS		(1 << SUB_BITS)
#define BUCKETS		((37 - SUB_BITS + 1) * SUBS)

/* The exceptions of one vector and result, on one CPU */
struct counter {
	__u64	user;		/* raised in user mode */
	__u64	waited;		/* ns of those that slept or were preempted */
	__u64	ran;		/* ns of the others */
	__u64	flag[FLAGS];
	__u64	longest;	/* ns, of the last bucket */
	__u64	bucket[BUCKETS];
};

/* Slot 0 has those for which no other was free. */
#define SLOTS		64

/* What a row of -t, -a or -s is about */
enum { BY_TASK = 1, BY_PAGE, BY_IP };

struct count_key {
	__u8	by;
	__u8	vector;
	__u16	user;		/* BY_IP: raised in user mode */
	__u32	pid;		/* the process or, of BY_TASK, what is counted by */
	union {
		__u64	value;	/* page, ip, cgroup */
		char	comm[16];
	};
};

struct count {
	__u64	count;
	__u64	ns;
	char	comm[16];
};

enum group { THREAD, PROCESS, COMMAND, USER, CGROUP, GROUPS };

#endif
