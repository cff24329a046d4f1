// SPDX-License-Identifier: GPL-2.0
/*
 * tasks.c - the processes of -p with their children, users, cgroups
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "trapstat.h"

/* PID_NS_INIT_INO and CGROUP_NS_INIT_INO of linux/nsfs.h */
#define FIRST_PIDS	"pid:[4026531836]"
#define FIRST_CGROUPS	"cgroup:[4026531835]"

static int ends[MAX_PIDS];	/* pidfds; -1: it has ended */
static size_t nr_ends;

static bool is_namespace(const char *path, const char *expected)
{
	char name[64];
	ssize_t size = readlink(path, name, sizeof(name));

	if (size < 0 || (size_t)size >= sizeof(name))
		return true;
	name[size] = '\0';
	return !strcmp(name, expected);
}

/* The kernel knows tasks by their PIDs in the first namespace, /proc by those in ours. */
const char *tasks_unknown(void)
{
	return is_namespace("/proc/self/ns/pid", FIRST_PIDS) ? NULL :
	       "-p, -c, -t, -a, -s and -o: not in a container's PID namespace, run it on the host";
}

void tasks_open(const pid_t *pids, size_t nr)
{
	for (; nr; nr--, pids++) {
		ends[nr_ends] = syscall(SYS_pidfd_open, *pids, 0);
		if (ends[nr_ends] < 0 && errno != ENOSYS)
			die("-p: there is no process %d", *pids);
		nr_ends++;
	}
}

size_t tasks_poll(struct pollfd *fds, size_t nr)
{
	size_t i;

	for (i = 0; i < nr_ends && i < nr; i++)
		fds[i] = (struct pollfd){ .fd = ends[i], .events = POLLIN };
	return i;
}

/* Have all processes of -p ended? */
bool tasks_ended(void)
{
	struct pollfd end = { .events = POLLIN };
	size_t i, nr = 0;

	for (i = 0; i < nr_ends; i++) {
		end.fd = ends[i];
		if (ends[i] >= 0 && poll(&end, 1, 0) == 1) {
			close(ends[i]);
			ends[i] = -1;
		}
		nr += ends[i] < 0;
	}
	return nr_ends && nr == nr_ends;
}

/* Returns what the file of /proc/@pid has; "" if it cannot be read. */
static char *read_proc(pid_t pid, const char *name)
{
	char *path = print_string("/proc/%d/%s", pid, name), *text = allocate(NULL, 512);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = file >= 0 ? read(file, text, 511) : 0;

	text[size > 0 ? size : 0] = '\0';
	if (file >= 0)
		close(file);
	free(path);
	return text;
}

static pid_t parent_of(pid_t pid)
{
	char *text = read_proc(pid, "stat"), *end = strrchr(text, ')');
	int parent = 0;

	/* the name is in parentheses; anything may be in it */
	if (end)
		sscanf(end + 1, " %*c %d", &parent);
	free(text);
	return parent;
}

/* The name of a process that runs, or NULL. */
char *task_comm(pid_t pid)
{
	char *text = read_proc(pid, "comm");

	if (!*text) {
		free(text);
		return NULL;
	}
	text[strlen(text) - 1] = '\0';	/* a newline, which the name may have, too */
	return text;
}

static bool is_one_of(pid_t pid, const pid_t *pids, size_t nr)
{
	while (nr && pids[nr - 1] != pid)
		nr--;
	return nr;
}

/* Whose thread it is, or 0 if it has ended. */
pid_t task_process(pid_t tid)
{
	char *text = read_proc(tid, "status"), *line = strstr(text, "\nTgid:");
	int pid = 0;

	if (line)
		sscanf(line, "\nTgid: %d", &pid);
	free(text);
	return pid;
}

void task_threads(pid_t pid, void (*call)(pid_t tid))
{
	char *path = print_string("/proc/%d/task", pid);
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			call(atoi(entry->d_name));
	}
	if (dir)
		closedir(dir);
	free(path);
}

/* Calls @call for all threads of @pids and of their children, and of these. */
void tasks_each(const pid_t *pids, size_t nr, void (*call)(pid_t tid))
{
	size_t found = nr, before;
	pid_t *all = allocate(NULL, nr * sizeof(*all)), pid;
	struct dirent *entry;
	DIR *dir;

	memcpy(all, pids, nr * sizeof(*all));
	do {
		before = found;
		dir = opendir("/proc");
		while (dir && (entry = readdir(dir))) {
			pid = atoi(entry->d_name);
			if (pid > 0 && !is_one_of(pid, all, found) &&
			    is_one_of(parent_of(pid), all, found)) {
				all = allocate(all, (found + 1) * sizeof(*all));
				all[found++] = pid;
			}
		}
		if (dir)
			closedir(dir);
	} while (found > before);
	while (found)
		task_threads(all[--found], call);
	free(all);
}

