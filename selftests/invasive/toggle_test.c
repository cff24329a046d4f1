// SPDX-License-Identifier: GPL-2.0
/*
 * Events, filters, triggers and tracers are switched on and off in a storm, in the
 * instance that records and in another one: nothing has a wrong pair.
 */
#include "invasive_fixture.h"
#include "storm.h"

#define COUNT	160000
#define SMALL	1600

/*
 * What is switched, and back. While it is, events may be without their pair in
 * the instance itself; what is switched elsewhere must not change that.
 */
static const struct operation {
	const char *file, *value, *back;
} here[] = {
	{ "events/traps/enable", "0", "1" },
	{ "events/traps/trap_entry/enable", "0", "1" },
	{ "events/traps/trap_exit/enable", "0", "1" },
	{ "events/traps/page_fault_entry/enable", "0", "1" },
	{ "events/traps/page_fault_exit/enable", "0", "1" },
	{ "events/traps/page_fault_exit/filter", "duration > 50000", "0" },
	{ "events/traps/trap_entry/filter", "vector == 3", "0" },
	{ "events/traps/filter", "ip != 1", "0" },
	{ "tracing_on", "0", "1" },
	{ "events/traps/trap_exit/trigger", "traceoff if vector == 6",
	  "!traceoff if vector == 6" },
	{ "events/traps/trap_entry/trigger", "disable_event:traps:trap_exit",
	  "!disable_event:traps:trap_exit" },
}, elsewhere[] = {
	{ "events/traps/trap_exit/trigger", "hist:keys=vector", "!hist:keys=vector" },
	{ "events/traps/page_fault_exit/trigger", "hist:keys=result,duration.log2",
	  "!hist:keys=result,duration.log2" },
	{ OTHER "events/traps/enable", "1", "0" },
	{ OTHER "events/traps/page_fault_exit/enable", "1", "0" },
	{ OTHER "events/traps/trap_entry/enable", "1", "0" },
	{ OTHER "events/traps/trap_entry/trigger", "stacktrace:3", "!stacktrace" },
	{ OTHER "events/traps/trap_exit/trigger", "snapshot:3", "!snapshot" },
	{ OTHER "events/traps/trap_entry/trigger",
	  "enable_event:traps:page_fault_exit", "!enable_event:traps:page_fault_exit" },
	{ OTHER "events/traps/page_fault_exit/filter", "result == 6", "0" },
	{ OTHER "events/traps/trap_exit/filter", "result == 17 && flags == 0", "0" },
	{ OTHER "snapshot", "1", "0" },
	{ OTHER "current_tracer", "function", "nop" },
	{ OTHER "current_tracer", "function_graph", "nop" },
	{ TRACEFS "events/traps/enable", "1", "0" },
	{ TRACEFS "events/traps/trap_exit/enable", "1", "0" },
	{ TRACEFS "events/traps/page_fault_entry/enable", "1", "0" },
};

/* Each of them twice */
#define OPERATIONS	((int)(2 * ARRAY_SIZE(elsewhere)))

/* A kernel may be without a tracer. */
static bool is_possible(const struct operation *op)
{
	return strcmp(op->file, OTHER "current_tracer") || trace_has_tracer(op->value);
}

static void operate(struct __test_metadata *_metadata, const struct operation *op)
{
	EXPECT_EQ(0, trace_write(op->file, op->value)) {
		TH_LOG("%s: %s", op->file, op->value);
	}
	usleep(3000);
	EXPECT_EQ(0, trace_write(op->file, op->back)) {
		TH_LOG("%s: %s", op->file, op->back);
	}
}

/* And whatever the operation's triggers have left */
static void operate_here(struct __test_metadata *_metadata, const struct operation *op)
{
	ASSERT_EQ(0, trace_write("trace_marker", MARK_OFF));
	operate(_metadata, op);
	trace_write("tracing_on", "1");
	trace_write("events/traps/enable", "1");
	ASSERT_EQ(0, trace_write("trace_marker", MARK_ON));
}

/* Not all functions: to patch those takes seconds in an emulated machine. */
static void operate_elsewhere(struct __test_metadata *_metadata,
			      const struct operation *op)
{
	if (op == elsewhere) {
		EXPECT_EQ(0, other_remove());
		ASSERT_EQ(0, other_create());
		trace_write(OTHER "set_ftrace_filter", "handle_mm_fault");
	}
	if (is_possible(op))
		operate(_metadata, op);
	else
		TH_LOG("no %s tracer", op->value);
}

