// SPDX-License-Identifier: GPL-2.0
/*
 * The module that raises exceptions in the kernel.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "module.h"

#define MODULE	"test_modules/traps_raiser.ko"

/* Returns 0 or the error. */
int module_load(void)
{
	int fd = open(MODULE, O_RDONLY), error = 0;

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		error = errno == EEXIST ? 0 : errno;
	close(fd);
	return error;
}

int module_unload(void)
{
	return syscall(SYS_delete_module, "traps_raiser", O_NONBLOCK) ? errno : 0;
}

/* Tells it what to do. Returns 0 or the error. */
int module_write(const char *file, const char *text)
{
	char path[64];
	int error = 0, fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/traps_raiser/%s", file);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

/* Sends an NMI to the CPU. Returns 0 or the error. */
int module_send_nmi(int cpu)
{
	char command[16];

	snprintf(command, sizeof(command), "nmi %d", cpu);
	return module_write("raise", command);
}