static long long cpu_ns;

static void add_cpu(pid_t tid)
{
	struct timespec time;
	clockid_t clock;

	/* only those of whole processes can be read */
	if (!clock_getcpuclockid(tid, &clock) && !clock_gettime(clock, &time))
		cpu_ns += time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* The CPU time of a process and its children, in ns, without those that have ended */
long long tasks_cpu(pid_t pid)
{
	cpu_ns = 0;
	tasks_each(&pid, 1, add_cpu);
	return cpu_ns;
}

static struct names {
	struct {
		uint64_t	id;
		char		*name;
	} *known;
	size_t	nr;
	bool	read;		/* since the counts were */
} users, cgroups;

static void add_name(struct names *names, uint64_t id, const char *name)
{
	names->known = allocate(names->known, (names->nr + 1) * sizeof(*names->known));
	names->known[names->nr].id = id;
	names->known[names->nr++].name = print_string("%s", name);
}

/* Returns NULL if neither what is known nor @read has it. */
static const char *find_name(struct names *names, uint64_t id, void (*read)(void))
{
	size_t i;

	for (i = 0; i < names->nr; i++) {
		if (names->known[i].id == id)
			return names->known[i].name;
	}
	if (names->read)
		return NULL;
	while (names->nr)
		free(names->known[--names->nr].name);
	read();
	names->read = true;
	return find_name(names, id, read);
}

/* The counts are read: users and cgroups that are not known now may be there. */
void tasks_read(void)
{
	users.read = cgroups.read = false;
}

/* Not by getpwuid(), which may ask a server, and wait for it. */
static void read_users(void)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *user;

	while (file && (user = fgetpwent(file)))
		add_name(&users, user->pw_uid, user->pw_name);
	if (file)
		fclose(file);
}

char *task_user(uid_t uid)
{
	const char *name = find_name(&users, uid, read_users);

	return name ? print_string("%s", name) : print_string("%u", uid);
}

/* Where version 2 of cgroups is mounted: not at /sys/fs/cgroup itself if version 1 is, too */
static const char *cgroup_root(void)
{
	static char root[PATH_MAX];
	struct mntent *mount;
	FILE *mounts;

	if (*root)
		return root;
	mounts = setmntent("/proc/self/mounts", "r");
	while (mounts && (mount = getmntent(mounts))) {
		if (!strcmp(mount->mnt_type, "cgroup2")) {
			snprintf(root, sizeof(root), "%s", mount->mnt_dir);
			break;
		}
	}
	if (mounts)
		endmntent(mounts);
	return root;
}

/* The kernel counts for all cgroups; a namespace shows only some of them. */
static const char *cgroups_unknown(void)
{
	if (!is_namespace("/proc/self/ns/cgroup", FIRST_CGROUPS))
		return "-g cgroup: not in a container's cgroup namespace, run it on the host";
	return *cgroup_root() ? NULL : "-g cgroup: version 2 of cgroups is not mounted";
}

/* Returns why @table has no names here, or NULL. */
const char *table_unknown(enum table table)
{
	if (table == TASKS && options.group == CGROUP)
		return cgroups_unknown();
	if (table == ADDRESSES || table == FROM || (table == TASKS && options.group < COMMAND))
		return tasks_unknown();
	return NULL;
}

/* Returns why -e leaves nothing for @table, or NULL. */
const char *table_empty(enum table table)
{
	if (table == ADDRESSES && options.some_vectors && !options.vectors[VECTOR_PF])
		return "-a: only page faults have a page: give #PF to -e, or leave -e out";
	if (table == FROM && options.some_vectors && !memchr(options.vectors, true, VECTOR_NONE))
		return "-s: no instruction raises mm_fault: give others to -e, too, or leave -e out";
	return NULL;
}

static int add_cgroup(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_D) {
		path += strlen(cgroup_root());
		add_name(&cgroups, stat->st_ino, *path ? path : "/");
	}
	return 0;
}

static void read_cgroups(void)
{
	nftw(cgroup_root(), add_cgroup, 16, FTW_PHYS | FTW_MOUNT);
}

/* The id of a cgroup is its directory's inode. */
char *task_cgroup(uint64_t id)
{
	const char *name = find_name(&cgroups, id, read_cgroups);

	if (name)
		return print_string("%s", name);
	return options.metrics ? print_string("removed") :
				 print_string("cgroup %llu", (unsigned long long)id);
}
