// SPDX-License-Identifier: GPL-2.0
/* slowfault - page faults that are slow, of one cause at a time. See slowfault(1). */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096UL
#define MIB		(1UL << 20)
#define HUGE		(2 * MIB)
#define MS		1000000UL	/* nanoseconds */
#define MAX_LAPS	100000

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* --- the latencies that a user sees */

static uint64_t lap[MAX_LAPS], lap_begin;
static unsigned int nr_laps;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void begin(void)
{
	lap_begin = now();
}

static void end(void)
{
	uint64_t took = now() - lap_begin;

	if (nr_laps < MAX_LAPS)
		lap[nr_laps++] = took;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print_laps(const char *name)
{
	qsort(lap, nr_laps, sizeof(*lap), compare);
	printf("%s: %u steps, median %.1f us, slowest %.1f us\n", name, nr_laps,
	       lap[nr_laps / 2] / 1e3, lap[nr_laps - 1] / 1e3);
}

/* --- what the cases share */

static char *map_protected(size_t size, int protection)
{
	char *memory = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "%zu MiB of memory", size / MIB);
	return memory;
}

static char *map(size_t size)
{
	char *memory = map_protected(size, PROT_READ | PROT_WRITE);

	madvise(memory, size, MADV_NOHUGEPAGE);
	return memory;
}

static void touch(char *memory, size_t size)
{
	for (size_t at = 0; at < size; at += PAGE)
		((volatile char *)memory)[at] = 1;
}

static pthread_t start(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, function, arg);
	if (errno)
		err(1, "a thread");
	return thread;
}

