// SPDX-License-Identifier: GPL-2.0
/*
 * What is done here outside of the program's own instance is undone by undo_all().
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invasive.h"
#include "memory.h"

#define KPROBE_EVENTS	TRACEFS "kprobe_events"
#define KPROBE_PROFILE	TRACEFS "kprobe_profile"
#define GROUP		"traps_invasive"
#define OPTIMIZATION	"/proc/sys/debug/kprobes-optimization"

/* --- Files */

int other_create(void)
{
	undo_later(trace_remove, OTHER, "");
	return mkdir(OTHER, 0700) ? -errno : 0;
}

int other_remove(void)
{
	return trace_remove(OTHER, "");
}

bool trace_has_tracer(const char *name)
{
	return file_has_word(TRACEFS "available_tracers", name);
}

bool trace_is_on(const char *file)
{
	char *text = trace_read(file);
	bool on = text && text[0] != '0';

	free(text);
	return on;
}

/* Empties a file that takes that as a command, such as trace. */
int trace_truncate(const char *file)
{
	int fd = trace_open(file, O_WRONLY | O_TRUNC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* What it changes may be busy for a while. */
int file_write_again(const char *path, const char *text)
{
	int error;

	for (int i = 0; (error = file_write(path, text)) && i < 3000; i++)
		usleep(10000);
	return error;
}

/* The number in the first line of a file that has the format, or -1. */
long file_number(const char *path, const char *format)
{
	char *text = file_read(path), *next = text, *line;
	long number = -1;

	while (next && (line = strsep(&next, "\n")) && sscanf(line, format, &number) != 1)
		;
	free(text);
	return number;
}

/* The sum of a number in the CPUs' stats, such as "entries"; less than 0: not there. */
long trace_stat(const char *name)
{
	char path[128], format[32];
	long sum = 0;

	snprintf(format, sizeof(format), "%s: %%ld", name);
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/stats", trace_instance, cpu);
		sum += file_number(path, format);
	}
	return sum;
}

bool kernel_is_preemptible(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT");
}

/* --- Memory */

void read_remotely(void *address)
{
	char byte;
	const struct iovec to = { &byte, 1 }, from = { address, 1 };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1)
		errno = 0;
}

/* Shared by a program's processes; NULL: cannot be made. */
struct spin *spin_map(void)
{
	void *map = mmap(NULL, sizeof(struct spin), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

int spin_during(int (*work)(pid_t spinning, int cpu))
{
	struct spin *spin = spin_map();
	int cpu = sched_getcpu(), status;
	pid_t pid = spin ? fork_bound() : -1;

	if (pid < 0)
		return -1;
	if (!pid) {
		while (!__atomic_load_n(&spin->begun, __ATOMIC_SEQ_CST))
			usleep(1000);
		status = work(getppid(), cpu);
		spin->end = 1;
		_exit(!!status);
	}
	raise_spin(spin);
	return waitpid(pid, &status, 0) == pid && !status ? 0 : -1;
}

/* --- Kprobe events */

static int kprobes;			/* how many */

static int remove_all(const char *path, const char *text)
{
	char *events = file_read(path);
	bool exists = events && strstr(events, GROUP "/");

	free(events);
	return exists ? file_write(path, text) : 0;
}

/* At a place, such as function+5; the event tells what, such as arg=$arg1. */
int kprobe_add(const char *place, const char *what)
{
	static bool prepared;
	char text[192];
	int ret;

	if (!prepared) {
		undo_later(remove_all, KPROBE_EVENTS, "-:" GROUP "/");
		/* What uses them is undone before. */
		undo_later(trace_remove, trace_instance, "");
		/* A breakpoint, not a jump instead of it. */
		if (!access(OPTIMIZATION, F_OK))
			file_change(OPTIMIZATION, "0");
		prepared = true;
	}
	snprintf(text, sizeof(text), "p:" GROUP "/probe_%d %s %s", kprobes, place, what);
	ret = file_write(KPROBE_EVENTS, text);
	kprobes += !ret;
	return ret;
}

/* Behind the first instruction, which may be a call of ftrace, used instead. */
int kprobe_add_in(const char *function)
{
	char place[160];
	int ret = -EINVAL;

	for (int offset = 5; offset < 32 && ret; offset++) {
		snprintf(place, sizeof(place), "%s+%d", function, offset);
		ret = kprobe_add(place, "");
	}
	return ret;
}

int kprobes_turn(bool on)
{
	return trace_write("events/" GROUP "/enable", on ? "1" : "0");
}

int kprobes_filter(const char *filter)
{
	return trace_write("events/" GROUP "/filter", filter);
}

int kprobes_remove(void)
{
	kprobes = 0;
	return kprobes_turn(false) ?: remove_all(KPROBE_EVENTS, "-:" GROUP "/");
}

/* How many of them were hit, also while another one was handled */
int kprobes_hit(void)
{
	char *text = file_read(KPROBE_PROFILE), *rest = text, *line;
	unsigned long hits, missed;
	int count = 0;

	while (rest && (line = strsep(&rest, "\n")))
		if (sscanf(line, " probe_%*d %lu %lu", &hits, &missed) == 2)
			count += hits + missed > 0;
	free(text);
	return count;
}

/* --- perf */

#define RING_SIZE	(33 * PAGE)

bool sampling_start(struct sampling *sampling, const char *event, pid_t pid)
{
	struct perf_event_attr attr = {
		.type			= PERF_TYPE_TRACEPOINT,
		.size			= sizeof(attr),
		.sample_period		= 1,
		.sample_type		= PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN |
					  PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user	= 0xff,
		.sample_stack_user	= 1024,
	};
	char file[64], *id;

	snprintf(file, sizeof(file), "events/traps/%s/id", event);
	id = trace_read(file);
	if (!id)
		return false;
	attr.config = atoi(id);
	free(id);
	sampling->fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (sampling->fd < 0)
		return false;
	sampling->ring = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			      sampling->fd, 0);
	return sampling->ring != MAP_FAILED;
}

void sampling_stop(struct sampling *sampling)
{
	munmap(sampling->ring, RING_SIZE);
	close(sampling->fd);
}

/* --- The modules */

static int module_unload(const char *name, const char *unused)
{
	/* A process that is being ended may still have its file open. */
	for (int i = 0; syscall(SYS_delete_module, name, O_NONBLOCK) && errno != ENOENT; i++) {
		if (errno != EAGAIN || i == 3000)
			return -errno;
		usleep(10000);
	}
	return 0;
}

int module_load_forever(const char *name)
{
	char path[64];
	int error = 0, fd;

	snprintf(path, sizeof(path), "test_modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		error = errno;
	close(fd);
	return error;
}

int module_load(const char *name)
{
	undo_later(module_unload, name, "");
	return module_load_forever(name);
}

int module_write(const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/kernel/debug/traps_raiser/%s", file);
	return -file_write(path, text);
}

int module_send_nmi(int cpu)
{
	char command[16];

	snprintf(command, sizeof(command), "nmi %d", cpu);
	return module_write("raise", command);
}
