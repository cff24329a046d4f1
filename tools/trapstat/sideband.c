// SPDX-License-Identifier: GPL-2.0
/*
 * sideband.c - reads perf's side-band events: every fork, mmap, new name and exit
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "trapstat.h"

#define RING_BYTES	(512 * 1024)
#define MAX_DEPTH	64		/* of a child's events, its parent's, its parent's parent's */

struct ring {
	int				fd;
	uint64_t			lost;
	bool				was_full;	/* there may have been no room for a record */
	struct perf_event_mmap_page	*page;
};

/* A record and its time, which is the last field of the record. */
struct entry {
	uint64_t			time;
	struct perf_event_header	*header;
};

struct entries {
	struct entry			*entry;
	size_t				nr;
};

static struct ring *rings;
static size_t nr_rings;
static unsigned int nr_cpus;
static bool with_mappings;
static int hotplug = -1;	/* the kernel's uevents */

static void lost(const char *why)
{
	note("some names and mappings are not known: %s", why);
	maps_lost();
}

static void handle(const struct perf_event_header *header, uint64_t time)
{
	const struct { struct perf_event_header header; uint32_t pid, ppid, tid; } *fork;
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, len, offset;
		union {
			struct { uint32_t major, minor; uint64_t inode, generation; };
			struct { uint8_t size, unused[3], build_id[20]; };
		};
		uint32_t protection, flags;
		char name[];
	} *map;
	const struct { struct perf_event_header header; uint32_t pid, tid; char comm[]; } *comm;
	struct map area = { };

	fork = (const void *)header;
	comm = (const void *)header;
	map = (const void *)header;
	switch (header->type) {
	case PERF_RECORD_FORK:
		maps_fork(fork->pid, fork->ppid, fork->tid, time);
		break;
	case PERF_RECORD_EXIT:
		maps_exit(fork->tid);
		break;
	case PERF_RECORD_COMM:
		if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
			maps_exec(comm->tid, time);
		maps_rename(comm->tid, comm->comm);
		break;
	case PERF_RECORD_MMAP2:
		area.start = map->start;
		area.end = map->start + map->len;
		area.offset = map->offset;
		area.name = (char *)map->name;
		area.protection = map->protection;
		if (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			area.id.build_id_size = map->size;
			memcpy(area.id.build_id, map->build_id, sizeof(map->build_id));
		} else {
			area.id.major = map->major;
			area.id.minor = map->minor;
			area.id.inode = map->inode;
			area.id.generation = map->generation;
		}
		maps_add(map->pid, &area, time);
		break;
	}
}

