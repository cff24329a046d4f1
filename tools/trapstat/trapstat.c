// SPDX-License-Identifier: GPL-2.0
/*
 * trapstat - statistics of exceptions and page faults
 *
 * The loop that waits, reads and prints.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <tracefs.h>
#include "trapstat.h"

#define MAX_CPUS	8192
#define MAX_FDS		1024

static unsigned int nr_cpus;
static char **columns;
static volatile sig_atomic_t stopped_by, child_ended;
static pid_t child, self;

static void on_signal(int signal)
{
	if (signal == SIGCHLD)
		child_ended = 1;
	else
		stopped_by = signal;
}

/* Block signals; trapstat receives them only while it waits, with the mask @waiting. */
static void catch_signals(sigset_t *waiting)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked;
	unsigned int i;

	sigemptyset(&blocked);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		sigaction(signals[i], &action, NULL);
		sigaddset(&blocked, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, waiting);
	signal(SIGPIPE, SIG_IGN);
}

/* Also called on errors. Does nothing in a child, which has not called exec yet. */
static void clean_up(void)
{
	if (getpid() != self)
		return;
	record_stop();
	instance_destroy_all();
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* SIGCHLD does not tell whether the command or trace-cmd has ended. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { };

	return pid && !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == pid;
}

/* Wait until @deadline (0: none), a signal, or the end of the command. */
static void wait_until(double deadline, const sigset_t *waiting)
{
	struct pollfd fds[MAX_FDS];
	size_t nr = sideband_poll(fds, MAX_FDS);
	struct timespec timeout;
	double left;

	while (!stopped_by && !(child && child_ended)) {
		left = deadline - now();
		if (deadline && left <= 0)
			break;
		timeout.tv_sec = left;
		timeout.tv_nsec = (left - timeout.tv_sec) * 1e9;
		if (ppoll(fds, nr, deadline ? &timeout : NULL, waiting) > 0)
			sideband_read();
		if (child && stopped_by) {
			/* the command gets signals of the terminal itself */
			if (stopped_by != SIGINT && stopped_by != SIGQUIT)
				kill(child, stopped_by);
			stopped_by = 0;
		}
		if (child_ended && !has_ended(child))
			child_ended = 0;
	}
}

/* Read a list of CPUs such as "0-3,8" and name their columns. Returns the last number. */
static unsigned int read_cpus(const char *name, bool with_columns)
{
	char *path = print_string("/sys/devices/system/cpu/%s", name);
	unsigned int first, last = 0, cpu;
	FILE *file = fopen(path, "r");

	while (file && fscanf(file, "%u", &first) == 1) {
		last = first;
		if (fscanf(file, "-%u", &last) < 0)
			last = first;
		for (cpu = first; with_columns && cpu <= last; cpu++)
			columns[cpu] = print_string("cpu%u", cpu);
		fscanf(file, ",");
	}
	if (!file || last >= MAX_CPUS)
		die("cannot read %s", path);
	fclose(file);
	free(path);
	return last;
}

static void find_cpus(void)
{
	nr_cpus = read_cpus("possible", false) + 1;
	columns = allocate(NULL, nr_cpus * sizeof(*columns));
	memset(columns, 0, nr_cpus * sizeof(*columns));
	read_cpus("online", true);
}

static void update_names(struct rows *rows)
{
	const char *comm;
	size_t i;

	for (i = 0; i < rows->nr; i++) {
		comm = maps_comm(rows->row[i].pid);
		if (comm)
			strncpy(rows->row[i].comm, comm, COMM_LEN - 1);
	}
}

/* Report what was counted since *@begin, and set *@begin to now. */
static int report_since(struct tracefs_instance *instance, double *begin, bool last)
{
	struct sample sample = { .rates = !options.command };
	double end = now();
	size_t i;
	int ret;

	hist_read(instance, &sample, last);
	sideband_read();
	for (i = TASKS; i < TABLES; i++)
		update_names(&sample.table[i]);
	sample.seconds = end - *begin;
	*begin = end;
	sample.columns = columns;
	sample.nr_columns = nr_cpus;
	for (i = 0; i < sample.table[BY_CPU].nr; i++) {
		if (!columns[sample.table[BY_CPU].row[i].cpu])
			columns[sample.table[BY_CPU].row[i].cpu] =
				print_string("cpu%u", sample.table[BY_CPU].row[i].cpu);
	}
	if (options.command)
		sample.title = options.command[0];
	ret = output(&sample);
	maps_forget();
	sample_free(&sample);
	return ret;
}

static int run_command(struct tracefs_instance *instance, const sigset_t *waiting)
{
	double begin = now();
	int status, ret;

	command_go();
	wait_until(0, waiting);
	if (waitpid(child, &status, 0) != child)
		die("%s: %s", options.command[0], strerror(errno));
	ret = report_since(instance, &begin, true);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : ret;
}

static int run_intervals(struct tracefs_instance *instance, const sigset_t *waiting)
{
	double begin = now(), deadline = begin;
	int status = 0, ret;
	unsigned long i;

	for (i = 0; !options.count || i < options.count; i++) {
		deadline += options.interval;
		wait_until(deadline, waiting);
		if (stopped_by)
			break;
		ret = report_since(instance, &begin, i + 1 == options.count);
		status = ret ? ret : status;
		if (ferror(stdout)) {	/* a closed pipe: output() exits on other errors */
			stopped_by = SIGPIPE;
			break;
		}
		if (begin > deadline + options.interval)
			deadline = begin;
	}
	return status;
}

static int run(void)
{
	struct tracefs_instance *instance;
	sigset_t waiting;
	bool places;
	int status;

	instance_check();
	output_check_width();
	catch_signals(&waiting);
	self = getpid();
	atexit(clean_up);
	/* keep freed memory, so that trapstat itself takes fewer page faults */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	instance_remove_dead();
	names_live();
	find_cpus();
	places = options.table[ADDRESSES] || options.table[FROM];
	if (places)
		symbols_live();
	if (places || options.table[TASKS] || options.record)
		sideband_start(nr_cpus);
	if ((places || options.record) && !options.command)
		maps_read_running();
	instance = instance_create("", NULL);
	tracefs_instance_set_buffer_size(instance, 4, -1);	/* nothing is recorded here */
	if (options.command) {
		child = command_fork(options.command);
		options.pids[options.nr_pids++] = child;
	}
	if (options.nr_pids)
		instance_set_pids(instance, options.pids, options.nr_pids);
	if (options.record)
		record_start(options.pids, options.nr_pids);
	hist_start(instance, nr_cpus);
	if (options.command)
		status = run_command(instance, &waiting);
	else
		status = run_intervals(instance, &waiting);
	if (!record_stop() && !status)
		status = STATUS_INCOMPLETE;
	instance_destroy_all();
	return status;
}

int main(int argc, char **argv)
{
	bool report = argc > 1 && !strcmp(argv[1], "report");
	sigset_t none;
	int status;

	argc -= report;
	argv += report;
	parse_options(argc, argv, report);
	if (report) {
		options.buckets = EXACT;
		if (options.export)
			return export_main(argc - optind, argv + optind);
		output_check_width();
		return report_main(argc - optind, argv + optind);
	}
	status = run();
	if (stopped_by) {
		/* so that the parent sees which signal ended trapstat */
		signal(stopped_by, SIG_DFL);
		sigemptyset(&none);
		raise(stopped_by);
		sigprocmask(SIG_SETMASK, &none, NULL);
	}
	return status;
}
