// SPDX-License-Identifier: GPL-2.0
/*
 * A breakpoint in a function that is called while a trap event is recorded, with all that
 * can be attached to an event: the machine survives it, and the records are complete. So
 * they are with the function tracers.
 *
 * Needs CONFIG_KPROBE_EVENTS_ON_NOTRACE.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/syscall.h>

#include "invasive_fixture.h"
#include "memory.h"

#define RCU_EXPEDITED	"/sys/kernel/rcu_expedited"

/* --- What the child raises, and what has to be recorded of it */

#define RAISED		5

/*
 * Of the stack. A page fault in the handler of a kprobe counts as one inside of an NMI,
 * whatever the kprobe interrupted.
 */
static char *(*map_frame)(void) = map_filled;

/* #BP and page faults, one more of a system call */
static void raise_all(struct report *report, int round)
{
	static char *pages, *frame;
	char *page;

	if (!round) {
		pages = map_anonymous(ROUNDS * (RAISED + 1));
		frame = map_frame();
	}
	if (!pages || !frame) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)frame;
	page = pages + round * (RAISED + 1) * PAGE;
	for (int i = 0; i < RAISED; i++) {
		raise_bp();
		raise_read_framed(page + i * PAGE, frame);
	}
	read_pipe(page + RAISED * PAGE);
}

/* All of that, in pairs, and nothing on the frame, which the recording raises */
static void expect_recorded(struct __test_metadata *_metadata, const struct child *child,
			    const struct trace *trace)
{
	const struct report *report = child->report;

	EXPECT_LE(RAISED, report->minflt);
	EXPECT_EQ(report->minflt - 1, trace_count(trace, "page_fault_entry", "* mode=user"));
	EXPECT_EQ(report->minflt, trace_count(trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(1, trace_count(trace, "page_fault_exit", "* mode=kernel result=MINOR"));
	EXPECT_EQ(0, trace_count(trace, "page_fault_e*", "address=0x%lx *", report->address));
	EXPECT_EQ(RAISED, trace_count(trace, "trap_entry", "vector=#BP mode=user *"));
	EXPECT_EQ(RAISED, trace_count(trace, "trap_exit", "vector=#BP mode=user *"));
	EXPECT_TRUE(trace_balanced(trace));
}

/* --- Tests of the function tracers */

SIMPLE_FIXTURE(traced, set_up)

FIXTURE_VARIANT(traced) {
	const char *tracer;
};

FIXTURE_VARIANT_ADD(traced, function) { "function" };
FIXTURE_VARIANT_ADD(traced, function_graph) { "function_graph" };

/*
 * Walking the user's stack for entry and exit of a page fault raises a page
 * fault each. The old event shows that, but they are not recorded.
 */
TEST_F(traced, recorded)
{
	struct child child;
	struct trace trace;

	if (!trace_has_tracer(variant->tracer))
		SKIP(return, "no %s tracer", variant->tracer);
	map_frame = map_untouched;
	start(_metadata, &child, raise_all);
	ASSERT_EQ(0, trace_write("options/userstacktrace", "1"));
	ASSERT_EQ(0, trace_write("options/stacktrace", "1"));
	/* Not in our instance: that would be read in another form. */
	ASSERT_EQ(0, file_change(TRACEFS "current_tracer", variant->tracer));
	turn_on(_metadata, "traps");
	turn_on(_metadata, "exceptions/page_fault_kernel");
	let_work(_metadata, &child, &trace);
	expect_recorded(_metadata, &child, &trace);
	EXPECT_LE(2 * RAISED, trace_count(&trace, "page_fault_kernel", "address=0x%lx *",
					  child.report->address));
}

/* --- Tests of all that recording calls */

/* The first pattern that fits decides; what has a ! is left out. */
static const char * const recording[] = {
	/* What static calls patch is no function. */
	"!__SCT__*",
	"*_trap_entry", "*_trap_exit", "*_page_fault_entry", "*_page_fault_exit",
	"perf_trace_buf_*", "perf_trace_run_*",
	/* of other events */
	"!trace_event_raw_event_*", "!trace_event_get_offsets_*", "!perf_trace_*",
	"!trace_raw_output_*",
	/* Reading a clock is part of reserving an event, and a kprobe event is another one. */
	"!trace_clock*",
	/* ftrace */
	"trace_*", "__trace_*", "tracing_*", "*ftrace_trace_*", "ring_buffer_*", "rb_*", "__rb_*",
	"filter_*", "event_*", "hist_*", "*tracing_map*", "resolve_var_refs", "*irq_work_*",
	"jhash",
	/* perf, BPF */
	"perf_*", "__perf_*", "*_callchain*", "__output_*", "bpf_trace_*",
	/* stacks, and the memory that they are in */
	"stack_trace_*", "arch_stack_*", "unwind_*", "*get_stack_info*", "*kernel_text*",
	"is_ftrace_trampoline", "ftrace_graph_ret_addr", "*memcpy*", "*memset*", "__get_user_*",
	"copy_from_user*", "copy_to_user*", "rep_*_alternative",
	NULL
};

/* What is called everywhere, with lockdep, and what any recording calls */
static const char * const everywhere[] = {
	"rcu_is_watching", "rcu_lockdep_current_cpu_online", "debug_lockdep_rcu_enabled",
	"rcu_read_lock*_held", "__srcu_check_read_flavor", "__srcu_read_lock",
	"__srcu_read_unlock", "lock_is_held_type", "lockdep_rcu_suspicious",
	"lockdep_hardirqs_on",
	"__traceiter_trap_e*", "__traceiter_page_fault_e*", "trace_event_buffer_reserve",
	"trace_event_buffer_commit", "ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
	NULL
};

/* On the paths that matter: if one of them is not hit, the test is not what it was. */
static const char * const known[] = {
	"trace_event_raw_event_page_fault_exit", "filter_match_preds", "event_hist_trigger",
	"stack_trace_save_user", "perf_trace_page_fault_exit", "perf_callchain_user",
	"unwind_next_frame",
	NULL
};

static bool matches(const char *name, const char * const *patterns)
{
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns + (**patterns == '!'), name, 0))
			return **patterns != '!';
	return false;
}

