// SPDX-License-Identifier: GPL-2.0
/*
 * maps.c - finds the file or area of a task's address, and the name of a task
 *
 * Many processes have ended before they are shown. So perf's side-band events (sideband.c)
 * tell every fork, mmap, new name and exit while trapstat runs; /proc tells older mappings.
 * The mappings of a process before an exec are kept until the counts are read, because it took
 * page faults there, too.
 */
#include <dirent.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "trapstat.h"

#define STACK_BYTES	(8 * 1024 * 1024)	/* the usual RLIMIT_STACK */
#define HASH		1024

/* Sorted and without overlaps. A child has those of its parent until one of both changes them. */
struct maps {
	unsigned int	users;
	struct map	*map;
	size_t		nr;
	size_t		size;
};

/* An address space, which is that of all threads of a process */
struct space {
	unsigned int	users;
	bool		read;		/* from /proc since the last report */
	struct maps	*maps;
	struct maps	*before_exec;	/* those since the last report; or NULL */
	struct maps	*before_read;
};

struct task {
	pid_t		tid;
	pid_t		parent;		/* the process that made it; of a thread: its own */
	bool		thread;		/* not the first of its process */
	bool		gone;
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
	maps_put(space->before_exec);
	maps_put(space->before_read);
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
	struct map *map = &maps->map[first];

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
	copy_map(make_room(maps, first, last, 1), new);
}

/* The maps of @space, to be changed */
static struct maps *own_maps(struct space *space)
{
	struct maps *from = space->maps;
	size_t i;

	if (from->users > 1) {
		from->users--;
		space->maps = maps_new();
		make_room(space->maps, 0, 0, from->nr);
		for (i = 0; i < from->nr; i++)
			copy_map(&space->maps->map[i], &from->map[i]);
	}
	return space->maps;
}

static int compare_inodes(const void *a, const void *b)
{
	const struct identity *x = a, *y = b;

	return memcmp(&x->inode, &y->inode, sizeof(x->inode));
}

/* Replace the inode of a mapped file by its build ID, if it has one. */
static void identify(pid_t tid, struct map *map)
{
	struct identity *new = allocate(NULL, sizeof(*new)), **found;
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
		symbols_identify(path, &new->id);
		free(path);
	}
	map->id = (*found)->id;
}

/* Returns maps without users, or NULL if there are none. */
static struct maps *read_maps(pid_t tid)
{
	char *path = print_string("/proc/%d/maps", tid);
	FILE *file = fopen(path, "re");
	struct maps *maps = NULL;
	size_t size = 0;
	char *line = NULL, executable;
	struct map map;
	int at;

	while (file && getline(&line, &size, file) > 0) {
		memset(&map, 0, sizeof(map));
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*2c%c%*c %" SCNx64 " %x:%x %" SCNu64
			   " %n", &map.start, &map.end, &executable, &map.offset,
			   &map.id.major, &map.id.minor, &map.id.inode, &at) < 7)
			continue;
		if (!maps)
			maps = maps_new();
		line[strcspn(line, "\n")] = '\0';
		map.name = line + at;
		if (executable == 'x' && map.id.inode)
			identify(tid, &map);
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

static void read_proc(struct space *space, pid_t tid)
{
	struct maps *maps = read_maps(tid) ?: read_threads_maps(tid);

	space->read = true;
	if (maps) {
		maps_put(space->before_read);
		space->before_read = space->maps;
		space->maps = maps;
	}
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
	nr_gone -= task->gone;
	task->gone = false;
	task->comm[0] = '\0';
	return task;
}

static struct task *get_task(pid_t tid)
{
	struct task *task = *find_task(tid);

