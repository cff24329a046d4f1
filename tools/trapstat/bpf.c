// SPDX-License-Identifier: GPL-2.0
/*
 * bpf.c - counts by the programs of counter.bpf.c
 *
 * Counters are per CPU and only grow; they are read while they count. What -t, -a and -s
 * count by is in a table. To read it, another one takes its place: the kernel returns from
 * that when no program uses the old one any more.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <tracefs.h>
#include <unistd.h>
#include "counter.skel.h"
#include "trapstat.h"

#define BATCH		4096
#define MAX_TASKS	65536

static struct counter_bpf *skel;
static struct ring_buffer *ring;
static unsigned int possible_cpus;
static struct counter *before[SLOTS], *now;
static int spare;		/* the table that is not in use */
static uint64_t missing_before[BY_IP + 1], uncounted_before, lost_before;

static const enum table tables[] = { [BY_TASK] = TASKS, [BY_PAGE] = ADDRESSES, [BY_IP] = FROM };

static int no_message(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int no_wake(void *context, void *data, size_t size)
{
	(void)context;
	(void)data;
	(void)size;
	return 0;
}

static void configure(void)
{
	bool keys = options.table[TASKS] || options.table[ADDRESSES] || options.table[FROM];
	bool some_tasks = options.nr_pids || options.command;
	unsigned int i;

	skel->rodata->by_task = options.table[TASKS];
	skel->rodata->by_page = options.table[ADDRESSES];
	skel->rodata->by_ip = options.table[FROM];
	skel->rodata->group = options.group;
	skel->rodata->of_tasks = some_tasks;
	skel->rodata->watermark = options.entries / 2;
	if (options.some_vectors) {
		skel->rodata->vectors = 0;
		for (i = 0; i < MM_FAULT; i++)
			skel->rodata->vectors |= (__u64)options.vectors[i] << i;
	}
	skel->rodata->mm_faults = !options.some_vectors || options.vectors[MM_FAULT];
	skel->rodata->of_cpus = options.some_cpus;
	for (i = 0; i < MAX_CPUS; i++)
		skel->rodata->cpus[i / 64] |= (__u64)options.cpus[i] << i % 64;
	if (keys) {
		bpf_map__set_max_entries(skel->maps.table0, options.entries);
		bpf_map__set_max_entries(skel->maps.table1, options.entries);
	}
	if (!tracefs_event_file_exists(NULL, SYSTEM, "mm_fault", "format"))
		bpf_program__set_autoload(skel->progs.mm_fault, false);
	if (some_tasks) {
		bpf_map__set_max_entries(skel->maps.tasks, MAX_TASKS);
	} else {
		bpf_program__set_autoload(skel->progs.sched_process_fork, false);
		bpf_program__set_autoload(skel->progs.sched_prepare_exec, false);
		bpf_program__set_autoload(skel->progs.sched_process_exit, false);
		bpf_program__set_autoload(skel->progs.sched_process_free, false);
	}
}

/* Returns why this cannot be, or NULL: then bpf_go() makes it count. */
const char *bpf_start(void)
{
	const char *why = NULL;
	int ret;

#ifndef __x86_64__
	return "the programs are for x86-64";
#endif
	libbpf_set_print(no_message);
	ret = libbpf_num_possible_cpus();
	if (ret < 0)
		return strerror(-ret);
	possible_cpus = ret;
	skel = counter_bpf__open();
	if (skel)
		configure();
	if (!skel || counter_bpf__load(skel)) {
		why = strerror(errno);
	} else {
		spare = bpf_map__fd(skel->maps.table1);
		ring = ring_buffer__new(bpf_map__fd(skel->maps.wake), no_wake, NULL, NULL);
		if (!ring)
			why = strerror(errno);
	}
	if (why) {
		bpf_stop();
		return why;
	}
	now = allocate(NULL, possible_cpus * sizeof(*now));
	return NULL;
}

void bpf_go(void)
{
	if (counter_bpf__attach(skel))
		die("cannot attach BPF programs to the events: %s", strerror(errno));
}

/* Its TID is another task's one day: if it has ended meanwhile, no program has seen that. */
void bpf_count_task(pid_t tid)
{
	int tasks = bpf_map__fd(skel->maps.tasks);
	__u64 key = tid;
	__u8 one = 1;

	if (bpf_map_update_elem(tasks, &key, &one, BPF_ANY))
		die("cannot count the task %d: %s", tid, strerror(errno));
	if (syscall(SYS_tkill, tid, 0) && errno == ESRCH)
		bpf_map_delete_elem(tasks, &key);
}

int bpf_wake_fd(void)
{
	return ring ? ring_buffer__epoll_fd(ring) : -1;
}

static void add_key(struct sample *sample, const struct count_key *key, const struct count *count)
{
	struct row row = { .vector = key->vector, .pid = key->pid, .value = key->value,
			   .count = count->count, .sum = count->ns };
	bool of_process = key->by != BY_TASK || options.group == PROCESS;
	const char *comm = NULL;
	char *process = NULL;

	row.kernel = key->by == BY_IP && !key->user;
	if (key->by == BY_TASK && options.group == COMMAND)
		comm = key->comm;
	else if (of_process || options.group == THREAD)
		comm = maps_comm(key->pid);
	if (!comm && of_process)
		comm = process = task_comm(key->pid);
	strncpy(row.comm, comm ?: count->comm, COMM_LEN - 1);
	free(process);
	sample_add_line(sample, tables[key->by], &row);
}

/* Add what the table has to @sample, and begin with an empty one. */
void bpf_drain(struct sample *sample)
{
	static struct count_key keys[BATCH];
	static struct count counts[BATCH];
	int full = spare == bpf_map__fd(skel->maps.table1) ? bpf_map__fd(skel->maps.table0) :
							     bpf_map__fd(skel->maps.table1);
	__u32 zero = 0, at, nr, i;
	bool first = true;
	int ret;

	ring_buffer__consume(ring);
	if (!options.table[TASKS] && !options.table[ADDRESSES] && !options.table[FROM]) {
		maps_next_period();
		return;
	}
	sideband_read();
	maps_period();
	skel->bss->nr_keys = 0;
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.tables), &zero, &spare, BPF_ANY))
		die("cannot change the BPF programs' table: %s", strerror(errno));
	spare = full;
	sideband_read();
	tasks_read();
	do {
		nr = BATCH;
		ret = bpf_map_lookup_and_delete_batch(full, first ? NULL : &at, &at, keys, counts,
						      &nr, NULL);
		if (ret && errno != ENOENT)
			die("cannot read the BPF programs' table: %s", strerror(errno));
		for (i = 0; i < nr; i++)
			add_key(sample, &keys[i], &counts[i]);
		first = false;
	} while (!ret);
	maps_next_period();
}

