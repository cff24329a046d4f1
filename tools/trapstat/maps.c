// SPDX-License-Identifier: GPL-2.0
/*
 * maps.c - finds the file or area of a task's address, and the name of a task
 *
 * Many processes have ended before they are shown. So perf's side-band events (sideband.c)
 * tell every fork, mmap, new name and exit while trapstat runs; /proc tells older mappings, and
 * what munmap and mremap have changed, which have no event. What has gone is kept until the
 * counts are read, because it took page faults, too. Counts have no times, so an address that
 * had two owners meanwhile is mixed: it has no name.
 */
#include <dirent.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "trapstat.h"

#define STACK_BYTES	(8 * 1024 * 1024)	/* the usual RLIMIT_STACK */
#define HASH		1024
#define MAX_NEW_MAPS	65536		/* what the kernel lets a process have, if not told */
#define JUST_BEGUN	100000000	/* ns */

/* Sorted and without overlaps. A child has those of its parent until one of both changes them. */
struct maps {
	unsigned int	users;
	pid_t		tid;		/* whose files in /proc these are */
	bool		some_old;
	struct map	*map;
	size_t		nr;
	size_t		size;
};

/* An address space, which is that of all threads of a process */
struct space {
	unsigned int	users;
	bool		read;		/* from /proc since the last report */
	bool		lost;		/* what came after its maps; /proc has it, unless it has ended */
	uint64_t	read_at;	/* events from before are in it: CLOCK_MONOTONIC, ns */
	uint64_t	exec_at;	/* the last exec; a child from before has other maps */
	size_t		nr_read;	/* how many maps it had then */
	pid_t		owner;		/* the task that stands for all in a recording */
	struct maps	*maps;
	struct maps	*mixed;
};

struct task {
	pid_t		tid;
	pid_t		parent;		/* the process that made it; of a thread: its own */
	bool		thread;		/* not the first of its process */
	unsigned int	gone;		/* the period in which it ended, or 0 */
	char		comm[COMM_LEN];
	struct space	*space;
	struct task	*next;
};

/* The build ID of a file, so that it is opened only once for all of its mappings. */
struct identity {
	struct file_id	inode;
	struct file_id	id;
};

static struct task *tasks[HASH];
static size_t nr_gone;
static unsigned int period = 1;
static void *identities;
static bool with_maps, only_known;

static struct maps *maps_new(void)
{
	struct maps *maps = allocate(NULL, sizeof(*maps));

	memset(maps, 0, sizeof(*maps));
	maps->users = 1;
	return maps;
}

static void maps_clear(struct maps *maps)
{
	while (maps->nr)
		free(maps->map[--maps->nr].name);
}

static void maps_put(struct maps *maps)
{
	if (!maps || --maps->users)
		return;
	maps_clear(maps);
	free(maps->map);
	free(maps);
}

static void space_put(struct space *space)
{
	if (--space->users)
		return;
	maps_put(space->maps);
	maps_put(space->mixed);
	free(space);
}

