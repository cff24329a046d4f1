// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions of each vector that user mode can raise, but #NM, are recorded once, as
 * the process sees them.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config.
 */
#include <errno.h>
#include <signal.h>
#include <sys/io.h>
#include <asm/ldt.h>

#include "trap.h"

/* Entry 1 of the LDT. */
#define LDT_SELECTOR	0xf
#define LDT_ERROR_CODE	0xc

static void set_segment_not_present(void)
{
	struct user_desc segment = {
		.entry_number		= LDT_SELECTOR >> 3,
		.limit			= 0xfffff,
		.limit_in_pages		= 1,
		.seg_32bit		= 1,
		.seg_not_present	= 1,
	};

	unable = syscall(SYS_modify_ldt, 0x11, &segment, sizeof(segment));
}

static void load_es_not_present(void)
{
	set_segment_not_present();
	raise_es(LDT_SELECTOR);
}

static void load_ss_not_present(void)
{
	set_segment_not_present();
	raise_ss(LDT_SELECTOR);
}

/* The kernel makes up an address of the GDT. */
static void store_gdt(void)
{
	static char *map;

	if (!trap_round) {
		unable = !has_umip();
		map = map_untouched();
	}
	raise_sgdt(map + trap_round * PAGE);
}

static void store_gdt_absent(void)
{
	if (!trap_round)
		unable = !has_umip();
	raise_sgdt(map_absent());
}

static void read_unaligned(void)
{
	unable = is_tcg();
	raise_ac();
}

static void divide_by_zero(void)
{
	unable = is_tcg();
	raise_xf();
}

static void disable_interrupts(void)
{
	unable = iopl(3);
	raise_cli();
}

#ifdef __x86_64__
static void return_elsewhere(void)
{
	unable = !file_has_word("/proc/cpuinfo", "user_shstk");
	raise_cp();
}

static bool find_vsyscall(void)
{
	if (!trap_round)
		unable = !has_vsyscall(true);
	return !unable;
}

static void call_vsyscall(void)
{
	if (find_vsyscall())
		((time_t (*)(time_t *))VSYSCALL_TIME)(NULL);
}

static void call_vsyscall_stackless(void)
{
	if (find_vsyscall())
		raise_call_stackless(VSYSCALL_TIME);
}
#endif

VARIANT(de, raise_de, SIGFPE, "#DE", 0, .ip = { raise_de_ip }, .resume = raise_de_resume);
VARIANT(db, raise_db, SIGTRAP, "#DB", 1, .event_data = "0x4000",
	.ip = { raise_db1_ip, raise_db2_ip, raise_db3_ip });
VARIANT(db_write, write_watched, 0, "#DB", 1, .result = "CONSUMED", .event_data = "0x[1248]",
	.ip = { raise_watched_ip }, .absent = "no breakpoint in hardware is free");
VARIANT(bp, raise_bp, SIGTRAP, "#BP", 3, .ip = { raise_bp_ip });
VARIANT(bp_uprobe, run_probed, 0, "#BP", 3, .result = "CONSUMED", .ip = { raise_probed_ip },
	.absent = "perf has no uprobes");
VARIANT(of, raise_of, SIGSEGV, "#OF", 4, .ip = { raise_of_ip });

#ifndef __x86_64__
VARIANT(br, raise_br, SIGSEGV, "#BR", 5, .ip = { raise_br_ip }, .resume = raise_br_resume);
#endif

VARIANT(ud, raise_ud, SIGILL, "#UD", 6, .ip = { raise_ud_ip }, .resume = raise_ud_resume);
/* The back link of the task state segment is not that of a task. */
VARIANT(ts, raise_iret, SIGSEGV, "#TS", 10, .ip = { raise_iret_ip }, .resume = raise_iret_resume,
	.kernel = 32);
VARIANT(np, load_es_not_present, SIGBUS, "#NP", 11, .error_code = LDT_ERROR_CODE,
	.ip = { raise_es_ip }, .resume = raise_es_resume, .absent = "no modify_ldt()");
VARIANT(ss, load_ss_not_present, SIGBUS, "#SS", 12, .error_code = LDT_ERROR_CODE,
	.ip = { raise_ss_ip }, .resume = raise_ss_resume, .absent = "no modify_ldt()");

VARIANT(gp, raise_gp, SIGSEGV, "#GP", 13, .ip = { raise_gp_ip }, .resume = raise_gp_resume);
VARIANT(gp_umip, store_gdt, 0, "#GP", 13, .result = "EMULATED", .ip = { raise_sgdt_ip },
	.absent = "the CPU or the kernel has no UMIP");
/* The signal is that of a page fault of the program. */
VARIANT(gp_umip_absent, store_gdt_absent, SIGSEGV, "#GP", 13, .other = true,
	.ip = { raise_sgdt_ip }, .resume = raise_sgdt_resume,
	.absent = "the CPU or the kernel has no UMIP");
VARIANT(gp_iopl, disable_interrupts, 0, "#GP", 13, .result = "EMULATED", .ip = { raise_cli_ip },
	.resume = raise_cli_resume, .absent = "no iopl()");
/* The kernel cannot return to user mode; ip is where it was to go on. */
VARIANT(gp_return, raise_ud, SIGSEGV, "#GP", 13, .cs = 0x3ff7, .error_code = 0x3ff4,
	.ip = { raise_ud_resume }, .resume = raise_ud_resume, .kernel = 64);
/* The kernel's IRET raises a #GP, which becomes one of the program. */
VARIANT(iret, raise_ud, SIGILL, "IRET", IRET_VECTOR, .cs = 0x3ff7, .ip = { raise_ud_resume },
	.resume = raise_ud_resume, .kernel = 32);

#ifdef __x86_64__
#define NO_VSYSCALL	"no vsyscall page that can only be called, or no LASS"

VARIANT(gp_vsyscall, call_vsyscall, 0, "#GP", 13, .result = "EMULATED", .ip = { VSYSCALL_TIME },
	.shown = "*+0x*/0x0", .absent = NO_VSYSCALL);
/* Where it is to return to cannot be read. */
VARIANT(gp_vsyscall_stackless, call_vsyscall_stackless, SIGSEGV, "#GP", 13, .other = true,
	.ip = { VSYSCALL_TIME }, .shown = "*+0x*/0x0", .resume = raise_call_stackless_resume,
	.absent = NO_VSYSCALL);
#endif

VARIANT(mf, raise_mf, SIGFPE, "#MF", 16, .ip = { raise_mf_ip }, .resume = raise_mf_resume);
VARIANT(ac, read_unaligned, SIGBUS, "#AC", 17, .ip = { raise_ac_ip }, .resume = raise_ac_resume,
	.absent = "the CPU does not check alignment");
VARIANT(xf, divide_by_zero, SIGFPE, "#XF", 19, .ip = { raise_xf_ip }, .resume = raise_xf_resume,
	.absent = "the CPU does not raise SIMD exceptions");

#ifdef __x86_64__
VARIANT(cp, return_elsewhere, SIGSEGV, "#CP", 21, .error_code = 1, .ip = { raise_cp_ip },
	.resume = raise_cp_resume, .absent = "no user shadow stacks");
#endif

TEST_HARNESS_MAIN
