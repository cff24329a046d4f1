// SPDX-License-Identifier: GPL-2.0
/*
 * Each exception that user mode can raise is recorded once, as the process
 * sees it.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <asm/ldt.h>
#include <cpuid.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "fixture.h"
#include "memory.h"

/* --- Tests of exceptions other than page faults */

#define IRET_VECTOR	32

/* Entry 1 of the LDT. */
#define LDT_SELECTOR	0xf
#define LDT_ERROR_CODE	0xc

static int kernel_bits(void)
{
	struct utsname name;

	return uname(&name) || strcmp(name.machine, "x86_64") ? 32 : 64;
}

static void set_segment_not_present(void)
{
	struct user_desc segment = {
		.entry_number		= LDT_SELECTOR >> 3,
		.limit			= 0xfffff,
		.limit_in_pages		= 1,
		.seg_32bit		= 1,
		.seg_not_present	= 1,
	};

	syscall(SYS_modify_ldt, 0x11, &segment, sizeof(segment));
}

static void load_es_not_present(void)
{
	set_segment_not_present();
	raise_es(LDT_SELECTOR);
}

static void load_ss_not_present(void)
{
	set_segment_not_present();
	raise_ss(LDT_SELECTOR);
}

/* QEMU's TCG before version 10 stops the guest at INT1. */
static void raise_int1_if_safe(void)
{
	unsigned int eax, signature[3];

	__cpuid(0x40000000, eax, signature[0], signature[1], signature[2]);
	if (memcmp(signature, "TCGTCGTCGTCG", sizeof(signature)))
		raise_int1();
}

/* A breakpoint in hardware, which tells nobody. */
static int set_breakpoint(const void *address, int type, int length)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_BREAKPOINT,
		.size		= sizeof(attr),
		.sample_period	= 1,
		.bp_type	= type,
		.bp_addr	= (unsigned long)address,
		.bp_len		= length,
		.exclude_kernel	= 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void write_watched(void)
{
	static int watched;
	int fd = set_breakpoint(&watched, HW_BREAKPOINT_W, sizeof(watched));

	raise_watched(&watched);
	close(fd);
}

static void execute_watched(void)
{
	int fd = set_breakpoint(raise_executed_ip, HW_BREAKPOINT_X, kernel_bits() / 8);

	raise_executed();
	close(fd);
}

static void load_es_beyond_gdt(void)
{
	raise_es(0xfffb);
}

FIXTURE(trap) {
	struct child child;
};

FIXTURE_VARIANT(trap) {
	void (*raise)(void);
	int signal;			/* or 0 */
	const char *name;
	unsigned int vector;
	unsigned long error_code;
	const char *ip[3];		/* one for each time it is raised */
	const char *resume;
	unsigned short cs;		/* the handler of a #UD returns to it */
	int kernel;			/* only with kernels of so many bits, or 0 */
	const char *absent;		/* why the CPU may raise nothing or #GP */
};

FIXTURE_VARIANT_ADD(trap, de) {
	.raise	= raise_de,
	.signal	= SIGFPE,
	.name	= "#DE",
	.vector	= 0,
	.ip	= { raise_de_ip },
	.resume	= raise_de_resume,
};

FIXTURE_VARIANT_ADD(trap, db) {
	.raise	= raise_db,
	.signal	= SIGTRAP,
	.name	= "#DB",
	.vector	= 1,
	.ip	= { raise_db_ip1, raise_db_ip2, raise_db_ip3 },
};

FIXTURE_VARIANT_ADD(trap, db_int1) {
	.raise	= raise_int1_if_safe,
	.signal	= SIGTRAP,
	.name	= "#DB",
	.vector	= 1,
	.ip	= { raise_int1_ip },
	.absent	= "QEMU before version 10 has no INT1",
};

FIXTURE_VARIANT_ADD(trap, db_write) {
	.raise	= write_watched,
	.name	= "#DB",
	.vector	= 1,
	.ip	= { raise_watched_ip },
};