/* The first map that ends above @address. */
static size_t first_above(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->nr, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (maps->map[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Replace the maps in [@first, @last) by @nr maps, which the caller fills in. */
static struct map *make_room(struct maps *maps, size_t first, size_t last, size_t nr)
{
	size_t i;

	for (i = first; i < last; i++)
		free(maps->map[i].name);
	while (maps->nr + nr > maps->size) {
		maps->size = maps->size ? 2 * maps->size : 32;
		maps->map = allocate(maps->map, maps->size * sizeof(*maps->map));
	}
	if (last != first + nr)
		memmove(&maps->map[first + nr], &maps->map[last],
			(maps->nr - last) * sizeof(*maps->map));
	maps->nr += nr - (last - first);
	return &maps->map[first];
}

static void copy_map(struct map *map, const struct map *from)
{
	*map = *from;
	map->name = print_string("%s", from->name);
}

static void cut_begin(struct map *map, uint64_t start)
{
	map->offset += start - map->start;
	map->start = start;
}

/* Add a map, which replaces everything that was mapped in its range. */
static void add_map(struct maps *maps, const struct map *new)
{
	size_t first = first_above(maps, new->start), last = first;
	struct map *map = &maps->map[first], copy;

	copy_map(&copy, new);
	if (first < maps->nr && map->start < new->start) {
		if (map->end > new->end) {
			map = make_room(maps, first + 1, first + 1, 1) - 1;
			copy_map(&map[1], map);
			cut_begin(&map[1], new->end);
		}
		map->end = new->start;
		last = ++first;
	}
	while (last < maps->nr && maps->map[last].end <= new->end)
		last++;
	if (last < maps->nr && maps->map[last].start < new->end)
		cut_begin(&maps->map[last], new->end);
	*make_room(maps, first, last, 1) = copy;
}

static struct maps *copy_maps(const struct maps *from)
{
	struct maps *maps = maps_new();
	size_t i;

	maps->some_old = from->some_old;
	make_room(maps, 0, 0, from->nr);
	for (i = 0; i < from->nr; i++)
		copy_map(&maps->map[i], &from->map[i]);
	return maps;
}

/* The maps of @space, to be changed */
static struct maps *own_maps(struct space *space)
{
	struct maps *from = space->maps;

	if (from->users > 1) {
		from->users--;
		space->maps = copy_maps(from);
	}
	return space->maps;
}

static bool is_anon(const struct map *map)
{
	return !map->name[0] || !strcmp(map->name, "//anon") || !strncmp(map->name, "[anon", 5) ||
	       !strcmp(map->name, "[heap]") || map_is_stack(map);
}

/* /proc tells no generation, and a build ID only if read_proc() asked for it. */
static bool same_owner(const struct map *map, const struct map *new)
{
	if (is_anon(map) || is_anon(new))
		return is_anon(map) && is_anon(new);
	if (map->start - map->offset != new->start - new->offset)
		return false;
	if (!map->id.build_id_size != !new->id.build_id_size)
		return !strcmp(map->name, new->name);
	return map->id.inode == new->id.inode && map->id.major == new->id.major &&
	       map->id.minor == new->id.minor &&
	       (!map->id.generation || !new->id.generation ||
		map->id.generation == new->id.generation) &&
	       !memcmp(map->id.build_id, new->id.build_id, sizeof(new->id.build_id));
}

/*
 * Whether @new is a segment of a program or library over @map[@i], or the memory after its last
 * one: a loader maps the whole file, and its segments over that before anything runs there.
 * What begins with the file's first byte is not over that, but another load of the same path.
 */
static bool is_segment(const struct map *map, size_t i, const struct map *new)
{
	const char *file = map[i].name;

	if (is_anon(new) && (!i-- || map[i].end != new->start || strcmp(map[i].name, file)))
		return false;
	if (!is_anon(new) && (!new->offset || strcmp(new->name, file)))
		return false;
	while (!(map[i].protection & PROT_EXEC)) {
		if (!i-- || map[i].end != map[i + 1].start || strcmp(map[i].name, file))
			return false;
	}
	return true;
}

static void add_mixed(struct space *space, const struct map *map, const struct map *new)
{
	struct map mixed = { .start = map->start > new->start ? map->start : new->start,
			     .end = map->end < new->end ? map->end : new->end, .name = "",
			     .mixed = map->mixed ?: map->protection, .old = period };
	size_t i;

	if (!space->mixed)
		space->mixed = maps_new();
	for (i = first_above(space->mixed, mixed.start);
	     i < space->mixed->nr && space->mixed->map[i].start < mixed.end; i++)
		mixed.mixed |= space->mixed->map[i].mixed;
	space->mixed->some_old = true;
	add_map(space->mixed, &mixed);
}

/*
 * @new: may get what is known of its mapping besides. Memory where a file was only read, such as
 * ld.so.cache, is not mixed: reading maps 16 pages at once, so nearly all faults are the memory's.
 */
static void add_to_space(struct space *space, struct map *new, bool proc)
{
	struct maps *maps = own_maps(space);
	struct map *map;
	size_t i, first = first_above(maps, new->start);

	for (i = first; i < maps->nr && maps->map[i].start < new->end; i++) {
		map = &maps->map[i];
		if (same_owner(map, new)) {
			new->protection |= map->protection;
			if (proc)
				new->id = map->id;
			if (proc && map->id.build_id_size)
				new->name = map->name;
		} else if (map->protection &&
			   ((!proc && map->old) || !is_segment(maps->map, i, new)) &&
			   !(map->protection == PROT_READ && is_anon(new))) {
			add_mixed(space, map, new);
		}
	}
	add_map(maps, new);
}

/*
 * A process that maps and unmaps all the time, at other addresses, would take all memory: forget
 * what it has had until /proc tells the rest. No address has an owner until then.
 */
static void drop_maps(struct space *space)
{
	const struct map all = { .end = UINT64_MAX, .name = "",
				 .protection = PROT_READ | PROT_WRITE | PROT_EXEC };

	maps_put(space->maps);
	maps_put(space->mixed);
	space->maps = maps_new();
	space->mixed = NULL;
	space->read = false;
	add_mixed(space, &all, &all);
}

/* The process may have none of its maps any more. */
static void set_old(struct space *space)
{
	struct maps *maps = own_maps(space);
	size_t i;

	for (i = 0; i < maps->nr; i++) {
		if (!maps->map[i].old)
			maps->map[i].old = period;
	}
	maps->some_old = true;
}

static void drop_old(struct maps *maps)
{
	size_t i, nr = 0;

	if (!maps || !maps->some_old)
		return;
	maps->some_old = false;
	for (i = 0; i < maps->nr; i++) {
		if (maps->map[i].old && maps->map[i].old < period) {
			free(maps->map[i].name);
		} else {
			maps->some_old |= maps->map[i].old;
			maps->map[nr++] = maps->map[i];
		}
	}
	maps->nr = nr;
}

static int compare_inodes(const void *a, const void *b)
{
	const struct identity *x = a, *y = b;

	return memcmp(&x->inode, &y->inode, sizeof(x->inode));
}

/* Replace the inode of a mapped file by its build ID, if it has one, and can be opened now. */
static void identify(pid_t tid, struct map *map)
{
	struct identity *new = allocate(NULL, sizeof(*new)), **found;
	bool opened = true;
	char *path;

	new->inode = map->id;
	new->id = map->id;
	found = tsearch(new, &identities, compare_inodes);
	if (!found)
		die("out of memory");
	if (*found != new) {
		free(new);
	} else {
		path = print_string("/proc/%d/map_files/%llx-%llx", tid,
				    (unsigned long long)map->start,
				    (unsigned long long)map->end);
		opened = symbols_identify(path, &new->id);
		free(path);
	}
	map->id = (*found)->id;
	if (!opened) {
		tdelete(new, &identities, compare_inodes);
		free(new);
	}
}

/* The lowest address of @map. A stack grows without an event, so it may reach further down. */
uint64_t map_low(const struct map *map, const struct map *below)
{
	uint64_t low = map->start;

	if (map_is_stack(map) && map->end > STACK_BYTES && map->end - STACK_BYTES < low)
		low = map->end - STACK_BYTES;
	return below && below->end > low ? below->end : low;
}

static struct map *find_map(const struct maps *maps, uint64_t address)
{
	size_t i = maps ? first_above(maps, address) : 0;
	struct map *map = maps ? &maps->map[i] : NULL;

	return maps && i < maps->nr && address >= map_low(map, i ? map - 1 : NULL) ? map : NULL;
}

/* Returns maps without users, or NULL if there are none. */
static struct maps *read_maps(pid_t tid)
{
	char *path = print_string("/proc/%d/maps", tid);
	FILE *file = fopen(path, "re");
	struct maps *maps = NULL;
	size_t size = 0;
	char *line = NULL, mode[4];
	struct map map;
	int at;

	while (file && getline(&line, &size, file) > 0) {
		memset(&map, 0, sizeof(map));
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4c %" SCNx64 " %x:%x %" SCNu64
			   " %n", &map.start, &map.end, mode, &map.offset,
			   &map.id.major, &map.id.minor, &map.id.inode, &at) < 7)
			continue;
		if (!maps) {
			maps = maps_new();
			maps->tid = tid;
		}
		line[strcspn(line, "\n")] = '\0';
		map.name = line + at;
		map.protection = (mode[0] == 'r' ? PROT_READ : 0) |
				 (mode[1] == 'w' ? PROT_WRITE : 0) |
				 (mode[2] == 'x' ? PROT_EXEC : 0);
		add_map(maps, &map);
	}
	if (file)
		fclose(file);
	free(line);
	free(path);
	return maps;
}

/* The first thread may have ended before the others; it has no maps then. */
static struct maps *read_threads_maps(pid_t pid)
{
	char *path = print_string("/proc/%d/task", pid);
	struct maps *maps = NULL;
	struct dirent *entry;
	DIR *dir = opendir(path);

	while (!maps && dir && (entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != pid)
			maps = read_maps(atoi(entry->d_name));
	}
	if (dir)
		closedir(dir);
	free(path);
	return maps;
}

/*
 * Its events from before the reading are processed first. Those from meanwhile may be in what was
 * read or not, so it is read again: not for ever, as some map all the time, but longer if it has
 * just begun to execute a program, whose libraries are soon mapped.
 */
static struct maps *read_after_events(const struct task *task, uint64_t *at)
{
	pid_t pid = task->thread ? task->parent : task->tid;
	struct maps *maps = NULL, *again;
	uint64_t begin;
	int tries = 0;
	bool last;

	do {
		begin = sideband_clock();
		again = read_maps(task->tid) ?: read_threads_maps(task->tid);
		if (!again && maps)
			break;		/* it has ended, and had these before */
		maps_put(maps);
		maps = again;
		last = ++tries >= (begin < task->space->exec_at + JUST_BEGUN ? 100 : 3);
		*at = last ? sideband_clock() : begin;
	} while (sideband_read_until(*at, pid ?: -1) && !last);
	return maps;
}

static void read_proc(struct task *task)
{
	uint64_t read_at = 0;
	struct maps *maps = read_after_events(task, &read_at);
	struct space *space = task->space;
	struct map map, *known;
	size_t i;

	space->read = true;
	if (!maps) {
		if (space->lost) {
			maps_put(space->maps);
			space->maps = maps_new();
		}
		return;
	}
	space->lost = false;
	space->read_at = read_at;
	set_old(space);
	for (i = 0; i < maps->nr; i++) {
		map = maps->map[i];
		known = find_map(space->maps, map.start);
		/* the same file with another path, or another file? */
		if (known && known->id.build_id_size && map.id.inode && strcmp(known->name, map.name))
			identify(maps->tid, &map);
		add_to_space(space, &map, true);
		/* of others when their names are asked for; a recording's process may have ended */
		known = find_map(space->maps, map.start);
		if (options.record && known->protection & PROT_EXEC && known->id.inode)
			identify(maps->tid, known);
	}
	space->nr_read = maps->nr;
	maps_put(maps);
}

static struct task **find_task(pid_t tid)
{
	struct task **task;

	for (task = &tasks[tid % HASH]; *task && (*task)->tid != tid; task = &(*task)->next)
		;
	return task;
}

/* @space: NULL to make a new one */
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
		space->maps = maps_new();
	}
	space->users++;
	if (task->space)
		space_put(task->space);
	task->space = space;
	nr_gone -= task->gone > 0;
	task->gone = 0;
	task->comm[0] = '\0';
	return task;
}

