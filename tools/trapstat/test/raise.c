// SPDX-License-Identifier: GPL-2.0
/*
 * raise - raise exceptions so many times
 *
 * usage: raise [WHAT COUNT]...
 *
 * de, db, bp, ud, gp: that exception. segv: a write to address 16. bus: a read of a page
 * that the mapped file has no more. anon, heap, stack, file: a page fault on so many
 * pages of memory of this kind. slow: the same on pages that another thread fills after
 * 100 ms each. usleep: sleep. name: take a name that is hard to print.
 *
 * needs: x86_64
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	4096
#define PAGES	64
#define SLOW	100000	/* microseconds */

static sigjmp_buf back;
static char data[PAGES * PAGE] __attribute__((aligned(PAGE))) = { 1 };

static void handler(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void divide(void)
{
	asm volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx"
		     ::: "eax", "ecx", "edx", "cc");
}

static void single_step(void)
{
	/* the red zone must survive pushf */
	asm volatile("sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf; nop; add $128, %%rsp"
		     ::: "cc", "memory");
}

static void breakpoint(void)
{
	asm volatile("int3");
}

static void undefined(void)
{
	asm volatile("ud2");
}

static void privileged(void)
{
	asm volatile("hlt");
}

static void write_null(void)
{
	*(volatile int *)16 = 1;
}

static volatile char *beyond;

static void read_beyond(void)
{
	(void)*beyond;
}

static void repeat(void (*raise_it)(void), volatile unsigned long count)
{
	while (count--) {
		if (!sigsetjmp(back, 1))
			raise_it();
	}
}

static void read_file_beyond(unsigned long count)
{
	int fd = memfd_create("empty", 0);

	beyond = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || beyond == MAP_FAILED)
		err(1, "bus");
	close(fd);
	repeat(read_beyond, count);
}

static void touch(volatile char *memory, unsigned long count)
{
	while (count--)
		memory[count * PAGE] = 1;
}

static void touch_anon(unsigned long count)
{
	void *memory = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, count * PAGE, MADV_NOHUGEPAGE);
	touch(memory, count);
	munmap(memory, count * PAGE);
}

static void touch_heap(unsigned long count)
{
	char *memory = sbrk(PAGE);

	/* the kernel does not call it a heap before it has grown */
	if (sbrk(count * PAGE) == (void *)-1)
		exit(1);
	touch(memory + PAGE, count);
}

static void touch_stack(unsigned long count)
{
	char memory[count * PAGE];

	touch(memory, count);
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
			err(1, "UFFDIO_ZEROPAGE");
	}
	return NULL;
}

static void touch_slow(unsigned long count)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct slow slow = { .fd = fd, .count = count };
	void *memory = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t filler;

	range.range.start = (unsigned long)memory;
	range.range.len = count * PAGE;
	if (fd < 0 || memory == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range) || pthread_create(&filler, NULL, fill_slowly, &slow))
		err(1, "userfaultfd");
	touch(memory, count);
	pthread_join(filler, NULL);
	munmap(memory, count * PAGE);
	close(fd);
}

int main(int argc, char **argv)
{
	static const int signals[] = { SIGFPE, SIGTRAP, SIGILL, SIGSEGV, SIGBUS };
	unsigned int i;
	int arg;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], handler);
	for (arg = 1; arg + 1 < argc; arg += 2) {
		unsigned long count = strtoul(argv[arg + 1], NULL, 10);

		if (!strcmp(argv[arg], "de"))
			repeat(divide, count);
		else if (!strcmp(argv[arg], "db"))
			repeat(single_step, count);
		else if (!strcmp(argv[arg], "bp"))
			repeat(breakpoint, count);
		else if (!strcmp(argv[arg], "ud"))
			repeat(undefined, count);
		else if (!strcmp(argv[arg], "gp"))
			repeat(privileged, count);
		else if (!strcmp(argv[arg], "segv"))
			repeat(write_null, count);
		else if (!strcmp(argv[arg], "bus"))
			read_file_beyond(count);
		else if (!strcmp(argv[arg], "anon"))
			touch_anon(count);
		else if (!strcmp(argv[arg], "heap"))
			touch_heap(count);
		else if (!strcmp(argv[arg], "stack"))
			touch_stack(count);
		else if (!strcmp(argv[arg], "file"))
			touch(data, count < PAGES ? count : PAGES);
		else if (!strcmp(argv[arg], "slow"))
			touch_slow(count);
		else if (!strcmp(argv[arg], "usleep"))
			usleep(count);
		else if (!strcmp(argv[arg], "name"))
			prctl(PR_SET_NAME, "a\"\n} \\{ [1], x");
		else
			return 1;
	}
	return 0;
}
