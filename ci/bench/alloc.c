// SPDX-License-Identifier: GPL-2.0
/*
 * alloc - a program that does little but fault: it allocates, uses and frees blocks
 * that malloc() takes from the kernel, so that each page of each block is a fault
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	(256 << 10)
#define ROUNDS	200

int main(void)
{
	/* Or else malloc() would keep what was freed. */
	mallopt(M_MMAP_THRESHOLD, BLOCK / 2);
	for (int i = 0; i < ROUNDS; i++) {
		char *block = malloc(BLOCK);

		if (!block)
			return 1;
		memset(block, i, BLOCK);
		asm volatile("" : : "r" (block) : "memory");
		free(block);
	}
	return 0;
}
