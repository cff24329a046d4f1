/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of exceptions other than page faults: a program has the variants, and
 * this their test.
 */
#ifndef _TRAPS_TRAP_H
#define _TRAPS_TRAP_H

#include <signal.h>
#include <sys/syscall.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "fixture.h"
#include "memory.h"

#define IRET_VECTOR	32		/* of x86 */

static bool unable;			/* what is raised could not be prepared */
static int trap_round;

/* Watched by a breakpoint in hardware, which tells nobody */
static void write_watched(void)
{
	static int watched;
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(attr),
		.sample_period	= 1,
		.bp_type	= HW_BREAKPOINT_W,
		.bp_addr	= (unsigned long)&watched,
		.bp_len		= sizeof(watched),
		.exclude_kernel	= 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	unable = fd < 0;
	raise_watched(&watched);
	close(fd);
}

/* Where in the program's file is that? */
static unsigned long file_offset(const void *where)
{
	char *text = file_read("/proc/self/maps"), *next = text, *line;
	unsigned long start, end, offset, found = 0, address = (unsigned long)where;

	while (!found && (line = strsep(&next, "\n")))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    address >= start && address < end)
			found = address - start + offset;
	free(text);
	return found;
}

static void run_probed(void)
{
	struct perf_event_attr attr = {
		.type		= perf_type("uprobe"),
		.size		= sizeof(attr),
		.config1	= (unsigned long)"/proc/self/exe",
		.config2	= file_offset((void *)raise_probed),
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	unable = fd < 0;
	raise_probed();
	close(fd);
}

FIXTURE(trap) {
	struct child child;
};

FIXTURE_VARIANT(trap) {
	void (*raise)(void);
	int signal;			/* or 0 */
	const char *name;
	unsigned int vector;
	/* The rest by name */
	unsigned long error_code;
	const char *error_shown;	/* a pattern, if not that */
	const char *result;		/* if not the signal */
	const char *event_data;		/* a pattern, if not 0 */
	const char *ip[3];		/* one for each time it is raised */
	const char *shown;		/* how that is shown, a pattern, if not as a number */
	const char *resume;
	unsigned short cs;		/* the handler of a #UD returns to it */
	bool other;			/* the signal tells of another exception */
	const char *step;		/* the single step after it, a pattern from the vector on */
	const char *filter;		/* if it is left out by trace_prepare() */
	const char *mode;		/* if not user */
	int kernel;			/* only with kernels of so many bits, or 0 */
	const char *absent;		/* why it may not be raised */
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(trap, name) { __VA_ARGS__ }

static void (*trap_raise)(void);

static void raise_trap(struct report *report, int round)
{
	raise_steps = 3;
	trap_round = round;
	trap_raise();
	report->failed = unable;
}

/* The child raises it once untraced. */
FIXTURE_SETUP(trap)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (variant->kernel && variant->kernel != kernel_bits())
		SKIP(return, "only %d-bit kernels", variant->kernel);
	trap_raise = variant->raise;
	raise_resume = variant->resume;
	raise_cs = variant->cs;
	start_or_skip(_metadata, &self->child, raise_trap, variant->absent);
}

FIXTURE_TEARDOWN_PARENT(trap)
{
	tear_down(_metadata);
}

/*
 * One entry and one exit each time, which say what the signal says; nothing when
 * it is off or rejected by a filter.
 */
TEST_F(trap, recorded)
{
	const struct report *report = self->child.report;
	const char *mode = variant->mode ?: "user";
	int before = variant->cs ? 1 : 0, times = 0, hits = 1;
	char text[160], filter[32], error_code[32], number[32];
	struct trace trace;

	snprintf(filter, sizeof(filter), "vector != %u", variant->vector);
	snprintf(text, sizeof(text), "vector=%s *", variant->name);
	check_off(_metadata, &self->child, "trap", filter, text);
	if (variant->filter)
		ASSERT_EQ(0, trace_filter(self->child.pid, "trap", variant->filter));
	turn_on(_metadata, "signal");
	let_work(_metadata, &self->child, &trace);

	for (int i = 0; i < ARRAY_SIZE(variant->ip) && variant->ip[i]; i++) {
		const struct raised *raised = &report->raised[before + i];
		const char *ip = variant->shown ?: number;

		if (variant->signal)
			EXPECT_EQ(variant->signal, raised->signal);
		if (variant->signal && !variant->other)
			EXPECT_EQ((unsigned long)variant->ip[i], raised->ip);
		if (variant->signal && !variant->other && raised->told) {
			EXPECT_EQ(variant->vector, raised->vector);
			EXPECT_EQ(variant->error_code, raised->error_code);
		}

		snprintf(error_code, sizeof(error_code), "0x%lx", variant->error_code);
		snprintf(number, sizeof(number), "0x%lx", (unsigned long)variant->ip[i]);
		snprintf(text, sizeof(text),
			 "vector=%s mode=%s error_code=%s ip=%s event_data=%s", variant->name,
			 mode, variant->error_shown ?: error_code, ip,
			 variant->event_data ?: "0x0");
		times++;
		if (variant->mode) {
			/* It is hit again if an interrupt comes before the step. */
			hits = trace_count(&trace, "trap_entry", "%s", text);
			EXPECT_LE(1, hits);
			EXPECT_EQ(hits, trace_count(&trace, "trap_exit", "%s result=%s", text,
						    variant->result));
			TH_LOG("result %s", variant->result);
			continue;
		}
		EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text)) {
			TH_LOG("%s", text);
		}
		expect_exit(_metadata, &self->child, &trace, text,
			    variant->result ?: signal_name(variant->signal), 0);
		/* Nothing else is recorded of it; its access is not taken for a page fault. */
		EXPECT_EQ(2, trace_count(&trace, "[tp]*", "* ip=%s *", ip));
	}
	EXPECT_EQ(variant->signal ? before + times : 0, report->raised_count);
	expect_signals(_metadata, &self->child, &trace);
	EXPECT_EQ(report->raised_count, trace_count(&trace, "signal_generate", "*"));
	if (variant->step)
		EXPECT_EQ(hits, trace_count(&trace, "trap_exit", "vector=%s * result=CONSUMED",
					    variant->step));
	EXPECT_EQ(2 * (before + hits * (times + !!variant->step)),
		  trace_count(&trace, "trap_*", "* mode=%s *", mode));
	if (variant->vector == IRET_VECTOR)
		EXPECT_LE(2, trace_count(&trace, "trap_*", "vector=#GP mode=kernel *"));
	EXPECT_TRUE(trace_balanced(&trace));
}

#endif
