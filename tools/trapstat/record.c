// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - the recording of -o: runs trace-cmd in an instance of its own
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <trace-cmd.h>
#include <tracefs.h>
#include "trapstat.h"

#define TRIES	3000	/* of 10 ms: an emulated machine is slow */
#define HANGS	30	/* s: a child that uses no CPU so long is killed */

static struct tracefs_instance *instance;
static pid_t recorder;		/* and its process group: a child of it for each CPU */
static int ends = -1;		/* an epoll of their pidfds */
static char *file;		/* that of -o, which may be a link to it */
static char *target;		/* what trace-cmd writes: beside @file if that was there before */

/* Returns whether the file @path has the kernel's symbols of now. */
static bool copy_symbols(const char *path)
{
	FILE *from = fopen("/proc/kallsyms", "re"), *to = fopen(path, "wxe");
	char *line = NULL;
	size_t size = 0;
	ssize_t nr;
	bool copied = from && to;

	while (copied && (nr = getline(&line, &size, from)) > 0)
		copied = fwrite(line, nr, 1, to) == 1;
	free(line);
	if (from)
		fclose(from);
	return !(to && fclose(to)) && copied;
}

/*
 * When a recording ends, trace-cmd copies /proc/kallsyms, and fails if that changes meanwhile, as
 * each BPF program changes it. So trace-cmd sees a copy there, in memory that only it has mounted:
 * of a copy on 9p that was unlinked, it could not tell the size.
 */
static void replace_symbols(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
	    mount("trapstat", "/sys", "tmpfs", 0, NULL))
		return;
	if (copy_symbols("/sys/kallsyms"))
		mount("/sys/kallsyms", "/proc/kallsyms", NULL, MS_BIND, NULL);
	umount2("/sys", MNT_DETACH);
}

/*
 * trace-cmd is not in the terminal's process group, because an interrupt stops trapstat,
 * which then stops trace-cmd. trace-cmd holds the instance's lock, and ends with trapstat.
 */
static void run(char **argv, int lock)
{
	int null = open("/dev/null", O_RDWR);

	replace_symbols();
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGINT);
	restore_signals();
	fcntl(lock, F_SETFD, 0);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	execvp(argv[0], argv);
	_exit(127);
}

/* trace-cmd first turns tracing off, and turns it on when everything is set up. */
static bool is_recording(void)
{
	return tracefs_event_is_enabled(instance, SYSTEM, NULL) == TRACEFS_ALL_ENABLED &&
	       tracefs_trace_is_on(instance) == 1;
}

static char *list_pids(const pid_t *pids, size_t nr)
{
	char *list = print_string("%d", *pids), *longer;

	while (--nr) {
		longer = print_string("%s,%d", list, *++pids);
		free(list);
		list = longer;
	}
	return list;
}

/* A file that is there is only replaced by a complete one, which gets its owner and mode. */
static void choose_target(void)
{
	bool exists = !access(options.record, F_OK);
	int fd = open(options.record, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	struct stat stat;

	file = target = fd < 0 ? NULL : realpath(options.record, NULL);
	if (!file || fstat(fd, &stat))
		die("%s: %s", options.record, strerror(errno));
	close(fd);
	if (!exists || !S_ISREG(stat.st_mode))
		return;
	target = print_string("%s.%d.trapstat", file, getpid());
	unlink(target);		/* of a killed run with this PID */
	fd = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fchown(fd, stat.st_uid, stat.st_gid) || fchmod(fd, stat.st_mode & 07777))
		die("%s: %s", target, strerror(errno));
	close(fd);
}

/* The file of a CPU that trace-cmd makes a part of @target at the end */
static char *part_of(long cpu)
{
	return print_string("%s.%s.cpu%ld", target, tracefs_instance_get_name(instance), cpu);
}

/* What trace-cmd leaves if it fails: its children, which keep the instance, and files */
static void discard(void)
{
	long cpu = sysconf(_SC_NPROCESSORS_CONF);
	struct stat what;
	int tries;
	char *path;

	kill(-recorder, SIGKILL);
	waitpid(recorder, NULL, 0);
	for (tries = 0; tries < TRIES && !kill(-recorder, 0); tries++)
		usleep(10000);
	recorder = 0;
	while (cpu--) {
		path = part_of(cpu);
		unlink(path);
		free(path);
		/* so trace-cmd calls those of the buffer that it does not record */
		path = print_string("%s.cpu%ld", target, cpu);
		unlink(path);
		free(path);
		path = print_string("(null).cpu%ld", cpu);	/* in 3.1.6 */
		unlink(path);
		free(path);
	}
	if (!stat(target, &what) && S_ISREG(what.st_mode))
		unlink(target);
}

static void watch(pid_t tid)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = syscall(SYS_pidfd_open, tid, 0);

	if (fd >= 0)
		epoll_ctl(ends, EPOLL_CTL_ADD, fd, &event);
}

/* It is readable when a process of trace-cmd has ended. */
int record_fd(void)
{
	return ends;
}

