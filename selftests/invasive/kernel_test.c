// SPDX-License-Identifier: GPL-2.0
/*
 * Each exception that the kernel can be made to raise and survives is recorded
 * once, also inside of another one.
 *
 * Needs root, tracefs at /sys/kernel/tracing, debugfs at /sys/kernel/debug, the
 * options in ./config and the module test_modules/traps_raiser.ko. #CP needs a
 * kernel booted with ibt=warn. Raising #NM and #CP makes the kernel warn, which is
 * left out if that makes it panic.
 */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "invasive_fixture.h"
#include "memory.h"

/* The segment that the module loads, the last one of the GDT for TLS. */
#ifdef __x86_64__
#define ABSENT_SELECTOR	(14 << 3)
#else
#define ABSENT_SELECTOR	(8 << 3)
#endif

/* --- Tests of single exceptions */

FIXTURE(kernel) {
	struct child child;
};

FIXTURE_VARIANT(kernel) {
	const char *raise;		/* what to tell the module */
	const char *name;
	unsigned int vector;
	const char *ip;
	/* The rest by name */
	unsigned long error_code;
	const char *result;		/* if not FIXUP */
	bool int_n;			/* raised by INT n */
	bool warns;			/* the kernel warns of it */
	const char *boot;		/* on the kernel's command line, or NULL */
	const char *absent;		/* why the CPU may not raise it */
};

#define KERNEL(name, ...) FIXTURE_VARIANT_ADD(kernel, name) { __VA_ARGS__ }

KERNEL(de, "de", "#DE", 0, "raise_de_ip");
KERNEL(of, "of", "#OF", 4, "raise_of_ip", .int_n = true);
KERNEL(ud, "ud", "#UD", 6, "raise_ud_ip");
KERNEL(nm, "nm", "#NM", 7, "raise_nm_ip", .result = "HANDLED", .warns = true);
KERNEL(old_mf, "old_mf", "OLD_MF", 9, "raise_old_mf_ip", .int_n = true);

#ifndef __x86_64__
KERNEL(ts, "ts", "#TS", 10, "raise_ts_ip");
#endif

KERNEL(np, "np", "#NP", 11, "raise_np_ip", .error_code = ABSENT_SELECTOR);
KERNEL(ss, "ss", "#SS", 12, "raise_ss_ip", .error_code = ABSENT_SELECTOR);
KERNEL(gp_selector, "gp_selector", "#GP", 13, "raise_gp_selector_ip", .error_code = 0xfff8);

#ifdef __x86_64__
KERNEL(gp, "gp", "#GP", 13, "raise_gp_ip");
#endif

KERNEL(spurious, "spurious", "SPURIOUS", 15, "raise_spurious_ip", .result = "SPURIOUS",
	.int_n = true);
KERNEL(mf, "mf", "#MF", 16, "raise_mf_ip");
KERNEL(mf_int, "mf_int", "#MF", 16, "raise_mf_int_ip", .int_n = true);
KERNEL(xf, "xf", "#XF", 19, "raise_xf_ip",
	.absent = "the CPU does not raise SIMD exceptions");
KERNEL(xf_int, "xf_int", "#XF", 19, "raise_xf_int_ip", .int_n = true);

#ifdef __x86_64__
KERNEL(cp, "cp", "#CP", 21, "raise_cp_ip", .error_code = 3, .result = "HANDLED",
	.warns = true, .boot = "ibt=warn",
	.absent = "the CPU or the kernel has no indirect branch tracking");
#endif

static const char *raiser_command;

static void raise_in_kernel(struct report *report, int round)
{
	report->error = module_write("raise", raiser_command);
}

/* A child that raises it once untraced, which it may not be able to for a reason. */
static void start_raiser(struct __test_metadata *_metadata, struct child *child,
			 const char *raise, const char *absent)
{
	raiser_command = raise;
	start(_metadata, child, raise_in_kernel);
	if (absent && child->report->error == ENODEV)
		SKIP(return, "%s", absent);
}

static bool warning_panics(void)
{
	char *text = file_read("/proc/sys/kernel/panic_on_warn");
	bool panics = text && atoi(text);

	free(text);
	return panics;
}