FIXTURE_VARIANT_ADD(trap, db_execute) {
	.raise	= execute_watched,
	.name	= "#DB",
	.vector	= 1,
	.ip	= { raise_executed_ip },
};

FIXTURE_VARIANT_ADD(trap, bp) {
	.raise	= raise_bp,
	.signal	= SIGTRAP,
	.name	= "#BP",
	.vector	= 3,
	.ip	= { raise_bp_ip },
};

FIXTURE_VARIANT_ADD(trap, of) {
	.raise	= raise_of,
	.signal	= SIGSEGV,
	.name	= "#OF",
	.vector	= 4,
	.ip	= { raise_of_ip },
};

#ifndef __x86_64__
FIXTURE_VARIANT_ADD(trap, of_into) {
	.raise	= raise_into,
	.signal	= SIGSEGV,
	.name	= "#OF",
	.vector	= 4,
	.ip	= { raise_into_ip },
};

FIXTURE_VARIANT_ADD(trap, br) {
	.raise	= raise_br,
	.signal	= SIGSEGV,
	.name	= "#BR",
	.vector	= 5,
	.ip	= { raise_br_ip },
	.resume	= raise_br_resume,
};
#endif

FIXTURE_VARIANT_ADD(trap, ud) {
	.raise	= raise_ud,
	.signal	= SIGILL,
	.name	= "#UD",
	.vector	= 6,
	.ip	= { raise_ud_ip },
	.resume	= raise_ud_resume,
};

/* The back link of the task state segment is not that of a task. */
FIXTURE_VARIANT_ADD(trap, ts) {
	.raise	= raise_iret,
	.signal	= SIGSEGV,
	.name	= "#TS",
	.vector	= 10,
	.ip	= { raise_iret_ip },
	.resume	= raise_iret_resume,
	.kernel	= 32,
};

FIXTURE_VARIANT_ADD(trap, np) {
	.raise	= load_es_not_present,
	.signal	= SIGBUS,
	.name	= "#NP",
	.vector	= 11,
	.error_code = LDT_ERROR_CODE,
	.ip	= { raise_es_ip },
	.resume	= raise_es_resume,
};

FIXTURE_VARIANT_ADD(trap, ss) {
	.raise	= load_ss_not_present,
	.signal	= SIGBUS,
	.name	= "#SS",
	.vector	= 12,
	.error_code = LDT_ERROR_CODE,
	.ip	= { raise_ss_ip },
	.resume	= raise_ss_resume,
};

#ifdef __x86_64__
FIXTURE_VARIANT_ADD(trap, ss_canonical) {
	.raise	= raise_ss_canonical,
	.signal	= SIGBUS,
	.name	= "#SS",
	.vector	= 12,
	.ip	= { raise_ss_canonical_ip },
	.resume	= raise_ss_canonical_resume,
	.absent	= "the CPU raises #GP for addresses by %rbp",
};
#endif

FIXTURE_VARIANT_ADD(trap, gp) {
	.raise	= raise_gp,
	.signal	= SIGSEGV,
	.name	= "#GP",
	.vector	= 13,
	.ip	= { raise_gp_ip },
	.resume	= raise_gp_resume,
};

FIXTURE_VARIANT_ADD(trap, gp_selector) {
	.raise	= load_es_beyond_gdt,
	.signal	= SIGSEGV,
	.name	= "#GP",
	.vector	= 13,
	.error_code = 0xfff8,
	.ip	= { raise_es_ip },
	.resume	= raise_es_resume,
};

FIXTURE_VARIANT_ADD(trap, gp_iret) {
	.raise	= raise_iret,
	.signal	= SIGSEGV,
	.name	= "#GP",
	.vector	= 13,
	.ip	= { raise_iret_ip },
	.resume	= raise_iret_resume,
	.kernel	= 64,
};

