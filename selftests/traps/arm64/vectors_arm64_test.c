// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions of arm64 that a program can raise are recorded once, with ESR_EL1, as the
 * process sees them. Not among them: those that need FPAC, MOPS, GCS or trapped floating
 * point, and a misaligned SP.
 *
 * Needs root, tracefs at /sys/kernel/tracing, the options in ../config and config.aarch64.
 */
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <asm/hwcap.h>
#include <asm/mman.h>
#include <asm/ptrace.h>

#include "trap.h"

#ifndef PR_SME_GET_VL
#define PR_SME_GET_VL		64
#endif

/* In hardware, in the kernel of all tasks on this CPU; returns its file, or -1. */
static int set_breakpoint(int type, unsigned long address)
{
	bool kernel = address >> 63;
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(attr),
		.sample_period	= 1,
		.bp_type	= type,
		.bp_addr	= address,
		.bp_len		= 4,
		.exclude_kernel	= !kernel,
	};
	int fd = syscall(SYS_perf_event_open, &attr, kernel ? -1 : 0,
			 kernel ? sched_getcpu() : -1, -1, 0);

	unable = fd < 0 || !address;
	return fd;
}

static void run_breakpoint(void)
{
	int fd = set_breakpoint(HW_BREAKPOINT_X, (unsigned long)raise_probed);

	raise_probed();
	close(fd);
}

static unsigned long kernel_symbol(const char *symbol)
{
	char *text = file_read("/proc/kallsyms"), *next = text, *line, name[64];
	unsigned long address, found = 0;

	while (!found && (line = strsep(&next, "\n")))
		if (sscanf(line, "%lx %*c %63s", &address, name) == 2 && !strcmp(name, symbol))
			found = address;
	free(text);
	return found;
}

/* A file that the kernel writes a variable of its own for, here as it was */
#define VARIABLE_FILE	"/proc/sys/kernel/panic"

static void watch_kernel(void)
{
	static unsigned long variable;
	static char *value;
	int fd;

	if (!variable) {
		variable = kernel_symbol("panic_timeout");
		value = file_read(VARIABLE_FILE);
	}
	fd = set_breakpoint(HW_BREAKPOINT_W, variable);
	if (!value || file_write(VARIABLE_FILE, value))
		unable = true;
	close(fd);
}

static void break_kernel(void)
{
	static unsigned long function;
	int fd;

	if (!function)
		function = kernel_symbol("__arm64_sys_getppid");
	fd = set_breakpoint(HW_BREAKPOINT_X, function);
	syscall(SYS_getppid);
	close(fd);
}