FIXTURE_SETUP(kernel)
{
	if (variant->int_n && file_has_word("/proc/cpuinfo", "fred"))
		SKIP(return, "with FRED INT n is not an exception in the kernel");
	if (variant->boot && !file_has_word("/proc/cmdline", variant->boot))
		SKIP(return, "the kernel was not booted with %s", variant->boot);
	if (variant->warns && warning_panics())
		SKIP(return, "the kernel warns, which makes it panic");
	set_up_module(_metadata);
	if (_metadata->exit_code)
		return;
	start_raiser(_metadata, &self->child, variant->raise, variant->absent);
}

FIXTURE_TEARDOWN_PARENT(kernel)
{
	tear_down(_metadata);
}

/*
 * One entry and one exit, at the instruction of the module; nothing when it is off or
 * rejected by a filter.
 */
TEST_F(kernel, recorded)
{
	struct trace trace;
	char text[160], filter[32];

	snprintf(filter, sizeof(filter), "vector != %u", variant->vector);
	snprintf(text, sizeof(text), "vector=%s *", variant->name);
	check_off(_metadata, &self->child, "trap", filter, text);
	let_work(_metadata, &self->child, &trace);

	EXPECT_EQ(0, self->child.report->error);
	snprintf(text, sizeof(text),
		 "vector=%s mode=kernel error_code=0x%lx ip=%s+0x*/0x* ?traps_raiser? event_data=0x0",
		 variant->name, variant->error_code, variant->ip);
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	expect_exit(_metadata, &self->child, &trace, text, variant->result ?: "FIXUP", 0);
	EXPECT_EQ(2, trace_count(&trace, "trap_*", "*"));
	EXPECT_EQ(0, trace_count(&trace, "page_fault_*", "* ip=%s+*", variant->ip));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of what is not recorded */

static void raise_mc_and_de(struct report *report, int round)
{
	report->error = module_write("raise", "mc") ?: module_write("raise", "de");
}

FIXTURE(unrecorded) {
	struct child child;
};

FIXTURE_SETUP(unrecorded)
{
	if (file_has_word("/proc/cpuinfo", "fred"))
		SKIP(return, "with FRED INT n is not an exception in the kernel");
	if (!file_has_word("/proc/cmdline", "mce=off"))
		SKIP(return, "the kernel was not booted with mce=off");
	set_up_module(_metadata);
	if (_metadata->exit_code)
		return;
	start(_metadata, &self->child, raise_mc_and_de);
}

FIXTURE_TEARDOWN_PARENT(unrecorded)
{
	tear_down(_metadata);
}

/* The handler of machine checks runs, and the next exception is recorded. */
TEST_F(unrecorded, mc)
{
	struct trace trace;

	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(0, self->child.report->error);
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "vector=#DE *"));
	EXPECT_EQ(1, trace_count(&trace, "trap_exit", "vector=#DE *"));
	EXPECT_EQ(2, trace.count);
}

/* --- Tests of page faults that end in a rare way */

/* Where is what the module names so? */
static unsigned long find_symbol(const char *name)
{
	char *text = file_read("/proc/kallsyms"), *line, *next = text, symbol[128];
	unsigned long address, found = 0;

	while (!found && (line = strsep(&next, "\n")))
		if (sscanf(line, "%lx %*c %127s", &address, symbol) == 2 &&
		    !strcmp(symbol, name))
			found = address;
	free(text);
	return found;
}

FIXTURE(kernel_pf) {
	struct child child;
};

FIXTURE_VARIANT(kernel_pf) {
	const char *raise;
	const char *error_code;
	const char *address;		/* a symbol of the module */
	const char *result;
	const char *ip;			/* NULL: the address, without its upper half */
	const char *absent;		/* why it may not be raised */
};

#define KERNEL_PF(name, ...) FIXTURE_VARIANT_ADD(kernel_pf, name) { __VA_ARGS__ }

/* The page tables allow what the fault was about. */
KERNEL_PF(spurious, "pf_spurious", "PROT|WRITE", "traps_raiser_watched", "SPURIOUS",
	  .ip = "raise_pf_ip+0x*/0x* ?traps_raiser?", .absent = "with FRED a handler cannot be jumped to");

