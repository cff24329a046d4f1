/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of page faults: a program has the variants, and this their test.
 */
#ifndef _TRAPS_FAULT_H
#define _TRAPS_FAULT_H

#include <errno.h>

#include "fixture.h"
#include "memory.h"

#ifndef TIMEOUT
#define TIMEOUT		25		/* seconds, of each test */
#endif

static char *(*fault_map)(void);
static void (*fault_raise)(void *address);
static long fault_step = PAGE;		/* to the next access; may be set by fault_map() */

/* What a fault that sleeps has: it begins anew when it may sleep, and when it has. */
#define WAITED	(SLEPT | MMAP_LOCK | RETRIED)

FIXTURE(fault) {
	struct child child;
};

FIXTURE_VARIANT(fault) {
	char *(*map)(void);
	void (*raise)(void *address);
	const char *error_code;
	const char *result;
	unsigned int flags;		/* of 64-bit kernels: others have no locks of VMAs */
	/* The rest by name */
	unsigned int any_flags;		/* that may be or not */
	const char *ip;			/* or NULL: any of the program */
	const char *resume;
	const char *again;		/* the result of a second one */
	bool kernel;
	bool fetch;			/* ip is the address */
	bool moves;			/* to another CPU */
	bool split;			/* there may be several, elsewhere in the page */
	int signal;			/* or 0 */
	int code;			/* si_code, or 0: any */
	int error;			/* of the system call, or 0 */
	const char *absent;		/* why there may be no memory, or no signal */
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
	int error;

	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	fault_map = variant->map;
	fault_raise = variant->raise;
	raise_resume = variant->resume;
	error = child_start(&self->child, raise_fault);
	if (variant->absent &&
	    (error || (variant->signal && !self->child.report->raised_count)))
		SKIP(return, "%s", variant->absent);
	ASSERT_EQ(0, error);
	ASSERT_EQ(0, trace_prepare(self->child.pid, variant->moves ? -1 : self->child.cpu));
}

FIXTURE_TEARDOWN_PARENT(fault)
{
	tear_down(_metadata);
}

/*
 * Where there are locks of VMAs, the first retry is the one with the lock of the
 * whole address space, and does not count as waiting.
 */
static const char *name_of(const char *result)
{
	if (strcmp(result, "WAITED"))
		return result;
	return kernel_bits() == 64 ? "MINOR" : "MAJOR";
}

/*
 * Once, with the result, and no other page fault; nothing when it is off or rejected
 * by a filter.
 */
TEST_F_TIMEOUT(fault, recorded, TIMEOUT)
{
	const struct report *report = self->child.report;
	unsigned int flags = variant->flags & ~variant->any_flags;
	int count = variant->again ? 2 : 1;
	char text[160], filter[64], ip[64];
	struct trace trace;

	/* The page of the next round but one */
	snprintf(filter, sizeof(filter), "address != 0x%lx", report->address + 2 * report->step);
	snprintf(text, sizeof(text), "address=0x%lx *", report->address + 2 * report->step);
	check_off(_metadata, &self->child, "page_fault", filter, text);
	let_work(_metadata, &self->child, &trace);

	EXPECT_EQ(variant->error, report->error);
	EXPECT_EQ(!!variant->signal, report->raised_count);
	EXPECT_EQ(variant->signal, report->raised[0].signal);
	if (variant->code)
		EXPECT_EQ(variant->code, report->raised[0].code);
	EXPECT_EQ(report->minflt, trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(report->majflt, trace_count(&trace, "page_fault_exit", "* result=MAJOR"));
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
	if (variant->split) {
		EXPECT_LE(1, report->minflt);
		return;
	}

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
	ignored_flags = variant->any_flags;
	if (kernel_bits() == 32)
		flags |= MMAP_LOCK;
	expect_exit(_metadata, &self->child, &trace, text, name_of(variant->result), flags);
	if (variant->again)
		expect_exit(_metadata, &self->child, &trace, text, name_of(variant->again),
			    WAITED);
}

#endif
