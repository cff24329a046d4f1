// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults that only x86 has are recorded once, with their result and flags.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config.
 */
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "fault.h"

static char *map_with_key(void)
{
	int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	char *map = map_filled();

	return map && !pkey_mprotect(map, ROUNDS * PAGE, PROT_READ | PROT_WRITE, key) ?
	       map : NULL;
}

#ifdef __x86_64__
static char *find_vsyscall(void)
{
	fault_step = 0;
	return has_vsyscall(false) ? VSYSCALL_TIME : NULL;
}

static void call_time(void *address)
{
	((time_t (*)(time_t *))address)(NULL);
}
#endif

VARIANT(protection_key, map_with_key, raise_read, "PROT|USER|PK", "SIGSEGV", 0,
	.resume = raise_read_resume, .signal = SIGSEGV, .absent = "no protection keys");

#ifdef __x86_64__
#define NO_VSYSCALL	"no vsyscall page that can only be called, or LASS"

VARIANT(vsyscall_called, find_vsyscall, call_time, "*USER|INSTR", "EMULATED", 0,
	.absent = NO_VSYSCALL);
/* Where it is to return to cannot be read. */
VARIANT(vsyscall_stackless, find_vsyscall, raise_call_stackless, "*USER|INSTR", "SIGSEGV", 0,
	.resume = raise_call_stackless_resume, .signal = SIGSEGV,
	.absent = NO_VSYSCALL);
#endif

TEST_HARNESS_MAIN
