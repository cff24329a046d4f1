// SPDX-License-Identifier: GPL-2.0
/*
 * counter.bpf.c - counts the exits of exceptions and mm_fault
 *
 * Raw tracepoints pass the arguments by number, so this works without BTF. Interrupts are
 * off at all of them but mm_fault, and counters are per CPU, so plain additions do: only
 * the page fault of an NMI could come between, and the kernel fixes it up.
 */
#include <stdbool.h>
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "counter.h"

#define DB		1
#define BP		3
#define OF		4
#define PF		14
#define DR_STEP		0x4000	/* of DR6: a single step */
#define PF_USER		4	/* of the error code: raised in user mode */
#define PAGE_MASK	(~4095ULL)
#define CS		17	/* in struct pt_regs */

char LICENSE[] SEC("license") = "GPL";

const volatile bool of_tasks, of_cpus, by_task, by_page, by_ip, mm_faults;
const volatile __u32 group;
const volatile __u64 vectors = ~0ULL;
const volatile __u64 cpus[8192 / 64];
const volatile __u32 watermark;

__u8 slot_of[KINDS];			/* 0: none yet */
__u32 kind_of[SLOTS];
__u32 nr_slots = 1;
__u64 lost_tasks;			/* children that did not fit */
__u64 no_slot;				/* exceptions that have found none */
__u32 nr_keys;				/* of the table that is in use */
__u64 missing[BY_IP + 1];		/* exceptions that did not fit in it */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct counter);
} counters SEC(".maps");

struct table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct count_key);
	__type(value, struct count);
} table0 SEC(".maps"), table1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct table);
} tables SEC(".maps") = { .values = { &table0 } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} tasks SEC(".maps");		/* by TID, or by the address of task_struct */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wake SEC(".maps");

static __always_inline __u32 bucket_of(__u64 d)
{
	__u32 shift = 0;

	if (d >> 37)
		return BUCKETS - 1;
	/* until SUBS <= d < 2 * SUBS */
#define SHIFT_IF(bits, by)		\
	if (d >> (bits)) {		\
		d >>= (by);		\
		shift += (by);		\
	}
	SHIFT_IF(22, 16)
	SHIFT_IF(14, 8)
	SHIFT_IF(10, 4)
	SHIFT_IF(8, 2)
	SHIFT_IF(7, 1)
	SHIFT_IF(6, 1)
	return shift * SUBS + d;
}

/* Two CPUs may give the same kind a slot each: the sum of both is right. */
static __always_inline __u32 new_slot(__u32 kind)
{
	__u32 slot = nr_slots < SLOTS ? __sync_fetch_and_add(&nr_slots, 1) : SLOTS;

	if (slot >= SLOTS) {
		__sync_fetch_and_add(&no_slot, 1);
		return 0;
	}
	kind_of[slot] = kind;
	slot_of[kind] = slot;
	return slot;
}

static __always_inline bool add_to(void *table, const struct count_key *key, __u64 duration)
{
	struct count *count = bpf_map_lookup_elem(table, key);

	if (!count)
		return false;
	__sync_fetch_and_add(&count->count, 1);
	__sync_fetch_and_add(&count->ns, duration);
	return true;
}

static __always_inline void add_key(void *table, const struct count_key *key, __u64 duration)
{
	struct count new = { .count = 1, .ns = duration };
	__u32 nr;

	if (add_to(table, key, duration))
		return;
	bpf_get_current_comm(new.comm, sizeof(new.comm));
	if (!bpf_map_update_elem(table, key, &new, BPF_NOEXIST)) {
		nr = __sync_fetch_and_add(&nr_keys, 1);
		if (nr == watermark)
			bpf_ringbuf_output(&wake, &nr, sizeof(nr), BPF_RB_FORCE_WAKEUP);
	} else if (!add_to(table, key, duration)) {
		if (key->by <= BY_IP)
			__sync_fetch_and_add(&missing[key->by], 1);
	}
}

/* Not inline: it is rarely called. */
static __noinline __u32 registers_in_user_mode(__u64 regs)
{
	__u64 cs = 0;

	bpf_probe_read_kernel(&cs, sizeof(cs), (__u64 *)regs + CS);
	return !!(cs & 3);
}

/*
 * Returns whether it was raised in user mode. User mode may jump to any address, and the
 * kernel may by mistake, so that the registers decide where ip and error code do not agree.
 */
static __always_inline __u32 in_user_mode(__u32 vector, __u64 regs, __u64 ip, __u64 error_code)
{
	if (vector == MM_FAULT)
		return 0;
	if ((__s64)ip >= 0 && (vector != PF || error_code & PF_USER))
		return 1;
	return registers_in_user_mode(regs);
}

/* See traps_raised_at(). @data: event_data, or the address of a page fault */
static __always_inline __u64 raised_at(__u32 vector, __u64 data, __u64 ip)
{
	return ip - (vector == BP || vector == OF || (vector == DB && data & DR_STEP));
}

