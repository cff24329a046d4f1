// SPDX-License-Identifier: GPL-2.0
/*
 * #VE of TDX guests and #VC of SEV-ES guests are recorded once each, with what becomes of them.
 * The kernel's entry code and handlers are its own; the module test_modules/traps_coco.ko
 * stands in for the CPU, the TDX module and the hypervisor. It is built for a kernel with
 * CONFIG_INTEL_TDX_GUEST and CONFIG_AMD_MEM_ENCRYPT.
 */
#include <fnmatch.h>
#include <signal.h>

#include "invasive_fixture.h"

/* --- The module's part */

static int set_parameter(const char *name, const char *value)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/traps_coco/parameters/%s", name);
	return file_write(path, value);
}

/* --- What a program raises */

static bool carried_out;

/* INT stands for the exception of the instruction, which leaves zeros. */
#define INSTRUCTION(name, vector, text)							\
	extern const char raise_##name##_ip[], raise_##name##_resume[];			\
	static __attribute__((noinline)) void raise_##name(void)			\
	{										\
		unsigned int a = 0, b = 0, c = 0, d = 0;				\
											\
		asm volatile("int	$" #vector "\n"					\
			     ".globl raise_" #name "_ip, raise_" #name "_resume\n"	\
			     "raise_" #name "_ip: " text "\n"				\
			     "raise_" #name "_resume:"					\
			     : "+a" (a), "+b" (b), "+c" (c), "+d" (d) : : "memory");	\
		carried_out = !(a | b | c | d);						\
	}

INSTRUCTION(ve_cpuid, 20, "cpuid")
INSTRUCTION(vc_cpuid, 29, "cpuid")
/* The CPU allows the rest in the kernel only. */
INSTRUCTION(vc_monitor, 29, "monitor")
INSTRUCTION(vc_invd, 29, "invd")
INSTRUCTION(vc_in, 29, "in $0x80, %%al")

static void raise_steps_3(void)
{
	raise_steps = 3;
	raise_db();
	carried_out = true;
}

/* --- The tests */

/* In its text @ is the ip. */
struct expected {
	const char *event, *text;
};

#define ENTRY(text)		{ "trap_entry", text }
#define EXIT(text, result)	{ "trap_exit", text " result=" result }
#define TRAP(text, result)	ENTRY(text), EXIT(text, result)
#define FAULT(text, result)	{ "page_fault_entry", text }, { "page_fault_exit", text " result=" result }

#define VE(mode, reason)	"vector=#VE mode=" mode " error_code=0x0 ip=@ event_data=" reason
#define VC(mode, code)		"vector=#VC mode=" mode " error_code=" code " ip=@ event_data=0x0"
#define GP(mode)		"vector=#GP mode=" mode " error_code=0x0 ip=@ event_data=0x0"
#define DB(ip)			"vector=#DB mode=user error_code=0x0 ip=" ip " event_data=0x4000"
#define INNER			"vector=#VC mode=kernel error_code=0x8a ip=raise_vc_monitor_ip+0x0/* event_data=0x0"

/* Exit reasons of #VE, error codes of #VC, and as they are shown */
#define CPUID			"10"
#define CPUID_SHOWN		"0xa"
#define UNKNOWN			"99"
#define UNKNOWN_SHOWN		"0x63"
#define DR7			"0x37"
#define VC_CPUID		"0x72"
#define INVD			"0x76"
#define IN			"0x7b"
#define MONITOR			"0x8a"
#define MEMORY			"0x400"

#define IN_HANDLER		"1"
#define IN_RECORDING		"2"

FIXTURE(handler) {
	struct child child;
};

FIXTURE_VARIANT(handler) {
	void (*raise)(void);		/* in user mode */
	const char *kernel;		/* or what to tell the module */
	const char *ip;			/* an address, or in the kernel a symbol of the module */
	const char *ve_reason, *vc_code;
	struct expected expected[6];
	/* The rest by name */
	int signal;
	const char *resume;
	const char *inner;		/* where another #VC is raised */
};

