// SPDX-License-Identifier: GPL-2.0
/*
 * Each exception that the kernel can be made to raise and survives is recorded
 * once, also inside of another one.
 *
 * Needs root, tracefs at /sys/kernel/tracing, debugfs at /sys/kernel/debug, the
 * options in ./config and the module test_modules/traps_raiser.ko. #MC needs
 * a kernel booted with mce=off, #CP one booted with ibt=warn.
 * Raising #NM and #CP makes the kernel warn.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
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
	unsigned long error_code;
	const char *ip;
	bool int_n;			/* raised by INT n */
	const char *boot;		/* on the kernel's command line, or NULL */
	const char *absent;		/* why the CPU may not raise it */
};

FIXTURE_VARIANT_ADD(kernel, de) {
	.raise	= "de",
	.name	= "#DE",
	.vector	= 0,
	.ip	= "raise_de_ip",
};

FIXTURE_VARIANT_ADD(kernel, of) {
	.raise	= "of",
	.name	= "#OF",
	.vector	= 4,
	.ip	= "raise_of_ip",
	.int_n	= true,
};

FIXTURE_VARIANT_ADD(kernel, ud) {
	.raise	= "ud",
	.name	= "#UD",
	.vector	= 6,
	.ip	= "raise_ud_ip",
};

FIXTURE_VARIANT_ADD(kernel, nm) {
	.raise	= "nm",
	.name	= "#NM",
	.vector	= 7,
	.ip	= "raise_nm_ip",
};

FIXTURE_VARIANT_ADD(kernel, old_mf) {
	.raise	= "old_mf",
	.name	= "OLD_MF",
	.vector	= 9,
	.ip	= "raise_old_mf_ip",
	.int_n	= true,
};

#ifndef __x86_64__
FIXTURE_VARIANT_ADD(kernel, ts) {
	.raise	= "ts",
	.name	= "#TS",
	.vector	= 10,
	.ip	= "raise_ts_ip",
};
#endif

FIXTURE_VARIANT_ADD(kernel, np) {
	.raise	= "np",
	.name	= "#NP",
	.vector	= 11,
	.error_code = ABSENT_SELECTOR,
	.ip	= "raise_np_ip",
};

FIXTURE_VARIANT_ADD(kernel, ss) {
	.raise	= "ss",
	.name	= "#SS",
	.vector	= 12,
	.error_code = ABSENT_SELECTOR,
	.ip	= "raise_ss_ip",
};

FIXTURE_VARIANT_ADD(kernel, gp_selector) {
	.raise	= "gp_selector",
	.name	= "#GP",
	.vector	= 13,
	.error_code = 0xfff8,
	.ip	= "raise_gp_selector_ip",
};

#ifdef __x86_64__
FIXTURE_VARIANT_ADD(kernel, gp) {
	.raise	= "gp",
	.name	= "#GP",
	.vector	= 13,
	.ip	= "raise_gp_ip",
};
#endif

FIXTURE_VARIANT_ADD(kernel, spurious) {
	.raise	= "spurious",
	.name	= "SPURIOUS",
	.vector	= 15,
	.ip	= "raise_spurious_ip",
	.int_n	= true,
};

FIXTURE_VARIANT_ADD(kernel, mf) {
	.raise	= "mf",
	.name	= "#MF",
	.vector	= 16,
	.ip	= "raise_mf_ip",
};

FIXTURE_VARIANT_ADD(kernel, mf_int) {
	.raise	= "mf_int",
	.name	= "#MF",
	.vector	= 16,
	.ip	= "raise_mf_int_ip",
	.int_n	= true,
};

FIXTURE_VARIANT_ADD(kernel, mc) {
	.raise	= "mc",
	.name	= "#MC",
	.vector	= 18,
	.ip	= "raise_mc_ip",
	.int_n	= true,
	.boot	= "mce=off",
};

FIXTURE_VARIANT_ADD(kernel, xf) {
	.raise	= "xf",
	.name	= "#XF",
	.vector	= 19,
	.ip	= "raise_xf_ip",
	.absent	= "the CPU does not raise SIMD exceptions",
};

FIXTURE_VARIANT_ADD(kernel, xf_int) {
	.raise	= "xf_int",
	.name	= "#XF",
	.vector	= 19,
	.ip	= "raise_xf_int_ip",
	.int_n	= true,
};

#ifdef __x86_64__
FIXTURE_VARIANT_ADD(kernel, cp) {
	.raise	= "cp",
	.name	= "#CP",
	.vector	= 21,
	.error_code = 3,
	.ip	= "raise_cp_ip",
	.boot	= "ibt=warn",
	.absent	= "the CPU or the kernel has no indirect branch tracking",
};
#endif