static void set_up_toggle(struct __test_metadata *_metadata)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (trace_is_on(TRACEFS "events/traps/enable"))
		SKIP(return, "events/traps is in use");
	undo_later(file_write, TRACEFS "events/traps/enable", "0");
}

SIMPLE_FIXTURE(toggle, set_up_toggle)

static void storm_small(struct __test_metadata *_metadata, const char *on)
{
	ASSERT_EQ(0, storm_prepare(SMALL));
	turn(_metadata, "traps", on);
	ASSERT_EQ(0, storm_start(0));
	ASSERT_EQ(0, storm_end());
}

/*
 * Pairs are right but where an event is switched on or off; at the end all is
 * recorded if it is on, and nothing if it is off.
 */
TEST_F_TIMEOUT(toggle, pairs, TIMEOUT)
{
	const struct pairs *pairs;

	ASSERT_EQ(0, pairs_prepare(2 * COUNT));
	ASSERT_EQ(0, other_create());
	ASSERT_EQ(0, storm_prepare(COUNT));
	turn_on(_metadata, "traps");
	/* Switching takes long where all CPUs are busy. */
	storm_pause_us = 20000;
	ASSERT_EQ(0, storm_start(INTERRUPT | MIGRATE));
	for (int i = 0; i < OPERATIONS; i++) {
		/* However long it takes, there are some for the next ones. */
		__atomic_store_n(&storm_keep, COUNT / THREADS / OPERATIONS * (OPERATIONS - 1 - i),
				 __ATOMIC_SEQ_CST);
		operate_here(_metadata, &here[i % ARRAY_SIZE(here)]);
		operate_elsewhere(_metadata, &elsewhere[i % ARRAY_SIZE(elsewhere)]);
	}
	storm_stop();
	ASSERT_EQ(0, storm_end());
	TH_LOG("%lu exceptions", storm_sum());
	EXPECT_EQ(0, trace_stat("overrun"));
	pairs = pairs_read();
	ASSERT_TRUE(!!pairs);
	EXPECT_EQ(0, pairs->errors);
	EXPECT_LT(0, pairs->records);

	storm_small(_metadata, "1");
	pairs = pairs_read();
	ASSERT_TRUE(!!pairs);
	pairs_compare();
	EXPECT_EQ(0, pairs->errors);
	EXPECT_EQ(0, other_remove());

	storm_small(_metadata, "0");
	EXPECT_EQ(0, trace_stat("entries"));
	EXPECT_FALSE(trace_is_on(TRACEFS "events/traps/enable"));
}

/* How many of the events are on that the key is for? A call of the probed function tells. */
static int read_key(struct __test_metadata *_metadata, const char *name)
{
	char what[64], *text, *value;
	int fds[2], key = -1;

	snprintf(what, sizeof(what), "key=@%s:s32", name);
	EXPECT_EQ(0, kprobe_add("create_pipe_files", what));
	EXPECT_EQ(0, kprobes_turn(true));
	EXPECT_EQ(0, pipe(fds));
	close(fds[0]);
	close(fds[1]);
	text = trace_read("trace");
	value = text ? strstr(text, " key=") : NULL;
	EXPECT_TRUE(value && sscanf(value, " key=%d", &key) == 1);
	free(text);
	EXPECT_EQ(0, kprobes_remove());
	EXPECT_EQ(0, trace_truncate("trace"));
	return key;
}

/* What costs nothing while all is off is off again when the last instance is. */
TEST_F(toggle, keys)
{
	static const struct {
		const char *name, *exit;
	} keys[] = {
		{ "trap_events_key", "traps/trap_exit" },
		{ "page_fault_events_key", "traps/page_fault_exit" },
	};

	if (access("/proc/kallsyms", F_OK) || access(TRACEFS "kprobe_events", F_OK))
		SKIP(return, "no symbols, or no kprobe events");
	ASSERT_EQ(0, trace_write("events/traps/filter", "common_pid < 0"));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		EXPECT_EQ(0, read_key(_metadata, keys[i].name));
		turn_on(_metadata, "traps");
		EXPECT_EQ(2, read_key(_metadata, keys[i].name));
		turn(_metadata, keys[i].exit, "0");
		EXPECT_EQ(1, read_key(_metadata, keys[i].name));
		ASSERT_EQ(0, other_create());
		ASSERT_EQ(0, trace_write(OTHER "events/traps/enable", "1"));
		turn(_metadata, "traps", "0");
		EXPECT_EQ(2, read_key(_metadata, keys[i].name));
		EXPECT_EQ(0, other_remove());
		EXPECT_EQ(0, read_key(_metadata, keys[i].name));
	}
}

TEST_HARNESS_MAIN