#ifdef __x86_64__
/* A K8 may lose the upper half of an address to jump to. */
KERNEL_PF(erratum, "pf_erratum", "INSTR", "raise_pf_erratum_resume", "SPURIOUS",
	  .absent = "the CPU is not a K8");
#else
/* The kernel's part of a page directory is copied when it is needed. */
KERNEL_PF(vmalloc, "pf_vmalloc", "0", "traps_raiser_watched", "KERNEL",
	  .ip = "raise_pf_ip+0x*/0x* ?traps_raiser?");
#endif

FIXTURE_SETUP(kernel_pf)
{
	set_up_module(_metadata);
	if (_metadata->exit_code)
		return;
	start_raiser(_metadata, &self->child, variant->raise, variant->absent);
}

FIXTURE_TEARDOWN_PARENT(kernel_pf)
{
	tear_down(_metadata);
}

TEST_F(kernel_pf, recorded)
{
	unsigned long address = find_symbol(variant->address);
	struct trace trace;
	char text[160];

	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);

	EXPECT_EQ(0, self->child.report->error);
	ASSERT_NE(0, address);
	if (variant->ip)
		snprintf(text, sizeof(text), "address=0x%lx error_code=%s ip=%s mode=kernel",
			 address, variant->error_code, variant->ip);
	else
		snprintf(text, sizeof(text), "address=0x%1$x error_code=%2$s ip=0x%1$x mode=kernel",
			 (unsigned int)address, variant->error_code);
	EXPECT_EQ(1, trace_count(&trace, "page_fault_entry", "%s", text));
	expect_exit(_metadata, &self->child, &trace, text, variant->result, 0);
	EXPECT_EQ(2, trace_count(&trace, "*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of exceptions that need something set up for them */

static void create_pipe(struct report *report, int round)
{
	static char *map;

	if (!round)
		map = map_filled();
	if (!map)
		report->failed = true;
	else
		read_pipe(map);
}

FIXTURE(kernel_bp) {
	struct child child;
};

FIXTURE_SETUP(kernel_bp)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (kprobe_add("create_pipe_files"))
		SKIP(return, "no kprobe on create_pipe_files");
	start(_metadata, &self->child, create_pipe);
}

FIXTURE_TEARDOWN_PARENT(kernel_bp)
{
	tear_down(_metadata);
}

/*
 * A breakpoint in the kernel. There may be a second one, behind a copy of the
 * probed instruction.
 */
TEST_F(kernel_bp, recorded)
{
	static const char text[] = 
		"vector=#BP mode=kernel error_code=0x0 ip=create_pipe_files+0x*/0x* event_data=0x0";
	struct trace trace;

	ASSERT_EQ(0, kprobe_enable());
	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);

	EXPECT_EQ(1, kprobe_hits());
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	expect_exit(_metadata, &self->child, &trace, text, "CONSUMED", 0);
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "* mode=user *"));
	EXPECT_GE(2, trace_count(&trace, "trap_entry", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

FIXTURE(kernel_db) {
	struct child child;
	int watchpoint;
};

FIXTURE_SETUP(kernel_db)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(attr),
		.sample_period	= 1,
		.bp_type	= HW_BREAKPOINT_W,
		.bp_len		= HW_BREAKPOINT_LEN_4,
		.exclude_user	= 1,
	};

	set_up_module(_metadata);
	if (_metadata->exit_code)
		return;
	raiser_command = "db";
	start(_metadata, &self->child, raise_in_kernel);
	attr.bp_addr = find_symbol("traps_raiser_watched");
	self->watchpoint = syscall(SYS_perf_event_open, &attr, self->child.pid, -1, -1, 0);
	ASSERT_LE(0, self->watchpoint);
}

FIXTURE_TEARDOWN_PARENT(kernel_db)
{
	tear_down(_metadata);
}

