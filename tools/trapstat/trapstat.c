// SPDX-License-Identifier: GPL-2.0
/*
 * trapstat - statistics of exceptions and page faults
 *
 * The loop that waits, reads and prints.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/capability.h>
#include <tracefs.h>
#include "trapstat.h"

#define MAX_FDS		(MAX_CPUS + MAX_PIDS + 8)
#define PATIENCE	1	/* s: how long who reads the output may take after a signal */
#define GRACE		5	/* s: how long the command may take to end */
#define TOGETHER	1	/* s: signals of one stop, as timeout(1) sends two */
#define DEFAULT_ADDRESS	"127.0.0.1:10414"
#define TICK		1.0	/* s: how often the kernel's histograms are read, at least */
#define MAX_GONE	4096	/* tasks that have ended, and are remembered until counts are read */

static unsigned int nr_cpus;
static char **columns;
static volatile sig_atomic_t stopped_by, by_terminal;
static double signaled_at;
static pid_t child, self;
static bool child_runs;
static struct tracefs_instance *instance;	/* of the histograms; NULL: BPF counts */
static char *source;
static struct sample current, total;
static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGPIPE };
#define NR_SIGNALS	(sizeof(signals) / sizeof(*signals))
static struct sigaction inherited[NR_SIGNALS];
static sigset_t inherited_mask, waiting_mask;
static volatile sig_atomic_t writing;
static struct rlimit inherited_files;

double clock_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (signal != SIGCHLD) {
		stopped_by = signal;
		signaled_at = clock_now();
		by_terminal = info->si_code == SI_KERNEL;
		if (writing)
			alarm(PATIENCE);
	}
}

/* Nobody reads the terminal or standard error. */
static void give_up(int alarm)
{
	int by = stopped_by ? stopped_by : alarm;

	if (child)
		kill(child, by);
	signal(by, SIG_DFL);
	raise(by);
}

/*
 * What is written until write_ends() may wait for who reads it, but not for long after a
 * signal. Then the signal ends trapstat at once; the next one removes what it leaves.
 */
void write_begins(void)
{
	if (getpid() != self)
		return;
	signal(SIGALRM, give_up);
	writing = 1;
	sigprocmask(SIG_SETMASK, &waiting_mask, NULL);
	if (stopped_by)
		alarm(PATIENCE);
}

void write_ends(void)
{
	sigset_t blocked;
	unsigned int i;

	if (!writing)
		return;
	sigemptyset(&blocked);
	for (i = 0; i < NR_SIGNALS; i++)
		sigaddset(&blocked, signals[i]);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	alarm(0);
	writing = 0;
}

/*
 * Block signals; trapstat receives them only while it waits, with the mask @waiting. nohup
 * ignores SIGHUP, and that stays so. A shell's SIGINT for "trapstat &" does not.
 */
static void catch_signals(sigset_t *waiting)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t blocked;
	unsigned int i;
	bool kept;

	sigemptyset(&blocked);
	for (i = 0; i < NR_SIGNALS; i++)
		sigaddset(&blocked, signals[i]);
	sigprocmask(SIG_BLOCK, &blocked, &inherited_mask);
	*waiting = inherited_mask;
	for (i = 0; i < NR_SIGNALS; i++) {
		sigaction(signals[i], NULL, &inherited[i]);
		kept = signals[i] == SIGHUP && inherited[i].sa_handler == SIG_IGN;
		if (signals[i] == SIGINT || signals[i] == SIGQUIT)
			inherited[i].sa_handler = SIG_DFL;
		sigaction(signals[i], signals[i] == SIGPIPE || kept ? &ignore : &action, NULL);
		sigdelset(waiting, signals[i]);
	}
	waiting_mask = *waiting;
}

/*
 * In a child: as they were when trapstat was started, but SIGINT and SIGQUIT end it. One that
 * is pending may end the child at once.
 */
void restore_signals(void)
{
	unsigned int i;

	for (i = 0; i < NR_SIGNALS; i++)
		sigaction(signals[i], &inherited[i], NULL);
	sigprocmask(SIG_SETMASK, &inherited_mask, NULL);
	setrlimit(RLIMIT_NOFILE, &inherited_files);
}

