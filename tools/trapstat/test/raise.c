// SPDX-License-Identifier: GPL-2.0
/*
 * raise - raise exceptions so many times
 *
 * usage: raise [WHAT COUNT]...
 *
 * de, bp, ud, gp: that exception. anon, heap, stack, file: a page fault on so many
 * pages of memory of this kind. usleep: sleep. name: take a name that is hard to print.
 *
 * needs: x86_64
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGE	4096
#define PAGES	64

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

static void repeat(void (*raise_it)(void), volatile unsigned long count)
{
	while (count--) {
		if (!sigsetjmp(back, 1))
			raise_it();
	}
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

int main(int argc, char **argv)
{
	static const int signals[] = { SIGFPE, SIGTRAP, SIGILL, SIGSEGV };
	unsigned int i;
	int arg;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], handler);
	for (arg = 1; arg + 1 < argc; arg += 2) {
		unsigned long count = strtoul(argv[arg + 1], NULL, 10);

		if (!strcmp(argv[arg], "de"))
			repeat(divide, count);
		else if (!strcmp(argv[arg], "bp"))
			repeat(breakpoint, count);
		else if (!strcmp(argv[arg], "ud"))
			repeat(undefined, count);
		else if (!strcmp(argv[arg], "gp"))
			repeat(privileged, count);
		else if (!strcmp(argv[arg], "anon"))
			touch_anon(count);
		else if (!strcmp(argv[arg], "heap"))
			touch_heap(count);
		else if (!strcmp(argv[arg], "stack"))
			touch_stack(count);
		else if (!strcmp(argv[arg], "file"))
			touch(data, count < PAGES ? count : PAGES);
		else if (!strcmp(argv[arg], "usleep"))
			usleep(count);
		else if (!strcmp(argv[arg], "name"))
			prctl(PR_SET_NAME, "a\"\n} \\{ [1], x");
		else
			return 1;
	}
	return 0;
}
