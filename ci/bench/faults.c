// SPDX-License-Identifier: GPL-2.0
/*
 * faults - what an exception costs, in ns, each of which is an instruction in ci/bench's guests
 *
 * usage: faults [-r ROUNDS] [-o FILE] [-w TTY] KIND...
 *
 * Raises each KIND of exception BATCH times in a row, ROUNDS rounds, and prints
 *
 *	KIND <tab> best <tab> mean
 *
 * per exception, less what an empty loop takes. Best is the cheapest round: one
 * that no timer tick hit. Mean is over all rounds, for tracers whose readers run
 * now and then. In a guest that counts time in instructions, both are exact.
 *
 * -w: when the last round is about to begin, write the address of what is called
 * for each exception to TTY and wait for a byte; write another line at its end. For
 * who wants to watch the round from outside, see profile.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <ucontext.h>
#include <unistd.h>

#define BATCH		256
#define PAGE		4096UL
#define FAULT_AROUND	(16 * PAGE)	/* what one fault on a file maps */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static char *area;
static size_t stride, area_size;
static unsigned int insn_size;	/* of the instruction that a handler skips */

/* --- page faults: a mapping, of which each access touches one page */

static void map(size_t step, int flags, int fd)
{
	stride = step;
	area_size = BATCH * step;
	area = mmap(NULL, area_size, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (area == MAP_FAILED)
		err(1, "mmap");
	/* Huge pages would swallow the faults. */
	madvise(area, area_size, MADV_NOHUGEPAGE);
}

static void unmap(void)
{
	munmap(area, area_size);
}

static void map_anonymous(void)
{
	map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* A file whose pages are in the page cache. */
static void map_file(size_t step, int flags)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("faults", 0);
		if (fd < 0 || ftruncate(fd, BATCH * FAULT_AROUND))
			err(1, "memfd_create");
		map(FAULT_AROUND, MAP_SHARED | MAP_POPULATE, fd);
		memset(area, 1, area_size);
		unmap();
	}
	map(step, flags, fd);
}

static void map_shared_file(void)
{
	map_file(FAULT_AROUND, MAP_SHARED);
}

static void map_read_file(void)
{
	map_file(PAGE, MAP_PRIVATE);
	for (size_t i = 0; i < area_size; i += PAGE)
		(void)*(volatile char *)(area + i);
}

/* Needs swap that does not make the task wait, such as that on a RAM disk. */
static void map_swapped(void)
{
	unsigned char resident[BATCH];

	map_anonymous();
	memset(area, 1, area_size);
	if (madvise(area, area_size, MADV_PAGEOUT) || mincore(area, area_size, resident))
		err(1, "MADV_PAGEOUT");
	for (int i = 0; i < BATCH; i++)
		if (resident[i] & 1)
			errx(1, "page %d was not swapped out", i);
}

static void read_page(unsigned int i)
{
	(void)*(volatile char *)(area + i * stride);
}

static void write_page(unsigned int i)
{
	*(volatile char *)(area + i * stride) = 1;
}

/* A fault without an exception */
static void populate_page(unsigned int i)
{
	if (madvise(area + i * stride, PAGE, MADV_POPULATE_READ))
		err(1, "MADV_POPULATE_READ");
}

/* --- exceptions with a signal, whose handler skips the instruction */

static void handle(int sig, unsigned int size);

/* What an architecture has: ARCH_KINDS */
#ifdef __aarch64__
#include "faults-arm64.h"
#else
#include "faults-x86.h"
#endif

static void skip(int sig, siginfo_t *info, void *context)
{
	skip_instruction(context);
}

static void handle(int sig, unsigned int size)
{
	struct sigaction sa = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };

	insn_size = size;
	sigaction(sig, &sa, NULL);
}

/* --- the controls */

static void null_syscall(unsigned int i)
{
	syscall(SYS_getppid);
}

/* A partner that sends back each byte: two context switches. */
static pid_t partner;
static int to_partner[2], from_partner[2];

