// SPDX-License-Identifier: GPL-2.0
/*
 * maps.c - which file or area an address of a task is in, and what the task is called
 *
 * Many processes have ended when they are to be shown. So perf's side-band events
 * tell of every fork, mmap, new name and exit from the start on. What was mapped
 * before is in /proc. What a process had mapped before an exec stays known: it faulted
 * there, too.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "trapstat.h"

#define RING_BYTES	(512 * 1024)
#define STACK_BYTES	(8 * 1024 * 1024)	/* the usual limit */
#define HASH		1024

struct map {
	uint64_t	start;
	uint64_t	end;
	uint64_t	offset;
	char		*name;
};

struct space {
	unsigned int	users;
	bool		read;		/* from /proc, since the last report */
	struct map	*map;
	size_t		nr;
};

struct task {
	pid_t		tid;
	bool		gone;
	char		comm[COMM_LEN];
	struct space	*space;
	struct task	*next;
};

struct ring {
	int				fd;
	struct perf_event_mmap_page	*page;
};

/* A record with its time, which is its last field. */
struct entry {
	uint64_t			time;
	struct perf_event_header	*header;
};

static struct task *tasks[HASH];
static struct ring *rings;
static size_t nr_rings;

static void space_clear(struct space *space)
{
	while (space->nr)
		free(space->map[--space->nr].name);
	free(space->map);
	space->map = NULL;
}

static void space_put(struct space *space)
{
	if (--space->users)
		return;
	space_clear(space);
	free(space);
}

static void add_map(struct space *space, uint64_t start, uint64_t end, uint64_t offset,
		    const char *name)
{
	struct map *map;

	/* grows by doubling */
	if (!(space->nr & (space->nr - 1)))
		space->map = allocate(space->map, (space->nr ? 2 * space->nr : 1) *
				      sizeof(*space->map));
	map = &space->map[space->nr++];
	map->start = start;
	map->end = end;
	map->offset = offset;
	map->name = print_string("%s", name);
}

static void read_proc(struct space *space, pid_t tid)
{
	unsigned long long start, end, offset;
	char *path = print_string("/proc/%d/maps", tid);
	FILE *file = fopen(path, "r");
	size_t size = 0;
	char *line = NULL;
	bool first = true;
	int at;

	space->read = true;
	while (file && getline(&line, &size, file) > 0) {
		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &start, &end, &offset,
			   &at) < 3)
			continue;
		if (first)
			space_clear(space);
		first = false;
		line[strcspn(line, "\n")] = '\0';
		add_map(space, start, end, offset, line + at);
	}
	if (file)
		fclose(file);
	free(line);
	free(path);
}

static struct task **find_task(pid_t tid)
{
	struct task **task;

	for (task = &tasks[tid % HASH]; *task && (*task)->tid != tid; task = &(*task)->next)
		;
	return task;
}

/* @space: NULL for a new one */
static struct task *set_task(pid_t tid, struct space *space)
{
	struct task **at = find_task(tid), *task = *at;

	if (!task) {
		task = allocate(NULL, sizeof(*task));
		memset(task, 0, sizeof(*task));
		task->tid = tid;
		*at = task;
	}
	if (!space) {
		space = allocate(NULL, sizeof(*space));
		memset(space, 0, sizeof(*space));
	}
	space->users++;
	if (task->space)
		space_put(task->space);
	task->space = space;
	task->gone = false;
	task->comm[0] = '\0';
	return task;
}

static struct task *get_task(pid_t tid)
{
	struct task *task = *find_task(tid);

	if (!task) {
		task = set_task(tid, NULL);
		read_proc(task->space, tid);
	}
	return task;
}

static void on_fork(pid_t pid, pid_t parent, pid_t tid)
{
	struct space *from;
	struct task *task;
	size_t i;

	if (pid == parent) {
		set_task(tid, get_task(pid)->space);
		return;
	}
	from = get_task(parent)->space;
	task = set_task(tid, NULL);
	for (i = 0; i < from->nr; i++)
		add_map(task->space, from->map[i].start, from->map[i].end,
			from->map[i].offset, from->map[i].name);
}

static void handle(const struct perf_event_header *header)
{
	const struct { struct perf_event_header header; uint32_t pid, ppid, tid; } *fork;
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, len, offset;
		uint32_t unused[8];	/* the file's device and inode, protection, flags */
		char name[];
	} *map;
	const struct { struct perf_event_header header; uint32_t pid, tid; char comm[]; } *comm;

	fork = (const void *)header;
	comm = (const void *)header;
	map = (const void *)header;
	switch (header->type) {
	case PERF_RECORD_FORK:
		on_fork(fork->pid, fork->ppid, fork->tid);
		break;
	case PERF_RECORD_EXIT:
		if (*find_task(fork->tid))
			(*find_task(fork->tid))->gone = true;
		break;
	case PERF_RECORD_COMM:
		strncpy(get_task(comm->tid)->comm, comm->comm, COMM_LEN - 1);
		break;
	case PERF_RECORD_MMAP2:
		/* a task that has not been seen forking: all of its areas are in /proc */
		if (*find_task(map->pid))
			add_map((*find_task(map->pid))->space, map->start,
				map->start + map->len, map->offset, map->name);
		break;
	case PERF_RECORD_LOST:
		note("some mappings are not known: too many at once");
		break;
	}
}

