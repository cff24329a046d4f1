// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - the recording of -o: runs trace-cmd in an instance of its own
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tracefs.h>
#include "trapstat.h"

#define TRIES	3000	/* of 10 ms: an emulated machine is slow */

#define PATIENCE	500	/* of 10 ms: to write the rest of the file */

static struct tracefs_instance *instance;
static pid_t recorder;
static bool made;		/* there was no such file before */

/*
 * trace-cmd is not in the terminal's process group, because an interrupt stops trapstat,
 * which then stops trace-cmd. trace-cmd holds the instance's lock, and ends with trapstat.
 */
static void run(char **argv, int lock)
{
	int null = open("/dev/null", O_RDWR);

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

void record_start(const pid_t *pids, size_t nr)
{
	int lock, file, status = 0, tries = 0;
	char *argv[24], **arg = argv;
	char *buffer_kb;

	made = access(options.record, F_OK);
	file = open(options.record, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (file < 0)
		die("%s: %s", options.record, strerror(errno));
	close(file);
	buffer_kb = print_string("%lu", options.buffer_kb);
	instance = instance_create("-record", &lock);
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
	*arg++ = (char *)options.record;
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
		if (++tries == TRIES)
			kill(recorder, SIGKILL);
		if (waitpid(recorder, &status, WNOHANG) == recorder) {
			recorder = 0;
			if (made)
				unlink(options.record);
			if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
				die("-o needs trace-cmd: install it");
			die("%s: trace-cmd does not record into it", options.record);
		}
		usleep(10000);
	}
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

/* Returns whether the file has all events. */
bool record_stop(void)
{
	unsigned long long lost;
	int status, tries;

	if (!recorder)
		return true;
	/* before trace-cmd ends, because it then removes the instance */
	tracefs_trace_off(instance);
	lost = lost_events();
	kill(recorder, SIGINT);
	for (tries = 0; waitpid(recorder, &status, WNOHANG) != recorder; tries++) {
		if (tries == PATIENCE)
			kill(recorder, SIGKILL);
		usleep(10000);
	}
	recorder = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		note("%s: trace-cmd failed, it is not complete", options.record);
		return false;
	}
	sideband_read();
	procmaps_append(options.record);
	if (lost)
		note("%s: %llu events are missing: the buffer was full, use a larger one (-m)",
		     options.record, lost);
	return !lost;
}