/* A child that ends with its parent; it has touched @memory if @size is not 0. */
static pid_t start_child(char *memory, size_t size)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		touch(memory, size);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "the child has ended");
	close(ready[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- the cases; @cause is false if they are to run without what makes them slow */

static volatile bool stop;

static void *change_protection(void *memory)
{
	prctl(PR_SET_NAME, "writer");
	while (!stop) {
		mprotect(memory, 64 * MIB, PROT_READ);
		mprotect(memory, 64 * MIB, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* The first write to a mapping needs mmap_lock for a moment. */
static void lock(bool cause)
{
	const unsigned int nr = 200;
	char *area = map_protected(2 * nr * PAGE, PROT_NONE), *large = map(64 * MIB);
	pthread_t writer;

	/* Each other page becomes a mapping of its own. */
	for (unsigned int i = 0; i < nr; i++)
		mprotect(area + 2 * i * PAGE, PAGE, PROT_READ | PROT_WRITE);
	touch(large, 64 * MIB);
	if (cause)
		writer = start(change_protection, large);
	for (unsigned int i = 0; i < nr; i++) {
		usleep(2000);
		begin();
		touch(area + 2 * i * PAGE, PAGE);
		end();
	}
	stop = true;
	if (cause)
		pthread_join(writer, NULL);
}

static void swap(bool cause)
{
	const unsigned int nr = 256;
	char *memory = map(nr * PAGE);

	for (unsigned int i = 0; i < nr; i++)
		memset(memory + i * PAGE, i, PAGE);
	if (cause && madvise(memory, nr * PAGE, MADV_PAGEOUT))
		err(1, "MADV_PAGEOUT");
	for (unsigned int i = 0; i < nr; i++) {
		begin();
		touch(memory + i * 97 % nr * PAGE, PAGE);
		end();
	}
}

static void *fetch_pages(void *arg)
{
	const int *fd = arg;
	struct uffd_msg msg;

	prctl(PR_SET_NAME, "fetcher");
	for (unsigned int i = 1; read(*fd, &msg, sizeof(msg)) == sizeof(msg); i++) {
		struct uffdio_zeropage zero = {
			.range = { .start = msg.arg.pagefault.address & -PAGE, .len = PAGE },
		};

		usleep(i % 32 ? 500 : 40000);
		if (ioctl(*fd, UFFDIO_ZEROPAGE, &zero))
			err(1, "UFFDIO_ZEROPAGE");
	}
	return NULL;
}

static void uffd(bool cause)
{
	const unsigned int nr = 100;
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	static int fd;
	char *memory = map(nr * PAGE);

	if (cause) {
		fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
		range.range.start = (unsigned long)memory;
		range.range.len = nr * PAGE;
		if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
			err(1, "userfaultfd");
		start(fetch_pages, &fd);
	}
	for (unsigned int i = 0; i < nr; i++) {
		begin();
		touch(memory + i * PAGE, PAGE);
		end();
	}
}

static void limit(bool cause)
{
	const unsigned int nr = cause ? 48 : 8;

	for (unsigned int i = 0; i < nr; i++) {
		char *memory = map(MIB);

		begin();
		touch(memory, MIB);
		end();
	}
}

/* @nr huge pages, none of them touched */
static char *map_huge(unsigned int nr, int advice)
{
	char *memory = map_protected((nr + 1) * HUGE, PROT_READ | PROT_WRITE);

	memory = (char *)(((unsigned long)memory + HUGE - 1) & -HUGE);
	if (madvise(memory, nr * HUGE, advice))
		err(1, "transparent huge pages");
	return memory;
}

static void touch_huge(char *memory, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		begin();
		touch(memory + i * HUGE, PAGE);
		end();
	}
}

static void huge(bool cause)
{
	touch_huge(map_huge(32, cause ? MADV_HUGEPAGE : MADV_NOHUGEPAGE), 32);
}

/* A write to a huge page that a child has, too: one page of 4 KiB is copied. */
static void split(bool cause)
{
	char *memory = map_huge(16, MADV_HUGEPAGE);
	pid_t child = 0;

	touch(memory, 16 * HUGE);
	if (cause)
		child = start_child(NULL, 0);
	touch_huge(memory, 16);
	if (child)
		end_child(child);
}

static void *take_the_cpu(void *arg)
{
	const struct sched_param priority = { .sched_priority = 10 };
	uint64_t until;

	(void)arg;
	prctl(PR_SET_NAME, "realtime");
	errno = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
	if (errno)
		err(1, "SCHED_FIFO");
	while (!stop) {
		usleep(10000);
		for (until = now() + 5 * MS; now() < until; )
			;
	}
	return NULL;
}

static void preempt(bool cause)
{
	char *memory = map(64 * PAGE);
	uint64_t until;
	cpu_set_t cpu;
	pthread_t thread;

	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		err(1, "sched_setaffinity");
	if (cause)
		thread = start(take_the_cpu, NULL);
	until = now() + 300 * MS;
	do {
		madvise(memory, 64 * PAGE, MADV_DONTNEED);
		begin();
		touch(memory, 64 * PAGE);
		end();
	} while (now() < until);
	stop = true;
	if (cause)
		pthread_join(thread, NULL);
}

/* Of the program's file. */
static const char text[MIB] __attribute__((aligned(PAGE))) = { 1 };

/* What is not mapped yet is dropped from memory again: the kernel has read ahead. */
static void read_text(bool cause)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (cause)
		posix_fadvise(self, 0, 0, POSIX_FADV_DONTNEED);
	madvise((void *)text, sizeof(text), MADV_RANDOM);
	for (size_t at = 0; at < sizeof(text); at += 16 * PAGE)
		(void)((const volatile char *)text)[at];
	close(self);
}

static char copy[PATH_MAX];
static pid_t copier;

static void remove_copy(void)
{
	if (getpid() == copier)
		unlink(copy);
}

static void interrupted(int signal_number)
{
	remove_copy();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void copy_myself(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t size;
	int to;

	atexit(remove_copy);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	signal(SIGHUP, interrupted);
	to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (from < 0 || to < 0)
		err(1, "%s", copy);
	copier = getpid();
	while ((size = sendfile(to, from, NULL, MIB)) > 0)
		;
	if (size || fsync(to))
		err(1, "%s", copy);
	close(from);
	close(to);
}

static void cold(bool cause)
{
	int status;
	pid_t pid;

	snprintf(copy, sizeof(copy), "%s/slowfault.copy", getenv("LENT") ?: ".");
	copy_myself();
	for (int i = 0; i < 3; i++) {
		begin();
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			if (cause && !i)
				execl(copy, copy, "start", NULL);
			else
				execl(copy, copy, "-n", "start", NULL);
			err(1, "%s", copy);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			errx(1, "%s did not run to its end", copy);
		end();
	}
}

/* Each twentieth step needs new memory. */
static void many(bool cause)
{
	char *old = map(4 * MIB);

	touch(old, 4 * MIB);
	for (unsigned int i = 1; i <= 100; i++) {
		char *memory = cause && i % 20 == 0 ? map(4 * MIB) : old;

		begin();
		touch(memory, 4 * MIB);
		end();
		if (memory != old)
			munmap(memory, 4 * MIB);
	}
}

static void bind_memory(char *memory, size_t size, int mode, unsigned long nodes)
{
	if (syscall(SYS_mbind, memory, size, mode, mode == MPOL_DEFAULT ? NULL : &nodes,
		    mode == MPOL_DEFAULT ? 0UL : 64UL, 0))
		err(1, "memory of node 1: is there one?");
}

/* Without the cause it is not to be moved. */
static void numa(bool cause)
{
	const size_t size = 16 * MIB;
	char *memory = map(size);
	uint64_t until;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	if (sched_setaffinity(0, sizeof(cpu), &cpu))
		err(1, "CPU 0");
	bind_memory(memory, size, MPOL_BIND, 1UL << 1);
	touch(memory, size);
	if (cause)
		bind_memory(memory, size, MPOL_DEFAULT, 0);
	until = now() + 4000 * MS;
	do {
		begin();
		for (int i = 0; i < 8; i++)
			touch(memory, size);
		end();
	} while (now() < until);
}

/* The memory of another process is written; without the cause it is present. */
static void remote(bool cause)
{
	const size_t size = 16 * MIB, step = 64 * PAGE;
	char *memory = map(size), *data = map(step);
	struct iovec from = { .iov_base = data, .iov_len = step };
	struct iovec to = { .iov_base = memory, .iov_len = step };
	pid_t child = start_child(memory, cause ? 0 : size);

	touch(data, step);
	for (size_t at = 0; at < size; at += step) {
		to.iov_base = memory + at;
		begin();
		if (process_vm_writev(child, &from, 1, &to, 1, 0) != (ssize_t)step)
			err(1, "process_vm_writev");
		end();
	}
	end_child(child);
}

static const struct {
	const char *name;
	void (*run)(bool cause);
	const char *what;
} cases[] = {
	{ "lock", lock, "writes to new mappings; a thread changes the protection of 64 MiB" },
	{ "swap", swap, "writes to pages that were swapped out" },
	{ "uffd", uffd, "writes to pages that a thread fetches: userfaultfd" },
	{ "limit", limit, "writes to 48 MiB of new memory, in steps of 1 MiB" },
	{ "huge", huge, "writes to new huge pages" },
	{ "split", split, "writes to huge pages that a child shares" },
	{ "preempt", preempt, "writes to new pages; a real-time thread takes the CPU" },
	{ "cold", cold, "starts a copy of itself that is not in memory" },
	{ "many", many, "writes to 4 MiB; in each twentieth step the memory is new" },
	{ "numa", numa, "writes to 16 MiB on another NUMA node" },
	{ "remote", remote, "writes to new memory of another process" },
	{ "start", read_text, NULL },
};

static void check_output(void)
{
	if (fflush(stdout) || ferror(stdout)) {
		warn("standard output");
		_exit(1);
	}
}

static int usage(FILE *file)
{
	fputs("usage: slowfault [-n] CASE\n"
	      "  -n  without what makes it slow\n\n", file);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].what)
			fprintf(file, "%-8s %s\n", cases[i].name, cases[i].what);
	}
	return file == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	bool cause = argc < 2 || strcmp(argv[1], "-n");
	char **arg = argv + 1 + !cause;

	atexit(check_output);
	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return usage(stdout);
	if (!*arg && !cause)
		errx(2, "-n: without the cause of which case?");
	if (!*arg)
		return usage(stdout);
	if (arg[1])
		errx(2, "%s: unexpected, one case at a time", arg[1]);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(*arg, cases[i].name))
			continue;
		/* Recording its own faults is none of a step's time. */
		touch((char *)lap, sizeof(lap));
		cases[i].run(cause);
		if (cases[i].what)
			print_laps(*arg);
		return 0;
	}
	errx(2, "there is no case %s: slowfault tells what there is", *arg);
}