/* The kernel cannot return to user mode; ip is where it was to go on. */
FIXTURE_VARIANT_ADD(trap, gp_return) {
	.raise	= raise_ud,
	.cs	= 0x3ff7,
	.signal	= SIGSEGV,
	.name	= "#GP",
	.vector	= 13,
	.error_code = 0x3ff4,
	.ip	= { raise_ud_resume },
	.resume	= raise_ud_resume,
	.kernel	= 64,
};

/* The kernel's IRET raises a #GP, which becomes one of the program. */
FIXTURE_VARIANT_ADD(trap, iret) {
	.raise	= raise_ud,
	.cs	= 0x3ff7,
	.signal	= SIGILL,
	.name	= "IRET",
	.vector	= IRET_VECTOR,
	.ip	= { raise_ud_resume },
	.resume	= raise_ud_resume,
	.kernel	= 32,
};

FIXTURE_VARIANT_ADD(trap, mf) {
	.raise	= raise_mf,
	.signal	= SIGFPE,
	.name	= "#MF",
	.vector	= 16,
	.ip	= { raise_mf_ip },
	.resume	= raise_mf_resume,
};

FIXTURE_VARIANT_ADD(trap, ac) {
	.raise	= raise_ac,
	.signal	= SIGBUS,
	.name	= "#AC",
	.vector	= 17,
	.ip	= { raise_ac_ip },
	.resume	= raise_ac_resume,
	.absent	= "the CPU does not check alignment",
};

FIXTURE_VARIANT_ADD(trap, xf) {
	.raise	= raise_xf,
	.signal	= SIGFPE,
	.name	= "#XF",
	.vector	= 19,
	.ip	= { raise_xf_ip },
	.resume	= raise_xf_resume,
	.absent	= "the CPU does not raise SIMD exceptions",
};

#ifdef __x86_64__
FIXTURE_VARIANT_ADD(trap, cp) {
	.raise	= raise_cp,
	.signal	= SIGSEGV,
	.name	= "#CP",
	.vector	= 21,
	.error_code = 1,
	.ip	= { raise_cp_ip },
	.resume	= raise_cp_resume,
	.absent	= "no user shadow stacks",
};
#endif

static void (*trap_raise)(void);

static void raise_trap(struct report *report, bool traced)
{
	raise_steps = 3;
	trap_raise();
}

/* The child raises it once untraced. */
FIXTURE_SETUP(trap)
{
	const struct report *report;

	if (variant->kernel && variant->kernel != kernel_bits())
		SKIP(return, "only %d-bit kernels", variant->kernel);
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	trap_raise = variant->raise;
	raise_resume = variant->resume;
	raise_cs = variant->cs;
	start(_metadata, &self->child, raise_trap);
	report = self->child.report;
	if (variant->absent && (!report->raised_count ||
				report->raised[0].vector != variant->vector)) {
		child_end(&self->child);
		trace_remove();
		SKIP(return, "%s", variant->absent);
	}
}

FIXTURE_TEARDOWN_PARENT(trap)
{
	tear_down(_metadata);
}

/* The sum of the durations, each of which is positive. */
static unsigned long long durations(struct __test_metadata *_metadata,
				    const struct trace *trace)
{
	unsigned long long sum = 0;

	for (int i = 0; i < trace->count; i++)
		if (!strcmp(trace->records[i].event, "trap_exit")) {
			EXPECT_LT(0, trace->records[i].duration);
			sum += trace->records[i].duration;
		}
	return sum;
}

