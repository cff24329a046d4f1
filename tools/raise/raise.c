// SPDX-License-Identifier: GPL-2.0
/* raise - raise exceptions of the CPU, so many of each. See raise(1). */
#define _GNU_SOURCE
#include <alloca.h>
#include <asm/ldt.h>
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
#include <x86intrin.h>

#define PAGE		4096UL
#define FILE_PAGES	16UL
#define SLOW		100000		/* microseconds */
#define FLAG_TF		0x100ULL
#define FLAG_AC		0x40000ULL
#define USER_CS32	0x23		/* the kernel's segment for 32-bit code */
#define LDT_SELECTOR	0xf		/* entry 1 of the LDT, for user mode */

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

/* --- exceptions that end in a signal; whose handler never returns to these functions */

static void divide(void)
{
	asm volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx"
		     ::: "eax", "ecx", "edx", "cc");
}

static void single_step(void)
{
	__writeeflags(__readeflags() | FLAG_TF);
}

static void breakpoint(void)
{
	asm volatile("int3");
}

static void overflow(void)
{
	asm volatile("int $4");
}

/* BOUND is for 32-bit code, whose data segment is not loaded here: by that of code. */
static void out_of_bounds(void)
{
	static struct {
		unsigned char bound[3];		/* bound %eax, %cs:address */
		unsigned int address;
		int bounds[2];
	} __attribute__((packed)) *code;
	static struct {
		unsigned int offset;
		unsigned short segment;
	} start = { .segment = USER_CS32 };

	if (!code) {
		code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		if (code == MAP_FAILED)
			err(1, "br: memory");
		memcpy(code->bound, "\x2e\x62\x05", sizeof(code->bound));
		code->address = (unsigned long)code->bounds;
		start.offset = (unsigned long)code;
	}
	asm volatile("mov $1, %%eax; ljmp *%0" :: "m" (start) : "eax");
}

static void undefined(void)
{
	asm volatile("ud2");
}

static unsigned int absent_segment(void)
{
	struct user_desc segment = {
		.entry_number		= LDT_SELECTOR >> 3,
		.limit			= 0xfffff,
		.limit_in_pages		= 1,
		.seg_32bit		= 1,
		.seg_not_present	= 1,
	};

	syscall(SYS_modify_ldt, 0x11, &segment, sizeof(segment));
	return LDT_SELECTOR;
}

static void load_es(void)
{
	asm volatile("mov %0, %%es" :: "r" (absent_segment()));
}

static void load_ss(void)
{
	asm volatile("mov %0, %%ss" :: "r" (absent_segment()));
}

static void privileged(void)
{
	asm volatile("hlt");
}

static void divide_x87(void)
{
	unsigned short control = 0x37b;		/* all masked but division by zero */

	asm volatile("fninit; fldcw %0; fld1; fldz; fdivrp; fwait" :: "m" (control));
	asm volatile("fninit");
}

static void misaligned(void)
{
	__writeeflags(__readeflags() | FLAG_AC);
	asm volatile("mov 1(%%rsp), %%eax" ::: "eax");
	__writeeflags(__readeflags() & ~FLAG_AC);
}

static void divide_sse(void)
{
	unsigned int masks = _MM_GET_EXCEPTION_MASK();
	float one = 1, zero = 0;

	_MM_SET_EXCEPTION_MASK(masks & ~_MM_MASK_DIV_ZERO);
	asm volatile("divss %1, %0" : "+x" (one) : "x" (zero));
	_MM_SET_EXCEPTION_MASK(masks);
}

static void write_null(void)
{
	asm volatile("movb $1, 16" ::: "memory");
}

static void write_kernel(void)
{
	asm volatile("movb $1, -4096" ::: "memory");
}

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
	touch(memory + PAGE, count);
}