/* A watchpoint that the kernel hits. */
TEST_F(kernel_db, recorded)
{
	static const char text[] =
		"vector=#DB mode=kernel error_code=0x0 ip=raise_db_ip+0x*/0x* ?traps_raiser? event_data=0x[1248]";
	struct trace trace;

	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);
	close(self->watchpoint);

	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	expect_exit(_metadata, &self->child, &trace, text, "CONSUMED", 0);
	EXPECT_EQ(2, trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of exceptions inside of exceptions */

static void touch_page(struct report *report, int round)
{
	static char *map;

	if (!round)
		map = map_untouched();
	if (!map) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)map + round * PAGE;
	raise_write((void *)report->address);
}

FIXTURE(bp_in_pf) {
	struct child child;
};

FIXTURE_SETUP(bp_in_pf)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (kprobe_add("handle_mm_fault"))
		SKIP(return, "no kprobe on handle_mm_fault");
	start(_metadata, &self->child, touch_page);
}

FIXTURE_TEARDOWN_PARENT(bp_in_pf)
{
	tear_down(_metadata);
}

/* A breakpoint inside of a page fault's handler. */
TEST_F(bp_in_pf, recorded)
{
	struct trace trace, inside;

	ASSERT_EQ(0, kprobe_enable());
	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);

	inside = trace_inside(&trace, "address=0x%lx ", self->child.report->address);
	EXPECT_EQ(1, trace_count(&inside, "trap_entry", "vector=#BP mode=kernel * ip=handle_mm_fault+*"));
	EXPECT_EQ(1, trace_count(&inside, "trap_exit", "vector=#BP mode=kernel * ip=handle_mm_fault+*"));
	EXPECT_TRUE(trace_balanced(&inside));
	EXPECT_TRUE(trace_balanced(&trace));
}

FIXTURE(nmi_in_pf) {
	struct child child;
};

FIXTURE_SETUP(nmi_in_pf)
{
	set_up_module(_metadata);
	if (_metadata->exit_code)
		return;
	start(_metadata, &self->child, touch_page);
	record_nmis(_metadata, &self->child);
	ASSERT_EQ(0, module_write("nmi_at", "handle_mm_fault"));
}

FIXTURE_TEARDOWN_PARENT(nmi_in_pf)
{
	tear_down(_metadata);
}

/* An NMI inside of a page fault's handler. */
TEST_F(nmi_in_pf, recorded)
{
	struct trace trace, inside;

	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);

	inside = trace_inside(&trace, "address=0x%lx ", self->child.report->address);
	EXPECT_EQ(1, trace_count(&inside, "trap_entry", "vector=NMI mode=kernel *"));
	EXPECT_EQ(1, trace_count(&inside, "trap_exit", "vector=NMI mode=kernel *"));
	EXPECT_TRUE(trace_balanced(&inside));
	EXPECT_TRUE(trace_balanced(&trace));
}

#ifdef __x86_64__
static void store_gdt(struct report *report, int round)
{
	static char *map;

	if (!round)
		map = map_untouched();
	if (!map) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)map + round * PAGE;
	raise_sgdt((void *)report->address);
}

FIXTURE(pf_in_gp) {
	struct child child;
};

FIXTURE_SETUP(pf_in_gp)
{
	if (!file_has_word("/proc/cpuinfo", "umip"))
		SKIP(return, "the CPU or the kernel has no UMIP");
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	start(_metadata, &self->child, store_gdt);
}

FIXTURE_TEARDOWN_PARENT(pf_in_gp)
{
	tear_down(_metadata);
}

/* The handler of #GP emulates an instruction and faults on its operand. */
TEST_F(pf_in_gp, recorded)
{
	struct trace trace, inside;

	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);

	EXPECT_EQ(0, self->child.report->raised_count);
	inside = trace_inside(&trace, "vector=#GP mode=user error_code=0x0 ip=0x%lx ",
			      (unsigned long)raise_sgdt_ip);
	EXPECT_EQ(1, trace_count(&inside, "page_fault_entry", "address=0x%lx * mode=kernel",
				 self->child.report->address));
	EXPECT_EQ(1, trace_count(&inside, "page_fault_exit", "address=0x%lx * mode=kernel result=MINOR",
				 self->child.report->address));
	EXPECT_TRUE(trace_balanced(&inside));
	EXPECT_TRUE(trace_balanced(&trace));
}
#endif

TEST_HARNESS_MAIN