/* One entry and one exit each time, which say what the signal says. */
TEST_F(trap, recorded)
{
	int before = variant->cs ? 1 : 0, times = 0;
	const struct report *report;
	struct trace trace;
	char text[128];

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);
	report = self->child.report;

	for (int i = 0; i < ARRAY_SIZE(variant->ip) && variant->ip[i]; i++) {
		const struct raised *raised = &report->raised[before + i];

		if (variant->signal) {
			EXPECT_EQ(variant->signal, raised->signal);
			EXPECT_EQ(variant->vector, raised->vector);
			EXPECT_EQ(variant->error_code, raised->error_code);
			EXPECT_EQ((unsigned long)variant->ip[i], raised->ip);
		}

		snprintf(text, sizeof(text), "%s vector=%u error_code=0x%lx ip=0x%lx user",
			 variant->name, variant->vector, variant->error_code,
			 (unsigned long)variant->ip[i]);
		EXPECT_EQ(1, trace_count(&trace, "trap_entry", "%s", text));
		EXPECT_EQ(1, trace_count(&trace, "trap_exit", "%s", text));
		/* The access is not taken for a page fault. */
		EXPECT_EQ(0, trace_count(&trace, "page_fault_*", "* ip=0x%lx *",
					 (unsigned long)variant->ip[i]));
		times++;
	}
	EXPECT_EQ(variant->signal ? before + times : 0, report->raised_count);
	EXPECT_EQ(2 * (before + times), trace_count(&trace, "trap_*", "* user"));
	EXPECT_EQ(variant->vector == IRET_VECTOR ? 2 : 0,
		  trace_count(&trace, "trap_*", "* kernel"));
	EXPECT_TRUE(trace_balanced(&trace));
	EXPECT_LT(durations(_metadata, &trace), report->time);
}

/* What is off is not recorded. */
TEST_F(trap, off)
{
	check_off(_metadata, &self->child);
}

/* What the filter rejects is not recorded. */
TEST_F(trap, rejected)
{
	check_rejected(_metadata, &self->child, variant->name, variant->vector);
}

/* --- Tests of how page faults end */

FIXTURE(fault) {
	struct child child;
};

FIXTURE_VARIANT(fault) {
	char *(*map)(void);		/* two pages */
	void (*raise)(void *address);
	const char *error_code;
	const char *ip;			/* NULL: not in this program */
	bool fetch;			/* ip is the address */
	const char *resume;
	const char *result;
	int signal;			/* or 0 */
	int error;			/* of the system call, or 0 */
};

static void read_byte(void *address)
{
	raise_read(address);
}

static void fetch_byte(void *address)
{
	raise_fetch(address);
}

FIXTURE_VARIANT_ADD(fault, read_absent) {
	.map		= map_absent,
	.raise		= read_byte,
	.error_code	= "USER",
	.ip		= raise_read_ip,
	.resume		= raise_read_resume,
	.result		= "SIGSEGV",
	.signal		= SIGSEGV,
};

FIXTURE_VARIANT_ADD(fault, read_untouched) {
	.map		= map_untouched,
	.raise		= read_byte,
	.error_code	= "USER",
	.ip		= raise_read_ip,
	.result		= "MINOR",
};

FIXTURE_VARIANT_ADD(fault, write_untouched) {
	.map		= map_untouched,
	.raise		= raise_write,
	.error_code	= "WRITE|USER",
	.ip		= raise_write_ip,
	.result		= "MINOR",
};

FIXTURE_VARIANT_ADD(fault, write_zero_page) {
	.map		= map_zero_page,
	.raise		= raise_write,
	.error_code	= "PROT|WRITE|USER",
	.ip		= raise_write_ip,
	.result		= "MINOR",
};

FIXTURE_VARIANT_ADD(fault, write_read_only) {
	.map		= map_read_only,
	.raise		= raise_write,
	.error_code	= "PROT|WRITE|USER",
	.ip		= raise_write_ip,
	.resume		= raise_write_resume,
	.result		= "SIGSEGV",
	.signal		= SIGSEGV,
};

FIXTURE_VARIANT_ADD(fault, fetch_no_exec) {
	.map		= map_filled,
	.raise		= fetch_byte,
	.error_code	= "PROT|USER|INSTR",
	.fetch		= true,
	.resume		= raise_fetch_resume,
	.result		= "SIGSEGV",
	.signal		= SIGSEGV,
};

