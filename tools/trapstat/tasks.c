// SPDX-License-Identifier: GPL-2.0
/*
 * tasks.c - the processes of -p with their children, users, cgroups
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "trapstat.h"

static int ends[MAX_PIDS];	/* pidfds; -1: it has ended */
static size_t nr_ends;

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

static pid_t parent_of(pid_t pid)
{
	char *path = print_string("/proc/%d/stat", pid), text[512], *end;
	FILE *file = fopen(path, "re");
	int parent = 0;

	/* the name is in parentheses and may have some itself */
	if (file && fgets(text, sizeof(text), file) && (end = strrchr(text, ')')))
		sscanf(end + 1, " %*c %d", &parent);
	if (file)
		fclose(file);
	free(path);
	return parent;
}

static bool is_one_of(pid_t pid, const pid_t *pids, size_t nr)
{
	while (nr && pids[nr - 1] != pid)
		nr--;
	return nr;
}

static void each_thread(pid_t pid, void (*call)(pid_t tid))
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
		each_thread(all[--found], call);
	free(all);
}

char *task_user(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);

	return user ? print_string("%s", user->pw_name) : print_string("%u", uid);
}

/* Known cgroups; the id of a cgroup is its directory's inode. */
static struct cgroup {
	uint64_t	id;
	char		*name;
} *cgroups;
static size_t nr_cgroups;

#define CGROUP_ROOT	"/sys/fs/cgroup"

static int add_cgroup(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_D) {
		cgroups = allocate(cgroups, (nr_cgroups + 1) * sizeof(*cgroups));
		path += strlen(CGROUP_ROOT);
		cgroups[nr_cgroups++] = (struct cgroup){ stat->st_ino,
							 print_string("%s", *path ? path : "/") };
	}
	return 0;
}

static const char *find_cgroup(uint64_t id)
{
	size_t i;

	for (i = nr_cgroups; i; i--) {
		if (cgroups[i - 1].id == id)
			return cgroups[i - 1].name;
	}
	return NULL;
}

char *task_cgroup(uint64_t id)
{
	const char *name = find_cgroup(id);

	if (!name) {
		while (nr_cgroups)
			free(cgroups[--nr_cgroups].name);
		nftw(CGROUP_ROOT, add_cgroup, 16, FTW_PHYS | FTW_MOUNT);
		name = find_cgroup(id);
		if (!name) {
			/* it has been removed */
			cgroups = allocate(cgroups, (nr_cgroups + 1) * sizeof(*cgroups));
			cgroups[nr_cgroups] = (struct cgroup){ id, options.metrics ?
				print_string("removed") :
				print_string("cgroup %llu", (unsigned long long)id) };
			name = cgroups[nr_cgroups++].name;
		}
	}
	return print_string("%s", name);
}
