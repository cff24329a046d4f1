// SPDX-License-Identifier: GPL-2.0
/*
 * Each exception that the kernel can be made to raise and survives is recorded
 * once, also inside of another one.
 *
 * Needs debugfs at /sys/kernel/debug and the module test_modules/traps_raiser.ko; #CP
 * needs a kernel booted with ibt=warn. Raising #NM and #CP makes the kernel warn, which
 * is left out if that makes it panic.
 */
#include <errno.h>
#include <fnmatch.h>
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

/* --- What a 64-bit kernel may find */

#ifdef __x86_64__
static bool has_no_ibt(void)
{
	return !file_has_word("/proc/cpuinfo", "ibt");
}

static bool is_no_k8(void)
{
	return !file_has_word("/proc/cpuinfo", "AuthenticAMD") ||
	       file_number("/proc/cpuinfo", "cpu family : %ld") != 15;
}
#endif

/* --- Tests of single exceptions */

SIMPLE_FIXTURE(kernel, set_up_module)

FIXTURE_VARIANT(kernel) {
	const char *raise;		/* what to tell the module */
	const char *ip;			/* the name of its instruction */
	const char *name;
	unsigned int vector;
	/* The rest by name */
	unsigned long error_code;
	const char *result;		/* if not FIXUP */
	bool int_n;			/* raised by INT n */
	bool warns;			/* the kernel warns of it */
	const char *boot;		/* on the kernel's command line, or NULL */
	bool (*unable)(void);		/* is the CPU unable to raise it */
	const char *absent;		/* and why */
};