static int compare_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* Copies the next record out of the ring. */
static struct perf_event_header *next_record(struct ring *ring)
{
	const char *data = (char *)ring->page + ring->page->data_offset;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	struct perf_event_header header;
	char *copy;
	size_t i;

	if (tail == head)
		return NULL;
	/* a record may wrap around, its header does not */
	memcpy(&header, data + tail % RING_BYTES, sizeof(header));
	copy = allocate(NULL, header.size);
	for (i = 0; i < header.size; i++)
		copy[i] = data[(tail + i) % RING_BYTES];
	__atomic_store_n(&ring->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return (struct perf_event_header *)copy;
}

/* What has happened since, in the order of time over all CPUs. */
void maps_update(void)
{
	struct perf_event_header *header;
	struct entry *entries = NULL;
	size_t nr = 0, i;

	for (i = 0; i < nr_rings; i++) {
		while ((header = next_record(&rings[i]))) {
			if (!(nr & (nr - 1)))
				entries = allocate(entries, (nr ? 2 * nr : 1) * sizeof(*entries));
			entries[nr].header = header;
			memcpy(&entries[nr].time, (char *)header + header->size - 8, 8);
			nr++;
		}
	}
	if (nr)
		qsort(entries, nr, sizeof(*entries), compare_time);
	for (i = 0; i < nr; i++) {
		handle(entries[i].header);
		free(entries[i].header);
	}
	free(entries);
}

static void ring_open(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap_data = 1,
		.mmap2 = 1,
		.comm = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 4,
	};
	struct ring *ring;

	rings = allocate(rings, (nr_rings + 1) * sizeof(*rings));
	ring = &rings[nr_rings];
	ring->fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return;
	ring->page = mmap(NULL, RING_BYTES + sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_SHARED, ring->fd, 0);
	if (ring->page == MAP_FAILED)
		close(ring->fd);
	else
		nr_rings++;
}

/* Processes that may end before they are shown. */
static void read_running(void)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0)
			get_task(atoi(entry->d_name));
	}
	if (dir)
		closedir(dir);
	maps_forget();
}

/* @running: of all that runs already, too */
void maps_start(unsigned int nr_cpus, bool running)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++)
		ring_open(cpu);
	if (!nr_rings)
		note("no names and mappings of processes that have ended: perf_event_open: %s",
		     strerror(errno));
	if (running)
		read_running();
}

size_t maps_poll(struct pollfd *fds, size_t nr)
{
	size_t i;

	for (i = 0; i < nr_rings && i < nr; i++) {
		fds[i].fd = rings[i].fd;
		fds[i].events = POLLIN;
	}
	return i;
}

/* After a report: what has ended, and that /proc has been read. */
void maps_forget(void)
{
	struct task **at, *task;
	unsigned int i;

	for (i = 0; i < HASH; i++) {
		for (at = &tasks[i]; (task = *at); ) {
			task->space->read = false;
			if (task->gone) {
				*at = task->next;
				space_put(task->space);
				free(task);
			} else {
				at = &task->next;
			}
		}
	}
}

/* The last name that it has taken, or NULL: it is called as when it was counted first. */
const char *maps_comm(pid_t tid)
{
	struct task *task = *find_task(tid);

	return task && task->comm[0] ? task->comm : NULL;
}

static bool is_stack(const struct map *map)
{
	return !strcmp(map->name, "[stack]");
}

/* The newest first: it may lie over an older one. Stacks grow without a word. */
static const struct map *find_map(const struct space *space, uint64_t address)
{
	size_t i;

	for (i = space->nr; i-- > 0; ) {
		if (address >= space->map[i].start && address < space->map[i].end)
			return &space->map[i];
	}
	for (i = space->nr; i-- > 0; ) {
		if (is_stack(&space->map[i]) && address < space->map[i].end &&
		    address >= space->map[i].end - STACK_BYTES)
			return &space->map[i];
	}
	return NULL;
}

void maps_find(pid_t tid, uint64_t address, struct place *place)
{
	struct space *space;
	const struct map *map;

	place->name = "";
	place->offset = address;
	if (address >> 63) {
		place->kind = "kernel";
		return;
	}
	space = get_task(tid)->space;
	map = find_map(space, address);
	if (!map && !space->read) {
		read_proc(space, tid);
		map = find_map(space, address);
	}
	if (!map) {
		place->kind = "unknown";
		return;
	}
	place->name = map->name;
	place->offset = address - map->start;
	if (!strcmp(map->name, "[heap]")) {
		place->kind = "heap";
	} else if (is_stack(map)) {
		place->kind = "stack";
		place->offset = map->end - address;
	} else if (map->name[0] == '/' && map->name[1] != '/') {
		place->kind = "file";
		place->offset += map->offset;
	} else if (!map->name[0] || !strcmp(map->name, "//anon") ||
		   !strncmp(map->name, "[anon", 5)) {
		place->kind = "anon";
	} else {
		place->kind = "other";
	}
}
