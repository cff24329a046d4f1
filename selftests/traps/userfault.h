/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory whose page faults a thread of this process resolves: a page fault
 * that sleeps for as long as a test wants.
 */
#ifndef _TRAPS_USERFAULT_H
#define _TRAPS_USERFAULT_H

#include <stdbool.h>

bool userfault_available(bool protect);

/*
 * @pages pages, present and write-protected if @protect, else missing. The
 * thread calls @on_fault, which may resolve the fault. NULL: cannot be made.
 */
char *userfault_map(int pages, bool protect, void (*on_fault)(void *address));

/* For @on_fault: two ways to resolve it. */
void userfault_copy(void *address);
void userfault_unprotect(void *address);

#endif