/* That of the events, in ns */
uint64_t sideband_clock(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static int compare_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* Copy the next record out of the ring. */
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
	if (head - tail > RING_BYTES - UINT16_MAX)
		ring->was_full = true;
	/* a record may wrap around, its header does not */
	memcpy(&header, data + tail % RING_BYTES, sizeof(header));
	copy = allocate(NULL, header.size);
	for (i = 0; i < header.size; i++)
		copy[i] = data[(tail + i) % RING_BYTES];
	__atomic_store_n(&ring->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return (struct perf_event_header *)copy;
}

static double suspended(void)
{
	struct timespec all, awake;

	clock_gettime(CLOCK_BOOTTIME, &all);
	clock_gettime(CLOCK_MONOTONIC, &awake);
	return all.tv_sec - awake.tv_sec + (all.tv_nsec - awake.tv_nsec) / 1e9;
}

/* Has a CPU been offline? Its ring gets nothing any more. A suspend takes all but one offline. */
static bool cpus_came(void)
{
	static const char online[] = "online@/devices/system/cpu/";
	static double before = HUGE_VAL;	/* a machine that never slept has 0 */
	double now = suspended();
	bool came = now > before + 0.1;
	char text[sizeof(online)];

	before = now;
	while (hotplug >= 0 && recv(hotplug, text, sizeof(text), 0) > 0)
		came |= !strncmp(text, online, strlen(online));
	return came;
}

/*
 * Has a ring lost a record since the last call? Asked of the event, as PERF_RECORD_LOST comes with
 * the CPU's next record only; but not of each ring, as that interrupts its CPU.
 */
static bool any_lost(void)
{
	struct { uint64_t value, lost; } count;		/* PERF_FORMAT_LOST */
	bool any = false;
	size_t i;

	for (i = 0; i < nr_rings; i++) {
		if (!rings[i].was_full || read(rings[i].fd, &count, sizeof(count)) != sizeof(count))
			continue;
		any |= count.lost != rings[i].lost;
		rings[i].lost = count.lost;
		rings[i].was_full = false;
	}
	return any;
}

static bool changes_maps(const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_MMAP2 || header->misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void push(struct entries *list, const struct entry *entry)
{
	if (!(list->nr & (list->nr - 1)))
		list->entry = allocate(list->entry,
				       (list->nr ? 2 * list->nr : 1) * sizeof(*list->entry));
	list->entry[list->nr++] = *entry;
}

static void read_rings(struct entries *list)
{
	struct entry entry;
	size_t i;

	for (i = 0; i < nr_rings; i++) {
		while ((entry.header = next_record(&rings[i]))) {
			memcpy(&entry.time, (char *)entry.header + entry.header->size - 8, 8);
			push(list, &entry);
		}
	}
}

/*
 * Process what happened before @until, which has passed, in the order of time over all CPUs;
 * @pid: only what is about that process, if not 0. The rest waits for the next call: what happened
 * since may follow from what a ring got after it was read. While an event is processed another
 * task may be needed: of that only what happened before is processed. Returns whether something
 * that changes @pid's mappings waits.
 */
bool sideband_read_until(uint64_t until, pid_t pid)
{
	static uint64_t processed = UINT64_MAX;		/* the time of the event that is */
	static unsigned int depth;
	static struct entries waiting;
	const uint64_t outer = processed;
	const unsigned int outer_depth = depth;
	struct entries now = { };
	bool waits = false, of_pid;
	size_t i, nr = 0;

	if (depth == MAX_DEPTH)
		return false;
	if (until > outer)
		until = outer;
	read_rings(&waiting);
	for (i = 0; i < waiting.nr; i++) {
		const struct entry *entry = &waiting.entry[i];

		/* all of them begin with the process */
		of_pid = *(uint32_t *)(entry->header + 1) == (uint32_t)pid;
		if (entry->time < until && (!pid || of_pid)) {
			push(&now, entry);
		} else {
			waits |= of_pid && changes_maps(entry->header);
			waiting.entry[nr++] = *entry;
		}
	}
	waiting.nr = nr;
	if (now.nr)
		qsort(now.entry, now.nr, sizeof(*now.entry), compare_time);
	depth = pid ? depth + 1 : MAX_DEPTH;	/* nothing is before all that is in order */
	for (i = 0; i < now.nr; i++) {
		processed = now.entry[i].time;
		handle(now.entry[i].header, now.entry[i].time);
		free(now.entry[i].header);
	}
	processed = outer;
	depth = outer_depth;
	free(now.entry);
	return waits && !depth;
}

/* Returns an error number, or 0. */
static int ring_open(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.read_format = PERF_FORMAT_LOST,
		.mmap = with_mappings,
		.mmap_data = with_mappings,
		.mmap2 = with_mappings,
		.build_id = with_mappings,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 4,
	};
	struct ring *ring;
	int error;

	rings = allocate(rings, (nr_rings + 1) * sizeof(*rings));
	ring = &rings[nr_rings];
	ring->fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return errno;
	ring->page = mmap(NULL, RING_BYTES + sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_SHARED, ring->fd, 0);
	if (ring->page == MAP_FAILED) {
		error = errno;
		close(ring->fd);
		return error;
	}
	ring->lost = 0;
	ring->was_full = false;
	nr_rings++;
	return 0;
}

static void open_rings(void)
{
	unsigned int cpu;
	int error, failed = 0;

	for (; nr_rings; nr_rings--) {
		munmap(rings[nr_rings - 1].page, RING_BYTES + sysconf(_SC_PAGESIZE));
		close(rings[nr_rings - 1].fd);
	}
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		error = ring_open(cpu);
		if (error && error != ENODEV)	/* that is an offline CPU's */
			failed = error;
	}
	if (failed)
		note("some processes that have ended have no names and mappings: perf_event_open: %s",
		     strerror(failed));
}

static void listen_to_hotplug(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };

	hotplug = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			 NETLINK_KOBJECT_UEVENT);
	if (hotplug >= 0 && bind(hotplug, (struct sockaddr *)&kernel, sizeof(kernel))) {
		close(hotplug);
		hotplug = -1;
	}
}

/* Of the CPUs below @cpus. @mappings: too, not only names. May be called again. */
void sideband_start(unsigned int cpus, bool mappings)
{
	nr_cpus = cpus;
	with_mappings = mappings;
	if (hotplug < 0)
		listen_to_hotplug();
	cpus_came();
	open_rings();
}

void sideband_read(void)
{
	static bool lost_before;
	uint64_t now = sideband_clock();
	bool lost_now;

	sideband_read_until(now, 0);
	lost_now = any_lost();
	/* of what waited some may be from before the loss */
	if (lost_now)
		lost("too many at once");
	else if (lost_before)
		maps_lost();
	lost_before = lost_now;
	if (nr_rings && cpus_came()) {
		open_rings();
		lost("a CPU has come online");
	}
}

size_t sideband_poll(struct pollfd *fds, size_t nr)
{
	size_t i;

	for (i = 0; i < nr_rings && i < nr; i++) {
		fds[i].fd = rings[i].fd;
		fds[i].events = POLLIN;
	}
	if (i < nr && hotplug >= 0)
		fds[i++] = (struct pollfd){ .fd = hotplug, .events = POLLIN };
	return i;
}