/* Of the instruction raise_NAME, or of the module's of that name */
#define USER(name, insn, ...)						\
	FIXTURE_VARIANT_ADD(handler, name) { raise_##insn, NULL, raise_##insn##_ip, __VA_ARGS__ }
#define KERNEL(name, insn, ...)						\
	FIXTURE_VARIANT_ADD(handler, kernel_##name) { NULL, insn, "raise_" insn "_ip+0x0/*", __VA_ARGS__ }

USER(ve_cpuid, ve_cpuid, CPUID, NULL, { TRAP(VE("user", CPUID_SHOWN), "EMULATED") });
USER(ve_unknown, ve_cpuid, UNKNOWN, NULL, { TRAP(VE("user", UNKNOWN_SHOWN), "SIGSEGV") },
	.signal = SIGSEGV, .resume = raise_ve_cpuid_resume);
USER(vc_cpuid, vc_cpuid, NULL, VC_CPUID, { TRAP(VC("user", VC_CPUID), "EMULATED") });
USER(vc_monitor, vc_monitor, NULL, MONITOR, { TRAP(VC("user", MONITOR), "EMULATED") });
USER(vc_invd, vc_invd, NULL, INVD, { TRAP(VC("user", INVD), "SIGBUS") },
	.signal = SIGBUS, .resume = raise_vc_invd_resume);
/* The handler turns it into a #GP. */
USER(vc_in, vc_in, NULL, IN, { TRAP(VC("user", IN), "HANDLED"), TRAP(GP("user"), "SIGSEGV") },
	.signal = SIGSEGV, .resume = raise_vc_in_resume);
USER(vc_inside, vc_cpuid, NULL, VC_CPUID,
	{ ENTRY(VC("user", VC_CPUID)), TRAP(INNER, "EMULATED"), EXIT(VC("user", VC_CPUID), "EMULATED") },
	.inner = IN_HANDLER);
/* The recording's own is not recorded. */
USER(vc_recording, vc_monitor, NULL, MONITOR, { TRAP(VC("user", MONITOR), "EMULATED") },
	.inner = IN_RECORDING);

KERNEL(ve_cpuid, "ve_cpuid", CPUID, NULL, { TRAP(VE("kernel", CPUID_SHOWN), "EMULATED") });
KERNEL(ve_unknown, "ve_cpuid", UNKNOWN, NULL, { TRAP(VE("kernel", UNKNOWN_SHOWN), "FIXUP") });
KERNEL(vc_cpuid, "vc_cpuid", NULL, VC_CPUID, { TRAP(VC("kernel", VC_CPUID), "EMULATED") });
KERNEL(vc_monitor, "vc_monitor", NULL, MONITOR, { TRAP(VC("kernel", MONITOR), "EMULATED") });
/* The handler turns it into a #GP. */
KERNEL(vc_dr7, "vc_dr7", NULL, DR7,
	{ TRAP(VC("kernel", DR7), "HANDLED"), TRAP(GP("kernel"), "FIXUP") });
/* The handler copies one byte, and has the CPU go on. */
KERNEL(vc_movs, "vc_movs", NULL, MEMORY, { TRAP(VC("kernel", MEMORY), "HANDLED") });
/* A page fault of the handler, which it turns the #VC into */
KERNEL(vc_movs_absent, "vc_movs_absent", NULL, MEMORY,
	{ ENTRY(VC("kernel", MEMORY)),
	  FAULT("address=0xfffffffffffff000 error_code=0 ip=* mode=kernel", "FIXUP"),
	  EXIT(VC("kernel", MEMORY), "HANDLED"),
	  FAULT("address=0xfffffffffffff000 error_code=PROT ip=@ mode=kernel", "FIXUP") },
	.ip = "raise_vc_movs_ip+0x0/*");
KERNEL(vc_inside, "vc_cpuid", NULL, VC_CPUID,
	{ ENTRY(VC("kernel", VC_CPUID)), TRAP(INNER, "EMULATED"),
	  EXIT(VC("kernel", VC_CPUID), "EMULATED") }, .inner = IN_HANDLER);
KERNEL(vc_recording, "vc_monitor", NULL, MONITOR, { TRAP(VC("kernel", MONITOR), "EMULATED") },
	.inner = IN_RECORDING);

/* The CPU's #DB comes as a #VC, and is recorded as #DB only. */
FIXTURE_VARIANT_ADD(handler, db_steps) {
	raise_steps_3, .signal = SIGTRAP,
	.expected = { TRAP(DB("*"), "SIGTRAP"), TRAP(DB("*"), "SIGTRAP"),
		      TRAP(DB("*"), "SIGTRAP") },
};

static void (*program)(void);
static const char *in_kernel;

static void raise_it(struct report *report, int round)
{
	if (in_kernel) {
		report->error = set_parameter("raise", in_kernel);
	} else {
		program();
		report->failed = !raise_resume && !carried_out;
	}
}

FIXTURE_SETUP(handler)
{
	set_up_with(_metadata, "traps_coco");
	if (_metadata->exit_code)
		return;
	program = variant->raise;
	in_kernel = variant->kernel;
	raise_resume = variant->resume;
	ASSERT_EQ(0, set_parameter("ve_reason", variant->ve_reason ?: "0"));
	ASSERT_EQ(0, set_parameter("vc_code", variant->vc_code ?: "0"));
	start(_metadata, &self->child, raise_it);
	EXPECT_EQ(0, self->child.report->error);
}

FIXTURE_TEARDOWN_PARENT(handler)
{
	tear_down(_metadata);
}

/* The pattern of an expected text */
static void expand(char *pattern, size_t size, const char *text, const char *ip)
{
	const char *at = strchr(text, '@');

	if (at)
		snprintf(pattern, size, "%.*s%s%s", (int)(at - text), text, ip, at + 1);
	else
		snprintf(pattern, size, "%s", text);
}

#define EXPECTED(variant)	(variant)->expected, ARRAY_SIZE((variant)->expected)

/* How many of them are events of traps */
static int count_traps(const struct expected *expected, int size)
{
	int count = 0;

	for (int i = 0; i < size && expected[i].event; i++)
		count += !strncmp(expected[i].event, "trap_", 5);
	return count;
}

/* All that is expected, in that order, and nothing else */
static void expect_all(struct __test_metadata *_metadata, const struct trace *trace,
		       const struct report *report, const char *ip,
		       const struct expected *expected, int size)
{
	char pattern[256];
	int count = 0;

	while (count < size && expected[count].event)
		count++;
	EXPECT_TRUE(trace_balanced(trace));
	ASSERT_EQ(count, trace->count);
	for (int i = 0; i < count; i++) {
		const struct trace_record *record = &trace->records[i];
		const char *result = strstr(expected[i].text, "result=");

		expand(pattern, sizeof(pattern), expected[i].text, ip);
		EXPECT_STREQ(expected[i].event, record->event);
		EXPECT_EQ(0, fnmatch(pattern, record->text, 0)) {
			TH_LOG("%s: %s", pattern, record->text);
		}
		if (!result)
			continue;
		EXPECT_EQ(0, record->flags & ~(SLEPT | PREEMPTED));
		EXPECT_LT(0, record->duration);
		EXPECT_LT(record->duration, report->time);
		TH_LOG("result %s", strchr(result, '=') + 1);
	}
}

/* The child raises it, all events being on. */
static void record_it(struct __test_metadata *_metadata, struct child *child,
		      const FIXTURE_VARIANT(handler) *variant)
{
	const struct report *report = child->report;
	struct trace trace;
	char ip[64];

	ASSERT_EQ(0, set_parameter("inners", "0"));
	ASSERT_EQ(0, set_parameter("inner", variant->inner ?: "0"));
	/* Also the vectors that others leave out */
	ASSERT_EQ(0, trace_filter(child->pid, "trap", "vector != 2"));
	turn_on(_metadata, "traps");
	let_work(_metadata, child, &trace);
	ASSERT_EQ(0, set_parameter("inner", "0"));

	EXPECT_EQ(0, report->error);
	EXPECT_EQ(!!variant->inner, file_number("/sys/module/traps_coco/parameters/inners", "%ld"));
	EXPECT_EQ(variant->signal, report->raised[0].signal);
	expect_signals(_metadata, child, &trace);
	if (variant->kernel)
		snprintf(ip, sizeof(ip), "%s", variant->ip);
	else
		snprintf(ip, sizeof(ip), "0x%lx", (unsigned long)variant->ip);
	expect_all(_metadata, &trace, report, ip, EXPECTED(variant));
}

/* Nothing when it is off or rejected by a filter; otherwise that. */
TEST_F(handler, recorded)
{
	check_off(_metadata, &self->child, "trap", "vector == 0", "vector=*");
	record_it(_metadata, &self->child, variant);
}

/* The same while stacks are recorded, and while perf takes call chains. */
TEST_F(handler, sampled)
{
	static const char * const events[] = { "trap_entry", "trap_exit" };
	struct sampling samplings[ARRAY_SIZE(events)];
	uint64_t count, sum = 0;

	ASSERT_EQ(0, trace_write("options/stacktrace", "1"));
	ASSERT_EQ(0, trace_write("options/userstacktrace", "1"));
	for (int i = 0; i < ARRAY_SIZE(events); i++)
		ASSERT_TRUE(sampling_start(&samplings[i], events[i], self->child.pid));
	record_it(_metadata, &self->child, variant);
	for (int i = 0; i < ARRAY_SIZE(events); i++) {
		ASSERT_EQ(sizeof(count), read(samplings[i].fd, &count, sizeof(count)));
		sum += count;
		sampling_stop(&samplings[i]);
	}
	EXPECT_EQ(count_traps(EXPECTED(variant)), sum);
}

TEST_HARNESS_MAIN
