/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instructions of the kernel that raise exceptions.
 */
#ifndef _TRAPS_RAISER_H
#define _TRAPS_RAISER_H

#include <linux/types.h>

bool raise_de(unsigned long argument);
extern const char raise_de_resume[];
bool raise_db(unsigned long address);
bool raise_of(unsigned long argument);
bool raise_ud(unsigned long argument);
bool raise_nm(unsigned long argument);
bool raise_old_mf(unsigned long argument);
bool raise_ts(unsigned long argument);
bool raise_np(unsigned long selector);
bool raise_ss(unsigned long selector);
bool raise_gp(unsigned long argument);
bool raise_gp_selector(unsigned long argument);
bool raise_spurious(unsigned long argument);
bool raise_mf(unsigned long argument);
bool raise_mf_int(unsigned long argument);
bool raise_mc(unsigned long argument);
bool raise_xf(unsigned long argument);
bool raise_xf_int(unsigned long argument);
bool raise_cp(unsigned long argument);
bool raise_pf(unsigned long fault);
bool raise_event(unsigned long event);
bool raise_pf_erratum(unsigned long argument);

/* A page fault that the CPU does not raise, and the handler to be told. */
struct raised_fault {
	unsigned long address;
	unsigned long error_code;
	unsigned long handler;
};

/* An event that FRED does not deliver, as in its stack frame */
struct raised_event {
	unsigned long error_code;
	unsigned long info;		/* with SS */
	unsigned long data;
};

#endif
