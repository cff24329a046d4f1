// SPDX-License-Identifier: GPL-2.0
/*
 * trapstat - statistics of exceptions and page faults
 *
 * Options, and the loop that waits, reads and prints. See trapstat(8).
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <tracefs.h>
#include "trapstat.h"

#define MAX_PIDS	128
#define MAX_CPUS	8192
#define MAX_FDS		1024

struct options options = {
	.buckets = LOG2,
	.top = 10,
	.entries = 65536,
	.buffer_kb = 4096,
};

static struct {
	pid_t		pids[MAX_PIDS];
	size_t		nr_pids;
	char		**command;
	double		interval;
	unsigned long	count;		/* 0: for ever */
	unsigned int	nr_cpus;
	char		**columns;
} live = { .interval = 1 };

static volatile sig_atomic_t stopped_by, child_ended;
static pid_t child, self;

static const char usage[] =
	"usage: trapstat [-alstv] [options] [interval [count]]\n"
	"       trapstat [-alstv] [options] -c command [argument ...]\n"
	"       trapstat report [-alstv] [-n rows] [--json] file ...\n"
	"       trapstat report --chrome file ... >trace.json\n"
	"\n"
	"  -v  exceptions by vector and CPU (default)  -p PID,...  only these processes\n"
	"  -l  latencies                               -c          run a command, only it\n"
	"  -t  tasks                                   -o FILE     record with trace-cmd, too\n"
	"  -a  pages that faulted                      -m KB       its buffer per CPU (4096)\n"
	"  -s  where from                              -n ROWS     of -t, -a, -s (10)\n"
	"  -b NS  -l in steps of NS, not powers of 2   -S ENTRIES  of a histogram (65536)\n"
	"  --json  a line of JSON for each report      -h          this\n";

static void print_note(const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	fprintf(stderr, "trapstat: %s\n", text);
}

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_note(format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_note(format, args);
	va_end(args);
	exit(STATUS_FAILED);
}

void bad_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_note(format, args);
	va_end(args);
	exit(STATUS_USAGE);
}

void *allocate(void *old, size_t size)
{
	void *new = realloc(old, size);

	if (!new)
		die("out of memory");
	return new;
}

char *print_string(const char *format, ...)
{
	va_list args;
	char *text;
	int ret;

	va_start(args, format);
	ret = vasprintf(&text, format, args);
	va_end(args);
	if (ret < 0)
		die("out of memory");
	return text;
}

static unsigned long number(const char *what, const char *text, unsigned long min,
			    unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < min || value > max)
		bad_usage("%s: %s is not a number from %lu to %lu", what, text, min, max);
	return value;
}

static void parse_pids(char *list)
{
	char *pid;

	for (pid = strtok(list, ","); pid; pid = strtok(NULL, ",")) {
		if (live.nr_pids == MAX_PIDS)
			bad_usage("-p: more than %d processes", MAX_PIDS);
		live.pids[live.nr_pids++] = number("-p", pid, 1, INT_MAX);
	}
	if (!live.nr_pids)
		bad_usage("-p: which process?");
}

static void parse_interval(int nr, char **args)
{
	char *end;

	if (nr > 2)
		bad_usage("%s: unexpected; a command goes after -c", args[2]);
	if (nr > 0) {
		live.interval = strtod(args[0], &end);
		if (end == args[0] || *end || !(live.interval >= 0.01 && live.interval <= 86400))
			bad_usage("interval: %s is not a number of seconds from 0.01 to 86400",
				  args[0]);
	}
	if (nr > 1)
		live.count = number("count", args[1], 1, ULONG_MAX);
}