void record_start(const pid_t *pids, size_t nr)
{
	int lock, status = 0, tries = 0;
	char *argv[24], **arg = argv;
	char *buffer_kb;

	buffer_kb = print_string("%lu", options.buffer_kb);
	instance = instance_create("-record", &lock);
	choose_target();
	*arg++ = "trace-cmd";
	*arg++ = "record";
	*arg++ = "-q";
	*arg++ = "-B";
	*arg++ = (char *)tracefs_instance_get_name(instance);
	*arg++ = "-b";
	*arg++ = buffer_kb;
	*arg++ = "-e";
	*arg++ = SYSTEM;
	*arg++ = "-e";
	*arg++ = "sched:sched_switch";
	if (options.stacks) {
		*arg++ = "-R";
		*arg++ = "stacktrace";
	}
	*arg++ = "-o";
	*arg++ = target;
	if (options.stacks) {
		*arg++ = "-O";
		*arg++ = "userstacktrace";
	}
	if (nr) {
		*arg++ = "-c";
		*arg++ = "-P";
		*arg++ = list_pids(pids, nr);
	}
	*arg = NULL;

	recorder = fork();
	if (recorder < 0)
		die("fork: %s", strerror(errno));
	if (!recorder)
		run(argv, lock);
	while (!is_recording()) {
		if (sleep_ms(10) || ++tries == TRIES)
			kill(recorder, SIGKILL);
		if (waitpid(recorder, &status, WNOHANG) == recorder) {
			discard();
			end_if_signaled();
			if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
				die("-o needs trace-cmd: install it");
			die("%s: trace-cmd does not record into it", options.record);
		}
	}
	ends = epoll_create1(EPOLL_CLOEXEC);
	tasks_each(&recorder, 1, watch);
	if (nr)
		free(arg[-1]);
	free(buffer_kb);
}

/* The kernel's count of events that the recording lacks. */
static unsigned long long lost_events(void)
{
	unsigned long long lost = 0;
	char *path, *text, *at;
	unsigned int cpu;

	for (cpu = 0; ; cpu++) {
		path = print_string("per_cpu/cpu%u/stats", cpu);
		text = tracefs_instance_file_read(instance, path, NULL);
		free(path);
		if (!text)
			return lost;
		at = strstr(text, "overrun: ");
		lost += at ? strtoull(at + strlen("overrun: "), NULL, 10) : 0;
		at = strstr(text, "dropped events: ");
		lost += at ? strtoull(at + strlen("dropped events: "), NULL, 10) : 0;
		free(text);
	}
}

/* @status: of trace-cmd, or 0 if it is one of its children that has ended */
static void fail(int status)
{
	discard();
	if (WIFSIGNALED(status))
		note("%s: trace-cmd was killed by signal %d, so there is no recording: run it again",
		     options.record, WTERMSIG(status));
	else
		note("%s: trace-cmd could not write it, so there is no recording: see what it says, or free disk space",
		     options.record);
}

/* A process of trace-cmd has ended: it was killed, or cannot write. */
void record_failed(void)
{
	int status = 0;

	waitpid(recorder, &status, WNOHANG);
	fail(status);
	exit(STATUS_FAILED);
}

/* trace-cmd succeeds if the disk fills up while it writes the events: these are not there. */
static bool has_events(void)
{
	struct tracecmd_input *top, *events = NULL;

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	top = tracecmd_open(target, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (top && tracecmd_buffer_instances(top) == 1)
		events = tracecmd_buffer_instance_handle(top, 0);
	if (events)
		tracecmd_close(events);
	if (top)
		tracecmd_close(top);
	return events;
}

/*
 * A child looks at the file, because libtracecmd crashes on some that are not complete. Returns its
 * status, which is SIGKILL if it could not look.
 */
static int look(void)
{
	pid_t pid = fork();

	if (pid < 0)
		return SIGKILL;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGSEGV, _exit);
		signal(SIGBUS, _exit);
		signal(SIGABRT, _exit);
		signal(SIGFPE, _exit);
		_exit(!has_events());
	}
	return end_child(pid, 0, HANGS, true);
}

/* Returns whether the file has all events. */
bool record_stop(void)
{
	unsigned long long lost;
	int status, seen = 0;

	if (!recorder)
		return true;
	/* before trace-cmd ends, because it then removes the instance */
	tracefs_trace_off(instance);
	lost = lost_events();
	/* A look at its files is no way to know that it works: 9p with cache=mmap then loses data. */
	status = end_child(recorder, SIGINT, HANGS, true);
	if (!status)
		seen = look();
	if (status || (seen && seen != SIGKILL)) {
		fail(status);
		return false;
	}
	recorder = 0;
	if (seen) {
		note("%s: it may lack events, as it could not be read again: it is %s",
		     options.record, target);
		return false;
	}
	if (target != file && rename(target, file)) {
		note("%s: %s: the recording is %s", file, strerror(errno), target);
		return false;
	}
	sideband_read();
	procmaps_append(options.record);
	if (lost)
		note("%s: %llu events are missing: the buffer was full, use a larger one (-m)",
		     options.record, lost);
	return !lost;
}
