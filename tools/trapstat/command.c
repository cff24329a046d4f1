// SPDX-License-Identifier: GPL-2.0
/*
 * command.c - the command of -c, which waits until trapstat is ready to count
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "trapstat.h"

static int go[2], failed[2];
static const char *name;

static void run(char **argv)
{
	char byte;
	int error;

	close(go[1]);
	close(failed[0]);
	if (read(go[0], &byte, 1) != 1)
		_exit(STATUS_FAILED);
	restore_signals();
	execvp(argv[0], argv);
	error = errno;
	_exit(write(failed[1], &error, sizeof(error)) != sizeof(error));
}

pid_t command_fork(char **argv)
{
	pid_t pid;

	name = argv[0];
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		run(argv);
	close(go[0]);
	close(failed[1]);
	return pid;
}

/* Start the command. Exits if it cannot be run. */
void command_go(void)
{
	int error;

	if (write(go[1], "", 1) != 1)
		die("cannot start %s: %s", name, strerror(errno));
	close(go[1]);
	if (read(failed[0], &error, sizeof(error)) == sizeof(error)) {
		note("%s: %s", name, strerror(error));
		exit(error == ENOENT ? 127 : 126);
	}
	close(failed[0]);
}