static void start_partner(void)
{
	char c;

	if (pipe(to_partner) || pipe(from_partner))
		err(1, "pipe");
	partner = fork();
	if (partner < 0)
		err(1, "fork");
	while (!partner)
		if (read(to_partner[0], &c, 1) != 1 || write(from_partner[1], &c, 1) != 1)
			_exit(1);
}

static void round_trip(unsigned int i)
{
	char c = 0;

	if (write(to_partner[1], &c, 1) != 1 || read(from_partner[0], &c, 1) != 1)
		err(1, "pipe");
}

static void stop_partner(void)
{
	kill(partner, SIGKILL);
	waitpid(partner, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(to_partner[i]);
		close(from_partner[i]);
	}
}

static void empty(unsigned int i)
{
	asm volatile("");
}

static const struct kind {
	const char *name;
	void (*prepare)(void);
	void (*raise)(unsigned int i);
	void (*finish)(void);
} kinds[] = {
	{ "read",	map_anonymous,		read_page,	unmap },
	{ "write",	map_anonymous,		write_page,	unmap },
	{ "file",	map_shared_file,	read_page,	unmap },
	{ "cow",	map_read_file,		write_page,	unmap },
	{ "major",	map_swapped,		read_page,	unmap },
	{ "populate",	map_anonymous,		populate_page,	unmap },
	ARCH_KINDS
	{ "syscall",	NULL,			null_syscall,	NULL },
	{ "switch",	start_partner,		round_trip,	stop_partner },
};

/* --- the measurement */

static unsigned long batch(const struct kind *kind)
{
	unsigned long start, end;

	if (kind->prepare)
		kind->prepare();
	start = clock_ns();
	for (unsigned int i = 0; i < BATCH; i++)
		kind->raise(i);
	end = clock_ns();
	if (kind->finish)
		kind->finish();
	return end - start;
}

static void tell(int tty, const struct kind *kind)
{
	char c;

	if (dprintf(tty, "%016lx\n", (unsigned long)kind->raise) < 0 || read(tty, &c, 1) != 1)
		err(1, "-w");
}

static void measure(const struct kind *kind, unsigned int rounds, unsigned long loop, int tty)
{
	unsigned long sum = 0, best = ~0UL;

	batch(kind);	/* the first round meets cold caches of the kernel */
	for (unsigned int i = 0; i < rounds; i++) {
		unsigned long ticks;

		if (tty >= 0 && i == rounds - 1)
			tell(tty, kind);
		ticks = batch(kind) - loop;
		sum += ticks;
		if (ticks < best)
			best = ticks;
	}
	if (tty >= 0)
		dprintf(tty, "end\n");
	printf("%s\t%.2f\t%.2f\n", kind->name, (double)best / BATCH,
	       (double)sum / rounds / BATCH);
}

static const struct kind *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	errx(1, "no kind of exception: %s", name);
}

/* The line goes out now, and comes in as it is. */
static int open_tty(const char *name)
{
	struct termios raw;
	int tty = open(name, O_RDWR | O_NOCTTY);

	if (tty < 0 || tcgetattr(tty, &raw))
		err(1, "%s", name);
	cfmakeraw(&raw);
	tcsetattr(tty, TCSANOW, &raw);
	return tty;
}

int main(int argc, char **argv)
{
	static const struct kind loop = { "loop", NULL, empty, NULL };
	unsigned int rounds = 32;
	unsigned long ticks;
	int tty = -1, option;

	while ((option = getopt(argc, argv, "o:r:w:")) != -1) {
		switch (option) {
		case 'o':
			if (!freopen(optarg, "w", stdout))
				err(1, "%s", optarg);
			break;
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'w':
			tty = open_tty(optarg);
			break;
		default:
			errx(1, "usage: faults [-r ROUNDS] [-o FILE] [-w TTY] KIND...");
		}
	}
	if (!rounds)
		errx(1, "-r: no rounds");
	batch(&loop);
	ticks = batch(&loop);
	for (; optind < argc; optind++)
		measure(find(argv[optind]), rounds, ticks, tty);
	return 0;
}