static void touch_stack(unsigned long count)
{
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	if (count > limit.rlim_cur / PAGE / 2)
		errx(1, "stack: %lu pages are too much for it: see ulimit -s", count);
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
	{ "de", "#DE", 0, SIGFPE, "Divide Error: DIV by 0", .once = divide },
	{ "db", "#DB", 1, SIGTRAP, "Debug: a single step", .once = single_step },
	{ "bp", "#BP", 3, SIGTRAP, "Breakpoint: INT3", .once = breakpoint },
	{ "of", "#OF", 4, SIGSEGV, "Overflow: INT 4", .once = overflow },
	{ "br", "#BR", 5, SIGSEGV, "BOUND Range Exceeded: BOUND in 32-bit code",
	  .once = out_of_bounds, .unless = "no 32-bit code runs here" },
	{ "ud", "#UD", 6, SIGILL, "Invalid Opcode: UD2", .once = undefined },
	{ "np", "#NP", 11, SIGBUS, "Segment Not Present: ES is loaded with one",
	  .once = load_es, .unless = "the kernel has no modify_ldt()" },
	{ "ss", "#SS", 12, SIGBUS, "Stack Fault: SS is loaded with such a segment",
	  .once = load_ss, .unless = "the kernel has no modify_ldt()" },
	{ "gp", "#GP", 13, SIGSEGV, "General Protection: HLT", .once = privileged },
	{ "segv", "#PF", 14, SIGSEGV, "Page Fault: a write to address 16", .once = write_null },
	{ "kernel", "#PF", 14, SIGSEGV, "a write to the kernel's memory", .once = write_kernel },
	{ "bus", "#PF", 14, SIGBUS, "a read beyond the end of a mapped file", .once = read_beyond },
	{ "anon", "#PF", 14, 0, "a write to a new page", .touch = touch_anon },
	{ "heap", "#PF", 14, 0, "a write to a new page of the heap", .touch = touch_heap },
	{ "stack", "#PF", 14, 0, "a write to a new page of the stack", .touch = touch_stack },
	{ "file", "#PF", 14, 0, "a write to a private page of a file", .touch = touch_file },
	{ "major", "#PF", 14, 0, "the same, the page is on the disk", .touch = touch_uncached,
	  .major = true, .unless = "files are in memory there: set TMPDIR to a directory on a disk" },
	{ "slow", "#PF", 14, 0, "a write to a page that takes 100 ms", .touch = touch_slow },
	{ "mf", "#MF", 16, SIGFPE, "x87 FPU Floating-Point Error: FDIV by 0", .once = divide_x87 },
	{ "ac", "#AC", 17, SIGBUS, "Alignment Check: a misaligned read, with the AC flag",
	  .once = misaligned, .unless = "this CPU does not check alignment: is it emulated?" },
	{ "xf", "#XF", 19, SIGFPE, "SIMD Floating-Point Exception: DIVSS by 0",
	  .once = divide_sse, .unless = "this CPU does not raise it: is it emulated?" },
};

static const struct exception *const end = exceptions + ARRAY_SIZE(exceptions);

static void print(const struct exception *e)
{
	char signal[16] = "no signal";

	if (e->signal)
		snprintf(signal, sizeof(signal), "SIG%s", sigabbrev_np(e->signal));
	printf("%-6s  %s  %-9s  %s\n", e->name, e->vector_name, signal, e->how);
}

/* --- raise them, and look what came */

static const int signals[] = { SIGFPE, SIGTRAP, SIGILL, SIGSEGV, SIGBUS };
static sigjmp_buf back;
static volatile int caught_signal, caught_vector;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)info;
	/* What is misaligned in this function is not meant. */
	__writeeflags(__readeflags() & ~FLAG_AC);
	caught_signal = signal;
	caught_vector = ((ucontext_t *)context)->uc_mcontext.gregs[REG_TRAPNO];
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
		if (caught_signal == e->signal && caught_vector == e->vector)
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
	const struct exception *exception;	/* NULL: all, usleep */
	unsigned long count;
};

static void list(void)
{
	const struct exception *e;

	for (e = exceptions; e < end; e++)
		print(e);
	puts("all     each of these\n"
	     "usleep  none: sleeps COUNT microseconds");
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
	if (!order->exception && strcmp(order->name, "all") && strcmp(order->name, "usleep"))
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
