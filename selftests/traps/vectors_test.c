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
#include <sys/syscall.h>
#include <asm/ldt.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "fixture.h"
#include "memory.h"

/* --- Tests of exceptions other than page faults */

#define IRET_VECTOR	32
#define TIMEOUT		60		/* seconds, of each test */

/* Entry 1 of the LDT. */
#define LDT_SELECTOR	0xf
#define LDT_ERROR_CODE	0xc

static bool unable;			/* what is raised could not be prepared */

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

/* Watched by a breakpoint in hardware, which tells nobody */
static void write_watched(void)
{
	static int watched;
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(attr),
		.sample_period	= 1,
		.bp_type	= HW_BREAKPOINT_W,
		.bp_addr	= (unsigned long)&watched,
		.bp_len		= sizeof(watched),
		.exclude_kernel	= 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	unable = fd < 0;
	raise_watched(&watched);
	close(fd);
}

/* Where in the program's file is that? */
static unsigned long file_offset(const void *where)
{
	char *text = file_read("/proc/self/maps"), *next = text, *line;
	unsigned long start, end, offset, found = 0, address = (unsigned long)where;

	while (!found && (line = strsep(&next, "\n")))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    address >= start && address < end)
			found = address - start + offset;
	free(text);
	return found;
}

static void run_probed(void)
{
	struct perf_event_attr attr = {
		.type		= perf_type("uprobe"),
		.size		= sizeof(attr),
		.config1	= (unsigned long)"/proc/self/exe",
		.config2	= file_offset((void *)raise_probed),
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	unable = fd < 0;
	raise_probed();
	close(fd);
}

static int trap_round;

/* With UMIP the kernel makes up an address of the GDT. */
static void find_umip(void)
{
	unsigned short gdt[5];

	raise_sgdt(gdt);
	unable = gdt[1] || gdt[2] != 0xfffe;
}

static void store_gdt(void)
{
	static char *map;

	if (!trap_round) {
		find_umip();
		map = map_untouched();
	}
	raise_sgdt(map + trap_round * PAGE);
}

static void store_gdt_absent(void)
{
	if (!trap_round)
		find_umip();
	raise_sgdt(map_absent());
}

static void disable_interrupts(void)
{
	unable = iopl(3);
	raise_cli();
}

#ifdef __x86_64__
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

FIXTURE(trap) {
	struct child child;
};

FIXTURE_VARIANT(trap) {
	void (*raise)(void);
	int signal;			/* or 0 */
	const char *name;
	unsigned int vector;
	/* The rest by name */
	unsigned long error_code;
	const char *result;		/* if not SIGNAL */
	const char *event_data;		/* a pattern, if not 0 */
	const char *ip[3];		/* one for each time it is raised */
	const char *shown;		/* how that is shown, a pattern, if not as a number */
	const char *resume;
	unsigned short cs;		/* the handler of a #UD returns to it */
	bool other;			/* the signal tells of another exception */
	int kernel;			/* only with kernels of so many bits, or 0 */
	const char *absent;		/* why it may not be raised */
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(trap, name) { __VA_ARGS__ }

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
VARIANT(ac, raise_ac, SIGBUS, "#AC", 17, .ip = { raise_ac_ip }, .resume = raise_ac_resume,
	.absent = "the CPU does not check alignment");
VARIANT(xf, raise_xf, SIGFPE, "#XF", 19, .ip = { raise_xf_ip }, .resume = raise_xf_resume,
	.absent = "the CPU does not raise SIMD exceptions");

#ifdef __x86_64__
VARIANT(cp, raise_cp, SIGSEGV, "#CP", 21, .error_code = 1, .ip = { raise_cp_ip },
	.resume = raise_cp_resume, .absent = "no user shadow stacks");
#endif

static void (*trap_raise)(void);

static void raise_trap(struct report *report, int round)
{
	raise_steps = 3;
	trap_round = round;
	trap_raise();
	report->failed = unable;
}

/* The child raises it once untraced. */
FIXTURE_SETUP(trap)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (variant->kernel && variant->kernel != kernel_bits())
		SKIP(return, "only %d-bit kernels", variant->kernel);
	trap_raise = variant->raise;
	raise_resume = variant->resume;
	raise_cs = variant->cs;
	start_or_skip(_metadata, &self->child, raise_trap, variant->absent);
	if (_metadata->exit_code)
		return;
	if (variant->absent && variant->signal && !self->child.report->raised_count)
		SKIP(return, "%s", variant->absent);
}

FIXTURE_TEARDOWN_PARENT(trap)
{
	tear_down(_metadata);
}

/*
 * One entry and one exit each time, which say what the signal says; nothing when
 * it is off or rejected by a filter.
 */
TEST_F_TIMEOUT(trap, recorded, TIMEOUT)
{
	const struct report *report = self->child.report;
	int before = variant->cs ? 1 : 0, times = 0;
	char text[160], filter[32], number[32];
	struct trace trace;

	snprintf(filter, sizeof(filter), "vector != %u", variant->vector);
	snprintf(text, sizeof(text), "vector=%s *", variant->name);
	check_off(_metadata, &self->child, "trap", filter, text);
	turn_on(_metadata, "signal");
	let_work(_metadata, &self->child, &trace);

	for (int i = 0; i < ARRAY_SIZE(variant->ip) && variant->ip[i]; i++) {
		const struct raised *raised = &report->raised[before + i];
		const char *ip = variant->shown ?: number;

		if (variant->signal)
			EXPECT_EQ(variant->signal, raised->signal);
		if (variant->signal && !variant->other) {
			EXPECT_EQ(variant->vector, raised->vector);
			EXPECT_EQ(variant->error_code, raised->error_code);
			EXPECT_EQ((unsigned long)variant->ip[i], raised->ip);
		}

		snprintf(number, sizeof(number), "0x%lx", (unsigned long)variant->ip[i]);
		snprintf(text, sizeof(text),
			 "vector=%s mode=user error_code=0x%lx ip=%s event_data=%s",
			 variant->name, variant->error_code, ip, variant->event_data ?: "0x0");
		EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text)) {
			TH_LOG("%s", text);
		}
		expect_exit(_metadata, &self->child, &trace, text,
			    variant->result ?: "SIGNAL", 0);
		/* Nothing else is recorded of it; its access is not taken for a page fault. */
		EXPECT_EQ(2, trace_count(&trace, "[tp]*", "* ip=%s *", ip));
		times++;
	}
	EXPECT_EQ(variant->signal ? before + times : 0, report->raised_count);
	EXPECT_EQ(report->raised_count, trace_count(&trace, "signal_generate", "*"));
	EXPECT_EQ(2 * (before + times), trace_count(&trace, "trap_*", "* mode=user *"));
	if (variant->vector == IRET_VECTOR)
		EXPECT_LE(2, trace_count(&trace, "trap_*", "vector=#GP mode=kernel *"));
	EXPECT_TRUE(trace_balanced(&trace));
}

TEST_HARNESS_MAIN