/* The durations of a bucket */
static uint64_t bucket_low(unsigned int bucket)
{
	unsigned int shift = bucket / SUBS;

	return shift < 2 ? bucket : (uint64_t)(bucket - (shift - 1) * SUBS) << (shift - 1);
}

static void add_slot(struct sample *sample, unsigned int kind, const struct counter *old)
{
	struct row row = { .vector = KIND_VECTOR(kind),
			   .result = TRAPS_OUTCOME(KIND_RESULT(kind), KIND_CODE(kind)) };
	struct outcome *outcome = NULL;
	uint64_t sums[BUCKETS] = { }, on_cpu;
	unsigned int cpu, i;

	for (cpu = 0; cpu < possible_cpus; cpu++) {
		on_cpu = 0;
		for (i = 0; i < BUCKETS; i++) {
			sums[i] += now[cpu].bucket[i] - old[cpu].bucket[i];
			on_cpu += now[cpu].bucket[i] - old[cpu].bucket[i];
		}
		/* What no bucket has yet comes with the next call. */
		if (!on_cpu) {
			now[cpu] = old[cpu];
			continue;
		}
		if (now[cpu].user - old[cpu].user > on_cpu)
			now[cpu].user = old[cpu].user + on_cpu;
		outcome = sample_outcome(sample, row.vector, row.result);
		outcome->count += on_cpu;
		outcome->user += now[cpu].user - old[cpu].user;
		outcome->waited += now[cpu].waited - old[cpu].waited;
		outcome->ran += now[cpu].ran - old[cpu].ran;
		for (i = 0; i < FLAGS; i++)
			outcome->flag[i] += now[cpu].flag[i] - old[cpu].flag[i];
		if (now[cpu].longest > outcome->longest)
			outcome->longest = now[cpu].longest;
		rows_add(&sample->rows[BY_CPU], &(struct row){ .vector = row.vector, .cpu = cpu,
							       .count = on_cpu });
	}
	for (i = 0; i < BUCKETS; i++) {
		if (!sums[i])
			continue;
		row.low = bucket_low(i);
		row.value = i + 1 < BUCKETS ? bucket_low(i + 1) - 1 : UINT64_MAX;
		row.count = sums[i];
		rows_add(&sample->rows[LATENCY], &row);
	}
}

/* How often the kernel did not call a program, because it ran already on that CPU */
static uint64_t recursions(const struct bpf_program *prog)
{
	struct bpf_prog_info info = { };
	__u32 size = sizeof(info);

	if (bpf_program__fd(prog) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size))
		return 0;
	return info.recursion_misses;
}

/* Add what was counted since the last call. */
void bpf_read(struct sample *sample)
{
	size_t size = possible_cpus * sizeof(*now);
	uint64_t uncounted = recursions(skel->progs.trap_exit) + recursions(skel->progs.mm_fault) +
			     recursions(skel->progs.page_fault_exit) + skel->bss->no_slot;
	uint64_t lost = recursions(skel->progs.sched_process_fork) + skel->bss->lost_tasks;
	unsigned int i;
	__u32 slot;

	for (slot = 1; slot < skel->data->nr_slots && slot < SLOTS; slot++) {
		if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.counters), &slot, now))
			die("cannot read the BPF programs' counters: %s", strerror(errno));
		if (!before[slot]) {
			before[slot] = allocate(NULL, size);
			memset(before[slot], 0, size);
		}
		add_slot(sample, skel->bss->kind_of[slot], before[slot]);
		memcpy(before[slot], now, size);
	}
	bpf_drain(sample);	/* it may take long, and the counts are those of now */
	sample->uncounted += uncounted - uncounted_before;
	uncounted_before = uncounted;
	sample->lost_tasks += lost - lost_before;
	lost_before = lost;
	for (i = BY_TASK; i <= BY_IP; i++) {
		sample->missing[tables[i]] += skel->bss->missing[i] - missing_before[i];
		missing_before[i] = skel->bss->missing[i];
	}
}

/* bpf_start() may follow. */
void bpf_stop(void)
{
	unsigned int slot;

	ring_buffer__free(ring);
	ring = NULL;
	counter_bpf__destroy(skel);
	skel = NULL;
	for (slot = 0; slot < SLOTS; slot++) {
		free(before[slot]);
		before[slot] = NULL;
	}
	free(now);
	now = NULL;
	memset(missing_before, 0, sizeof(missing_before));
	uncounted_before = lost_before = 0;
}
