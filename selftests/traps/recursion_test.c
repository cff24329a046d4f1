// SPDX-License-Identifier: GPL-2.0
/*
 * Recording a trap event may raise exceptions itself. They are not recorded, and
 * the kernel survives them: page faults while the user's stack is walked, and
 * breakpoints in every function of the recording path that can be probed.
 *
 * That path is found at run time, see kprobes.c, with all that can be attached
 * to an event switched on: stack traces, a filter, a histogram, perf's call chain.
 * As a kprobe counts its hits, those functions are known to be on it that were hit
 * when all of them were probed at once; these are then probed one by one.
 *
 * Needs root, tracefs and debugfs at their places, and the options in ./config.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"
#include "kprobes.h"
#include "memory.h"

#define MODULE		"test_modules/traps_kprobes.ko"
#define MODULE_FILE	"/sys/kernel/debug/traps_kprobes"
/* Not in our instance: that would be read in another form. */
#define TRACER		"/sys/kernel/tracing/current_tracer"
#define RCU_EXPEDITED	"/sys/kernel/rcu_expedited"

/* --- What the child raises, and what has to be recorded of it */

#define MAX_FAULTS	1000
#define BREAKPOINTS	2
#define INVALID_OPCODES	1

static int faults = MAX_FAULTS;

/* Page faults of a program whose stack frame is not present, #BP and #UD. */
static void raise_framed(struct report *report, bool traced)
{
	static char *pages, *frame;
	char *page;

	if (!traced) {
		pages = map_anonymous(2 * faults);
		frame = map_untouched();
	}
	if (!pages || !frame) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)frame;
	page = pages + (traced ? faults * PAGE : 0);
	for (int i = 0; i < faults; i++)
		raise_read_framed(page + i * PAGE, frame);
	for (int i = 0; i < BREAKPOINTS; i++)
		raise_bp();
	raise_resume = raise_ud_resume;
	for (int i = 0; i < INVALID_OPCODES; i++)
		raise_ud();
	raise_resume = NULL;
}

/* All that the child raised, in pairs, and nothing that the recording raised. */
static void expect_recorded(struct __test_metadata *_metadata,
			    const struct child *child, const struct trace *trace)
{
	const struct report *report = child->report;

	EXPECT_LE(faults, report->minflt);
	EXPECT_EQ(report->minflt,
		  trace_count(trace, "page_fault_entry", "* user"));
	EXPECT_EQ(report->minflt,
		  trace_count(trace, "page_fault_exit", "* user result=MINOR"));
	EXPECT_EQ(0, trace_count(trace, "page_fault_e*", "address=0x%lx *",
				 report->address));
	EXPECT_EQ(0, trace_count(trace, "page_fault_e*", "* kernel*"));
	EXPECT_EQ(BREAKPOINTS, trace_count(trace, "trap_entry", "#BP * user"));
	EXPECT_EQ(BREAKPOINTS, trace_count(trace, "trap_exit", "#BP * user"));
	EXPECT_EQ(INVALID_OPCODES, trace_count(trace, "trap_exit", "#UD * user"));
	EXPECT_TRUE(trace_balanced(trace));
}

/* --- Tests of page faults: all stack traces, and the function tracers */

FIXTURE(stacks) {
	struct child child;
};

FIXTURE_VARIANT(stacks) {
	const char *tracer;
	int faults;
};

FIXTURE_VARIANT_ADD(stacks, nop) {
	.tracer	= "nop",
	.faults	= MAX_FAULTS,
};

FIXTURE_VARIANT_ADD(stacks, function) {
	.tracer	= "function",
	.faults	= 50,
};

FIXTURE_VARIANT_ADD(stacks, function_graph) {
	.tracer	= "function_graph",
	.faults	= 50,
};

FIXTURE_SETUP(stacks)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	faults = variant->faults;
	start(_metadata, &self->child, raise_framed);
}

FIXTURE_TEARDOWN_PARENT(stacks)
{
	EXPECT_EQ(0, trace_write_path(TRACER, "nop"));
	tear_down(_metadata);
}

/*
 * Walking the user's stack for entry and exit of a page fault raises a page
 * fault each. The old event shows that, but they are not recorded.
 */
TEST_F_TIMEOUT(stacks, recording, 120)
{
	struct trace trace;

	if (trace_write("options/userstacktrace", "1"))
		SKIP(return, "no user stack traces");
	ASSERT_EQ(0, trace_write("options/stacktrace", "1"));
	if (trace_write_path(TRACER, variant->tracer))
		SKIP(return, "no %s tracer", variant->tracer);
	turn_on(_metadata, "traps");
	turn_on(_metadata, "exceptions/page_fault_kernel");
	finish(_metadata, &self->child, &trace);

	expect_recorded(_metadata, &self->child, &trace);
	EXPECT_LE(2 * faults,
		  trace_count(&trace, "page_fault_kernel", "address=0x%lx *",
			      self->child.report->address));
}

