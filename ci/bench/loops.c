// SPDX-License-Identifier: GPL-2.0
/*
 * loops - page faults per second, of one process or several at the same time
 *
 * usage: loops LOOP PROCESSES
 *
 * Each process maps 128 MiB, writes to every page and unmaps them, again and again:
 *
 *	page_fault1	anonymous memory
 *	page_fault2	a private mapping of a file: copy on write
 *	page_fault3	a shared mapping of a file
 *
 * each its own file. What is done is what the tests of will-it-scale do that have these
 * names; the code is not theirs. Prints how many pages all processes write in a second,
 * in the best of SLICES.
 */
#define _GNU_SOURCE
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define SIZE		(128UL << 20)
#define PAGE		4096UL
#define SLICES		20
#define SLICE		100000	/* microseconds */

static const struct loop {
	const char *name;
	int flags;
} loops[] = {
	{ "page_fault1", MAP_PRIVATE | MAP_ANONYMOUS },
	{ "page_fault2", MAP_PRIVATE },
	{ "page_fault3", MAP_SHARED },
};

static void run(const struct loop *loop, volatile unsigned long *written)
{
	int fd = memfd_create("loops", 0);

	if (fd < 0 || ftruncate(fd, SIZE))
		err(1, "memfd_create");
	for (;;) {
		char *area = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, loop->flags, fd, 0);

		if (area == MAP_FAILED)
			err(1, "mmap");
		/* Huge pages would swallow the faults. */
		madvise(area, SIZE, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < SIZE; i += PAGE) {
			*(volatile char *)(area + i) = 1;
			(*written)++;
		}
		munmap(area, SIZE);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static unsigned long sum(volatile unsigned long *const *written, int processes)
{
	unsigned long pages = 0;

	for (int i = 0; i < processes; i++)
		pages += *written[i];
	return pages;
}

static const struct loop *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++)
		if (!strcmp(loops[i].name, name))
			return &loops[i];
	errx(1, "no loop %s", name);
}

int main(int argc, char **argv)
{
	int processes = argc == 3 ? atoi(argv[2]) : 0;
	double best = 0;

	if (processes < 1)
		errx(1, "usage: loops LOOP PROCESSES");

	const struct loop *loop = find(argv[1]);
	volatile unsigned long *written[processes];
	pid_t child[processes];

	for (int i = 0; i < processes; i++) {
		/* A page of its own, so that no cache line is shared. */
		written[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (written[i] == MAP_FAILED)
			err(1, "mmap");
		child[i] = fork();
		if (child[i] < 0)
			err(1, "fork");
		if (!child[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run(loop, written[i]);
		}
	}
	/* From the second round on, the files are in the page cache. */
	for (int i = 0; i < processes; i++)
		while (*written[i] < SIZE / PAGE)
			usleep(1000);
	for (int i = 0; i < SLICES; i++) {
		double start = now(), rate;
		unsigned long pages = sum(written, processes);

		usleep(SLICE);
		pages = sum(written, processes) - pages;
		rate = pages / (now() - start);
		if (rate > best)
			best = rate;
	}
	printf("%.0f\n", best);
	for (int i = 0; i < processes; i++)
		kill(child[i], SIGKILL);
	return 0;
}
