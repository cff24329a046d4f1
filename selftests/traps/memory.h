/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory in the state that a page fault needs.
 */
#ifndef _TRAPS_MEMORY_H
#define _TRAPS_MEMORY_H

#include "raise.h"

#define PAGE		4096L

/* The error_code of page faults, a pattern: PROT ones deny the access to a present page. */
#ifdef __aarch64__
#define ABSENT_PAGE		"TRANS_L[0-3]"
#define USER_READ		"DABT_LOW|" ABSENT_PAGE
#define USER_WRITE		"DABT_LOW|WNR|" ABSENT_PAGE
#define USER_WRITE_PROT		"DABT_LOW|WNR|PERM_L3"
#define USER_FETCH_PROT		"IABT_LOW|PERM_L3"
#define KERNEL_READ		"DABT_CUR|" ABSENT_PAGE
#define KERNEL_WRITE		"DABT_CUR|WNR|" ABSENT_PAGE
#else
#define USER_READ		"USER"
#define USER_WRITE		"WRITE|USER"
#define USER_WRITE_PROT		"PROT|WRITE|USER"
#define USER_FETCH_PROT		"PROT|USER|INSTR"
#define KERNEL_READ		"0"
#define KERNEL_WRITE		"WRITE"
#endif

char *map_anonymous(int pages);

/* A page for each round. All return NULL if that cannot be done. */
char *map_untouched(void);
char *map_absent(void);
char *map_filled(void);
char *map_read_only(void);
char *map_beyond_eof(void);
char *map_uncached(void);

/* That of this round, of what @map() returned in round 0; NULL: failed. */
void *page_of_round(struct report *report, int round, char *(*map)(void));

void read_pipe(void *address);

#ifdef __x86_64__
/* In the vsyscall page, which can only be called. With LASS that is a #GP. */
#define VSYSCALL_TIME	((char *)0xffffffffff600400)
bool has_vsyscall(bool lass);
#endif

/*
 * A thread of this process reads what page faults there are in the file @userfault.
 * Once the process sleeps in one, it calls @on_fault, which may resolve it.
 */
extern int userfault;
char *userfault_map(int pages, void (*on_fault)(void *address));
void userfault_copy(void *address);

#endif