/* --- Tests of breakpoints */

/* Samples of an event with call chains, as perf record -g takes them. */
struct sampling {
	int fd;
	void *ring;
};

#define RING_SIZE	(33 * PAGE)

static bool start_sampling(struct sampling *sampling, const char *event, pid_t pid)
{
	struct perf_event_attr attr = {
		.type			= PERF_TYPE_TRACEPOINT,
		.size			= sizeof(attr),
		.sample_period		= 1,
		.sample_type		= PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN |
					  PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user	= 0xff,
		.sample_stack_user	= 1024,
	};
	char file[64], *id;

	snprintf(file, sizeof(file), "events/traps/%s/id", event);
	id = trace_read(file);
	if (!id)
		return false;
	attr.config = atoi(id);
	free(id);
	sampling->fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (sampling->fd < 0)
		return false;
	sampling->ring = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			      sampling->fd, 0);
	return sampling->ring != MAP_FAILED;
}

static void stop_sampling(struct sampling *sampling)
{
	munmap(sampling->ring, RING_SIZE);
	close(sampling->fd);
}

static const char * const events[] = {
	"trap_entry", "trap_exit", "page_fault_entry", "page_fault_exit",
};

/* All that ftrace can attach to the events. */
static void attach(struct __test_metadata *_metadata)
{
	char file[64];

	ASSERT_EQ(0, trace_write("options/stacktrace", "1"));
	ASSERT_EQ(0, trace_write("options/userstacktrace", "1"));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(file, sizeof(file), "events/traps/%s/filter", events[i]);
		ASSERT_EQ(0, trace_write(file, "ip != 0"));
		snprintf(file, sizeof(file), "events/traps/%s/trigger", events[i]);
		ASSERT_EQ(0, trace_write(file, "hist:keys=user_mode"));
	}
	turn_on(_metadata, "traps");
}

/* One child's work, with perf, and what is probed now. */
static void work_once(struct __test_metadata *_metadata, struct child *child)
{
	struct sampling samplings[ARRAY_SIZE(events)];

	ASSERT_EQ(0, trace_write("tracing_on", "1"));
	start(_metadata, child, raise_framed);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		ASSERT_TRUE(start_sampling(&samplings[i], events[i], child->pid));
	ASSERT_EQ(0, trace_clear());
	ASSERT_EQ(0, child_go(child));
	ASSERT_EQ(0, trace_write("tracing_on", "0"));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		stop_sampling(&samplings[i]);
	child_end(child);
	ASSERT_FALSE(trace_lost(child->cpu));
}

static void work_probed(struct __test_metadata *_metadata, const char *probed)
{
	struct child child;
	struct trace trace;

	work_once(_metadata, &child);
	ASSERT_EQ(0, trace_get(&trace));
	expect_recorded(_metadata, &child, &trace);
	if (!__test_passed(_metadata))
		TH_LOG("with a kprobe on %s", probed);
	free(trace.records);
}

static struct functions functions;

/* Which functions may be on the recording path? */
static void find_path(struct __test_metadata *_metadata)
{
	struct child child;
	int called;

	ASSERT_EQ(0, functions_find(&functions));
	if (trace_write("current_tracer", "function"))
		SKIP(return, "no function tracer");
	attach(_metadata);
	work_once(_metadata, &child);
	called = functions_add_called(&functions, child.pid);
	ASSERT_EQ(0, trace_write("current_tracer", "nop"));
	ASSERT_LT(0, called);
}

/* Probes all candidates that may be probed this way, and says which are not. */
static int probe_path(struct __test_metadata *_metadata,
		      int (*add)(unsigned long address, int n), bool clocks)
{
	int probed = 0, refused = 0;

	for (int i = 0; i < functions.count; i++) {
		struct function *function = &functions.list[i];

		if (!function->candidate)
			continue;
		if (!clocks && function_is_clock(function)) {
			TH_LOG("left to the module, as the ring buffer reads this clock: %s",
			       function->name);
		} else if (function_probe(&functions, function, add, probed)) {
			TH_LOG("refused: %s", function->name);
			refused++;
		} else {
			probed++;
		}
	}
	TH_LOG("%d functions probed, %d refused", probed, refused);
	EXPECT_GT(probed / 10, refused);
	return probed;
}

