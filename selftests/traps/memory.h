/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory in the state that a page fault needs.
 */
#ifndef _TRAPS_MEMORY_H
#define _TRAPS_MEMORY_H

#include "raise.h"

#define PAGE		4096L

char *map_anonymous(int pages);

/* A page for each round. All return NULL if that cannot be done. */
char *map_untouched(void);
char *map_absent(void);
char *map_filled(void);
char *map_read_only(void);
char *map_beyond_eof(void);
char *map_uncached(void);
char *map_guarded(void);

/* That of this round, of what @map() returned in round 0; NULL: failed. */
void *page_of_round(struct report *report, int round, char *(*map)(void));

void read_pipe(void *address);

/*
 * A thread of this process reads what page faults there are in the file @userfault.
 * Once the process sleeps in one, it calls @on_fault, which may resolve it.
 */
extern int userfault;
char *userfault_map(int pages, void (*on_fault)(void *address));
void userfault_copy(void *address);

#endif
