// SPDX-License-Identifier: GPL-2.0
/*
 * owners.c - addresses that have one owner after the other, for test/names
 *
 * usage: owners reuse A B	maps 400 pages of A, touches and unmaps them; then one of B there
 *        owners over A B	maps 400 pages of A, one of B over the first and one over the middle
 *			one, and touches all
 *        owners heir A B	maps 400 pages of A; has a child that maps B over them; touches them
 *        owners move A	unmaps one page of A that it has touched, and 1000 that it has
 *			not; moves anonymous memory there, and touches it; waits for 3 s
 *        owners tid A B		has a child that touches 400 pages of A; then one with the same
 *			TID that touches one of B there
 *        owners lost A B	touches a page of A, waits for the file "go", maps and unmaps more
 *			than trapstat's ring of one CPU takes, and touches 400 pages of B there
 *        owners churn NUMBER	maps and unmaps NUMBER pages, each elsewhere, and touches none
 *        owners fork SECONDS	has children, each of which touches 20 pages
 *        owners work A		has threads all the time that end at once, and one that touches
 *			400 pages of A, again and again; the first one ends
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE	4096L

static void touch(volatile char *page, long nr)
{
	while (nr--)
		page[nr * PAGE] = 1;
}

static void *map(const char *file, void *at, long nr)
{
	int fd = file ? open(file, O_RDONLY) : -1;
	void *start = mmap(at, nr * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | (at ? MAP_FIXED : 0) | (file ? 0 : MAP_ANONYMOUS), fd, 0);

	if (start == MAP_FAILED)
		exit(1);
	madvise(start, nr * PAGE, MADV_NOHUGEPAGE);
	return start;
}

/* @tid: 0 for any. Returns that of the child, which has ended. */
static pid_t have_child(pid_t tid, const char *file, void *at, long nr)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid_size = !!tid,
				   .set_tid = tid ? (uintptr_t)&tid : 0 };
	pid_t pid = syscall(SYS_clone3, &args, sizeof(args));

	if (!pid) {
		touch(map(file, at, nr), nr);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
	return pid;
}

static void *touch_again(void *start)
{
	for (;;) {
		touch(start, 400);
		madvise(start, 400 * PAGE, MADV_DONTNEED);
		usleep(100000);
	}
	return NULL;
}

static void *end_at_once(void *arg)
{
	return arg;
}

static void *have_threads(void *arg)
{
	pthread_t thread;

	while (!pthread_create(&thread, NULL, end_at_once, NULL)) {
		pthread_join(thread, NULL);
		usleep(10000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[2]);
	pthread_t thread;
	void *start;
	int i;

	switch (argv[1][0]) {
	case 'r':
		start = map(argv[2], NULL, 400);
		touch(start, 400);
		munmap(start, 400 * PAGE);
		touch(map(argv[3], start, 1), 1);
		break;
	case 'o':
		start = map(argv[2], NULL, 400);
		map(argv[3], start, 1);
		map(argv[3], start + 200 * PAGE, 1);
		touch(start, 400);
		break;
	case 'h':
		start = map(argv[2], NULL, 400);
		have_child(0, argv[3], start, 400);
		touch(start, 400);
		break;
	case 'm':
		start = map(argv[2], NULL, 1001);
		touch(start, 1);
		munmap(start, 1001 * PAGE);
		if (mremap(map(NULL, NULL, 1), PAGE, 1001 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			   start) == MAP_FAILED)
			return 1;
		touch(start, 1001);
		sleep(3);
		break;
	case 't':
		start = (void *)0x100000000000;		/* where nothing was */
		have_child(have_child(0, argv[2], start, 400), argv[3], start, 1);
		break;
	case 'l':
		start = map(argv[2], NULL, 400);
		touch(start, 1);
		while (access("go", F_OK))
			usleep(10000);
		for (i = 0; i < 20000; i++)
			munmap(map(NULL, NULL, 1), PAGE);
		touch(map(argv[3], start, 400), 400);
		break;
	case 'c':
		for (i = 0; i < atoi(argv[2]); i++) {
			start = (void *)(0x100000000000 + 2 * i * PAGE);
			munmap(mmap(start, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				    -1, 0), PAGE);
			if (i % 100 == 0)
				usleep(1000);		/* for trapstat's ring */
		}
		break;
	case 'f':
		while (time(NULL) < end) {
			if (!fork()) {
				touch(map(NULL, NULL, 20), 20);
				_exit(0);
			}
			wait(NULL);
		}
		break;
	case 'w':
		if (pthread_create(&thread, NULL, touch_again, map(argv[2], NULL, 400)) ||
		    pthread_create(&thread, NULL, have_threads, NULL))
			return 1;
		pthread_exit(NULL);
	}
	return argc < 3;
}