/* __arch_clear_user() is assembly: its first instruction is stepped, not simulated. */
static void probe_kernel(void)
{
	struct perf_event_attr attr = {
		.type		= perf_type("kprobe"),
		.size		= sizeof(attr),
		.kprobe_func	= (unsigned long)"__arch_clear_user",
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	int zero = open("/dev/zero", O_RDONLY);
	char byte;

	unable = fd < 0 || read(zero, &byte, 1) != 1;
	close(zero);
	close(fd);
}

/* Without FEAT_IDST a read of an ID register is UNKNOWN. It came with FEAT_DIT. */
static bool have_idst(void)
{
	return getauxval(AT_HWCAP) & HWCAP_DIT;
}

static void read_midr(void)
{
	unable = !have_idst();
	if (!unable)
		raise_midr();
}

static void read_midr_undefined(void)
{
	unable = have_idst();
	if (!unable)
		raise_midr();
}

static void read_ccsidr(void)
{
	unable = !have_idst();
	if (!unable)
		raise_ccsidr();
}

static void read_counter(void)
{
	unable = prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	raise_cntvct();
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
}

/* With another length of the vectors there has been no use of them yet. */
static void use_sve(void)
{
	int length = prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK;

	unable = (prctl(PR_SVE_SET_VL, length == 16 ? 32 : 16) & PR_SVE_VL_LEN_MASK) == length;
	if (!unable)
		raise_sve();
}

/* From the first use on a task may use it: in the round that is recorded. */
static void use_sme(void)
{
	unable = prctl(PR_SME_GET_VL) < 0;
	if (!unable && trap_round == ROUNDS - 1)
		raise_sme();
}

static void branch_to_guarded(void)
{
	unable = mprotect((void *)raise_bti_ip, PAGE, PROT_READ | PROT_EXEC | PROT_BTI);
	raise_bti();
}

static int watched;

/* A watchpoint of ptrace on what is written to @watched, or none */
static int watch(pid_t pid, bool on)
{
	struct user_hwdebug_state state = {
		.dbg_regs[0] = {
			.addr	= (unsigned long)&watched & ~7UL,
			/* enabled, of EL0, stores, of these four bytes */
			.ctrl	= on ? 1 | 2 << 1 | 2 << 3 |
				  0xf << (5 + ((unsigned long)&watched & 7)) : 0,
		},
	};
	struct iovec io = { &state, offsetof(struct user_hwdebug_state, dbg_regs[1]) };

	return ptrace(PTRACE_SETREGSET, pid, NT_ARM_HW_WATCH, &io);
}

/*
 * Lets its parent, once that waits for it, make one step from raise_step_from, or hit a
 * watchpoint.
 */
static int trace_parent(bool step)
{
	struct user_pt_regs regs;
	struct iovec io = { &regs, sizeof(regs) };
	pid_t pid = getppid();

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return -1;
	for (;;) {
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, NULL, 0) != pid ||
		    ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io))
			return -1;
		if (regs.pc == (unsigned long)raise_step)
			break;
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		usleep(1000);
	}
	regs.pc = step ? (unsigned long)raise_step_from : (unsigned long)raise_watched;
	regs.regs[0] = (unsigned long)&watched;
	if (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io) || (!step && watch(pid, true)) ||
	    ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, NULL) ||
	    waitpid(pid, NULL, 0) != pid || (!step && watch(pid, false)))
		return -1;
	return ptrace(PTRACE_DETACH, pid, NULL, SIGTRAP);
}

static void be_traced(bool step)
{
	pid_t pid = fork();

	if (!pid)
		_exit(trace_parent(step) ? 1 : 0);
	watched = 0;		/* its page is shared since fork() */
	raise_step();
	waitpid(pid, NULL, 0);
}

static void be_stepped(void)
{
	be_traced(true);
}

static void be_watched(void)
{
	be_traced(false);
}

/* A syndrome: class and the rest, of a 32-bit instruction */
#define ESR(class, rest)	((class) << 26 | 1UL << 25 | (rest))

/* That of a watchpoint: bits 15 to 23 may tell which one it was, and how sure that is */
#define WATCHED(class)		"0x" class "??[08]062"

VARIANT(unknown, raise_undefined, SIGILL, "UNKNOWN", 0x00, .error_code = ESR(0x00UL, 0),
	.ip = { raise_undefined_ip }, .resume = raise_undefined_resume);
VARIANT(unknown_sctlr, raise_sctlr, SIGILL, "UNKNOWN", 0x00, .error_code = ESR(0x00UL, 0),
	.ip = { raise_sctlr_ip }, .resume = raise_sctlr_resume);
VARIANT(wfx, raise_wfi, 0, "WFx", 0x01, .error_code = ESR(0x01UL, 0x1e00000),
	.result = "EMULATED", .ip = { raise_wfi_ip });
VARIANT(bti, branch_to_guarded, SIGILL, "BTI", 0x0d, .error_code = ESR(0x0dUL, 1),
	.ip = { raise_bti_ip }, .resume = raise_bti_resume,
	.absent = "the CPU or the kernel has no BTI");
VARIANT(unknown_midr, read_midr_undefined, 0, "UNKNOWN", 0x00, .error_code = ESR(0x00UL, 0),
	.result = "EMULATED", .ip = { raise_midr_ip }, .absent = "the CPU has FEAT_IDST");
VARIANT(sys64_midr, read_midr, 0, "SYS64", 0x18, .error_code = ESR(0x18UL, 0x300001),
	.result = "EMULATED", .ip = { raise_midr_ip }, .absent = "the CPU has no FEAT_IDST");
