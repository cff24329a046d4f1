// SPDX-License-Identifier: GPL-2.0
/* None of the memory is huge. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"
#include "trace.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif

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
	return map_anonymous(ROUNDS);
}

char *map_absent(void)
{
	char *map = map_anonymous(ROUNDS);

	return map && !munmap(map, ROUNDS * PAGE) ? map : NULL;
}

/* Filled with RET instructions of x86. */
char *map_filled(void)
{
	char *map = map_anonymous(ROUNDS);

	return map ? memset(map, 0xc3, ROUNDS * PAGE) : NULL;
}

char *map_read_only(void)
{
	char *map = map_filled();

	return map && !mprotect(map, ROUNDS * PAGE, PROT_READ) ? map : NULL;
}

char *map_beyond_eof(void)
{
	int fd = memfd_create("empty", MFD_CLOEXEC);
	char *map = mmap(NULL, ROUNDS * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/*
 * Of a file system with a block device, without a page of it cached. In a mount
 * namespace of our own, so that nothing has to be removed.
 */
char *map_uncached(void)
{
	static const char page[PAGE] = { 1 };
	char *map;
	int fd;

	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) ||
	    system("cd /tmp && truncate -s 16M image && mkfs.ext4 -q -F image >/dev/null 2>&1") ||
	    system("cd /tmp && mkdir mnt && mount -o loop image mnt 2>/dev/null"))
		return NULL;
	fd = open("/tmp/mnt/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < ROUNDS; i++)
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return NULL;
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return NULL;
	map = mmap(NULL, ROUNDS * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	return map == MAP_FAILED || madvise(map, ROUNDS * PAGE, MADV_RANDOM) ? NULL : map;
}

char *map_guarded(void)
{
	char *map = map_untouched();

	return map && !madvise(map, ROUNDS * PAGE, MADV_GUARD_INSTALL) ? map : NULL;
}

void *page_of_round(struct report *report, int round, char *(*map)(void))
{
	static char *pages;

	if (!round)
		pages = map();
	report->failed = !pages;
	report->address = pages ? (unsigned long)pages + round * PAGE : 0;
	return (void *)report->address;
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

/* --- Memory whose page faults a thread of this process resolves, one range in each */

int userfault = -1;
static void (*on_userfault)(void *address);

static void *serve(void *unused)
{
	struct uffd_msg message;

	while (read(userfault, &message, sizeof(message)) == sizeof(message)) {
		/* The message comes before the process sleeps. */
		while (file_has_word("/proc/self/syscall", "running"))
			usleep(1000);
		on_userfault((void *)(unsigned long)message.arg.pagefault.address);
	}
	return NULL;
}

char *userfault_map(int pages, void (*on_fault)(void *address))
{
	char *map = map_anonymous(pages);
	struct uffdio_register range = {
		.range	= { (unsigned long)map, pages * PAGE },
		.mode	= UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;

	on_userfault = on_fault;
	userfault = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (!map || userfault < 0 || ioctl(userfault, UFFDIO_API, &api) ||
	    ioctl(userfault, UFFDIO_REGISTER, &range) ||
	    pthread_create(&thread, NULL, serve, NULL))
		return NULL;
	return map;
}

void userfault_copy(void *address)
{
	static char page[PAGE];
	struct uffdio_copy copy = {
		.dst	= (unsigned long)address & -PAGE,
		.src	= (unsigned long)page,
		.len	= PAGE,
	};

	ioctl(userfault, UFFDIO_COPY, &copy);
}
