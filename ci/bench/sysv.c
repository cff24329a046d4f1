// SPDX-License-Identifier: GPL-2.0
/*
 * sysv - what dbench and tbench need of System V IPC, with one client: the guest's
 * kernel has none. To be preloaded. One shared segment, and no one to wait for.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/shm.h>

static void *segment;

int shmget(key_t key, size_t size, int flags)
{
	segment = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return segment == MAP_FAILED ? -1 : 1;
}

void *shmat(int id, const void *address, int flags)
{
	return segment;
}

int shmctl(int id, int command, struct shmid_ds *buf)
{
	return 0;
}

int semget(key_t key, int count, int flags)
{
	return 1;
}

int semctl(int id, int index, int command, ...)
{
	return command == GETZCNT;	/* the one client is waiting to begin */
}

int semop(int id, struct sembuf *ops, size_t count)
{
	return 0;
}