/* perf and libbpf open files for each CPU. */
static void allow_files(void)
{
	struct rlimit all;

	getrlimit(RLIMIT_NOFILE, &inherited_files);
	all = inherited_files;
	all.rlim_cur = all.rlim_max;
	setrlimit(RLIMIT_NOFILE, &all);
}

/* Write to standard output; a signal ends that if nobody reads. @waiting: its mask, as below */
static ssize_t write_out(void *waiting, const char *text, size_t size)
{
	struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };
	const struct timespec patience = { .tv_sec = PATIENCE };
	static bool given_up;
	sigset_t blocked;
	size_t done = 0;
	ssize_t ret;

	while (done < size && !given_up) {
		errno = EINTR;
		ret = ppoll(&fd, 1, stopped_by ? &patience : NULL, waiting);
		if (ret > 0) {
			sigprocmask(SIG_SETMASK, waiting, &blocked);
			ret = write(STDOUT_FILENO, text + done,
				    size - done < PIPE_BUF ? size - done : PIPE_BUF);
			sigprocmask(SIG_SETMASK, &blocked, NULL);
		}
		if (ret > 0)
			done += ret;
		else
			given_up = !ret || errno != EINTR || stopped_by;
	}
	return done;
}

static void stop_counting(void)
{
	if (bpf_stop)
		bpf_stop();
	instance_destroy_all();
}

/* Also called on errors. Does nothing in a child, which has not called exec yet. */
static void clean_up(void)
{
	if (getpid() != self)
		return;
	if (screen_close)
		screen_close();
	if (child)	/* one that waits for command_go() blocks signals */
		end_child(child, child_runs ? SIGTERM : SIGKILL, GRACE, false);
	child = 0;
	record_stop();
	stop_counting();
}

/* So that the parent sees which signal ended trapstat */
static void die_of_signal(void)
{
	sigset_t none;

	signal(stopped_by, SIG_DFL);
	sigemptyset(&none);
	raise(stopped_by);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Sleep, at most until a signal. Returns whether one has come that ends trapstat. */
bool sleep_ms(unsigned int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000 };

	ppoll(NULL, 0, &time, &waiting_mask);
	return stopped_by;
}

/*
 * End @pid by @signal. Another signal to trapstat ends it by SIGKILL, and so do @patience seconds;
 * if it @works, only those count since it last used CPU. Returns its status.
 */
int end_child(pid_t pid, int signal, double patience, bool works)
{
	double begin = clock_now(), deadline = begin + patience, look_at = begin, now;
	long long cpu, before = 0;
	int status = 0;

	for (kill(pid, signal); !waitpid(pid, &status, WNOHANG); sleep_ms(100)) {
		now = clock_now();
		if (works && now >= look_at) {
			cpu = tasks_cpu(pid);
			if (cpu != before)
				deadline = now + patience;
			before = cpu;
			look_at = now + 1;
		}
		if (now > deadline || signaled_at > begin + TOGETHER)
			kill(pid, SIGKILL);
	}
	return status;
}

/* Where nothing is counted yet */
void end_if_signaled(void)
{
	if (!stopped_by)
		return;
	clean_up();
	die_of_signal();
}

/* SIGCHLD is not only of the command. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { };

	return pid && !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == pid;
}

/*
 * The command's own terminal has sent it the same signal. Of the others, the first is for the
 * command, and a later one ends it.
 */
static void pass_on_signal(void)
{
	static double passed_at;

	if (!by_terminal) {
		kill(child, passed_at && signaled_at > passed_at + TOGETHER ? SIGKILL : stopped_by);
		passed_at = passed_at ?: signaled_at;
	}
	stopped_by = 0;
}

static bool keeps_keys(void)
{
	return options.table[TASKS] || options.table[ADDRESSES] || options.table[FROM];
}

/*
 * Wait until @deadline (0: none). Returns whether it is the end: a signal, or that of the
 * command or of the processes. A key or a resized terminal ends the wait, too.
 */
