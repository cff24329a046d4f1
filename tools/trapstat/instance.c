// SPDX-License-Identifier: GPL-2.0
/*
 * instance.c - the life of trapstat's tracing instances
 *
 * An instance is called trapstat-PID, and its directory is locked (flock) while its owner
 * lives: an instance that can be locked is left by a dead run. The sticky bit, which has no
 * other use there, tells it from one that somebody else has called so. To make or remove one,
 * trapstat locks the parent directory, so that nobody sees an instance before its lock.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tracefs.h>
#include "trapstat.h"

#define PREFIX	"trapstat-"
#define MARK	(S_ISVTX | 0700)

static struct own {
	struct tracefs_instance	*instance;
	int			lock;
} own[2];
static unsigned int nr_own;

/* Exits if trapstat cannot run here. Changes nothing. */
void instance_check(void)
{
	const char *dir;

	if (tracefs_tracing_dir_is_mounted(false, &dir) <= 0)
		die("tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing");
	/* of the effective user, who may have capabilities; to serve needs no more */
	if (faccessat(AT_FDCWD, dir, R_OK | X_OK | (options.serve ? 0 : W_OK), AT_EACCESS))
		die("%s: %s: run it as root", dir, strerror(errno));
	if (!tracefs_dir_exists(NULL, "events/" SYSTEM))
		die("this kernel has no events/" SYSTEM ": it needs the patches of the traps series");
}

static int lock_directory(const char *dir, int how)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, how)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int lock_parent(void)
{
	char *dir = tracefs_get_tracing_file("instances");
	int fd = dir ? lock_directory(dir, LOCK_EX) : -1;

	if (fd < 0)
		die("%s: cannot lock it: %s", dir ? dir : "instances", strerror(errno));
	tracefs_put_tracing_file(dir);
	return fd;
}

static bool is_marked(int fd)
{
	struct stat stat;

	return !fstat(fd, &stat) && (stat.st_mode & 07777) == MARK;
}

/* Instances that their owner or the kernel still uses stay. */
static int remove_if_dead(const char *name, void *data)
{
	struct tracefs_instance *instance;
	char *dir;
	int fd;

	(void)data;
	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return 0;
	instance = tracefs_instance_alloc(NULL, name);
	dir = instance ? tracefs_instance_get_dir(instance) : NULL;
	fd = dir ? lock_directory(dir, LOCK_EX | LOCK_NB) : -1;
	if (fd >= 0) {
		if (is_marked(fd) && !tracefs_instance_destroy(instance))
			note("removed %s, left by a run that was killed", dir);
		close(fd);
	}
	tracefs_put_tracing_file(dir);
	tracefs_instance_free(instance);
	return 0;
}

void instance_remove_dead(void)
{
	int parent = lock_parent();

	tracefs_instances_walk(remove_if_dead, NULL);
	close(parent);
}

/* A child that inherits @lock keeps the instance. */
struct tracefs_instance *instance_create(const char *suffix, int *lock)
{
	struct own *new = &own[nr_own];
	int parent = lock_parent();
	char *name, *dir;

	name = print_string(PREFIX "%d%s", getpid(), suffix);
	new->instance = tracefs_instance_create(name);
	if (!new->instance || !tracefs_instance_is_new(new->instance))
		die("cannot make the instance %s: %s", name,
		    new->instance ? "it is there already" : strerror(errno));
	nr_own++;
	dir = tracefs_instance_get_dir(new->instance);
	new->lock = dir ? lock_directory(dir, LOCK_EX | LOCK_NB) : -1;
	if (new->lock < 0 || fchmod(new->lock, MARK))
		die("cannot lock the instance %s: %s", name, strerror(errno));
	if (lock)
		*lock = new->lock;
	tracefs_put_tracing_file(dir);
	free(name);
	close(parent);
	return new->instance;
}

static struct tracefs_instance *chosen;

static void write_pid(pid_t pid)
{
	char *text = print_string("%d", pid);

	if (tracefs_instance_file_append(chosen, "set_event_pid", text) < 0 && errno != ESRCH)
		die("cannot trace the process %d: %s", pid, strerror(errno));
	free(text);
}

/* Trace the chosen processes, and what they fork. */
void instance_choose(struct tracefs_instance *instance)
{
	chosen = instance;
	if (!options.nr_pids)
		return;
	if (tracefs_option_enable(instance, TRACEFS_OPTION_EVENT_FORK))
		die("cannot set the option event-fork: %s", strerror(errno));
	tasks_each(options.pids, options.nr_pids, write_pid);
}

void instance_destroy_all(void)
{
	const char *name;
	int parent;

	if (!nr_own)
		return;
	parent = lock_parent();
	while (nr_own) {
		nr_own--;
		name = tracefs_instance_get_name(own[nr_own].instance);
		if (tracefs_instance_exists(name) && tracefs_instance_destroy(own[nr_own].instance))
			note("cannot remove the instance %s: %s", name, strerror(errno));
		close(own[nr_own].lock);
		tracefs_instance_free(own[nr_own].instance);
	}
	close(parent);
}