	if (!task) {
		task = set_task(tid, NULL);
		if (with_maps)
			read_proc(task->space, tid);
	}
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

void maps_fork(pid_t pid, pid_t parent, pid_t tid)
{
	struct space *from;
	struct task *task;

	if (!is_known(parent))
		return;
	from = get_task(parent)->space;
	task = set_task(tid, pid == parent ? from : NULL);
	task->parent = parent;
	task->thread = pid != tid;
	if (task->space != from) {
		maps_put(task->space->maps);
		task->space->maps = from->maps;
		from->maps->users++;
	}
}

/*
 * The mappings before it are kept apart until the next report. While trapstat records, and
 * at another exec before that report, the new ones are added to them instead.
 */
void maps_exec(pid_t tid)
{
	struct task *task = *find_task(tid);
	struct maps *before;

	if (!task || options.record || task->space->before_exec)
		return;
	before = task->space->maps;
	before->users++;
	task = set_task(tid, NULL);
	task->space->before_exec = before;
}

/* The process that made @tid, or whose thread it is; 0 if that is not known. */
pid_t maps_parent(pid_t tid)
{
	struct task *task = *find_task(tid);

	return task ? task->parent : 0;
}

void maps_exit(pid_t tid)
{
	struct task *task = *find_task(tid);

	if (task && !task->gone) {
		task->gone = true;
		nr_gone++;
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

/* Does nothing for a task whose fork was not seen: /proc has all of its areas. */
void maps_add(pid_t pid, const struct map *map)
{
	struct task *task = *find_task(pid);

	if (task)
		add_map(own_maps(task->space), map);
}

/* Read all running processes, because they may end before they are shown. */
void maps_read_running(void)
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

/*
 * Called after a report: forget tasks that have ended, unless a recording or another thread
 * needs them, that /proc was read, and inodes, which other files may get.
 */
void maps_forget(void)
{
	struct task **at, *task;
	unsigned int i;

	tdestroy(identities, free);
	identities = NULL;
	for (i = 0; i < HASH; i++) {
		for (at = &tasks[i]; (task = *at); ) {
			task->space->read = false;
			maps_put(task->space->before_exec);
			maps_put(task->space->before_read);
			task->space->before_exec = task->space->before_read = NULL;
			if (task->gone && !options.record &&
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
}

void maps_each(void (*call)(pid_t tid, const struct map *map, size_t nr, void *data), void *data)
{
	struct task *task;
	unsigned int i;

	for (i = 0; i < HASH; i++) {
		for (task = tasks[i]; task; task = task->next) {
			if (task->space->maps->nr)
				call(task->tid, task->space->maps->map, task->space->maps->nr,
				     data);
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

/* The lowest address of @map. A stack grows without an event, so it may reach further down. */
uint64_t map_low(const struct map *map, const struct map *below)
{
	uint64_t low = map->start;

	if (map_is_stack(map) && map->end > STACK_BYTES && map->end - STACK_BYTES < low)
		low = map->end - STACK_BYTES;
	return below && below->end > low ? below->end : low;
}

static const struct map *find_map(const struct maps *maps, uint64_t address)
{
	size_t i = maps ? first_above(maps, address) : 0;
	const struct map *map = maps ? &maps->map[i] : NULL;

	return maps && i < maps->nr && address >= map_low(map, i ? map - 1 : NULL) ? map : NULL;
}

/*
 * Whether trapstat itself has the file of @id mapped at @address. stat(2) would not tell what
 * perf and /proc tell of mappings: it has other numbers on overlayfs and btrfs.
 */
bool maps_own_inode(const void *address, const struct file_id *id)
{
	struct maps *maps = read_maps(getpid());
	const struct map *map = find_map(maps, (uintptr_t)address);
	bool same;

	same = map && map->id.inode == id->inode && map->id.major == id->major &&
	       map->id.minor == id->minor;
	maps_put(maps);
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
	} else if (!map->name[0] || !strcmp(map->name, "//anon") ||
		   !strncmp(map->name, "[anon", 5)) {
		place->kind = "anon";
	} else {
		place->kind = "other";
	}
}

/* Works for a process that runs or was seen running. */
bool maps_find(pid_t tid, uint64_t address, struct place *place)
{
	struct space *space = get_task(tid)->space;
	const struct map *map = find_map(space->maps, address) ?:
				find_map(space->before_read, address) ?:
				find_map(space->before_exec, address);

	if (!map && !space->read) {
		read_proc(space, tid);
		map = find_map(space->maps, address);
	}
	if (map)
		map_place(map, address, place);
	place->tid = tid;
	return map;
}
