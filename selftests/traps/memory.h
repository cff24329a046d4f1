/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory in the state that a page fault needs.
 */
#ifndef _TRAPS_MEMORY_H
#define _TRAPS_MEMORY_H

#include "raise.h"

#define PAGE		4096L

char *map_anonymous(int pages);

/* A page for each round; NULL if that cannot be done. */
char *map_untouched(void);
char *map_absent(void);
char *map_filled(void);
char *map_read_only(void);
char *map_zero_page(void);
char *map_beyond_eof(void);

void read_pipe(void *address);

/*
 * Present and write-protected if @protect, else missing. A thread of this process
 * calls @on_fault, which may resolve the fault. NULL: cannot be made.
 */
char *userfault_map(int pages, bool protect, void (*on_fault)(void *address));
/* For @on_fault: two ways to resolve it. */
void userfault_copy(void *address);
void userfault_unprotect(void *address);

#endif
