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
 * Needs debugfs at /sys/kernel/debug.
 */
#include <errno.h>
#include <fcntl.h>

#include "invasive_fixture.h"
#include "kprobes.h"
#include "memory.h"

#define MODULE_FILE	"/sys/kernel/debug/traps_kprobes"
/* Not in our instance: that would be read in another form. */
#define TRACER		TRACEFS "current_tracer"
#define RCU_EXPEDITED	"/sys/kernel/rcu_expedited"

/* --- What the child raises, and what has to be recorded of it */

#define BREAKPOINTS	2
#define INVALID_OPCODES	1

static int faults;
static bool frame_present;

/* Page faults of a program whose stack frame may be not present, #BP and #UD. */
static void raise_framed(struct report *report, int round)
{
	static char *pages, *frame;
	char *page;

	if (!round) {
		pages = map_anonymous(ROUNDS * (faults + 1));
		frame = frame_present ? map_filled() : map_untouched();
	}
	if (!pages || !frame) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)frame;
	page = pages + round * (faults + 1) * PAGE;
	for (int i = 0; i < faults; i++)
		raise_read_framed(page + i * PAGE, frame);
	read_pipe(page + faults * PAGE);
	for (int i = 0; i < BREAKPOINTS; i++)
		raise_bp();
	raise_resume = raise_ud_resume;
	for (int i = 0; i < INVALID_OPCODES; i++)
		raise_ud();
	raise_resume = NULL;
}

/*
 * All that the child raised, one of them by a system call, in pairs; and nothing
 * on the frame, which the recording raised. The recording of a kprobe event may
 * raise others, which are ones like any others.
 */