static const char * const events[] = {
	"trap_entry", "trap_exit", "page_fault_entry", "page_fault_exit",
};

SIMPLE_FIXTURE(probed, set_up)

/* What is recorded while probes are on, of which nothing is kept */
static void work_probed(struct __test_metadata *_metadata, struct trace *trace)
{
	struct sampling samplings[ARRAY_SIZE(events)];
	struct child child;

	start(_metadata, &child, raise_all);
	/* Those of the probes are recorded, too, and with lockdep there are millions. */
	ASSERT_EQ(0, trace_filter(child.pid, "trap", "user_mode == 1"));
	turn_on(_metadata, "traps");
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		ASSERT_TRUE(sampling_start(&samplings[i], events[i], child.pid));
	ASSERT_EQ(0, trace_truncate("trace"));
	ASSERT_EQ(0, kprobes_filter("common_pid < 0"));
	ASSERT_EQ(0, kprobes_turn(true));
	ASSERT_EQ(0, child_go(&child));
	ASSERT_EQ(0, kprobes_turn(false));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		sampling_stop(&samplings[i]);
	ASSERT_EQ(0, trace_get(trace));
	expect_recorded(_metadata, &child, trace);
	close(child.go);
	close(child.done);
}

SIMPLE_FIXTURE(probes, set_up)

FIXTURE_VARIANT(probes) {
	const char * const *patterns;
	int batch;			/* as many at once */
	int least;			/* as many are hit */
};

FIXTURE_VARIANT_ADD(probes, alone) { everywhere, 1, 6 };
FIXTURE_VARIANT_ADD(probes, known) { known, 1, ARRAY_SIZE(known) - 1 };
/* With all at once, an emulated CPU would do nothing but its timer interrupt. */
FIXTURE_VARIANT_ADD(probes, together) { recording, 40, 60 };

/* All functions of the kernel proper whose names match */
TEST_F_TIMEOUT(probes, recorded, 3600)
{
	char *symbols = file_read("/proc/kallsyms"), *next = symbols, *line, name[128], type;
	int count = 0, probed = 0, hit = 0, end;
	char trigger[64];
	struct trace trace;

	ASSERT_TRUE(!!symbols);
	if (kprobe_add_in("trace_event_buffer_commit") || kprobes_remove())
		SKIP(return, "no kprobe on the tracer: is KPROBE_EVENTS_ON_NOTRACE on?");
	/* Removing a probe waits for RCU. */
	if (!access(RCU_EXPEDITED, W_OK))
		ASSERT_EQ(0, file_change(RCU_EXPEDITED, "1"));
	stay_on_cpu(_metadata, sched_getcpu());
	ASSERT_EQ(0, trace_write("options/userstacktrace", "1"));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(trigger, sizeof(trigger), "events/traps/%s/trigger", events[i]);
		ASSERT_EQ(0, trace_write(trigger, "hist:keys=user_mode"));
	}
	while (next) {
		line = strsep(&next, "\n");
		if (sscanf(line, "%*x %c %127s%n", &type, name, &end) == 2 && !line[end] &&
		    strchr("tT", type) && matches(name, variant->patterns))
			count += !kprobe_add_in(name);
		if (!count || (count < variant->batch && next))
			continue;
		work_probed(_metadata, &trace);
		free(trace.records);
		ASSERT_TRUE(__test_passed(_metadata)) {
			TH_LOG("with kprobes on\n%s", file_read(TRACEFS "kprobe_events"));
		}
		hit += kprobes_hit();
		probed += count;
		count = 0;
		ASSERT_EQ(0, kprobes_remove());
	}
	TH_LOG("%d functions were probed, %d were hit", probed, hit);
	EXPECT_LE(variant->least, hit);
	free(symbols);
}

