// SPDX-License-Identifier: GPL-2.0
/*
 * One range with userfaultfd(2) in each process.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"
#include "userfault.h"

static void (*on_userfault)(void *address);
static int fd = -1;

static int open_userfault(struct uffdio_api *api)
{
	int new = syscall(SYS_userfaultfd, O_CLOEXEC);

	*api = (struct uffdio_api) { .api = UFFD_API };
	if (new >= 0 && ioctl(new, UFFDIO_API, api)) {
		close(new);
		new = -1;
	}
	return new;
}

/* With write protection? */
bool userfault_available(bool protect)
{
	struct uffdio_api api;
	int new = open_userfault(&api);

	if (new < 0)
		return false;
	close(new);
	return !protect || api.features & UFFD_FEATURE_PAGEFAULT_FLAG_WP;
}

static void *serve(void *unused)
{
	struct uffd_msg message;

	while (read(fd, &message, sizeof(message)) == sizeof(message))
		if (message.event == UFFD_EVENT_PAGEFAULT)
			on_userfault((void *)(message.arg.pagefault.address & -PAGE));
	return NULL;
}

static void set_protection(void *address, int pages, unsigned long mode)
{
	struct uffdio_writeprotect protection = {
		.range	= { (unsigned long)address, pages * PAGE },
		.mode	= mode,
	};

	ioctl(fd, UFFDIO_WRITEPROTECT, &protection);
}

char *userfault_map(int pages, bool protect, void (*on_fault)(void *address))
{
	char *map = map_anonymous(pages);
	struct uffdio_register range = {
		.range	= { (unsigned long)map, pages * PAGE },
		.mode	= protect ? UFFDIO_REGISTER_MODE_WP : UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api;
	pthread_t thread;

	if (!map)
		return NULL;
	if (protect)
		memset(map, 1, pages * PAGE);
	on_userfault = on_fault;
	fd = open_userfault(&api);
	if (fd < 0 || ioctl(fd, UFFDIO_REGISTER, &range))
		return NULL;
	if (protect)
		set_protection(map, pages, UFFDIO_WRITEPROTECT_MODE_WP);
	return pthread_create(&thread, NULL, serve, NULL) ? NULL : map;
}

void userfault_copy(void *address)
{
	static char page[PAGE];
	struct uffdio_copy copy = {
		.dst	= (unsigned long)address,
		.src	= (unsigned long)page,
		.len	= PAGE,
	};

	ioctl(fd, UFFDIO_COPY, &copy);
}

void userfault_unprotect(void *address)
{
	set_protection(address, 1, 0);
}