static void expect_recorded(struct __test_metadata *_metadata,
			    const struct child *child, const struct trace *trace)
{
	const struct report *report = child->report;

	EXPECT_LE(faults, report->minflt);
	EXPECT_EQ(report->minflt - 1, trace_count(trace, "page_fault_entry", "* mode=user"));
	EXPECT_EQ(report->minflt,
		  trace_count(trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(0, trace_count(trace, "page_fault_e*", "address=0x%lx *",
				 report->address));
	EXPECT_EQ(1, trace_count(trace, "page_fault_exit", "* mode=kernel result=MINOR"));
	EXPECT_EQ(BREAKPOINTS, trace_count(trace, "trap_entry", "vector=#BP mode=user *"));
	EXPECT_EQ(BREAKPOINTS, trace_count(trace, "trap_exit", "vector=#BP mode=user *"));
	EXPECT_EQ(INVALID_OPCODES, trace_count(trace, "trap_exit", "vector=#UD mode=user *"));
	EXPECT_TRUE(trace_balanced(trace));
}

/* --- Tests of page faults: all stack traces, and the function tracers */

SIMPLE_FIXTURE(stacks, set_up)

FIXTURE_VARIANT(stacks) {
	const char *tracer;
};

FIXTURE_VARIANT_ADD(stacks, function) { "function" };
FIXTURE_VARIANT_ADD(stacks, function_graph) { "function_graph" };

/*
 * Walking the user's stack for entry and exit of a page fault raises a page
 * fault each. The old event shows that, but they are not recorded.
 */
TEST_F_TIMEOUT(stacks, recording, 600)
{
	struct child child;
	struct trace trace;

	faults = 50;
	start(_metadata, &child, raise_framed);
	if (trace_write("options/userstacktrace", "1"))
		SKIP(return, "no user stack traces");
	ASSERT_EQ(0, trace_write("options/stacktrace", "1"));
	if (!trace_has_tracer(variant->tracer))
		SKIP(return, "no %s tracer", variant->tracer);
	ASSERT_EQ(0, file_change(TRACER, variant->tracer));
	turn_on(_metadata, "traps");
	turn_on(_metadata, "exceptions/page_fault_kernel");
	let_work(_metadata, &child, &trace);

	expect_recorded(_metadata, &child, &trace);
	EXPECT_LE(2 * faults, trace_count(&trace, "page_fault_kernel", "address=0x%lx *",
					  child.report->address));
}

/* --- Tests of breakpoints */

static const char * const events[] = {
	"page_fault_entry", "page_fault_exit", "trap_entry", "trap_exit",
};

#define PAGE_FAULT_EVENTS	2
#define ALL_EVENTS		ARRAY_SIZE(events)

/* Events with what ftrace can attach to them; work_once() sets a filter. */
static void attach(struct __test_metadata *_metadata, size_t count)
{
	char file[64], event[32];

	ASSERT_EQ(0, trace_write("options/userstacktrace", "1"));
	for (size_t i = 0; i < count; i++) {
		snprintf(file, sizeof(file), "events/traps/%s/trigger", events[i]);
		ASSERT_EQ(0, trace_write(file, "hist:keys=user_mode"));
		snprintf(event, sizeof(event), "traps/%s", events[i]);
		turn_on(_metadata, event);
	}
}

static void detach(struct __test_metadata *_metadata)
{
	char file[64];

	ASSERT_EQ(0, trace_write("events/traps/enable", "0"));
	for (size_t i = 0; i < ALL_EVENTS; i++) {
		snprintf(file, sizeof(file), "events/traps/%s/trigger", events[i]);
		trace_truncate(file);
	}
}

/* How kprobes are made, known by numbers. */
struct prober {
	int (*add)(unsigned long address, int n);
	int (*turn)(int n, bool on);
	void (*get_hits)(unsigned long *hits, int count);
};

/* Some of them. */
struct probes {
	const struct prober *prober;
	int *numbers;
	int count;
};

static void turn_probes(struct __test_metadata *_metadata, const struct probes *probes,
			bool on)
{
	for (int i = 0; i < probes->count; i++)
		ASSERT_EQ(0, probes->prober->turn(probes->numbers[i], on));
}

/* One child's work, the first events in perf. Only then the probes are on. */
static void work_once(struct __test_metadata *_metadata, struct child *child,
		      size_t sampled, const struct probes *probes)
{
	struct sampling samplings[ARRAY_SIZE(events)];
	char filter[32];

	ASSERT_EQ(0, trace_write("tracing_on", "1"));
	start(_metadata, child, raise_framed);
	/* With lockdep the breakpoints of interrupts would fill the buffer. */
	ASSERT_EQ(0, trace_filter(child->pid, "trap", "user_mode == 1"));
	snprintf(filter, sizeof(filter), "common_pid == %d", child->pid);
	ASSERT_EQ(0, kprobe_filter(filter));
	for (size_t i = 0; i < sampled; i++)
		ASSERT_TRUE(sampling_start(&samplings[i], events[i], child->pid));
	ASSERT_EQ(0, trace_truncate("trace"));
	turn_probes(_metadata, probes, true);
	ASSERT_EQ(0, child_go(child));
	turn_probes(_metadata, probes, false);
	ASSERT_EQ(0, trace_write("tracing_on", "0"));
	for (size_t i = 0; i < sampled; i++)
		sampling_stop(&samplings[i]);
	ASSERT_EQ(0, trace_stat("overrun"));
}

/* What is recorded then is as complete as without probes. */
static void work_probed(struct __test_metadata *_metadata, const struct probes *probes,
			const char *probed)
{
	struct child child;
	struct trace trace;

	work_once(_metadata, &child, ALL_EVENTS, probes);
	ASSERT_EQ(0, trace_get(&trace));
	expect_recorded(_metadata, &child, &trace);
	if (!__test_passed(_metadata))
		ASSERT_FALSE(!!probed) {
			TH_LOG("with a kprobe on %s", probed);
		}
	free(trace.records);
}

static struct functions functions;

static int module_file;

static int module_command(char command, unsigned long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%c %lx", command, number);
	return write(module_file, text, strlen(text)) < 0 ? -errno : 0;
}

static int module_add(unsigned long address, int n)
{
	return module_command('p', address);
}

static int module_turn(int n, bool on)
{
	return module_command(on ? 'e' : 'd', n);
}

static void module_get_hits(unsigned long *hits, int count)
{
	if (read(module_file, hits, count * sizeof(*hits)) < 0)
		memset(hits, 0, count * sizeof(*hits));
}

static void load_prober(struct __test_metadata *_metadata)
{
	int error = module_load("traps_kprobes");

	if (error)
		SKIP(return, "test_modules/traps_kprobes.ko: %s", strerror(error));
	module_file = open(MODULE_FILE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, module_file);
}

/* --- Tests of a third kprobe, inside of a second one, which the kernel does not survive */

SIMPLE_FIXTURE(third, set_up)

/* May skip the test. */
static void prepare_probes(struct __test_metadata *_metadata, struct child *child)
{
	load_prober(_metadata);
	if (_metadata->exit_code)
		return;
	ASSERT_EQ(0, functions_find(&functions));
	faults = 0;
	frame_present = true;
	start(_metadata, child, raise_framed);
}

/* The module's kprobe @n is on. */
static void probe_function(struct __test_metadata *_metadata, const char *name, int n)
{
	for (int i = 0; i < functions.count; i++)
		if (!strcmp(functions.list[i].name, name))
			ASSERT_EQ(0, function_probe(&functions, &functions.list[i],
						    module_add, n));
	ASSERT_EQ(0, module_turn(n, true));
}

/* With @n kprobes, two more: on what records any event, and on what records the end of #BP. */
static void work_nested(struct __test_metadata *_metadata, struct child *child, int n,
			struct trace *trace)
{
	unsigned long count[3];

	probe_function(_metadata, "trace_event_buffer_reserve", n++);
	probe_function(_metadata, "trace_event_raw_event_trap_exit", n++);
	turn_on(_metadata, "traps");
	let_work(_metadata, child, trace);
	module_get_hits(count, n);
	while (n--)
		EXPECT_LT(0, count[n]);
	expect_recorded(_metadata, child, trace);
}

/* A kprobe event is recorded, which hits the second one, whose breakpoint is not. */
TEST_F(third, in_handler)
{
	struct child child;
	struct trace trace;

	prepare_probes(_metadata, &child);
	if (_metadata->exit_code)
		return;
	ASSERT_EQ(0, kprobe_add("create_pipe_files"));
	ASSERT_EQ(0, kprobe_turn(0, true));
	work_nested(_metadata, &child, 0, &trace);
	EXPECT_LT(0, kprobe_hits());
}

/*
 * The single step of a kprobe raises a page fault, which an older event records. That
 * hits the second one, whose breakpoint is not recorded.
 */
TEST_F(third, in_page_fault_of_step)
{
	const struct trace_record *fault;
	unsigned long offset;
	struct child child;
	struct trace trace;
	char name[64];

	prepare_probes(_metadata, &child);
	if (_metadata->exit_code)
		return;
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	fault = trace_find(&trace, "page_fault_exit", "* mode=kernel result=MINOR");
	ASSERT_NE(NULL, fault);
	ASSERT_EQ(2, sscanf(strstr(fault->text, " ip="), " ip=%63[^+]+%lx", name, &offset));
	TH_LOG("%s+0x%lx", name, offset);
	for (int i = 0; i < functions.count; i++)
		if (!strcmp(functions.list[i].name, name))
			ASSERT_EQ(0, module_add(functions.list[i].address + offset, 0));
	ASSERT_EQ(0, module_turn(0, true));

	start(_metadata, &child, raise_framed);
	turn_on(_metadata, "exceptions/page_fault_kernel");
	work_nested(_metadata, &child, 1, &trace);
	/* Their ip is that of a copy of the instruction. */
	EXPECT_EQ(1, trace_count(&trace, "page_fault_kernel", "*"));
	EXPECT_EQ(0, trace_count(&trace, "page_fault_*", "* ip=%s+0x%lx/*", name, offset));
}

/* --- Tests of all that recording calls */

SIMPLE_FIXTURE(kprobes, set_up)

FIXTURE_VARIANT(kprobes) {
	struct prober prober;
	bool module;
};

/* Kprobe events, which are recorded themselves. */
FIXTURE_VARIANT_ADD(kprobes, events) {
	{ kprobe_add_at, kprobe_turn, kprobe_get_hits }
};

/* A module's kprobes, which record nothing, and are allowed on clocks too. */
FIXTURE_VARIANT_ADD(kprobes, module) {
	{ module_add, module_turn, module_get_hits }, .module = true
};

/* Which functions may be on the recording path? */
static void find_candidates(struct __test_metadata *_metadata)
{
	const struct probes none = {};
	struct child child;

	ASSERT_EQ(0, functions_find(&functions));
	ASSERT_EQ(0, trace_write("current_tracer", "function"));
	attach(_metadata, ALL_EVENTS);
	work_once(_metadata, &child, ALL_EVENTS, &none);
	detach(_metadata);
	ASSERT_LT(0, functions_add_called(&functions, child.pid));
	ASSERT_EQ(0, trace_write("current_tracer", "nop"));
}

/* Makes kprobes for them, which are off, and says for which there is none. */
static int add_probes(struct __test_metadata *_metadata, const struct prober *prober,
		      bool module)
{
	int count = 0, refused = 0;

	for (int i = 0; i < functions.count; i++) {
		struct function *function = &functions.list[i];

		if (!function->candidate)
			continue;
		if (!module && function_is_clock(function)) {
			TH_LOG("for the module, as ring_buffer_lock_reserve() reads the clock: %s",
			       function->name);
		} else if (function_probe(&functions, function, prober->add, count)) {
			TH_LOG("the kernel refuses: %s", function->name);
			refused++;
		} else {
			count++;
		}
	}
	TH_LOG("%d functions can be probed, %d are refused", count, refused);
	EXPECT_GE(count / 20, refused);
	return count;
}

/* Of each probe, without and with page faults recorded. */
static unsigned long *hits_before, *hits;

/* Was it hit when page faults were recorded? */
static bool is_hit(const struct function *function)
{
	return function->probe >= 0 && hits[function->probe];
}

/* ... more often than when nothing was? */
static bool is_on_path(const struct function *function)
{
	return is_hit(function) && hits[function->probe] > hits_before[function->probe];
}

/* ... and never then? */
static bool is_recording_only(const struct function *function)
{
	return is_on_path(function) && !hits_before[function->probe];
}

#define BATCH	40

/*
 * Counts the hits of some probes, without and with page faults recorded; the
 * breakpoints are not. All probes at once would keep an emulated CPU from anything
 * but its timer interrupt.
 */
static void count_hits(struct __test_metadata *_metadata, const struct prober *prober,
		       int from, int count)
{
	int to = from + BATCH < count ? from + BATCH : count;
	unsigned long *now = calloc(count, sizeof(*now));
	int numbers[BATCH];
	const struct probes probes = { prober, numbers, to - from };
	struct child child;

	ASSERT_TRUE(!!now);
	for (int n = from; n < to; n++)
		numbers[n - from] = n;
	work_once(_metadata, &child, 0, &probes);
	prober->get_hits(now, count);
	for (int n = from; n < to; n++)
		hits_before[n] = now[n];
	attach(_metadata, PAGE_FAULT_EVENTS);
	work_once(_metadata, &child, PAGE_FAULT_EVENTS, &probes);
	detach(_metadata);
	prober->get_hits(now, count);
	for (int n = from; n < to; n++)
		hits[n] = now[n] - hits_before[n];
	free(now);
}

/*
 * Some functions are known to be on the path. With KASAN, which saves stacks, one of
 * them may be hit as often when nothing is recorded.
 */
static void find_path(struct __test_metadata *_metadata, const struct prober *prober,
		      int count)
{
	static const char * const known[] = {
		"trace_event_buffer_commit",
		"trace_event_raw_event_page_fault_exit", "ring_buffer_lock_reserve",
		"filter_match_preds", "event_hist_trigger", "stack_trace_save_user",
		"perf_trace_page_fault_exit", "perf_callchain_user", "unwind_next_frame",
	};
	int on_path = 0, recording_only = 0;
	unsigned long found = 0;

	hits_before = calloc(count, sizeof(*hits_before));
	hits = calloc(count, sizeof(*hits));
	ASSERT_TRUE(hits_before && hits);
	for (int from = 0; from < count; from += BATCH)
		count_hits(_metadata, prober, from, count);

	for (int i = 0; i < functions.count; i++) {
		const struct function *function = &functions.list[i];

		on_path += is_on_path(function);
		recording_only += is_recording_only(function);
		for (size_t j = 0; j < ARRAY_SIZE(known); j++)
			if (is_hit(function) && !strcmp(function->name, known[j]))
				found |= 1UL << j;
	}
	TH_LOG("%d functions were hit, %d of them by the recording only", on_path,
	       recording_only);
	for (size_t j = 0; j < ARRAY_SIZE(known); j++) {
		ASSERT_TRUE(found & 1UL << j) {
			TH_LOG("%s was not hit", known[j]);
		}
	}
}

/*
 * All functions at once that only the recording calls: if the others were probed
 * too, an emulated CPU would do nothing but record the breakpoints of its timer
 * interrupt. Then each one alone, and those that any recording calls in any case; of
 * the module's otherwise those that kprobe events cannot be on.
 */
TEST_F_TIMEOUT(kprobes, recording, 1600)
{
	const struct prober *prober = &variant->prober;
	struct probes probes = { .prober = prober };
	int count;

	if (!trace_has_tracer("function"))
		SKIP(return, "no function tracer, which finds the functions to probe");
	if (variant->module)
		load_prober(_metadata);
	if (_metadata->exit_code)
		return;
	/* Removing a thousand probes waits for RCU as often. */
	if (!access(RCU_EXPEDITED, W_OK))
		file_change(RCU_EXPEDITED, "1");
	/*
	 * A page fault in the handler of a kprobe counts as one inside of an NMI,
	 * whatever the kprobe interrupted.
	 */
	frame_present = true;
	faults = 4;
	stay_on_cpu(_metadata, sched_getcpu());
	find_candidates(_metadata);
	count = add_probes(_metadata, prober, variant->module);
	if (!count)
		SKIP(return, "no kprobe on the tracer: is KPROBE_EVENTS_ON_NOTRACE on?");
	find_path(_metadata, prober, count);

	attach(_metadata, ALL_EVENTS);
	probes.numbers = calloc(count, sizeof(*probes.numbers));
	ASSERT_TRUE(!!probes.numbers);
	for (int i = 0; i < functions.count; i++)
		if (is_recording_only(&functions.list[i]))
			probes.numbers[probes.count++] = functions.list[i].probe;
	work_probed(_metadata, &probes, "all that only the recording calls");

	for (int i = 0; i < functions.count; i++) {
		struct function *function = &functions.list[i];

		if (function->probe < 0)
			continue;
		if (!function->named &&
		    (!is_on_path(function) || (variant->module && !function_is_clock(function))))
			continue;
		probes.numbers[0] = function->probe;
		probes.count = 1;
		work_probed(_metadata, &probes, function->name);
	}
}

TEST_HARNESS_MAIN
