// SPDX-License-Identifier: GPL-2.0
/*
 * Memory in the state that a page fault needs, none of it huge.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "memory.h"
#include "raise.h"

char *map_anonymous(int pages)
{
	char *map = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return NULL;
	madvise(map, pages * PAGE, MADV_NOHUGEPAGE);
	return map;
}

char *map_untouched(void)
{
	return map_anonymous(2);
}

char *map_absent(void)
{
	char *map = map_anonymous(2);

	return map && !munmap(map, 2 * PAGE) ? map : NULL;
}

/* Filled with RET instructions. */
char *map_filled(void)
{
	char *map = map_anonymous(2);

	return map ? memset(map, 0xc3, 2 * PAGE) : NULL;
}

char *map_read_only(void)
{
	char *map = map_filled();

	return map && !mprotect(map, 2 * PAGE, PROT_READ) ? map : NULL;
}

char *map_zero_page(void)
{
	char *map = map_anonymous(2);

	if (map) {
		raise_read(map);
		raise_read(map + PAGE);
	}
	return map;
}

char *map_beyond_eof(void)
{
	FILE *file = tmpfile();
	char *map = MAP_FAILED;

	if (file) {
		map = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fileno(file), 0);
		fclose(file);
	}
	return map == MAP_FAILED ? NULL : map;
}

/* The kernel writes one byte to the address. Sets errno to 0 or the error. */
void read_pipe(void *address)
{
	int fds[2];

	errno = 0;
	if (pipe(fds))
		return;
	if (write(fds[1], "", 1) == 1 && read(fds[0], address, 1) == 1)
		errno = 0;
	close(fds[0]);
	close(fds[1]);
}

/*
 * A file on a file system with a block device, without a page of it cached, or
 * -1. In a mount namespace of our own, so that nothing has to be removed.
 */
int open_uncached(int pages)
{
	char page[PAGE];
	int fd;

	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) ||
	    system("cd /tmp && truncate -s 16M image && mkfs.ext4 -q -F image") ||
	    system("mkdir /tmp/mnt && mount -o loop /tmp/image /tmp/mnt"))
		return -1;
	fd = open("/tmp/mnt/file", O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return -1;
	memset(page, 1, sizeof(page));
	for (int i = 0; i < pages; i++)
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return -1;
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return -1;
	return fd;
}
