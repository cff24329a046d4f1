/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory in the state that a page fault needs.
 */
#ifndef _TRAPS_MEMORY_H
#define _TRAPS_MEMORY_H

#define PAGE		4096L

char *map_anonymous(int pages);

/* Two pages each; NULL if that cannot be done. */
char *map_untouched(void);
char *map_absent(void);
char *map_filled(void);
char *map_read_only(void);
char *map_zero_page(void);
char *map_beyond_eof(void);

int open_uncached(int pages);
void read_pipe(void *address);

#endif
