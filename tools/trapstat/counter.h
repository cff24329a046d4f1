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
/* A kind has a vector, a result and a code, of which bits 0 to 3, and 7 (SI_KERNEL), tell it */
#define CODES		32
#define KINDS		(VECTORS * RESULTS * CODES)
#define KIND(vector, result, code) \
	(((vector) * RESULTS + (result)) * CODES + ((code) & 15) + ((code) >> 3 & 16))
#define KIND_VECTOR(kind)	((kind) / CODES / RESULTS)
#define KIND_RESULT(kind)	((kind) / CODES % RESULTS)
#define KIND_CODE(kind)		(((kind) & 15) | ((kind) & 16) << 3)
#define FLAGS		6	/* TRAP_FLAG_*, from bit 0 on */
#define TRAP_FLAGS_WAITED	3	/* TRAP_FLAG_SLEPT | TRAP_FLAG_PREEMPTED */

/*
 * Log-linear: 32 buckets for each power of two, so that a bucket is at most 1/32 wider
 * than its lowest duration. The last bucket has the durations from 2^37 ns (137 s) on.
 */
#define SUB_BITS	5
#define SUBS		(1 << SUB_BITS)
#define BUCKETS		((37 - SUB_BITS + 1) * SUBS + 1)

/*
 * The exceptions of one kind, on one CPU. The programs count in a bucket last, and
 * the kernel copies the buckets first: what is in a copy's buckets is in the rest of it, too.
 */
struct counter {
	__u64	bucket[BUCKETS];
	__u64	user;		/* raised in user mode */
	__u64	waited;		/* ns of those that slept or were preempted */
	__u64	ran;		/* ns of the others */
	__u64	flag[FLAGS];
	__u64	longest;	/* ns, of the last bucket */
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