/* --- Tests of a kprobe inside of another one */

/*
 * With two more kprobes: on what records any event, and on what records the end of a #BP. The
 * former is hit inside of the first one, and must not be recorded: the kernel would not
 * survive the latter inside of both.
 */
static void work_nested(struct __test_metadata *_metadata, struct trace *trace)
{
	ASSERT_EQ(0, kprobe_add_in("trace_event_buffer_reserve"));
	ASSERT_EQ(0, kprobe_add_in("trace_event_raw_event_trap_exit"));
	work_probed(_metadata, trace);
	EXPECT_EQ(3, kprobes_hit());
}

/* A kprobe event is recorded. */
TEST_F(probed, in_handler)
{
	struct trace trace;

	ASSERT_EQ(0, kprobe_add_in("create_pipe_files"));
	work_nested(_metadata, &trace);
}

/* Adds a kprobe on the kernel's instruction that raised such a page fault. */
static void probe_fault(struct __test_metadata *_metadata, const struct trace *trace,
			const char *fault, char place[64])
{
	const struct trace_record *record = trace_find(trace, "page_fault_entry", fault);

	ASSERT_NE(NULL, record);
	ASSERT_EQ(1, sscanf(strstr(record->text, " ip="), " ip=%63[^/]", place));
	TH_LOG("at %s", place);
	ASSERT_EQ(0, kprobe_add(place, ""));
}

/* The single step of a kprobe raises a page fault, which an older event records. */
TEST_F(probed, in_page_fault_of_step)
{
	struct child child;
	struct trace trace;
	char place[64];

	record(_metadata, &child, raise_all, &trace);
	probe_fault(_metadata, &trace, "* mode=kernel", place);
	turn_on(_metadata, "exceptions/page_fault_kernel");
	work_nested(_metadata, &trace);
	/* A write; what perf raises are reads. Its ip is that of a copy of the instruction. */
	EXPECT_EQ(1, trace_count(&trace, "page_fault_kernel", "* error_code=0x2"));
	EXPECT_EQ(0, trace_count(&trace, "page_fault_*", "* ip=%s/*", place));
}

#define UNMAPPED	0x12345000ul

static void open_unmapped(struct report *report, int round)
{
	report->failed = syscall(SYS_openat, -1, UNMAPPED, O_RDONLY) >= 0;
}

static void fault_in_handler(struct __test_metadata *_metadata, struct trace *trace)
{
	struct child child;

	start(_metadata, &child, open_unmapped);
	turn_on(_metadata, "traps");
	ASSERT_EQ(0, kprobes_turn(true));
	let_work(_metadata, &child, trace);
	ASSERT_EQ(0, kprobes_turn(false));
}

/*
 * The handler of a kprobe reads where nothing is mapped, and there is a second kprobe on the
 * instruction that reads. Its single step raises the page fault, which is not recorded.
 */
TEST_F(probed, reentered)
{
	struct trace one, two;
	char place[64];
	int count;

	ASSERT_EQ(0, kprobe_add("do_sys_openat2", "data=+u0($arg2):u64"));
	fault_in_handler(_metadata, &one);
	probe_fault(_metadata, &one, "address=0x12345000 * mode=kernel*", place);
	count = trace_count(&one, "page_fault_exit", "* ip=%s/* result=FIXUP", place);
	EXPECT_EQ(1, count);
	fault_in_handler(_metadata, &two);
	EXPECT_EQ(trace_count(&one, "page_fault_exit", "address=0x12345000 *") - count,
		  trace_count(&two, "page_fault_exit", "address=0x12345000 *"));
	EXPECT_TRUE(trace_balanced(&two));
}

/* What is not guarded */
TEST_F(probed, impossible)
{
	static const char * const unguarded[] = {
		"record_trap_entry", "record_trap_exit", "record_page_fault",
		"trap_recording_suspend", "trap_recording_resume", "arch_handle_page_fault",
		"traced_exc_general_protection", "traced_nmi",
	};

	for (size_t i = 0; i < ARRAY_SIZE(unguarded); i++) {
		EXPECT_EQ(-EINVAL, kprobe_add(unguarded[i], "")) {
			TH_LOG("%s", unguarded[i]);
		}
	}
}

TEST_HARNESS_MAIN
