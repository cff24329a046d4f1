/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory whose page faults a thread of this process resolves: a page fault
 * that sleeps for as long as a test wants.
 */
#ifndef _TRAPS_USERFAULT_H
#define _TRAPS_USERFAULT_H

#include <stdbool.h>

/*
 * How such a fault ends. Where there are locks of VMAs, the first retry is the one
 * with the lock of the whole address space, and does not count as waiting.
 */
#ifdef __x86_64__
#define USERFAULT_RESULT	"MINOR"
#else
#define USERFAULT_RESULT	"MAJOR"
#endif

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