static void end_task(struct task *task)
{
	if (!task->gone) {
		task->gone = period;
		nr_gone++;
	}
}

/* While /proc is read, events of the task may be processed. Nobody knows it before. */
static struct task *get_task(pid_t tid)
{
	struct task *task = *find_task(tid);
	struct space *space = NULL;
	pid_t pid;

	if (task)
		return task;
	pid = with_maps ? task_process(tid) : 0;
	if (pid && pid != tid) {
		space = get_task(pid)->space;
		task = *find_task(tid);
		if (task)
			return task;
	}
	task = set_task(tid, space);
	if (space) {
		task->parent = pid;
		task->thread = true;
	} else if (with_maps) {
		read_proc(task);
	}
	if (with_maps && !task_process(tid))
		end_task(task);
	return task;
}

/*
 * @mappings: they are asked for, not only names. @some: only of the tasks that are known
 * (maps_know()), and of their children.
 */
void maps_begin(bool mappings, bool some)
{
	with_maps = mappings;
	only_known = some;
}

void maps_know(pid_t tid)
{
	get_task(tid);
}

static bool is_known(pid_t tid)
{
	return !only_known || *find_task(tid);
}

/* Since the last report, or in a recording, a TID has one set of maps, of all tasks that had it. */
static void add_before(struct space *space, const struct space *before)
{
	struct maps *maps = space->maps;
	size_t i, n;

	space->maps = copy_maps(before->maps);
	set_old(space);
	for (i = 0; i < maps->nr; i++) {
		struct map map = maps->map[i];

		add_to_space(space, &map, false);
	}
	for (n = 0; before->mixed && n < before->mixed->nr; n++)
		add_mixed(space, &before->mixed->map[n], &before->mixed->map[n]);
	maps_put(maps);
}

