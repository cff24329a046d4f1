// SPDX-License-Identifier: GPL-2.0
/*
 * A breakpoint in a function that is called while a trap event is recorded: the
 * machine survives it, and the records are complete. What is called depends on the
 * configuration; with lockdep there is more. Functions are named here, so that none
 * is left out because it was not seen to be called.
 *
 * Needs CONFIG_KPROBE_EVENTS_ON_NOTRACE.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "invasive_fixture.h"
#include "memory.h"

#define RAISED		5

/* Without clocks: reading one is part of reserving an event, a kprobe event is another. */
static const char * const functions[] = {
	/* the tracepoint, and what lockdep has it check */
	"rcu_is_watching", "rcu_lockdep_current_cpu_online", "debug_lockdep_rcu_enabled",
	"rcu_read_lock_held", "rcu_read_lock_sched_held", "rcu_read_lock_any_held",
	"__srcu_check_read_flavor", "__srcu_read_lock", "__srcu_read_unlock",
	"lock_is_held_type", "lockdep_rcu_suspicious", "lockdep_hardirqs_on",
	"__traceiter_trap_entry", "__traceiter_trap_exit",
	"__traceiter_page_fault_entry", "__traceiter_page_fault_exit",
	/* ftrace */
	"trace_event_buffer_reserve", "trace_event_buffer_lock_reserve",
	"trace_event_buffer_commit", "trace_event_ignore_this_pid",
	"trace_buffer_unlock_commit_regs", "tracing_gen_ctx_irq_test",
	"ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
	"ring_buffer_discard_commit", "ring_buffer_event_data",
	"filter_match_preds", "event_triggers_call", "event_triggers_post_call",
	"ftrace_trace_userstack", "stack_trace_save_user", "arch_stack_walk_user",
};

static void raise_both(struct report *report, int round)
{
	char *pages = map_anonymous(RAISED);

	report->failed = !pages;
	for (int i = 0; i < RAISED && pages; i++) {
		raise_bp();
		raise_write(pages + i * PAGE);
	}
}

SIMPLE_FIXTURE(probed, set_up)

/* The probe's own event is not recorded: its filter rejects it. */
static void work_probed(struct __test_metadata *_metadata)
{
	struct child child;
	struct trace trace;

	start(_metadata, &child, raise_both);
	/* Those of the probe are recorded, too, and with lockdep there are millions. */
	ASSERT_EQ(0, trace_filter(child.pid, "trap", "user_mode == 1"));
	turn_on(_metadata, "traps");
	ASSERT_EQ(0, kprobe_filter("common_pid < 0"));
	ASSERT_EQ(0, kprobe_turn(0, true));
	let_work(_metadata, &child, &trace);
	EXPECT_EQ(RAISED, trace_count(&trace, "trap_entry", "vector=#BP mode=user *"));
	EXPECT_EQ(RAISED, trace_count(&trace, "trap_exit", "vector=#BP mode=user *"));
	EXPECT_LE(RAISED, trace_count(&trace, "page_fault_entry", "*"));
	EXPECT_LE(RAISED, trace_count(&trace, "page_fault_exit", "*"));
	free(trace.records);
	close(child.go);
	close(child.done);
}

TEST_F_TIMEOUT(probed, one_by_one, 900)
{
	int on_path = 0;

	stay_on_cpu(_metadata, sched_getcpu());
	ASSERT_EQ(0, trace_write("options/userstacktrace", "1"));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (kprobe_add(functions[i])) {
			TH_LOG("cannot be probed: %s", functions[i]);
			continue;
		}
		TH_LOG("probed: %s", functions[i]);
		work_probed(_metadata);
		TH_LOG("%lu hits", kprobe_hits());
		on_path += !!kprobe_hits();
		ASSERT_EQ(0, kprobe_remove(0));
	}
	EXPECT_LT(5, on_path);
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
	ASSERT_EQ(0, kprobe_turn(0, true));
	let_work(_metadata, &child, trace);
	ASSERT_EQ(0, kprobe_turn(0, false));
}

/*
 * The handler of a kprobe reads where nothing is mapped, and there is a second kprobe on the
 * instruction that reads. Its single step raises the page fault, which is not recorded.
 */
TEST_F(probed, reentered)
{
	const struct trace_record *fault;
	struct trace one, two;
	char place[64];
	int count;

	ASSERT_EQ(0, kprobe_add_fetching("do_sys_openat2", "data=+u0($arg2):u64"));
	fault_in_handler(_metadata, &one);
	fault = trace_find(&one, "page_fault_entry", "address=0x12345000 * mode=kernel*");
	ASSERT_NE(NULL, fault);
	ASSERT_EQ(1, sscanf(strstr(fault->text, " ip="), " ip=%63[^/]", place));
	count = trace_count(&one, "page_fault_exit", "* ip=%s/* result=FIXUP", place);
	EXPECT_EQ(1, count);
	TH_LOG("a second one at %s", place);
	ASSERT_EQ(0, kprobe_add_fetching(place, "data=+u0(%si):u64"));
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
		"trap_recording_suspend", "trap_recording_resume", "handle_page_fault",
	};

	for (size_t i = 0; i < ARRAY_SIZE(unguarded); i++) {
		EXPECT_NE(0, kprobe_add_fetching(unguarded[i], "")) {
			TH_LOG("%s", unguarded[i]);
			kprobe_remove(0);
		}
	}
}

TEST_HARNESS_MAIN
