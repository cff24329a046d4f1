// SPDX-License-Identifier: GPL-2.0
/*
 * faults - what an exception costs, in units of the TSC
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
#include <x86intrin.h>

#define BATCH		256
#define PAGE		4096UL
#define FAULT_AROUND	(16 * PAGE)	/* what one fault on a file maps */

#define FLAG_TF		0x100L

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

static void skip(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_RIP] += insn_size;
	uc->uc_mcontext.gregs[REG_EFL] &= ~FLAG_TF;
}

static void handle(int sig, unsigned int size)
{
	struct sigaction sa = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };

	insn_size = size;
	sigaction(sig, &sa, NULL);
}

static void handle_segv(void) { handle(SIGSEGV, 2); }
static void handle_gp(void) { handle(SIGSEGV, 1); }
static void handle_ud(void) { handle(SIGILL, 2); }
static void handle_trap(void) { handle(SIGTRAP, 0); }
static void handle_de(void) { handle(SIGFPE, 2); }

static void segv(unsigned int i)
{
	asm volatile("movb (%%rax), %%al" : : "a" (0L));
}

static void gp(unsigned int i)
{
	asm volatile("hlt");
}

static void ud(unsigned int i)
{
	asm volatile("ud2");
}

static void bp(unsigned int i)
{
	asm volatile("int3");
}

static void db(unsigned int i)
{
	/* Single step: the nop is stepped over, then the handler clears the flag. */
	asm volatile("leaq -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; nop;"
		     "leaq 128(%%rsp), %%rsp" : : "i" (FLAG_TF) : "cc", "memory");
}

static void de(unsigned int i)
{
	asm volatile("divl %%ecx" : : "a" (1), "c" (0), "d" (0));
}

/* --- a kprobe that is an int3, and the controls */

static void null_syscall(unsigned int i)
{
	syscall(SYS_getppid);
}

/* For a kprobe on put_user(), which is no function that ftrace knows: an int3. */
static void time_syscall(unsigned int i)
{
	long now;

	syscall(SYS_time, &now);
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
	{ "segv",	handle_segv,		segv,		NULL },
	{ "gp",		handle_gp,		gp,		NULL },
	{ "ud",		handle_ud,		ud,		NULL },
	{ "bp",		handle_trap,		bp,		NULL },
	{ "db",		handle_trap,		db,		NULL },
	{ "de",		handle_de,		de,		NULL },
	{ "time",	NULL,			time_syscall,	NULL },
	{ "syscall",	NULL,			null_syscall,	NULL },
	{ "switch",	start_partner,		round_trip,	stop_partner },
};

/* --- the measurement */

static unsigned long batch(const struct kind *kind)
{
	unsigned long start, end;

	if (kind->prepare)
		kind->prepare();
	start = __rdtsc();
	for (unsigned int i = 0; i < BATCH; i++)
		kind->raise(i);
	end = __rdtsc();
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