void maps_fork(pid_t pid, pid_t parent, pid_t tid, uint64_t time)
{
	struct space *from, *before = NULL;
	struct task *task;

	sideband_read_until(time, parent);	/* if only @pid's events are read */
	if (!is_known(parent))
		return;
	from = get_task(parent)->space;
	task = *find_task(tid);
	if (task) {
		before = task->space;
		before->users++;
	}
	task = set_task(tid, pid == parent ? from : NULL);
	task->parent = parent;
	task->thread = pid != tid;
	if (task->space != from && time >= from->exec_at) {
		maps_put(task->space->maps);
		task->space->maps = from->maps;
		task->space->nr_read = from->nr_read;
		from->maps->users++;
	}
	if (before) {
		if (before != task->space)
			add_before(task->space, before);
		space_put(before);
	}
}

void maps_exit(pid_t tid)
{
	struct task *task = *find_task(tid);

	if (task)
		end_task(task);
}

/* A thread that calls exec takes the TID of the first one; its own ends without an event. */
static void end_threads(const struct task *process)
{
	struct task *task;
	unsigned int i;

	for (i = 0; i < HASH && process->space->users > 1; i++) {
		for (task = tasks[i]; task; task = task->next) {
			if (task != process && task->space == process->space)
				maps_exit(task->tid);
		}
	}
}

