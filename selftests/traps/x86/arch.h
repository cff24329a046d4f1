/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What x86 names and raises.
 */
#ifndef _TRAPS_X86_ARCH_H
#define _TRAPS_X86_ARCH_H

/* What comes at any time: NMI, #VE, #VC */
#define ORDINARY_TRAP	"vector != 2 && vector != 20 && vector != 29"

/* Pages of user mode may be without execution; that of a 32-bit kernel loses this. */
bool has_no_exec(void);

bool has_umip(void);

/* QEMU without a hypervisor checks no alignment, and raises no SIMD exceptions. */
bool is_tcg(void);

/* What is misaligned in a signal handler is not meant. */
void allow_misaligned(void);

/* The error_code of page faults, a pattern: PROT ones deny the access to a present page. */
#define USER_READ		"USER"
#define USER_WRITE		"WRITE|USER"
#define USER_WRITE_PROT		"PROT|WRITE|USER"
#define USER_FETCH_PROT		"PROT|USER|INSTR"
#define KERNEL_READ		"0"
#define KERNEL_WRITE		"WRITE"

/* What raise_bp() raises */
#define BREAKPOINT_NAME	"#BP"

RAISER(de, void);
RAISER(db, void);
RAISER(of, void);
RAISER(ud, void);
RAISER(gp, void);
RAISER(cli, void);
RAISER(br, void);
RAISER(es, unsigned int selector);
RAISER(ss, unsigned int selector);
RAISER(iret, void);
RAISER(mf, void);
RAISER(ac, void);
RAISER(xf, void);
RAISER(cp, void);
RAISER(sgdt, void *address);
RAISER(call_stackless, void *address);

extern const char raise_db1_ip[], raise_db2_ip[], raise_db3_ip[];

#ifdef __x86_64__
/* In the vsyscall page, which can only be called. With LASS that is a #GP. */
#define VSYSCALL_TIME	((char *)0xffffffffff600400)
bool has_vsyscall(bool lass);
#endif

#endif
