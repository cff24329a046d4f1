// SPDX-License-Identifier: GPL-2.0
/* raise - raise exceptions of the CPU, so many of each. See raise(1). */
#define _GNU_SOURCE
#include <alloca.h>
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE		4096UL
#define FILE_PAGES	16UL
#define SLOW		100000		/* microseconds */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct exception {
	const char *name;
	const char *vector_name;
	int vector;
	int signal;				/* 0: none, a page fault that succeeds */
	const char *how;
	void (*once)(void);			/* raises one that ends in the signal */
	void (*touch)(unsigned long count);	/* raises page faults without a signal */
	bool major;
	const char *unless;			/* why it may not be raised */
};

#define NOT_TOLD	-1			/* of which vector a signal came */

/*
 * --- exceptions that end in a signal; whose handler never returns to these functions
 *
 * Those of the architecture, and what else depends on it: the name and the number of the
 * vector of page faults, the vector of a signal, its handler's beginning.
 */

#ifdef __aarch64__
#include "arm64.h"
#else
#include "x86.h"
#endif

static void read_beyond(void)
{
	static volatile char *beyond;

	if (!beyond) {
		int fd = memfd_create("empty", 0);

		beyond = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
		if (beyond == MAP_FAILED)
			err(1, "bus: memory");
		close(fd);
	}
	(void)*beyond;
}

/* --- page faults that succeed: COUNT pages are touched */

/* Of the program's file. */
static char file_pages[FILE_PAGES * PAGE] __attribute__((aligned(PAGE))) = { 1 };

/* START is rounded up to a page. */
static void touch(char *start, unsigned long count)
{
	volatile char *memory = (char *)(((unsigned long)start + PAGE - 1) & -PAGE);

	madvise((char *)memory, count * PAGE, MADV_DONTNEED);
	while (count--)
		memory[count * PAGE] = 1;
}

static char *map_anonymous(unsigned long count)
{
	char *memory = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "%lu pages", count);
	madvise(memory, count * PAGE, MADV_NOHUGEPAGE);
	return memory;
}

static void touch_anon(unsigned long count)
{
	char *memory = map_anonymous(count);

	touch(memory, count);
	munmap(memory, count * PAGE);
}

static void touch_heap(unsigned long count)
{
	/* The kernel does not call it a heap before it has grown. */
	char *memory = sbrk(PAGE);

	if (sbrk((count + 1) * PAGE) == (void *)-1)
		err(1, "heap: %lu pages", count);
	memory += 2 * PAGE - 1;
	memory -= (unsigned long)memory % PAGE;
	madvise(memory, count * PAGE, MADV_NOHUGEPAGE);
	touch(memory, count);
}

static void touch_stack(unsigned long count)
{
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	if (count > limit.rlim_cur / PAGE / 2)
		errx(1, "stack: %lu pages are too much for it: see ulimit -s", count);
	/* What there is no memory for ends here, and not in a stack that cannot grow. */
	munmap(map_anonymous(count), count * PAGE);
	touch(alloca((count + 1) * PAGE), count);
}

static void touch_file(unsigned long count)
{
	for (; count > FILE_PAGES; count -= FILE_PAGES)
		touch(file_pages, FILE_PAGES);
	touch(file_pages, count);
}

static void touch_uncached(unsigned long count)
{
	const char *dir = getenv("TMPDIR") ?: "/var/tmp";
	char name[PATH_MAX];
	char *memory;
	int fd;

	snprintf(name, sizeof(name), "%s/raise.XXXXXX", dir);
	fd = mkstemp(name);
	if (fd < 0)
		err(1, "major: %s", dir);
	unlink(name);
	for (unsigned long i = 0; i < count; i++) {
		if (write(fd, file_pages, PAGE) != (ssize_t)PAGE)
			err(1, "major: %lu pages in %s", count, dir);
	}
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	memory = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED)
		err(1, "major: %lu pages", count);
	madvise(memory, count * PAGE, MADV_RANDOM);
	touch(memory, count);
	munmap(memory, count * PAGE);
	close(fd);
}

struct slow {
	int fd;
	unsigned long count;
};

static void *fill_slowly(void *arg)
{
	struct slow *slow = arg;
	struct uffd_msg msg;

	prctl(PR_SET_NAME, "filler");
	while (slow->count-- && read(slow->fd, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_zeropage zero = {
			.range = { .start = msg.arg.pagefault.address & -PAGE, .len = PAGE },
		};

		usleep(SLOW);
		if (ioctl(slow->fd, UFFDIO_ZEROPAGE, &zero))
			err(1, "slow: userfaultfd");
	}
	return NULL;
}

static void touch_slow(unsigned long count)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct slow slow = { .fd = fd, .count = count };
	char *memory = map_anonymous(count);
	pthread_t filler;

	range.range.start = (unsigned long)memory;
	range.range.len = count * PAGE;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		err(1, "slow: userfaultfd");
	errno = pthread_create(&filler, NULL, fill_slowly, &slow);
	if (errno)
		err(1, "slow: a thread");
	touch(memory, count);
	pthread_join(filler, NULL);
	munmap(memory, count * PAGE);
	close(fd);
}

/* --- what there is, by the names of the CPU's manual */