void maps_exec(pid_t tid, uint64_t time)
{
	struct task *task = *find_task(tid);

	if (!task)
		return;
	set_task(tid, task->space);	/* the first thread has gone if another one calls exec */
	end_threads(task);
	task->space->exec_at = time;
	if (time >= task->space->read_at)
		set_old(task->space);
}

/* The process that made @tid, or whose thread it is; 0 if that is not known. */
pid_t maps_parent(pid_t tid)
{
	struct task *task = *find_task(tid);

	return task ? task->parent : 0;
}

/* Events are missing: what has ended is not known any more, the rest is read from /proc. */
void maps_lost(void)
{
	struct task *task;
	unsigned int i;

	for (i = 0; i < HASH; i++) {
		for (task = tasks[i]; task; task = task->next) {
			task->comm[0] = '\0';
			if (!task->gone && !syscall(SYS_tkill, task->tid, 0)) {
				set_old(task->space);
				task->space->read = false;
				task->space->lost = true;
				continue;
			}
			maps_exit(task->tid);
			if (!task->thread) {
				maps_put(task->space->maps);
				task->space->maps = maps_new();
			}
		}
	}
}

/* The number of tasks that have ended, and are remembered. */
size_t maps_nr_gone(void)
{
	return nr_gone;
}

void maps_rename(pid_t tid, const char *comm)
{
	if (is_known(tid))
		strncpy(get_task(tid)->comm, comm, COMM_LEN - 1);
}

/* Does nothing if /proc has told it: of a task whose fork was not seen it tells all. */
void maps_add(pid_t pid, struct map *map, uint64_t time)
{
	struct task *task = *find_task(pid);

	if (!task || time < task->space->read_at)
		return;
	add_to_space(task->space, map, false);
	if (task->space->maps->nr > task->space->nr_read + MAX_NEW_MAPS)
		drop_maps(task->space);
}

/* Read all running processes, because they may end before they are shown. */
void maps_read_running(void)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	while (dir && (entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0)
			task_threads(atoi(entry->d_name), maps_know);
	}
	if (dir)
		closedir(dir);
	maps_next_period();
}

/* What ends from now on may be counted by the next report, too. */
void maps_period(void)
{
	period++;
}

/*
 * Called after a report: begin a period, and forget what has gone before the last one, unless a
 * recording or another thread needs it, that /proc was read, and inodes, which other files may get.
 */
void maps_next_period(void)
{
	struct task **at, *task;
	unsigned int i;

	symbols_forget();
	tdestroy(identities, free);
	identities = NULL;
	for (i = 0; i < HASH; i++) {
		for (at = &tasks[i]; (task = *at); ) {
			task->space->read = false;
			if (!options.record) {
				drop_old(task->space->maps);
				drop_old(task->space->mixed);
			}
			if (task->gone && task->gone < period && !options.record &&
			    (task->thread || task->space->users == 1)) {
				*at = task->next;
				space_put(task->space);
				free(task);
				nr_gone--;
			} else {
				at = &task->next;
			}
		}
	}
	maps_period();
}