/* Those that were hit are on the path; some of them are known. */
static int expect_hit(struct __test_metadata *_metadata, const unsigned long *hits)
{
	static const char * const known[] = {
		"trace_event_buffer_reserve", "trace_event_buffer_commit",
		"trace_event_raw_event_page_fault_exit", "ring_buffer_lock_reserve",
		"stack_trace_save_user", "arch_stack_walk", "filter_match_preds",
		"event_hist_trigger", "perf_trace_page_fault_exit", "perf_output_sample",
		"perf_callchain_user",
	};
	size_t found = 0;
	int count = 0;

	for (int i = 0; i < functions.count; i++) {
		struct function *function = &functions.list[i];

		if (function->probe < 0)
			continue;
		if (!hits[function->probe]) {
			function->candidate = false;
			continue;
		}
		count++;
		for (size_t j = 0; j < ARRAY_SIZE(known); j++)
			if (!strcmp(function->name, known[j]))
				found++;
	}
	TH_LOG("%d functions hit", count);
	EXPECT_EQ(ARRAY_SIZE(known), found);
	return count;
}

FIXTURE(kprobes) {
	char rcu_expedited[8];
};

FIXTURE_SETUP(kprobes)
{
	char *text;

	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	faults = 4;
	find_path(_metadata);
	if (_metadata->exit_code)
		return;
	/* Removing a thousand probes waits for RCU as often. */
	text = trace_read_path(RCU_EXPEDITED);
	if (text)
		snprintf(self->rcu_expedited, sizeof(self->rcu_expedited), "%s", text);
	free(text);
	trace_write_path(RCU_EXPEDITED, "1");
}

FIXTURE_TEARDOWN_PARENT(kprobes)
{
	tear_down(_metadata);
	EXPECT_EQ(0, trace_remove_kprobe());
	if (*self->rcu_expedited)
		trace_write_path(RCU_EXPEDITED, self->rcu_expedited);
}

/* Kprobe events, which are recorded themselves: all at once, then one by one. */
TEST_F_TIMEOUT(kprobes, events, 280)
{
	unsigned long *hits;
	int probed;

	probed = probe_path(_metadata, trace_add_kprobe_at, false);
	if (!probed)
		SKIP(return, "no kprobe events on functions of the tracer: is KPROBE_EVENTS_ON_NOTRACE on?");
	hits = calloc(probed, sizeof(*hits));
	ASSERT_NE(NULL, hits);

	ASSERT_EQ(0, trace_switch_kprobes(true));
	work_probed(_metadata, "all functions");
	ASSERT_EQ(0, trace_switch_kprobes(false));
	trace_kprobes_hits(hits, probed);
	expect_hit(_metadata, hits);

	for (int i = 0; i < functions.count; i++) {
		struct function *function = &functions.list[i];

		if (!function->candidate || function->probe < 0)
			continue;
		ASSERT_EQ(0, trace_switch_kprobe_at(function->probe, true));
		work_probed(_metadata, function->name);
		ASSERT_EQ(0, trace_switch_kprobe_at(function->probe, false));
	}
	free(hits);
}

static int module_file;

static int module_add(unsigned long address, int n)
{
	char text[32];

	snprintf(text, sizeof(text), "%lx", address);
	return write(module_file, text, strlen(text)) < 0 ? -errno : 0;
}

/* Kprobes of a module, which may be on clocks too, and record nothing. */
TEST_F_TIMEOUT(kprobes, module, 280)
{
	int file = open(MODULE, O_RDONLY | O_CLOEXEC), probed;
	unsigned long *hits;

	if (file < 0)
		SKIP(return, "no %s: build it with KDIR=", MODULE);
	if (syscall(SYS_finit_module, file, "", 0))
		SKIP(return, "cannot load %s: %s", MODULE, strerror(errno));
	module_file = open(MODULE_FILE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, module_file);

	probed = probe_path(_metadata, module_add, true);
	hits = calloc(probed, sizeof(*hits));
	ASSERT_NE(NULL, hits);
	work_probed(_metadata, "all functions");
	ASSERT_EQ((ssize_t)(probed * sizeof(*hits)),
		  read(module_file, hits, probed * sizeof(*hits)));
	close(module_file);
	expect_hit(_metadata, hits);
	free(hits);

	/* Those that no kprobe event can be on, one by one. */
	for (int i = 0; i < functions.count; i++) {
		struct function *function = &functions.list[i];

		if (!function->candidate || !function_is_clock(function))
			continue;
		module_file = open(MODULE_FILE, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, module_file);
		ASSERT_EQ(0, function_probe(&functions, function, module_add, 0));
		work_probed(_metadata, function->name);
		close(module_file);
	}
	ASSERT_EQ(0, syscall(SYS_delete_module, "traps_kprobes", O_NONBLOCK));
}

TEST_HARNESS_MAIN