static bool wait_until(double deadline, const sigset_t *waiting)
{
	double tick = instance && keeps_keys() ? clock_now() + TICK : 0, next, left;
	struct pollfd fds[MAX_FDS] = {
		{ .fd = instance ? -1 : bpf_wake_fd(), .events = POLLIN },
		{ .fd = options.screen ? STDIN_FILENO : -1, .events = POLLIN },
		{ .fd = record_fd(), .events = POLLIN },
	};
	struct timespec timeout;
	double serve;
	size_t nr;
	int ret;

	for (;;) {
		nr = 3 + tasks_poll(fds + 3, MAX_PIDS);
		nr += sideband_poll(fds + nr, MAX_FDS - nr - 1);
		fds[nr++] = (struct pollfd){ .fd = options.serve ? serve_fd() : -1, .events = POLLIN };
		next = tick && (!deadline || tick < deadline) ? tick : deadline;
		serve = options.serve ? serve_timeout() : -1;
		if (serve >= 0 && (!next || clock_now() + serve < next))
			next = clock_now() + serve;
		left = !stopped_by && next > clock_now() ? next - clock_now() : 0;
		timeout.tv_sec = left;
		timeout.tv_nsec = (left - timeout.tv_sec) * 1e9;
		ret = ppoll(fds, nr, next || stopped_by ? &timeout : NULL, waiting);
		if (ret > 0) {
			sideband_read();
			if (fds[0].revents ||
			    (!instance && !options.record && maps_nr_gone() > MAX_GONE))
				bpf_drain(&current);
		}
		if (options.serve)
			serve_run();
		if (options.screen && ret > 0 && fds[1].revents & (POLLHUP | POLLERR))
			stopped_by = SIGHUP;
		if (child && stopped_by)
			pass_on_signal();
		if (stopped_by || has_ended(child) || (tasks_ended() && !options.screen))
			return true;
		/* trace-cmd ends with the processes, too */
		if (ret > 0 && fds[2].revents)
			record_failed();
		if (options.screen && (ret < 0 || fds[1].revents))
			return false;
		if (deadline && clock_now() >= deadline)
			return false;
		if (tick && clock_now() >= tick) {
			hist_read(instance, &current, false);
			tick = clock_now() + TICK;
		}
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
		if (fgetc(file) != ',')
			break;
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

static void check_cpus(void)
{
	unsigned int cpu;

	for (cpu = nr_cpus; cpu < MAX_CPUS; cpu++) {
		if (options.cpus[cpu])
			bad_usage("-C: there is no CPU %u, the last one is %u", cpu, nr_cpus - 1);
	}
}

static void check_tables(void)
{
	enum table table;

	for (table = 0; table < TABLES; table++) {
		if (options.table[table] && table_empty(table))
			bad_usage("%s", table_empty(table));
	}
}

static double read_at;	/* when the counts were read: the end of an interval, and begin of the next */

static void read_counts(bool last)
{
	read_at = clock_now();
	if (instance)
		hist_read(instance, &current, last);
	else
		bpf_read(&current);
}

/* @sample was counted since @begin. */
static void complete(struct sample *sample, double begin, const char *title)
{
	double end = read_at > begin ? read_at : clock_now();
	static struct utsname host;
	struct timespec time;
	size_t i;

	clock_gettime(CLOCK_REALTIME, &time);
	/* names are looked up after the end */
	sample->time = time.tv_sec + time.tv_nsec / 1e9 - (clock_now() - end);
	sample->read_at = read_at;
	sample->seconds = end - begin;
	sample->title = title;
	sample->rates = !title;
	uname(&host);
	sample->host = host.nodename;
	sample->kernel = host.release;
	sample->source = source;
	sample->buckets = instance ? "log2" : "log-linear";
	sample->no_flags = instance;
	sample->columns = columns;
	sample->nr_columns = nr_cpus;
	sample_merge(sample);
	for (i = 0; i < sample->rows[BY_CPU].nr; i++) {
		if (!columns[sample->rows[BY_CPU].row[i].cpu])
			columns[sample->rows[BY_CPU].row[i].cpu] =
				print_string("cpu%u", sample->rows[BY_CPU].row[i].cpu);
	}
}

static int report(struct sample *sample, double begin, const char *title)
{
	complete(sample, begin, title);
	return output(sample);
}

/* Report until the end, and then the sum if it is asked for. */
static int run_reports(const sigset_t *waiting)
{
	bool sum = options.total || options.command, end = false;
	double start = clock_now(), begin = start, deadline = 0;
	int status = 0, ret;
	unsigned long i;

	if (options.interval)
		deadline = start;
	for (i = 0; !end && (!options.count || i < options.count); i++) {
		if (options.interval)
			deadline += options.interval;
		end = wait_until(deadline, waiting);
		if (end && !sum && !tasks_ended())
			break;
		read_counts(end || i + 1 == options.count);
		if (sum)
			sample_add(&total, &current);
		if (!end || !sum) {
			ret = report(&current, begin, NULL);
			status = ret ? ret : status;
		}
		sample_free(&current);
		begin = read_at;
		if (ferror(stdout)) {	/* output() exits on errors but a closed pipe and a signal */
			stopped_by = stopped_by ? stopped_by : SIGPIPE;
			return status;
		}
		if (options.interval && clock_now() > deadline + options.interval)
			deadline = clock_now();
	}
	if (sum) {
		ret = report(&total, start, options.command ? options.command[0] : "total");
		status = ret ? ret : status;
	}
	return status;
}

/* The counts since the start */
static const struct sample *read_total(void)
{
	read_counts(false);
	sample_add(&total, &current);
	sample_free(&current);
	current.lines[TASKS].known = &total.lines[TASKS];
	sample_merge(&total);
	return &total;
}

/* To read what BPF counts needs none. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { };

	if (syscall(SYS_capset, &header, none))
		die("serve: cannot give up its capabilities: %s", strerror(errno));
}

static int run_metrics(const sigset_t *waiting)
{
	bool end = false, saved;
	double deadline = clock_now();
	unsigned long i;

	total.no_flags = instance;
	current.lines[TASKS].known = &total.lines[TASKS];
	metrics_begin(&total);
	if (options.serve) {
		serve_start(options.serve, read_total);
		if (!instance)
			drop_capabilities();
		wait_until(0, waiting);
		serve_stop();
		return 0;
	}
	saved = metrics_save(options.openmetrics, read_total());
	if (!saved)
		return STATUS_FAILED;
	for (i = 0; !end && (!options.count || i < options.count); i++) {
		deadline += options.interval;
		end = wait_until(deadline, waiting);
		saved = metrics_save(options.openmetrics, read_total());
		if (clock_now() > deadline + options.interval)
			deadline = clock_now();
	}
	return saved ? 0 : STATUS_FAILED;
}

static int run_command(const sigset_t *waiting)
{
	int status, ret;

	command_go();
	child_runs = true;
	ret = run_reports(waiting);
	/* it has ended, or the pipe was closed */
	status = end_child(child, SIGTERM, GRACE, false);
	child = 0;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : ret;
}

/* Counts by BPF or, where that cannot be, by the kernel's histograms. */
static void start_counting(void)
{
	const char *why = options.no_bpf ? "--no-bpf" : bpf_start ? bpf_start() :
			  "trapstat was built without it; to build it in, install clang, bpftool and libbpf-dev";
	unsigned int i;

	free(source);
	if (options.nr_pids)
		tasks_each(options.pids, options.nr_pids, maps_know);
	if (!why) {
		source = print_string("BPF");
		bpf_go();
		/* twice, because of those that were created meanwhile */
		for (i = 0; i < 2 && options.nr_pids; i++)
			tasks_each(options.pids, options.nr_pids, bpf_count_task);
		return;
	}
	if (options.serve && geteuid())
		die("serve: cannot count by BPF: %s; histograms need root", why);
	if (options.table[TASKS] && options.group != THREAD && options.group != COMMAND)
		die("-g: threads and commands only, as histograms count (BPF: %s)", why);
	if (options.table[OUTCOMES])
		die("-f: not by histograms (BPF: %s)", why);
	if (options.some_cpus)
		die("-C: not by histograms (BPF: %s)", why);
	if (!tracefs_event_file_exists(NULL, SYSTEM, "trap_entry", "hist"))
		die("this kernel has no histograms: it needs CONFIG_HIST_TRIGGERS (BPF: %s)", why);
	source = print_string("histograms (BPF: %s)", why);
	instance = instance_create("", NULL);
	tracefs_instance_set_buffer_size(instance, 4, -1);	/* nothing is recorded here */
	instance_choose(instance);
	hist_start(instance, nr_cpus);
}

/* What the tables need beside counts: the names of tasks, what is mapped, symbols */
static void start_names(void)
{
	bool places = options.table[ADDRESSES] || options.table[FROM];
	bool mappings = places || options.record, some = options.nr_pids || options.command;
	bool names = mappings || (options.table[TASKS] && options.group < COMMAND);
	static bool have_names, have_mappings;
	const char *why = some || options.record ? tasks_unknown() : NULL;
	enum table table;

	for (table = 0; table < TABLES && !why; table++)
		why = options.table[table] ? table_unknown(table) : NULL;
	if (why)
		die("%s", why);
	if (places)
		symbols_live();
	if ((mappings && !have_mappings) || (names && !have_names)) {
		maps_begin(mappings, some);
		sideband_start(nr_cpus, mappings);
		if (mappings && !some)
			maps_read_running();
		have_names = true;
		have_mappings = mappings;
	}
}

static void restart_counting(void)
{
	stop_counting();
	hist_stop();
	instance = NULL;
	sample_free(&current);
	start_names();
	start_counting();
	total.source = source;
}

/* Show intervals until q or a signal. */
static void run_screen(const sigset_t *waiting)
{
	double begin = clock_now();
	enum screen_act act;

	complete(&total, begin, NULL);
	screen_open(&total);
	while ((act = screen_keys(&total)) != SCREEN_QUIT) {
		if (act == SCREEN_RESTART) {
			restart_counting();
			begin = clock_now();
		}
		if (wait_until(begin + options.interval, waiting))
			break;
		if (clock_now() < begin + options.interval)
			continue;
		read_counts(false);
		if (screen_frozen()) {
			sample_free(&current);
		} else {
			sample_free(&total);
			total = current;
			memset(&current, 0, sizeof(current));
			complete(&total, begin, NULL);
		}
		begin = clock_now();
	}
	screen_close();
}

static int run(void)
{
	static sigset_t waiting;
	int status = 0;

	instance_check();
	names_live();
	if (options.vector_list)
		choose_vectors(options.vector_list);
	catch_signals(&waiting);
	if (!options.screen)
		stdout = fopencookie(&waiting, "w", (cookie_io_functions_t){ .write = write_out });
	if (!stdout)
		die("out of memory");
	allow_files();
	self = getpid();
	atexit(clean_up);
	/* keep freed memory, so that trapstat itself takes fewer page faults */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	instance_remove_dead();
	find_cpus();
	check_cpus();
	check_tables();
	if (options.screen)
		screen_choose();
	start_names();
	tasks_open(options.pids, options.nr_pids);
	if (options.command) {
		child = command_fork(options.command);
		options.pids[options.nr_pids++] = child;
	}
	if (options.record)
		record_start(options.pids, options.nr_pids);
	start_counting();
	if (options.screen)
		run_screen(&waiting);
	else
		status = options.metrics ? run_metrics(&waiting) :
			 options.command ? run_command(&waiting) : run_reports(&waiting);
	if (!record_stop() && !status)
		status = STATUS_INCOMPLETE;
	stop_counting();
	return status;
}

/* Recordings and programs are mapped. */
static void on_short_file(int sig __attribute__((unused)))
{
	static const char said[] = "trapstat: a file became shorter while it was read\n";

	if (write(STDERR_FILENO, said, sizeof(said) - 1))
		_exit(STATUS_FAILED);
}

int main(int argc, char **argv)
{
	bool report = argc > 1 && !strcmp(argv[1], "report");
	bool serve = argc > 1 && !strcmp(argv[1], "serve");
	int status;

	/* No file that is opened later is taken for a standard one that is closed. */
	while ((status = open("/dev/null", O_RDONLY)) >= 0 && status <= STDERR_FILENO)
		;
	close(status);
	setlocale(LC_CTYPE, "");
	options.screen = argc > 1 && !strcmp(argv[1], "top");
	argc -= report || serve || options.screen;
	argv += report || serve || options.screen;
	if (serve)
		options.serve = DEFAULT_ADDRESS;
	parse_options(argc, argv, report);
	if (report) {
		signal(SIGBUS, on_short_file);
		status = (options.perfetto ? export_main : report_main)(argc - optind, argv + optind);
		if (ferror(stdout))	/* where SIGPIPE is ignored */
			die("standard output: %s", strerror(EPIPE));
		return status;
	}
	status = run();
	if (stopped_by)
		die_of_signal();
	return status;
}
