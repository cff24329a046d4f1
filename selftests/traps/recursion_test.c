// SPDX-License-Identifier: GPL-2.0
/*
 * Recording a trap event may raise exceptions itself. They are not recorded, and
 * the kernel survives them: page faults while the user's stack is walked, and
 * breakpoints in functions that the recording calls.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config.
 */
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "fixture.h"
#include "memory.h"

#define FAULTS		100
#define BREAKPOINTS	2
#define DEADLINE	100		/* seconds, which only a failure takes */
#define OPTIMIZATION	"/proc/sys/debug/kprobes-optimization"

/* Page faults of a program whose stack frame is not present, one of a system call, #BP. */
static void raise_framed(struct report *report, int round)
{
	static char *pages, *frame;

	if (!round) {
		pages = map_anonymous(FAULTS + 1);
		frame = map_untouched();
	}
	if (!pages || !frame) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)frame;
	madvise(pages, (FAULTS + 1) * PAGE, MADV_DONTNEED);
	for (int i = 0; i < FAULTS; i++)
		raise_read_framed(pages + i * PAGE, frame);
	read_pipe(pages + FAULTS * PAGE);
	raise_resume = raise_bp_resume;
	for (int i = 0; i < BREAKPOINTS; i++)
		raise_bp();
}

/* All that the child raised, in pairs; and nothing that the recording raised. */
static void expect_recorded(struct __test_metadata *_metadata,
			    const struct child *child, const struct trace *trace)
{
	const struct report *report = child->report;

	EXPECT_LE(FAULTS, report->minflt);
	EXPECT_EQ(report->minflt, trace_count(trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(1, trace_count(trace, "page_fault_exit", "* mode=kernel result=MINOR"));
	EXPECT_EQ(0, trace_count(trace, "page_fault_e*", "address=0x%lx *", report->address));
	EXPECT_EQ(BREAKPOINTS, trace_count(trace, "trap_entry", "vector=%s mode=user *",
					   BREAKPOINT_NAME));
	EXPECT_EQ(BREAKPOINTS, trace_count(trace, "trap_exit",
					   "vector=%s mode=user * result=SIGTRAP",
					   BREAKPOINT_NAME));
	expect_signals(_metadata, child, trace);
	EXPECT_TRUE(trace_balanced(trace));
}

FIXTURE(recording) {
	struct child child;
};

FIXTURE_SETUP(recording)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	start(_metadata, &self->child, raise_framed);
	/* Others walk that frame, too: profilers, in NMIs and interrupts. */
	ASSERT_EQ(0, trace_filter(self->child.pid, "page_fault", "!(common_flags & 0x48)"));
	turn_on(_metadata, "traps");
}

FIXTURE_TEARDOWN_PARENT(recording)
{
	tear_down(_metadata);
}

/*
 * Walking the user's stack for entry and exit of a page fault raises a page
 * fault each. The old event shows that, but they are not recorded.
 */
TEST_F(recording, user_stacks)
{
	struct trace trace;

	if (trace_write("options/userstacktrace", "1"))
		SKIP(return, "no user stack traces");
	ASSERT_EQ(0, trace_write("options/stacktrace", "1"));
	if (has_exceptions())
		turn_on(_metadata, "exceptions/page_fault_kernel");
	let_work(_metadata, &self->child, &trace);

	expect_recorded(_metadata, &self->child, &trace);
	if (has_exceptions())
		EXPECT_LE(2 * FAULTS,
			  trace_count(&trace, "page_fault_kernel", "address=0x%lx *",
				      self->child.report->address));
}

/*
 * A profiler walks that frame, too, in NMIs if the machine has them. It interrupts
 * the recording, but is not part of it: its page faults are recorded.
 */
TEST_F(recording, profiled)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_CPU_CYCLES,
		.size		= sizeof(attr),
		.sample_period	= 50000,
		.sample_type	= PERF_SAMPLE_CALLCHAIN,
	};
	int fd = syscall(SYS_perf_event_open, &attr, self->child.pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	time_t deadline = time(NULL) + DEADLINE;
	struct trace trace;
	uint64_t cycles;
	int walks;

	if (fd < 0)
		SKIP(return, "perf has no cycles to sample");
	ASSERT_EQ(0, trace_filter(self->child.pid, "page_fault", "common_flags & 0x48"));
	/* The kernel takes fewer samples if they take long. */
	do {
		let_work(_metadata, &self->child, &trace);
		walks = trace_count(&trace, "page_fault_entry", "address=0x%lx * mode=kernel",
				    self->child.report->address);
		ASSERT_EQ(sizeof(cycles), read(fd, &cycles, sizeof(cycles)));
	} while (cycles && !walks && time(NULL) < deadline);
	close(fd);
	if (!cycles)
		SKIP(return, "perf counts no cycles on this CPU");
	EXPECT_LT(0, walks);
	EXPECT_EQ(walks, trace_count(&trace, "page_fault_exit",
				     "address=0x%lx * mode=kernel result=FIXUP",
				     self->child.report->address));
	EXPECT_TRUE(trace_balanced(&trace));
}