static const struct exception exceptions[] = {
	LOWER_VECTORS
	{ "segv", PAGE_FAULT, SIGSEGV, "Page Fault: a write to address 16", .once = write_null },
	{ "kernel", PAGE_FAULT, SIGSEGV, "a write to the kernel's memory", .once = write_kernel },
	{ "bus", PAGE_FAULT, SIGBUS, "a read beyond the end of a mapped file", .once = read_beyond },
	{ "anon", PAGE_FAULT, 0, "a write to a new page", .touch = touch_anon },
	{ "heap", PAGE_FAULT, 0, "a write to a new page of the heap", .touch = touch_heap },
	{ "stack", PAGE_FAULT, 0, "a write to a new page of the stack", .touch = touch_stack },
	{ "file", PAGE_FAULT, 0, "a write to a private page of a file", .touch = touch_file },
	{ "major", PAGE_FAULT, 0, "the same, the page is on the disk", .touch = touch_uncached,
	  .major = true, .unless = "files are in memory there: set TMPDIR to a directory on a disk" },
	{ "slow", PAGE_FAULT, 0, "a write to a page that takes 100 ms", .touch = touch_slow },
	HIGHER_VECTORS
};

static const struct exception *const end = exceptions + ARRAY_SIZE(exceptions);

static void print(const struct exception *e)
{
	char signal[16] = "no signal";

	if (e->signal)
		snprintf(signal, sizeof(signal), "SIG%s", sigabbrev_np(e->signal));
	printf("%-6s  %-*s  %-9s  %s\n", e->name, NAME_WIDTH, e->vector_name, signal, e->how);
}

/* --- raise them, and look what came */

static const int signals[] = { SIGFPE, SIGTRAP, SIGILL, SIGSEGV, SIGBUS };
static sigjmp_buf back;
static volatile int caught_signal, caught_vector;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)info;
	allow_misaligned();
	caught_signal = signal;
	caught_vector = vector_of(signal, &((ucontext_t *)context)->uc_mcontext);
	siglongjmp(back, 1);
}

/* 32-bit code may lose the upper half of the stack pointer: a stack for the handler. */
static void catch_signals(void)
{
	static char memory[1 << 14];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	const struct sigaction action = {
		.sa_sigaction	= on_signal,
		.sa_flags	= SA_SIGINFO | SA_ONSTACK,
	};

	/* Present, so that the kernel does not raise page faults on it. */
	memset(memory, 1, sizeof(memory));
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
}

static void release_signals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
}

/* Returns how many were raised. */
static unsigned long repeat(const struct exception *e, unsigned long count)
{
	volatile unsigned long left = count, raised = 0;

	catch_signals();
	while (left--) {
		caught_signal = 0;
		if (!sigsetjmp(back, 1))
			e->once();
		if (caught_signal == e->signal &&
		    (caught_vector == e->vector || caught_vector == NOT_TOLD))
			raised++;
	}
	release_signals();
	return raised;
}

static unsigned long page_faults(bool major)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt + (major ? 0 : usage.ru_minflt);
}

static bool raise_exception(const struct exception *e, unsigned long count, bool quiet)
{
	unsigned long raised;

	if (e->touch) {
		unsigned long before = page_faults(e->major);

		e->touch(count);
		raised = page_faults(e->major) - before;
		if (raised > count)
			raised = count;
	} else {
		raised = repeat(e, count);
	}
	if (!quiet && raised) {
		printf("%8lu  ", raised);
		print(e);
	}
	if (raised < count)
		warnx("%s: %lu of %lu raised%s%s", e->name, raised, count,
		      e->unless ? ": " : "", e->unless ?: "");
	return raised == count;
}

/* --- the command line */

struct order {
	const char *name;
	const struct exception *exception;	/* NULL: all, usleep, stop */
	unsigned long count;
};

static void list(void)
{
	const struct exception *e;

	for (e = exceptions; e < end; e++)
		print(e);
	puts("all     each of these\n"
	     "usleep  none: sleeps COUNT microseconds\n"
	     "stop    none: stops until SIGCONT, COUNT times");
}

static const struct exception *find(const char *name)
{
	const struct exception *e;

	for (e = exceptions; e < end; e++) {
		if (!strcmp(e->name, name))
			return e;
	}
	return NULL;
}

static unsigned long number(const char *name, const char *text)
{
	unsigned long count;
	char *rest;

	errno = 0;
	count = strtoul(text, &rest, 10);
	if (errno || *rest || !count || count > UINT_MAX)
		errx(2, "%s: %s is not a count from 1 to %u", name, text, UINT_MAX);
	return count;
}

/* Takes NAME [COUNT] from the arguments. */
static char **parse(char **arg, struct order *order)
{
	order->name = *arg++;
	order->exception = find(order->name);
	if (!order->exception && strcmp(order->name, "all") && strcmp(order->name, "usleep") &&
	    strcmp(order->name, "stop"))
		errx(2, "there is no %s: raise --list tells what there is", order->name);
	order->count = *arg && isdigit(**arg) ? number(order->name, *arg++) : 1;
	return arg;
}

static bool carry_out(const struct order *order, bool quiet)
{
	const struct exception *e;
	bool done = true;

	if (order->exception)
		return raise_exception(order->exception, order->count, quiet);
	if (!strcmp(order->name, "usleep"))
		return !usleep(order->count);
	if (!strcmp(order->name, "stop")) {
		for (unsigned long i = 0; i < order->count; i++)
			done &= !kill(getpid(), SIGSTOP);
		return done;
	}
	for (e = exceptions; e < end; e++)
		done &= raise_exception(e, order->count, quiet);
	return done;
}

int main(int argc, char **argv)
{
	bool quiet = argc > 1 && !strcmp(argv[1], "-q"), done = true;
	struct order orders[argc];
	char **arg = argv + 1 + quiet;
	bool help = !*arg || !strcmp(*arg, "-h") || !strcmp(*arg, "--help");
	int nr = 0;

	if (help)
		puts("usage: raise [-q] [NAME [COUNT]]...\n");
	if (help || !strcmp(*arg, "--list")) {
		list();
		return 0;
	}
	while (*arg)
		arg = parse(arg, &orders[nr++]);
	setlinebuf(stdout);
	for (int i = 0; i < nr; i++)
		done &= carry_out(&orders[i], quiet);
	return !done;
}
