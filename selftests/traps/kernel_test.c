// SPDX-License-Identifier: GPL-2.0
/*
 * Each exception that the kernel itself raises is recorded once.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "fixture.h"
#include "memory.h"

static void raise_kernel_bp(struct report *report, bool traced)
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
	start(_metadata, &self->child, raise_kernel_bp);
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

TEST_HARNESS_MAIN