static const char *raiser_command;

static void raise_in_kernel(struct report *report, bool traced)
{
	report->error = module_write("raise", raiser_command);
}

/* A child that raises it once untraced, which it may not be able to for a reason. */
static void start_raiser(struct __test_metadata *_metadata, struct child *child,
			 const char *raise, const char *absent)
{
	raiser_command = raise;
	start(_metadata, child, raise_in_kernel);
	if (absent && child->report->error == ENODEV) {
		child_end(child);
		trace_remove();
		module_unload();
		SKIP(return, "%s", absent);
	}
}

FIXTURE_SETUP(kernel)
{
	if (variant->int_n && file_has_word("/proc/cpuinfo", "fred"))
		SKIP(return, "with FRED INT n is not an exception in the kernel");
	if (variant->boot && !file_has_word("/proc/cmdline", variant->boot))
		SKIP(return, "the kernel was not booted with %s", variant->boot);
	set_up_module(_metadata);
	if (_metadata->exit_code)
		return;
	start_raiser(_metadata, &self->child, variant->raise, variant->absent);
}

FIXTURE_TEARDOWN_PARENT(kernel)
{
	tear_down_module(_metadata);
}

/* One entry and one exit, at the instruction of the module. */
TEST_F(kernel, recorded)
{
	const struct trace_record *exit;
	struct trace trace;
	char text[128];

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);

	EXPECT_EQ(0, self->child.report->error);
	snprintf(text, sizeof(text), "%s vector=%u error_code=0x%lx ip=%s ?traps_raiser? kernel",
		 variant->name, variant->vector, variant->error_code, variant->ip);
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	EXPECT_EQ(1, trace_count(&trace, "trap_exit", "%s", text));
	EXPECT_EQ(2, trace_count(&trace, "trap_*", "*"));
	EXPECT_EQ(0, trace_count(&trace, "page_fault_*", "* ip=%s *", variant->ip));
	EXPECT_TRUE(trace_balanced(&trace));

	exit = trace_find(&trace, "trap_exit");
	ASSERT_NE(NULL, exit);
	EXPECT_LT(0, exit->duration);
	EXPECT_LT(exit->duration, self->child.report->time);
}

/* What is off is not recorded. */
TEST_F(kernel, off)
{
	check_off(_metadata, &self->child);
}

/* What the filter rejects is not recorded. */
TEST_F(kernel, rejected)
{
	check_rejected(_metadata, &self->child, variant->name, variant->vector);
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
	bool is_ip;			/* the address, without its upper half, is the ip */
	const char *ip;
	const char *result;
	const char *absent;		/* why it may not be raised */
};

/* The page tables allow what the fault was about. */
FIXTURE_VARIANT_ADD(kernel_pf, spurious) {
	.raise	= "pf_spurious",
	.error_code = "PROT|WRITE",
	.address = "traps_raiser_watched",
	.ip	= "raise_pf_ip ?traps_raiser?",
	.result	= "SPURIOUS",
	.absent	= "with FRED a handler cannot be jumped to",
};

#ifdef __x86_64__
/* A K8 may lose the upper half of an address to jump to. */
FIXTURE_VARIANT_ADD(kernel_pf, erratum) {
	.raise	= "pf_erratum",
	.error_code = "INSTR",
	.address = "raise_pf_erratum_resume",
	.is_ip	= true,
	.result	= "ERRATUM",
	.absent	= "the CPU is not a K8",
};
#else
/* The kernel's part of a page directory is copied when it is needed. */
FIXTURE_VARIANT_ADD(kernel_pf, vmalloc) {
	.raise	= "pf_vmalloc",
	.error_code = "0",
	.address = "traps_raiser_watched",
	.ip	= "raise_pf_ip ?traps_raiser?",
	.result	= "KERNEL",
};
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
	tear_down_module(_metadata);
}