static void parse_options(int argc, char **argv, bool report)
{
	static const struct option names[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "chrome", no_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	const char *letters = report ? "+:alstvn:h" : "+:alstvb:cp:o:m:n:S:h";
	bool command = false;
	unsigned int i;
	int letter;

	while ((letter = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		switch (letter) {
		case 'v':
			options.table[BY_CPU] = true;
			break;
		case 'l':
			options.table[LATENCY] = true;
			break;
		case 't':
			options.table[TASKS] = true;
			break;
		case 'a':
			options.table[ADDRESSES] = true;
			break;
		case 's':
			options.table[FROM] = true;
			break;
		case 'b':
			options.buckets = number("-b", optarg, 2, 1000000000);
			break;
		case 'c':
			command = true;
			break;
		case 'p':
			parse_pids(optarg);
			break;
		case 'o':
			options.record = optarg;
			break;
		case 'm':
			options.buffer_kb = number("-m", optarg, 4, 16777216);
			break;
		case 'n':
			options.top = number("-n", optarg, 1, 1000000);
			break;
		case 'S':
			options.entries = number("-S", optarg, 128, 131072);
			break;
		case 'j':
			options.json = true;
			break;
		case 'C':
			options.chrome = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case ':':
			bad_usage("-%c needs an argument: see trapstat -h", optopt);
		default:
			if (optopt)
				bad_usage("there is no option -%c: see trapstat -h", optopt);
			bad_usage("there is no option %s: see trapstat -h", argv[optind - 1]);
		}
	}
	for (i = 0; i < TABLES && !options.table[i]; i++)
		;
	if (options.chrome && !report)
		bad_usage("--chrome: only of a report");
	if (options.chrome && (i < TABLES || options.json))
		bad_usage("--chrome: it has no tables: without -alstv and --json");
	options.table[BY_CPU] |= i == TABLES;
	if (report) {
		if (optind == argc)
			bad_usage("report: which file?");
	} else if (!command) {
		parse_interval(argc - optind, argv + optind);
	} else if (optind == argc) {
		bad_usage("-c: which command?");
	} else if (live.nr_pids) {
		bad_usage("-c and -p: only one of them");
	} else {
		live.command = argv + optind;
	}
}

static void on_signal(int signal)
{
	if (signal == SIGCHLD)
		child_ended = 1;
	else
		stopped_by = signal;
}

/* The signals come only while trapstat waits, in @waiting. */
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

/* Also called when something fails; not in a child that has not become another program. */
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

/* It may have been trace-cmd. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { };

	return pid && !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == pid;
}

/* Until @deadline (0: none), a signal, or the end of the command. */
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
			/* an interrupt of the terminal has reached the command, too */
			if (stopped_by != SIGINT && stopped_by != SIGQUIT)
				kill(child, stopped_by);
			stopped_by = 0;
		}
		if (child_ended && !has_ended(child))
			child_ended = 0;
	}
}

/* The CPUs of a list such as "0-3,8" have columns; the last number of it. */
static unsigned int read_cpus(const char *name, bool columns)
{
	char *path = print_string("/sys/devices/system/cpu/%s", name);
	unsigned int first, last = 0, cpu;
	FILE *file = fopen(path, "r");

	while (file && fscanf(file, "%u", &first) == 1) {
		last = first;
		if (fscanf(file, "-%u", &last) < 0)
			last = first;
		for (cpu = first; columns && cpu <= last; cpu++)
			live.columns[cpu] = print_string("cpu%u", cpu);
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
	live.nr_cpus = read_cpus("possible", false) + 1;
	live.columns = allocate(NULL, live.nr_cpus * sizeof(*live.columns));
	memset(live.columns, 0, live.nr_cpus * sizeof(*live.columns));
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

/* What there was since *@begin, which becomes now. */
static int report_since(struct tracefs_instance *instance, double *begin, bool last)
{
	struct sample sample = { .rates = !live.command };
	double end = now();
	size_t i;
	int ret;

	hist_read(instance, &sample, last);
	sideband_read();
	for (i = TASKS; i < TABLES; i++)
		update_names(&sample.table[i]);
	sample.seconds = end - *begin;
	*begin = end;
	sample.columns = live.columns;
	sample.nr_columns = live.nr_cpus;
	for (i = 0; i < sample.table[BY_CPU].nr; i++) {
		if (!live.columns[sample.table[BY_CPU].row[i].cpu])
			live.columns[sample.table[BY_CPU].row[i].cpu] =
				print_string("cpu%u", sample.table[BY_CPU].row[i].cpu);
	}
	if (live.command)
		sample.title = live.command[0];
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
		die("%s: %s", live.command[0], strerror(errno));
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

	for (i = 0; !live.count || i < live.count; i++) {
		deadline += live.interval;
		wait_until(deadline, waiting);
		if (stopped_by)
			break;
		ret = report_since(instance, &begin, i + 1 == live.count);
		status = ret ? ret : status;
		if (ferror(stdout)) {	/* output() has seen to anything but a closed pipe */
			stopped_by = SIGPIPE;
			break;
		}
		if (begin > deadline + live.interval)
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
	/* memory that is used again is no page fault of our own */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	instance_remove_dead();
	names_live();
	find_cpus();
	places = options.table[ADDRESSES] || options.table[FROM];
	if (places)
		symbols_live();
	if (places || options.table[TASKS] || options.record)
		sideband_start(live.nr_cpus);
	if ((places || options.record) && !live.command)
		maps_read_running();
	instance = instance_create("", NULL);
	tracefs_instance_set_buffer_size(instance, 4, -1);	/* nothing is recorded in it */
	if (live.command) {
		child = command_fork(live.command);
		live.pids[live.nr_pids++] = child;
	}
	if (live.nr_pids)
		instance_set_pids(instance, live.pids, live.nr_pids);
	if (options.record)
		record_start(live.pids, live.nr_pids);
	hist_start(instance, live.nr_cpus);
	if (live.command)
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
		if (options.chrome)
			return chrome_main(argc - optind, argv + optind);
		output_check_width();
		return report_main(argc - optind, argv + optind);
	}
	status = run();
	if (stopped_by) {
		/* so that the parent sees what has ended trapstat */
		signal(stopped_by, SIG_DFL);
		sigemptyset(&none);
		raise(stopped_by);
		sigprocmask(SIG_SETMASK, &none, NULL);
	}
	return status;
}