FIXTURE_VARIANT_ADD(fault, read_beyond_eof) {
	.map		= map_beyond_eof,
	.raise		= read_byte,
	.error_code	= "USER",
	.ip		= raise_read_ip,
	.resume		= raise_read_resume,
	.result		= "SIGBUS",
	.signal		= SIGBUS,
};

FIXTURE_VARIANT_ADD(fault, kernel_untouched) {
	.map		= map_untouched,
	.raise		= read_pipe,
	.error_code	= "WRITE",
	.result		= "MINOR",
};

FIXTURE_VARIANT_ADD(fault, kernel_absent) {
	.map		= map_absent,
	.raise		= read_pipe,
	.error_code	= "WRITE",
	.result		= "FIXUP",
	.error		= EFAULT,
};

static char *(*fault_map)(void);
static void (*fault_raise)(void *address);

static void raise_fault(struct report *report, bool traced)
{
	static char *map;

	if (!traced)
		map = fault_map();
	if (!map) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)map + (traced ? PAGE : 0);
	errno = 0;
	fault_raise((void *)report->address);
	report->error = errno;
}

/* The child raises it once untraced. */
FIXTURE_SETUP(fault)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	fault_map = variant->map;
	fault_raise = variant->raise;
	raise_resume = variant->resume;
	start(_metadata, &self->child, raise_fault);
	if (variant->fetch && !self->child.report->raised_count) {
		child_end(&self->child);
		trace_remove();
		SKIP(return, "the CPU or the kernel has no NX");
	}
}

FIXTURE_TEARDOWN_PARENT(fault)
{
	tear_down(_metadata);
}

/* One entry and one exit, the right result, and no trap event. */
TEST_F(fault, recorded)
{
	const struct trace_record *exit;
	const struct report *report;
	struct trace trace;
	char text[160], ip[64];

	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);
	report = self->child.report;

	EXPECT_EQ(variant->error, report->error);
	EXPECT_EQ(!!variant->signal, report->raised_count);
	if (variant->signal) {
		EXPECT_EQ(variant->signal, report->raised[0].signal);
		EXPECT_EQ(14, report->raised[0].vector);
	}

	if (variant->fetch)
		snprintf(ip, sizeof(ip), "0x%lx user", report->address);
	else if (variant->ip)
		snprintf(ip, sizeof(ip), "0x%lx user", (unsigned long)variant->ip);
	else
		snprintf(ip, sizeof(ip), "[a-z_]* kernel");
	snprintf(text, sizeof(text), "address=0x%lx error_code=%s ip=%s",
		 report->address, variant->error_code, ip);
	EXPECT_EQ(1, trace_count(&trace, "page_fault_entry", "%s", text));
	expect_result(_metadata, &trace, text, variant->result);
	EXPECT_EQ(2, trace_count(&trace, "page_fault_*", "address=0x%lx *",
				 report->address));
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));

	exit = trace_find(&trace, "page_fault_exit");
	ASSERT_NE(NULL, exit);
	EXPECT_LT(0, exit->duration);
	EXPECT_LT(exit->duration, report->time);
}

/* What is off is not recorded. */
TEST_F(fault, off)
{
	check_off(_metadata, &self->child);
}

/* What the filter rejects is not recorded. */
TEST_F(fault, rejected)
{
	struct trace trace;
	char filter[64];

	/* The child is going to touch the next page. */
	snprintf(filter, sizeof(filter), "address != 0x%lx",
		 self->child.report->address + PAGE);
	ASSERT_EQ(0, trace_write("events/traps/page_fault_entry/filter", filter));
	ASSERT_EQ(0, trace_write("events/traps/page_fault_exit/filter", filter));
	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);
	EXPECT_EQ(0, trace_count(&trace, "page_fault_*", "address=0x%lx *",
				 self->child.report->address));
}

TEST_HARNESS_MAIN
