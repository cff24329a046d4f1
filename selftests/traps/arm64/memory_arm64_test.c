// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults that only arm64 has are recorded once, with their result and flags.
 *
 * Needs root, tracefs at /sys/kernel/tracing, the options in ../config and config.aarch64.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <asm/mman.h>

#include "fault.h"

#ifndef SEGV_MTESERR
#define SEGV_MTESERR		9
#endif

static char *map_misaligned(void)
{
	char *map = map_filled();

	return map ? map + 9 : NULL;
}

/* Tag 0, as all memory has at first */
static char *map_tagged(void)
{
	char *map;

	if (prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE | PR_MTE_TCF_SYNC, 0, 0, 0))
		return NULL;
	map = mmap(NULL, ROUNDS * PAGE, PROT_READ | PROT_WRITE | PROT_MTE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map == MAP_FAILED ? NULL : memset(map, 1, ROUNDS * PAGE);
}

static void read_tagged(void *address)
{
	raise_read((void *)((unsigned long)address | 3UL << 56));
}

/* A load-acquire has to be aligned, or with FEAT_LSE2 within 16 bytes. */
VARIANT(misaligned, map_misaligned, raise_acquire, "DABT_LOW|ALIGN", "SIGBUS", 0,
	.ip = raise_acquire_ip, .resume = raise_acquire_resume, .signal = SIGBUS,
	.code = BUS_ADRALN);
/* The address is recorded without its tag. */
VARIANT(tag_check, map_tagged, read_tagged, "DABT_LOW|MTE", "SIGSEGV", 0, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGSEGV, .code = SEGV_MTESERR,
	.absent = "the CPU or the kernel has no MTE");

TEST_HARNESS_MAIN
