// SPDX-License-Identifier: GPL-2.0
/*
 * whole - the CPU time of a whole command with all of its children
 *
 * usage: whole -o FILE NAME CMD [ARG...]
 *
 * Writes "NAME <tab> time <tab> time" in nanoseconds, which are instructions in a
 * guest that counts them. The time that the machine is idle does not count.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long ns(const struct timeval *t)
{
	return t->tv_sec * 1000000000UL + t->tv_usec * 1000UL;
}

static unsigned long run(char **argv)
{
	struct rusage usage;
	pid_t child = fork();
	int status;

	if (child < 0)
		err(1, "fork");
	if (!child) {
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	if (wait4(child, &status, 0, &usage) != child || status)
		errx(1, "%s failed", argv[0]);
	return ns(&usage.ru_utime) + ns(&usage.ru_stime);
}

int main(int argc, char **argv)
{
	unsigned long time;
	FILE *out;

	if (argc < 5 || strcmp(argv[1], "-o"))
		errx(1, "usage: whole -o FILE NAME CMD [ARG...]");
	out = fopen(argv[2], "w");
	if (!out)
		err(1, "%s", argv[2]);
	time = run(argv + 4);
	fprintf(out, "%s\t%lu\t%lu\n", argv[3], time, time);
	return 0;
}
