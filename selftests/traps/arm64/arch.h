/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What arm64 names and raises.
 */
#ifndef _TRAPS_ARM64_ARCH_H
#define _TRAPS_ARM64_ARCH_H

/* What comes at any time: the use of SVE by a library */
#define ORDINARY_TRAP	"vector != 25"

static inline bool has_no_exec(void)
{
	return true;
}

static inline void allow_misaligned(void)
{
}

/* The error_code of page faults, a pattern: PROT ones deny the access to a present page. */
#define ABSENT_PAGE		"TRANS_L[0-3]"
#define USER_READ		"DABT_LOW|" ABSENT_PAGE
#define USER_WRITE		"DABT_LOW|WNR|" ABSENT_PAGE
#define USER_WRITE_PROT		"DABT_LOW|WNR|PERM_L3"
#define USER_FETCH_PROT		"IABT_LOW|PERM_L3"
#define KERNEL_READ		"DABT_CUR|" ABSENT_PAGE
#define KERNEL_WRITE		"DABT_CUR|WNR|" ABSENT_PAGE

/* What raise_bp() raises */
#define BREAKPOINT_NAME	"BRK64"

RAISER(undefined, void);
RAISER(sctlr, void);
RAISER(midr, void);
RAISER(ccsidr, void);
RAISER(cntvct, void);
RAISER(wfi, void);
RAISER(sve, void);
RAISER(sme, void);
RAISER(bti, void);
RAISER(pc, void);
RAISER(step, void);
extern const char raise_step_from[];
RAISER(acquire, void *address);

#endif