static __always_inline void add_keys(__u32 vector, __u64 ip, __u32 user, __u64 data,
				     __u64 duration)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct count_key key = { .vector = vector };
	__u32 zero = 0;
	void *table = bpf_map_lookup_elem(&tables, &zero);

	if (!table)
		return;
	if (by_task) {
		key.by = BY_TASK;
		if (group == THREAD)
			key.pid = pid_tgid;
		else if (group == PROCESS)
			key.pid = pid_tgid >> 32;
		else if (group == USER)
			key.pid = bpf_get_current_uid_gid();
		else if (group == CGROUP)
			key.value = bpf_get_current_cgroup_id();
		else
			bpf_get_current_comm(key.comm, sizeof(key.comm));
		add_key(table, &key, duration);
	}
	__builtin_memset(key.comm, 0, sizeof(key.comm));
	key.pid = pid_tgid >> 32;
	if (by_page && vector == PF) {
		key.by = BY_PAGE;
		key.value = data & PAGE_MASK;
		add_key(table, &key, duration);
	}
	if (by_ip && vector != MM_FAULT) {
		key.by = BY_IP;
		key.user = user;
		key.value = raised_at(vector, data, ip);
		add_key(table, &key, duration);
	}
}

static __always_inline bool is_counted(void)
{
	__u64 task = bpf_get_current_task(), tid = (__u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&tasks, &task) || bpf_map_lookup_elem(&tasks, &tid);
}

static __always_inline int count(__u32 vector, __u64 regs, __u64 ip, __u64 error_code,
				 __u64 data, __u32 result, __u32 code, __u32 flags, __u64 duration)
{
	struct counter *counter;
	__u32 kind, slot, cpu, bucket, user;

	if (vector >= VECTORS || result >= RESULTS)
		return 0;
	if (vector == MM_FAULT ? !mm_faults : !(vectors >> vector & 1))
		return 0;
	if (of_cpus) {
		cpu = bpf_get_smp_processor_id();
		if (cpu < 64 * sizeof(cpus) / sizeof(*cpus) && !(cpus[cpu / 64] >> (cpu % 64) & 1))
			return 0;
	}
	if (of_tasks && !is_counted())
		return 0;
	kind = KIND(vector, result, code);
	slot = slot_of[kind];
	if (!slot)
		slot = new_slot(kind);
	counter = bpf_map_lookup_elem(&counters, &slot);
	if (!counter)
		return 0;
	user = in_user_mode(vector, regs, ip, error_code);
	counter->user += user;
	if (flags) {
		for (bucket = 0; bucket < FLAGS; bucket++)
			counter->flag[bucket] += flags >> bucket & 1;
	}
	if (flags & TRAP_FLAGS_WAITED)
		counter->waited += duration;
	else
		counter->ran += duration;
	bucket = bucket_of(duration);
	if (bucket >= BUCKETS - 1) {
		bucket = BUCKETS - 1;
		if (duration > counter->longest)
			counter->longest = duration;
	}
	counter->bucket[bucket]++;
	if (by_task || by_page || by_ip)
		add_keys(vector, ip, user, data, duration);
	return 0;
}

SEC("raw_tp/trap_exit")
int trap_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return count(ctx->args[2], ctx->args[0], ctx->args[1], 0, ctx->args[4], ctx->args[5],
		     ctx->args[6], ctx->args[7], ctx->args[8]);
}

SEC("raw_tp/page_fault_exit")
int page_fault_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return count(PF, ctx->args[0], ctx->args[1], ctx->args[3], ctx->args[2], ctx->args[4],
		     ctx->args[5], ctx->args[6], ctx->args[7]);
}

SEC("raw_tp/mm_fault")
int mm_fault(struct bpf_raw_tracepoint_args *ctx)
{
	return count(MM_FAULT, 0, 0, 0, ctx->args[1], ctx->args[3], 0, ctx->args[4], ctx->args[5]);
}

static __always_inline void count_task(__u64 task)
{
	__u8 one = 1;

	if (bpf_map_update_elem(&tasks, &task, &one, BPF_ANY))
		__sync_fetch_and_add(&lost_tasks, 1);
}

/*
 * A task that is counted has a child, which is counted, too. Any other child may have the
 * address of a task whose end was missed.
 */
SEC("raw_tp/sched_process_fork")
int sched_process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 child = ctx->args[1];

	if (is_counted())
		count_task(child);
	else
		bpf_map_delete_elem(&tasks, &child);
	return 0;
}

/* execve() and the end of a task change whose TID it is. */
static __always_inline int leave_tid(void)
{
	__u64 tid = (__u32)bpf_get_current_pid_tgid();

	if (!bpf_map_delete_elem(&tasks, &tid))
		count_task(bpf_get_current_task());
	return 0;
}

SEC("raw_tp/sched_prepare_exec")
int sched_prepare_exec(void *ctx __attribute__((unused)))
{
	return leave_tid();
}

SEC("raw_tp/sched_process_exit")
int sched_process_exit(void *ctx __attribute__((unused)))
{
	return leave_tid();
}

SEC("raw_tp/sched_process_free")
int sched_process_free(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0];

	bpf_map_delete_elem(&tasks, &task);
	return 0;
}
