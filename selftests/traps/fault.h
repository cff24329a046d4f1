/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of page faults: a program has the variants, and this their test.
 */
#ifndef _TRAPS_FAULT_H
#define _TRAPS_FAULT_H

#include <errno.h>

#include "fixture.h"
#include "memory.h"

static char *(*fault_map)(void);
static void (*fault_raise)(void *address);
static long fault_step = PAGE;		/* to the next access; may be set by fault_map() */

/* What a fault that sleeps has: it begins anew when it may sleep, and when it has. */
#define WAITED	(SLEPT | MMAP_LOCK | RETRIED)
#define SLEEP_US	10000		/* at least, when it is to sleep */

FIXTURE(fault) {
	struct child child;
};

FIXTURE_VARIANT(fault) {
	char *(*map)(void);
	void (*raise)(void *address);
	const char *error_code;
	const char *result;
	unsigned int flags;		/* where there are locks of VMAs */
	/* The rest by name */
	const char *ip;			/* or NULL: any of the program */
	const char *resume;
	const char *again;		/* the result of a second one */
	bool kernel;
	bool fetch;			/* ip is the address */
	int signal;			/* or 0 */
	int code;			/* si_code, or 0: any */
	int error;			/* of the system call, or 0 */
	const char *absent;		/* why there may be no memory */
};

static void raise_fault(struct report *report, int round)
{
	static char *map;

	if (!round)
		map = fault_map();
	if (!map) {
		report->failed = true;
		return;
	}
	report->step = fault_step;
	report->address = (unsigned long)map + round * report->step;
	errno = 0;
	fault_raise((void *)report->address);
	report->error = errno;
}

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(fault, name) { __VA_ARGS__ }

/* The child raises it once untraced. */
FIXTURE_SETUP(fault)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	fault_map = variant->map;
	fault_raise = variant->raise;
	raise_resume = variant->resume;
	start_or_skip(_metadata, &self->child, raise_fault, variant->absent);
}

FIXTURE_TEARDOWN_PARENT(fault)
{
	tear_down(_metadata);
}

/*
 * Expects an exit with the result. Where there are locks of VMAs, user mode needs that of
 * the whole address space only if the VMA's does not do. That is the first retry, and does
 * not count as waiting. Elsewhere there is only that lock.
 */
static void expect_result(struct __test_metadata *_metadata, const struct child *child,
			  const struct trace *trace, const char *text, const char *result,
			  unsigned int flags)
{
	const struct trace_record *exit;

	if (!strcmp(result, "WAITED"))
		result = has_vma_locks() ? "MINOR" : "MAJOR";
	if (!has_vma_locks())
		flags |= MMAP_LOCK;
	else if (flags & MMAP_LOCK && strstr(text, "mode=user"))
		flags |= VMA_LOCK_FAILED;
	exit = expect_exit(_metadata, child, trace, text, result, flags);
	if (exit && flags & SLEPT)
		EXPECT_LE(SLEEP_US * 1000, exit->duration);
}

/*
 * Once, with the result, and no other page fault; nothing when it is off or rejected
 * by a filter.
 */
TEST_F(fault, recorded)
{
	const struct report *report = self->child.report;
	int count = variant->again ? 2 : 1;
	char text[160], filter[64], ip[64];
	struct trace trace;

	/* The page of the next round but one */
	snprintf(filter, sizeof(filter), "address != 0x%lx", report->address + 2 * report->step);
	snprintf(text, sizeof(text), "address=0x%lx *", report->address + 2 * report->step);
	check_off(_metadata, &self->child, "page_fault", filter, text);
	turn_on(_metadata, "signal");
	let_work(_metadata, &self->child, &trace);

	EXPECT_EQ(variant->error, report->error);
	EXPECT_EQ(!!variant->signal, report->raised_count);
	EXPECT_EQ(variant->signal, report->raised[0].signal);
	expect_signals(_metadata, &self->child, &trace);
	if (variant->code)
		EXPECT_EQ(variant->code, report->raised[0].code);
	EXPECT_EQ(report->raised_count, trace_count(&trace, "signal_deliver", "*"));
	EXPECT_EQ(report->minflt, trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(report->majflt, trace_count(&trace, "page_fault_exit", "* result=MAJOR"));
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "* mode=user *"));
	EXPECT_TRUE(trace_balanced(&trace));

	if (variant->kernel)
		snprintf(ip, sizeof(ip), "[a-z_]*+0x*/0x* mode=kernel");
	else if (variant->ip || variant->fetch)
		snprintf(ip, sizeof(ip), "0x%lx mode=user",
			 variant->fetch ? report->address : (unsigned long)variant->ip);
	else
		snprintf(ip, sizeof(ip), "* mode=user");
	snprintf(text, sizeof(text), "address=0x%lx error_code=%s ip=%s",
		 report->address, variant->error_code, ip);
	EXPECT_EQ(count, trace_count(&trace, "page_fault_entry", "%s", text));
	EXPECT_EQ(2 * count, trace_count(&trace, "page_fault_*", "address=0x%lx *",
					 report->address));
	expect_result(_metadata, &self->child, &trace, text, variant->result, variant->flags);
	if (variant->again)
		expect_result(_metadata, &self->child, &trace, text, variant->again, WAITED);
}

#endif