VARIANT(sys64_ccsidr, read_ccsidr, SIGILL, "SYS64", 0x18, .error_code = ESR(0x18UL, 0x304001),
	.ip = { raise_ccsidr_ip }, .resume = raise_ccsidr_resume,
	.absent = "the CPU has no FEAT_IDST");
VARIANT(sys64_cntvct, read_counter, SIGSEGV, "SYS64", 0x18, .error_code = ESR(0x18UL, 0x34f801),
	.ip = { raise_cntvct_ip }, .resume = raise_cntvct_resume, .absent = "no PR_SET_TSC");
VARIANT(sve, use_sve, 0, "SVE", 0x19, .error_code = ESR(0x19UL, 0), .result = "HANDLED",
	.ip = { raise_sve_ip }, .filter = "vector == 25",
	.absent = "no SVE, or vectors of one length only");
VARIANT(sme, use_sme, 0, "SME", 0x1d, .error_code = ESR(0x1dUL, 0), .result = "HANDLED",
	.ip = { raise_sme_ip }, .absent = "the CPU or the kernel has no SME");
VARIANT(pc_align, raise_pc, SIGBUS, "PC_ALIGN", 0x22, .error_code = ESR(0x22UL, 0),
	.event_data = "0x[1-9a-f]*", .ip = { raise_pc_ip }, .resume = raise_pc_resume);
VARIANT(breakpt_low, run_breakpoint, 0, "BREAKPT_LOW", 0x30, .error_code = ESR(0x30UL, 0x22),
	.result = "CONSUMED", .ip = { raise_probed_ip }, .step = "SOFTSTP_LOW",
	.absent = "no breakpoint in hardware is free");
VARIANT(softstp_low, be_stepped, SIGTRAP, "SOFTSTP_LOW", 0x32,
	.error_code = ESR(0x32UL, 0x1000022), .ip = { raise_step_ip });
VARIANT(watchpt_low, write_watched, 0, "WATCHPT_LOW", 0x34, .error_shown = WATCHED("d2"),
	.result = "CONSUMED", .event_data = "0x[1-9a-f]*", .ip = { raise_watched_ip },
	.step = "SOFTSTP_LOW", .absent = "no breakpoint in hardware is free");
VARIANT(watchpt_low_ptrace, be_watched, SIGTRAP, "WATCHPT_LOW", 0x34,
	.error_shown = WATCHED("d2"), .event_data = "0x[1-9a-f]*", .ip = { raise_watched_ip });
VARIANT(kernel_breakpt_cur, break_kernel, 0, "BREAKPT_CUR", 0x31,
	.error_code = ESR(0x31UL, 0x22), .result = "CONSUMED", .mode = "kernel", .ip = { "" },
	.shown = "__arm64_sys_getppid+0x0/0x*", .step = "SOFTSTP_CUR",
	.absent = "no breakpoint in hardware is free");
VARIANT(kernel_watchpt_cur, watch_kernel, 0, "WATCHPT_CUR", 0x35,
	.error_shown = WATCHED("d6"), .result = "CONSUMED", .mode = "kernel",
	.event_data = "0x[1-9a-f]*", .ip = { "" }, .shown = "[a-z_]*+0x*/0x*",
	.step = "SOFTSTP_CUR",
	.absent = "no breakpoint in hardware is free, or kallsyms has no data");
VARIANT(brk64, raise_bp, SIGTRAP, "BRK64", 0x3c, .error_code = ESR(0x3cUL, 0),
	.ip = { raise_bp_ip }, .resume = raise_bp_resume);
VARIANT(brk64_uprobe, run_probed, 0, "BRK64", 0x3c, .error_code = ESR(0x3cUL, 5),
	.result = "CONSUMED", .ip = { raise_probed_ip }, .step = "SOFTSTP_LOW",
	.absent = "perf has no uprobes");
VARIANT(kernel_brk64, probe_kernel, 0, "BRK64", 0x3c, .error_code = ESR(0x3cUL, 4),
	.result = "CONSUMED", .mode = "kernel", .ip = { "" },
	.shown = "__arch_clear_user+0x*/0x*",
	.step = "BRK64 mode=kernel error_code=0xf2000006",
	.absent = "there is no kprobe, or no /dev/zero");

TEST_HARNESS_MAIN