TEST_F(kernel_pf, recorded)
{
	unsigned long address = find_symbol(variant->address);
	const struct trace_record *exit;
	struct trace trace;
	char text[160];

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);

	EXPECT_EQ(0, self->child.report->error);
	ASSERT_NE(0, address);
	if (variant->is_ip)
		snprintf(text, sizeof(text), "address=0x%1$x error_code=%2$s ip=0x%1$x kernel",
			 (unsigned int)address, variant->error_code);
	else
		snprintf(text, sizeof(text), "address=0x%lx error_code=%s ip=%s kernel",
			 address, variant->error_code, variant->ip);
	EXPECT_EQ(1, trace_count(&trace, "page_fault_entry", "%s", text));
	expect_result(_metadata, &trace, text, variant->result);
	EXPECT_EQ(2, trace_count(&trace, "*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));

	exit = trace_find(&trace, "page_fault_exit");
	ASSERT_NE(NULL, exit);
	EXPECT_LT(0, exit->duration);
	EXPECT_LT(exit->duration, self->child.report->time);
}

/* --- Tests of exceptions that need something set up for them */

static void create_pipe(struct report *report, bool traced)
{
	static char *map;

	if (!traced)
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
	if (trace_add_kprobe("create_pipe_files")) {
		trace_remove();
		SKIP(return, "no kprobe on create_pipe_files");
	}
	start(_metadata, &self->child, create_pipe);
}

FIXTURE_TEARDOWN_PARENT(kernel_bp)
{
	tear_down(_metadata);
	EXPECT_EQ(0, trace_remove_kprobe());
}

/*
 * A breakpoint in the kernel. There may be a second one, behind a copy of the
 * probed instruction.
 */
TEST_F(kernel_bp, recorded)
{
	static const char text[] = "#BP vector=3 error_code=0x0 ip=create_pipe_files kernel";
	struct trace trace;

	ASSERT_EQ(0, trace_enable_kprobe());
	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);

	EXPECT_EQ(1, trace_kprobe_hits());
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	EXPECT_EQ(1, trace_count(&trace, "trap_exit", "%s", text));
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "* user"));
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
	tear_down_module(_metadata);
}

/* A watchpoint that the kernel hits. */
TEST_F(kernel_db, recorded)
{
	static const char text[] =
		"#DB vector=1 error_code=0x0 ip=raise_db_ip ?traps_raiser? kernel";
	struct trace trace;

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);
	close(self->watchpoint);

	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	EXPECT_EQ(1, trace_count(&trace, "trap_exit", "%s", text));
	EXPECT_EQ(2, trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of exceptions inside of exceptions */

static void touch_page(struct report *report, bool traced)
{
	static char *map;

	if (!traced)
		map = map_untouched();
	if (!map) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)map + (traced ? PAGE : 0);
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
	if (trace_add_kprobe("handle_mm_fault")) {
		trace_remove();
		SKIP(return, "no kprobe on handle_mm_fault");
	}
	start(_metadata, &self->child, touch_page);
}

FIXTURE_TEARDOWN_PARENT(bp_in_pf)
{
	tear_down(_metadata);
	EXPECT_EQ(0, trace_remove_kprobe());
}

/* A breakpoint inside of a page fault's handler. */
TEST_F(bp_in_pf, recorded)
{
	struct trace trace, inside;

	ASSERT_EQ(0, trace_enable_kprobe());
	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);

	inside = trace_inside(&trace, "address=0x%lx ", self->child.report->address);
	EXPECT_EQ(1, trace_count(&inside, "trap_entry", "#BP * ip=handle_mm_fault kernel"));
	EXPECT_EQ(1, trace_count(&inside, "trap_exit", "#BP * ip=handle_mm_fault kernel"));
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
	ASSERT_EQ(0, module_write("nmi_at", "handle_mm_fault"));
}

FIXTURE_TEARDOWN_PARENT(nmi_in_pf)
{
	tear_down_module(_metadata);
}

/* An NMI inside of a page fault's handler. */
TEST_F(nmi_in_pf, recorded)
{
	struct trace trace, inside;

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);

	inside = trace_inside(&trace, "address=0x%lx ", self->child.report->address);
	EXPECT_EQ(1, trace_count(&inside, "trap_entry", "NMI * kernel"));
	EXPECT_EQ(1, trace_count(&inside, "trap_exit", "NMI * kernel"));
	EXPECT_TRUE(trace_balanced(&inside));
	EXPECT_TRUE(trace_balanced(&trace));
}

#ifdef __x86_64__
static void store_gdt(struct report *report, bool traced)
{
	static char *map;

	if (!traced)
		map = map_untouched();
	if (!map) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)map + (traced ? PAGE : 0);
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
	finish(_metadata, &self->child, &trace);

	EXPECT_EQ(0, self->child.report->raised_count);
	inside = trace_inside(&trace, "#GP vector=13 error_code=0x0 ip=0x%lx user",
			      (unsigned long)raise_sgdt_ip);
	EXPECT_EQ(1, trace_count(&inside, "page_fault_entry", "address=0x%lx * kernel",
				 self->child.report->address));
	EXPECT_EQ(1, trace_count(&inside, "page_fault_exit", "address=0x%lx * kernel result=MINOR",
				 self->child.report->address));
	EXPECT_TRUE(trace_balanced(&inside));
	EXPECT_TRUE(trace_balanced(&trace));
}
#endif

TEST_HARNESS_MAIN
