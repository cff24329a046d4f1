// SPDX-License-Identifier: GPL-2.0
/*
 * raise_traps N - raise N page faults and two breakpoints, for tools.sh
 *
 * The faults are on the N pages at PAGES, while stack and frame pointer are at
 * FRAME, which is not present: whoever walks or copies the stack faults there.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "memory.h"
#include "raise.h"

#define FRAME	0x10000000
#define PAGES	0x20000000

#ifdef __x86_64__
#define STACK_POINTER	"%%rsp"
#define FRAME_POINTER	"%%rbp"
#else
#define STACK_POINTER	"%%esp"
#define FRAME_POINTER	"%%ebp"
#endif

static void on_signal(int signal)
{
}

static char *map_at(unsigned long address, long size)
{
	char *map = mmap((void *)address, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (map == (char *)address)
		madvise(map, size, MADV_NOHUGEPAGE);
	return map == (char *)address ? map : NULL;
}

static void read_stackless(const char *address, const char *frame)
{
	const char *stack = frame;

	asm volatile("xchg %0, " STACK_POINTER "\n\t"
		     "xchg %1, " FRAME_POINTER "\n\t"
		     "mov (%2), %%al\n\t"
		     "xchg %1, " FRAME_POINTER "\n\t"
		     "xchg %0, " STACK_POINTER
		     : "+S" (stack), "+D" (frame) : "c" (address) : "eax", "memory");
}

int main(int argc, char **argv)
{
	int count = argc == 2 ? atoi(argv[1]) : 0;
	char *frame = map_at(FRAME, PAGE), *pages;

	pages = count > 0 ? map_at(PAGES, count * PAGE) : NULL;
	if (!frame || !pages)
		return 1;
	signal(SIGTRAP, on_signal);
	for (int i = 0; i < count; i++)
		read_stackless(pages + i * PAGE, frame);
	raise_bp();
	raise_bp();
	return 0;
}