/* The maps of @space, of which those that are mixed tell it */
static struct maps *marked_maps(const struct space *space)
{
	struct maps *maps = copy_maps(space->maps);
	const struct map *mixed, *map;
	struct map part;
	size_t i, n;

	for (n = 0; space->mixed && n < space->mixed->nr; n++) {
		mixed = &space->mixed->map[n];
		for (i = first_above(maps, mixed->start); i < maps->nr; i++) {
			map = &maps->map[i];
			if (map->start >= mixed->end)
				break;
			part = *map;
			if (part.start < mixed->start)
				cut_begin(&part, mixed->start);
			part.end = map->end < mixed->end ? map->end : mixed->end;
			part.mixed = mixed->mixed;
			add_map(maps, &part);
			i = first_above(maps, part.start);
		}
	}
	return maps;
}

/* Only the call for the owner itself has the maps. */
void maps_each(void (*call)(pid_t tid, pid_t owner, const struct map *map, size_t nr, void *data),
	       void *data)
{
	struct task *task;
	struct maps *maps;
	unsigned int i;

	for (i = 0; i < HASH; i++) {
		for (task = tasks[i]; task; task = task->next) {
			if (!task->gone && !task->space->read)
				read_proc(task);
		}
	}
	for (i = 0; i < HASH; i++) {
		for (task = tasks[i]; task; task = task->next) {
			if (!task->space->owner || !task->thread)
				task->space->owner = task->tid;
		}
	}
	for (i = 0; i < HASH; i++) {
		for (task = tasks[i]; task; task = task->next) {
			maps = task->space->owner == task->tid ? marked_maps(task->space) : NULL;
			if (!maps || maps->nr)
				call(task->tid, task->space->owner, maps ? maps->map : NULL,
				     maps ? maps->nr : 0, data);
			maps_put(maps);
		}
	}
}

/* The last name of the task; NULL if it still has the name that the histogram shows. */
const char *maps_comm(pid_t tid)
{
	struct task *task = *find_task(tid);

	return task && task->comm[0] ? task->comm : NULL;
}

bool map_is_stack(const struct map *map)
{
	return !strcmp(map->name, "[stack]");
}

/*
 * Whether the file of @fd is that of @id. It is mapped to learn that, because fstat(2) would not
 * tell what perf and /proc tell of mappings: it has other numbers on overlayfs and btrfs.
 */
bool maps_is_file(int fd, const struct file_id *id)
{
	void *start = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	const struct map *map;
	struct maps *maps;
	bool same;

	if (start == MAP_FAILED)
		return false;
	maps = read_maps(getpid());
	map = find_map(maps, (uintptr_t)start);
	same = map && map->id.inode == id->inode && map->id.major == id->major &&
	       map->id.minor == id->minor;
	maps_put(maps);
	munmap(start, PAGE_BYTES);
	return same;
}

/* Describe @address, which is in @map. */
void map_place(const struct map *map, uint64_t address, struct place *place)
{
	place->map = map;
	place->name = map->name;
	place->offset = address - map->start;
	if (!strcmp(map->name, "[heap]")) {
		place->kind = "heap";
	} else if (map_is_stack(map)) {
		place->kind = "stack";
		place->offset = map->end - address;
	} else if (map->name[0] == '/' && map->name[1] != '/') {
		place->kind = "file";
		place->offset += map->offset;
	} else if (is_anon(map)) {
		place->kind = "anon";
	} else {
		place->kind = "other";
	}
}

/* Whether an address in @map, or in an area that is mixed, has one owner; as @code if so asked */
bool map_is_sure(const struct map *map, bool code)
{
	return code ? !(map->mixed & PROT_EXEC) : !map->mixed;
}

/* Works for a process that runs or was seen running. */
bool maps_find(pid_t tid, uint64_t address, struct place *place)
{
	struct task *task = get_task(tid);
	const struct map *mixed;
	struct space *space;
	struct map *map;

	if (!task->gone && !task->space->read)
		read_proc(task);
	space = task->space;
	if (!space->maps->nr)
		maps_exit(tid);		/* was not seen running, and its end was: see get_task() */
	map = find_map(space->maps, address);
	mixed = find_map(space->mixed, address);
	place->tid = tid;
	if (!map || (mixed && !map_is_sure(mixed, place->code)))
		return false;
	if (place->code && map->protection & PROT_EXEC && map->id.inode)
		identify(tid, map);
	map_place(map, address, place);
	return true;
}