/*
 * A breakpoint in the function, until this program ends: behind its first
 * instruction, which may be a call of ftrace that the kernel would use instead.
 * Returns a file that has how often it was hit, or -1.
 */
static int probe(int type, const char *function, pid_t pid)
{
	struct perf_event_attr attr = {
		.type		= type,
		.size		= sizeof(attr),
		.kprobe_func	= (unsigned long)function,
	};
	int fd = -1;

	for (attr.probe_offset = 5; attr.probe_offset < 32 && fd < 0; attr.probe_offset++)
		fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd;
}

/*
 * Of the functions that a kernel has and that can be probed. Those that fill an event
 * are hit by all that the child raises, and are not recorded themselves.
 */
TEST_F(recording, kprobes)
{
	static const struct {
		const char *function;
		uint64_t hits;			/* at least */
	} probes[] = {
		{ "trace_event_raw_event_page_fault_exit", FAULTS },
		{ "trace_event_raw_event_trap_exit", BREAKPOINTS },
		{ "trace_event_buffer_reserve" }, { "trace_event_buffer_commit" },
		{ "trace_buffer_lock_reserve" },
		{ "ring_buffer_lock_reserve" }, { "ring_buffer_unlock_commit" },
		{ "local_clock" }, { "sched_clock" }, { "filter_match_preds" },
		{ "event_triggers_call" }, { "event_hist_trigger" }, { "tracing_map_insert" },
		{ "unwind_next_frame" }, { "stack_trace_save_user" },
	};
	int type = perf_type("kprobe"), fds[ARRAY_SIZE(probes)];
	struct trace trace;
	uint64_t hits;

	if (!type)
		SKIP(return, "perf has no kprobes");
	/* A breakpoint, not a jump instead of it. */
	if (!access(OPTIMIZATION, F_OK))
		ASSERT_EQ(0, file_change(OPTIMIZATION, "0"));
	trace_write("options/stacktrace", "1");
	trace_write("events/traps/trap_exit/trigger", "hist:keys=vector");
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		fds[i] = probe(type, probes[i].function, self->child.pid);
	if (fds[0] < 0)
		SKIP(return, "no kprobe on the tracer: is KPROBE_EVENTS_ON_NOTRACE on?");
	let_work(_metadata, &self->child, &trace);
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		if (fds[i] < 0)
			continue;
		ASSERT_EQ(sizeof(hits), read(fds[i], &hits, sizeof(hits)));
		EXPECT_LE(probes[i].hits, hits) {
			TH_LOG("%s", probes[i].function);
		}
	}
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "* ip=trace_event_raw_event_*"));
	expect_recorded(_metadata, &self->child, &trace);
}

TEST_HARNESS_MAIN