#define KERNEL(name, ...) \
	FIXTURE_VARIANT_ADD(kernel, name) { #name, "raise_" #name "_ip", __VA_ARGS__ }

KERNEL(de, "#DE", 0);
KERNEL(de_consumed, "#DE", 0, .result = "CONSUMED", .ip = "raise_de_ip");
KERNEL(of, "#OF", 4, .int_n = true);
KERNEL(ud, "#UD", 6);
KERNEL(nm, "#NM", 7, .result = "WARN", .warns = true);
KERNEL(old_mf, "OLD_MF", 9, .int_n = true);

#ifndef __x86_64__
KERNEL(ts, "#TS", 10);
#endif

KERNEL(np, "#NP", 11, .error_code = ABSENT_SELECTOR);
KERNEL(ss, "#SS", 12, .error_code = ABSENT_SELECTOR);
KERNEL(gp_selector, "#GP", 13, .error_code = 0xfff8);

#ifdef __x86_64__
KERNEL(gp, "#GP", 13);
#endif

KERNEL(spurious, "SPURIOUS", 15, .result = "SPURIOUS", .int_n = true);
KERNEL(mf, "#MF", 16);
KERNEL(mf_int, "#MF", 16, .int_n = true);
KERNEL(xf, "#XF", 19, .unable = is_tcg,
	.absent = "the CPU does not raise SIMD exceptions");
KERNEL(xf_int, "#XF", 19, .int_n = true);

#ifdef __x86_64__
KERNEL(cp, "#CP", 21, .error_code = 3, .result = "WARN", .warns = true, .boot = "ibt=warn",
	.unable = has_no_ibt, .absent = "the CPU or the kernel has no indirect branch tracking");
#endif

static const char *raiser_command;

static void raise_in_kernel(struct report *report, int round)
{
	report->error = module_write("raise", raiser_command);
}

/* A child that raises it once untraced. */
static void start_raiser(struct __test_metadata *_metadata, struct child *child,
			 const char *raise)
{
	raiser_command = raise;
	start(_metadata, child, raise_in_kernel);
	EXPECT_EQ(0, child->report->error);
}

/*
 * One entry and one exit, at the instruction of the module; nothing when it is off or
 * rejected by a filter.
 */
TEST_F(kernel, recorded)
{
	struct child child;
	struct trace trace;
	char text[160], filter[32];

	if (variant->int_n && file_has_word("/proc/cpuinfo", "fred"))
		SKIP(return, "with FRED INT n is not an exception in the kernel");
	if (variant->boot && !file_has_word("/proc/cmdline", variant->boot))
		SKIP(return, "the kernel was not booted with %s", variant->boot);
	if (variant->warns && file_number("/proc/sys/kernel/panic_on_warn", "%ld") > 0)
		SKIP(return, "the kernel warns, which makes it panic");
	if (variant->unable && variant->unable())
		SKIP(return, "%s", variant->absent);
	start_raiser(_metadata, &child, variant->raise);

	snprintf(filter, sizeof(filter), "vector != %u", variant->vector);
	snprintf(text, sizeof(text), "vector=%s *", variant->name);
	check_off(_metadata, &child, "trap", filter, text);
	let_work(_metadata, &child, &trace);

	EXPECT_EQ(0, child.report->error);
	snprintf(text, sizeof(text),
		 "vector=%s mode=kernel error_code=0x%lx ip=%s+0x*/0x* ?traps_raiser? event_data=0x0",
		 variant->name, variant->error_code, variant->ip);
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	expect_exit(_metadata, &child, &trace, text, variant->result ?: "FIXUP", 0);
	EXPECT_EQ(2, trace_count(&trace, "trap_*", "*"));
	EXPECT_EQ(0, trace_count(&trace, "page_fault_*", "* ip=%s+*", variant->ip));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of what is not recorded */

SIMPLE_FIXTURE(unrecorded, set_up_module)

static void raise_mc_and_de(struct report *report, int round)
{
	report->error = module_write("raise", "mc") ?: module_write("raise", "de");
}

/* The handler of machine checks runs, and the next exception is recorded. */
TEST_F(unrecorded, mc)
{
	struct child child;
	struct trace trace;

	if (!file_has_word("/proc/cmdline", "mce=off"))
		SKIP(return, "the kernel was not booted with mce=off");
	record(_metadata, &child, raise_mc_and_de, &trace);
	EXPECT_EQ(0, child.report->error);
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

SIMPLE_FIXTURE(kernel_pf, set_up_module)

FIXTURE_VARIANT(kernel_pf) {
	const char *raise;
	const char *error_code;
	const char *address;		/* a symbol of the module */
	const char *result;
	const char *ip;			/* NULL: the address, without its upper half */
	bool (*unable)(void);		/* is the CPU unable to raise it */
	const char *absent;		/* and why */
};

#define KERNEL_PF(name, ...) FIXTURE_VARIANT_ADD(kernel_pf, name) { __VA_ARGS__ }

/* The page tables allow what the fault was about. */
KERNEL_PF(spurious, "pf_spurious", "PROT|WRITE", "traps_raiser_watched", "SPURIOUS",
	  .ip = "raise_*_ip+0x*/0x* ?traps_raiser?");

#ifdef __x86_64__
/* A K8 may lose the upper half of an address to jump to. */
KERNEL_PF(erratum, "pf_erratum", "INSTR", "raise_pf_erratum_resume", "SPURIOUS",
	  .unable = is_no_k8, .absent = "the CPU is not a K8");
#else
/* The kernel's part of a page directory is copied when it is needed. */
KERNEL_PF(vmalloc, "pf_vmalloc", "0", "traps_raiser_watched", "KERNEL",
	  .ip = "raise_pf_ip+0x*/0x* ?traps_raiser?");
#endif

TEST_F(kernel_pf, recorded)
{
	unsigned long address = find_symbol(variant->address);
	struct child child;
	struct trace trace;
	char text[160];

	if (variant->unable && variant->unable())
		SKIP(return, "%s", variant->absent);
	start_raiser(_metadata, &child, variant->raise);
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);

	EXPECT_EQ(0, child.report->error);
	ASSERT_NE(0, address);
	if (variant->ip)
		snprintf(text, sizeof(text), "address=0x%lx error_code=%s ip=%s mode=kernel",
			 address, variant->error_code, variant->ip);
	else
		snprintf(text, sizeof(text), "address=0x%1$x error_code=%2$s ip=0x%1$x mode=kernel",
			 (unsigned int)address, variant->error_code);
	EXPECT_EQ(1, trace_count(&trace, "page_fault_entry", "%s", text));
	expect_exit(_metadata, &child, &trace, text, variant->result, 0);
	EXPECT_EQ(2, trace_count(&trace, "*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of exceptions that need something set up for them */

static void create_pipe(struct report *report, int round)
{
	void *page = page_of_round(report, round, map_filled);

	if (page)
		read_pipe(page);
}

/* What a child raises with a breakpoint in a function of the kernel; may skip the test. */
static void record_probed(struct __test_metadata *_metadata, struct child *child,
			  const char *function, work_t work, struct trace *trace)
{
	if (access(TRACEFS "kprobe_events", F_OK))
		SKIP(return, "no kprobe events");
	ASSERT_EQ(0, kprobe_add_in(function));
	start(_metadata, child, work);
	ASSERT_EQ(0, kprobes_turn(true));
	turn_on(_metadata, "traps");
	let_work(_metadata, child, trace);
}

SIMPLE_FIXTURE(kernel_bp, set_up)

/*
 * A breakpoint in the kernel. There may be a second one, behind a copy of the
 * probed instruction.
 */
TEST_F(kernel_bp, recorded)
{
	static const char text[] =
		"vector=#BP mode=kernel error_code=0x0 ip=create_pipe_files+0x*/0x* event_data=0x0";
	struct child child;
	struct trace trace;

	record_probed(_metadata, &child, "create_pipe_files", create_pipe, &trace);
	if (_metadata->exit_code)
		return;
	EXPECT_EQ(1, kprobes_hit());
	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	expect_exit(_metadata, &child, &trace, text, "CONSUMED", 0);
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "* mode=user *"));
	EXPECT_GE(2, trace_count(&trace, "trap_entry", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

SIMPLE_FIXTURE(kernel_db, set_up_module)

/* A watchpoint that the kernel hits. */
TEST_F(kernel_db, recorded)
{
	static const char text[] =
		"vector=#DB mode=kernel error_code=0x0 ip=raise_db_ip+0x*/0x* ?traps_raiser? event_data=0x[1248]";
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(attr),
		.sample_period	= 1,
		.bp_type	= HW_BREAKPOINT_W,
		.bp_addr	= find_symbol("traps_raiser_watched"),
		.bp_len		= HW_BREAKPOINT_LEN_4,
		.exclude_user	= 1,
	};
	struct child child;
	struct trace trace;
	int watchpoint;

	start_raiser(_metadata, &child, "db");
	watchpoint = syscall(SYS_perf_event_open, &attr, child.pid, -1, -1, 0);
	ASSERT_LE(0, watchpoint);
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	close(watchpoint);

	EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
	expect_exit(_metadata, &child, &trace, text, "CONSUMED", 0);
	EXPECT_EQ(2, trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of exceptions inside of exceptions */

static void touch_page(struct report *report, int round)
{
	void *page = page_of_round(report, round, map_untouched);

	if (page)
		raise_write(page);
}

/* One entry and one exit with a text are between those with another. */
static void expect_inside(struct __test_metadata *_metadata, const struct trace *trace,
			  const char *outer, const char *inner)
{
	const struct trace_record *entry = trace_find(trace, "*_entry", outer);
	const struct trace_record *exit = trace_find(trace, "*_exit", outer);
	struct trace inside;

	ASSERT_TRUE(entry && exit);
	inside.records = trace->records + (entry + 1 - trace->records);
	inside.count = exit - entry - 1;
	EXPECT_EQ(1, trace_count(&inside, "*_entry", "%s", inner));
	EXPECT_EQ(1, trace_count(&inside, "*_exit", "%s", inner));
	EXPECT_TRUE(trace_balanced(&inside));
	EXPECT_TRUE(trace_balanced(trace));
}

SIMPLE_FIXTURE(bp_in_pf, set_up)

/* A breakpoint inside of a page fault's handler. */
TEST_F(bp_in_pf, recorded)
{
	struct child child;
	struct trace trace;
	char pf[32];

	record_probed(_metadata, &child, "handle_mm_fault", touch_page, &trace);
	if (_metadata->exit_code)
		return;
	snprintf(pf, sizeof(pf), "address=0x%lx *", child.report->address);
	expect_inside(_metadata, &trace, pf,
		      "vector=#BP mode=kernel * ip=handle_mm_fault+*");
}

SIMPLE_FIXTURE(nmi_in_pf, set_up_module)

FIXTURE_VARIANT(nmi_in_pf) {
	const char *at;
};

FIXTURE_VARIANT_ADD(nmi_in_pf, handler) { "handle_mm_fault" };
/* The recording is suspended for the NMI, which is recorded before the exit. */
FIXTURE_VARIANT_ADD(nmi_in_pf, recording) { "trace_event_raw_event_page_fault_exit" };

/* An NMI inside of a page fault's handler, or of the recording of its exit. */
TEST_F(nmi_in_pf, recorded)
{
	struct child child;
	struct trace trace;
	char pf[32];

	start(_metadata, &child, touch_page);
	record_nmis(_metadata, &child);
	ASSERT_EQ(0, module_write("nmi_at", variant->at));
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	snprintf(pf, sizeof(pf), "address=0x%lx *", child.report->address);
	expect_inside(_metadata, &trace, pf, "vector=NMI mode=kernel *");
}

SIMPLE_FIXTURE(pf_in_nmi, set_up_module)

FIXTURE_VARIANT(pf_in_nmi) {
	const char *at;
};

FIXTURE_VARIANT_ADD(pf_in_nmi, handler) { "handle_mm_fault" };
FIXTURE_VARIANT_ADD(pf_in_nmi, recording) { "trace_event_raw_event_page_fault_exit" };

/* Also if only that event is on, and also if the NMI interrupts its recording. */
TEST_F(pf_in_nmi, recorded)
{
	struct child child;
	struct trace trace;
	int inside;

	start(_metadata, &child, touch_page);
	ASSERT_EQ(0, module_write("pf_in_nmi_at", variant->at));
	turn_on(_metadata, "traps/page_fault_exit");
	let_work(_metadata, &child, &trace);
	inside = trace_count(&trace, "page_fault_exit",
			     "address=0x1000 error_code=0 * mode=kernel result=FIXUP");
	EXPECT_LE(1, inside);
	EXPECT_EQ(trace.count, 2 * inside);
	EXPECT_EQ(1, trace_count(&trace, "page_fault_exit", "address=0x%lx * result=MINOR",
				 child.report->address));
}

/* With a stack frame that is not present */
static void touch_framed(struct report *report, int round)
{
	static char *frame;
	void *page = page_of_round(report, round, map_untouched);

	if (!round)
		frame = map_untouched();
	report->failed = !page || !frame;
	if (!report->failed)
		raise_read_framed(page, frame);
	report->address = (unsigned long)frame;
}

SIMPLE_FIXTURE(nmi_in_recording, set_up_module)

/* What the recording raises after the NMI is not recorded, as before. */
TEST_F(nmi_in_recording, is_resumed)
{
	struct child child;
	struct trace trace;

	start(_metadata, &child, touch_framed);
	if (trace_write("options/userstacktrace", "1"))
		SKIP(return, "no user stack traces");
	record_nmis(_metadata, &child);
	ASSERT_EQ(0, module_write("nmi_at", "trace_event_raw_event_page_fault_exit"));
	turn_on(_metadata, "traps");
	turn_on(_metadata, "exceptions/page_fault_kernel");
	let_work(_metadata, &child, &trace);
	EXPECT_LE(1, trace_count(&trace, "trap_exit", "vector=NMI mode=kernel *"));
	EXPECT_LE(2, trace_count(&trace, "page_fault_kernel", "address=0x%lx *",
				 child.report->address));
	EXPECT_EQ(0, trace_count(&trace, "page_fault_e*", "address=0x%lx *",
				 child.report->address));
}

/* At least: the module's mdelay() may be a loop that was calibrated while the emulator was busy. */
#define DELAY_NS	20000000

SIMPLE_FIXTURE(delayed, set_up_module)

FIXTURE_VARIANT(delayed) {
	const char *at;
	bool counts;
};

FIXTURE_VARIANT_ADD(delayed, entry) { "trace_event_raw_event_page_fault_entry", false };
FIXTURE_VARIANT_ADD(delayed, handler) { "handle_mm_fault", true };
FIXTURE_VARIANT_ADD(delayed, exit) { "trace_event_raw_event_page_fault_exit", false };

/* The duration is that of the handler, not of the recording. All page faults here are delayed. */
TEST_F(delayed, duration)
{
	const struct trace_record *exit;
	struct child child;
	struct trace trace;
	char pf[32];

	start(_metadata, &child, touch_page);
	ASSERT_EQ(0, module_write("delay_at", variant->at));
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	EXPECT_LE(DELAY_NS, child.report->time);
	snprintf(pf, sizeof(pf), "address=0x%lx *", child.report->address);
	exit = trace_find(&trace, "page_fault_exit", pf);
	ASSERT_TRUE(!!exit);
	EXPECT_EQ(variant->counts, exit->duration >= child.report->time / 2);
}

#ifdef __x86_64__
static void read_absent(struct report *report, int round)
{
	void *page = page_of_round(report, round, map_absent);

	raise_resume = raise_read_resume;
	if (page)
		raise_read(page);
}

SIMPLE_FIXTURE(arguments, set_up)

/* What a callback is told, such as a BPF program, has no flags in the result. */
TEST_F(arguments, result)
{
	struct child child;
	char filter[32], *text;
	int error = kprobe_add("trace_event_raw_event_page_fault_exit", "result=$arg6:u32");

	if (error == -EINVAL)
		SKIP(return, "no kprobe on the tracer: is KPROBE_EVENTS_ON_NOTRACE on?");
	ASSERT_EQ(0, error);
	start(_metadata, &child, read_absent);
	snprintf(filter, sizeof(filter), "common_pid == %d", child.pid);
	ASSERT_EQ(0, kprobes_filter(filter));
	ASSERT_EQ(0, kprobes_turn(true));
	turn_on(_metadata, "traps/page_fault_exit");
	ASSERT_EQ(0, child_go(&child));
	text = trace_read("trace");
	EXPECT_TRUE(text && strstr(text, "result=SIGSEGV code=MAPERR flags=") &&
		    strstr(text, "MMAP_LOCK"));
	EXPECT_TRUE(text && strstr(text, ") result=6\n"));
	free(text);
}
#endif

SIMPLE_FIXTURE(nmi_in_nmi, set_up_module)

/*
 * An NMI that is sent inside of another one comes when that has ended, also if its handler
 * has returned from an exception in between.
 */
TEST_F(nmi_in_nmi, recorded)
{
	static const struct {
		const char *event, *text;
	} expected[] = {
		{ "trap_entry", "vector=NMI mode=kernel *" },
		{ "trap_entry", "vector=#DE mode=kernel *" },
		{ "trap_exit", "vector=#DE mode=kernel *" },
		{ "trap_exit", "vector=NMI mode=kernel *" },
		{ "trap_entry", "vector=NMI mode=kernel *" },
		{ "trap_exit", "vector=NMI mode=kernel *" },
	};
	struct child child;
	struct trace trace;

	start_raiser(_metadata, &child, "nmi_in_nmi");
	record_nmis(_metadata, &child);
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	EXPECT_EQ(0, child.report->error);
	ASSERT_EQ(ARRAY_SIZE(expected), trace.count);
	for (int i = 0; i < trace.count; i++) {
		EXPECT_STREQ(expected[i].event, trace.records[i].event);
		EXPECT_EQ(0, fnmatch(expected[i].text, trace.records[i].text, 0));
	}
}

#ifdef __x86_64__
static void store_gdt(struct report *report, int round)
{
	void *page = page_of_round(report, round, map_untouched);

	if (page)
		raise_sgdt(page);
}

SIMPLE_FIXTURE(pf_in_gp, set_up)

/* The handler of #GP emulates an instruction and faults on its operand. */
TEST_F(pf_in_gp, recorded)
{
	struct child child;
	struct trace trace;
	char gp[96], pf[64];

	if (!has_umip())
		SKIP(return, "the CPU or the kernel has no UMIP");
	record(_metadata, &child, store_gdt, &trace);
	EXPECT_EQ(0, child.report->raised_count);
	snprintf(gp, sizeof(gp), "vector=#GP mode=user error_code=0x0 ip=0x%lx *",
		 (unsigned long)raise_sgdt_ip);
	snprintf(pf, sizeof(pf), "address=0x%lx * mode=kernel*", child.report->address);
	expect_inside(_metadata, &trace, gp, pf);
	EXPECT_EQ(1, trace_count(&trace, "page_fault_exit", "%s result=MINOR", pf));
}
#endif

TEST_HARNESS_MAIN
