// SPDX-License-Identifier: GPL-2.0
/*
 * Machine checks under a load that perf records with call chains: the kernel
 * survives them, goes on recording, and no trap event is of one.
 *
 * Needs root, perf, a CPU that is the only one, and a machine that raises a machine
 * check which the kernel survives when the line $TRAPS_MACHINE_CHECK is written to
 * $TRAPS_MONITOR, such as QEMU with a monitor at a virtio port.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#define MACHINE_CHECKS	5
#define PAGES		64
#define PAGE		4096

/* Page faults until it is killed, or so many pages of them. */
static pid_t start_load(const char *comm, int pages)
{
	pid_t pid = fork();
	char *memory;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, comm);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i != pages; i++) {
		if (i % PAGES == 0) {
			madvise(memory, PAGES * PAGE, MADV_DONTNEED);
			usleep(1000);
		}
		((volatile char *)memory)[i % PAGES * PAGE] = 1;
	}
	_exit(0);
}

static pid_t start_perf(const char *data)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execlp("perf", "perf", "record", "-q", "-a", "-g", "-e", "traps:*", "-o", data, NULL);
	_exit(127);
}

/* The first number of what the shell command prints */
static long count(const char *command)
{
	FILE *pipe = popen(command, "r");
	long number = -1;

	if (pipe && fscanf(pipe, "%ld", &number) != 1)
		number = -1;
	if (pipe)
		pclose(pipe);
	return number;
}

static long count_machine_checks(void)
{
	return count("sed -n 's/^ *MCE: *//p' /proc/interrupts");
}

static long count_recorded(const char *data, const char *pattern)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "perf script -i %s -G -F comm,event,trace 2>/dev/null | grep -cE '%s'",
		 data, pattern);
	return count(command);
}

/* It comes a moment later. */
static bool raise_machine_check(void)
{
	int fd = open(getenv("TRAPS_MONITOR"), O_WRONLY);
	long before = count_machine_checks();
	bool sent;

	sent = fd >= 0 && dprintf(fd, "%s\n", getenv("TRAPS_MACHINE_CHECK")) > 0;
	close(fd);
	for (int i = 0; sent && i < 1000; i++) {
		if (count_machine_checks() > before)
			return true;
		usleep(10000);
	}
	return false;
}

FIXTURE(machine_checks) {
	char data[32];
};

FIXTURE_SETUP(machine_checks)
{
	if (geteuid())
		SKIP(return, "needs root");
	if (!getenv("TRAPS_MONITOR") || !getenv("TRAPS_MACHINE_CHECK"))
		SKIP(return, "no machine check on request: $TRAPS_MONITOR, $TRAPS_MACHINE_CHECK");
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		SKIP(return, "a machine check waits for all CPUs");
	if (system("perf --version >/dev/null"))
		SKIP(return, "no perf");
	strcpy(self->data, "/tmp/traps_mce.XXXXXX");
	close(mkstemp(self->data));
}

FIXTURE_TEARDOWN(machine_checks)
{
	unlink(self->data);
}

TEST_F_TIMEOUT(machine_checks, recording_goes_on, 300)
{
	pid_t load = start_load("traps_load", -1), perf = start_perf(self->data);

	sleep(1);
	for (int i = 0; i < MACHINE_CHECKS; i++)
		ASSERT_TRUE(raise_machine_check());
	waitpid(start_load("traps_after", PAGES), NULL, 0);
	kill(load, SIGKILL);
	kill(perf, SIGINT);
	waitpid(perf, NULL, 0);

	EXPECT_LE(1, count_recorded(self->data, "traps_load .*page_fault_exit"));
	EXPECT_LE(PAGES, count_recorded(self->data, "traps_after .*page_fault_exit"));
	EXPECT_EQ(0, count_recorded(self->data, "traps:trap_e.*#MC"));
}

TEST_HARNESS_MAIN
