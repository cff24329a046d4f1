// SPDX-License-Identifier: GPL-2.0
/*
 * The traps events, see Documentation/trace/events-traps.rst: their fields, that
 * what is on is recorded in pairs, a histogram of durations, and that nothing is
 * left of this program when it is killed.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config. Works in
 * a tracefs instance of its own and looks only at its own children.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "fixture.h"
#include "memory.h"

/* --- Tests of what userspace reads about the events */

struct field {
	const char *text;		/* type and name */
	unsigned int size;		/* 0: that of a long */
	unsigned int offset, offset_32;	/* for kernels with 64 and 32 bits */
};

static const struct {
	const char *event;
	struct field fields[10];
} formats[] = {
	{ "trap_entry", {
		{ "unsigned int vector",	4, 8, 8 },
		{ "bool user_mode",		1, 12, 12 },
		{ "unsigned long error_code",	0, 16, 16 },
		{ "unsigned long ip",		0, 24, 20 },
		{ "unsigned long event_data",	0, 32, 24 },
	} },
	{ "trap_exit", {
		{ "unsigned int vector",	4, 8, 8 },
		{ "bool user_mode",		1, 12, 12 },
		{ "u8 result",			1, 13, 13 },
		{ "u16 flags",			2, 14, 14 },
		{ "unsigned long error_code",	0, 16, 16 },
		{ "unsigned long ip",		0, 24, 20 },
		{ "unsigned long event_data",	0, 32, 24 },
		{ "u64 duration",		8, 40, 28 },
	} },
	{ "page_fault_entry", {
		{ "unsigned long address",	0, 8, 8 },
		{ "unsigned long error_code",	0, 16, 12 },
		{ "unsigned long ip",		0, 24, 16 },
		{ "bool user_mode",		1, 32, 20 },
	} },
	{ "page_fault_exit", {
		{ "unsigned long address",	0, 8, 8 },
		{ "unsigned long error_code",	0, 16, 12 },
		{ "unsigned long ip",		0, 24, 16 },
		{ "bool user_mode",		1, 32, 20 },
		{ "u8 result",			1, 33, 21 },
		{ "u16 flags",			2, 34, 22 },
		{ "u64 duration",		8, 40, 24 },
	} },
};

/* Exactly these fields, in this order, none of them signed. */
static void check_format(struct __test_metadata *_metadata, const char *event,
			 const struct field *field)
{
	char file[64], *text, *line, name[64];
	unsigned int offset, size;
	int is_signed;

	snprintf(file, sizeof(file), TRACEFS "events/traps/%s/format", event);
	text = file_read(file);
	ASSERT_TRUE(!!text);
	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, " field:%63[^;]; offset:%u; size:%u; signed:%d;",
			   name, &offset, &size, &is_signed) != 4 || strstr(name, " common_"))
			continue;
		ASSERT_TRUE(!!field->text);
		EXPECT_STREQ(field->text, name);
		EXPECT_EQ(field->size ?: kernel_bits() / 8, size);
		EXPECT_EQ(kernel_bits() == 64 ? field->offset : field->offset_32, offset);
		EXPECT_EQ(0, is_signed);
		field++;
	}
	EXPECT_FALSE(!!field->text);
}

TEST(fields)
{
	if (geteuid() || !trace_available())
		SKIP(return, "needs root and events/traps");
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		check_format(_metadata, formats[i].event, formats[i].fields);
}

/* --- Tests with many events of several kinds */

#define MINOR_FAULTS	8
#define SEGV_FAULTS	3
#define BREAKPOINTS	2
#define INVALID_OPCODES	1

static void raise_many(struct report *report, int round)
{
	static char *untouched, *absent;

	if (!round) {
		untouched = map_anonymous(ROUNDS * MINOR_FAULTS);
		absent = map_absent();
	}
	if (!untouched || !absent) {
		report->failed = true;
		return;
	}
	for (int i = 0; i < MINOR_FAULTS; i++)
		raise_write(untouched + (round * MINOR_FAULTS + i) * PAGE);
	raise_resume = raise_read_resume;
	for (int i = 0; i < SEGV_FAULTS; i++)
		raise_read(absent);
	raise_resume = NULL;
	for (int i = 0; i < BREAKPOINTS; i++)
		raise_bp();
	raise_resume = raise_ud_resume;
	for (int i = 0; i < INVALID_OPCODES; i++)
		raise_ud();
}

FIXTURE(events) {
	struct child child;
};

FIXTURE_SETUP(events)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	start(_metadata, &self->child, raise_many);
}

FIXTURE_TEARDOWN_PARENT(events)
{
	tear_down(_metadata);
}

/* All events on: everything is recorded, in pairs. All off: nothing is. */
TEST_F(events, all)
{
	struct trace trace;

	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);

	EXPECT_LE(MINOR_FAULTS, self->child.report->minflt);
	EXPECT_EQ(self->child.report->minflt,
		  trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(SEGV_FAULTS, trace_count(&trace, "page_fault_exit", "* result=SIGSEGV"));
	EXPECT_EQ(BREAKPOINTS, trace_count(&trace, "trap_exit", "vector=#BP * result=SIGNAL"));
	EXPECT_EQ(INVALID_OPCODES,
		  trace_count(&trace, "trap_exit", "vector=#UD * result=SIGNAL"));
	EXPECT_TRUE(trace_balanced(&trace));

	turn(_metadata, "traps", "0");
	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(0, trace.count);
}

/* An exit event does not need its entry event, nor an entry event its exit event. */
TEST_F(events, alone)
{
	struct trace trace;

	turn_on(_metadata, "traps/page_fault_exit");
	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(self->child.report->minflt,
		  trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(SEGV_FAULTS,
		  trace_count(&trace, "page_fault_exit",
			      "address=0x* error_code=USER ip=0x%lx mode=user result=SIGSEGV",
			      (unsigned long)raise_read_ip));
	EXPECT_EQ(trace.count, trace_count(&trace, "page_fault_exit", "*"));

	turn(_metadata, "traps/page_fault_exit", "0");
	turn_on(_metadata, "traps/trap_entry");
	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(BREAKPOINTS, trace_count(&trace, "trap_entry", "vector=#BP *"));
	EXPECT_EQ(INVALID_OPCODES, trace_count(&trace, "trap_entry", "vector=#UD *"));
	EXPECT_EQ(BREAKPOINTS + INVALID_OPCODES, trace.count);
}

/* A histogram by result and duration counts each fault that is recorded. */
TEST_F(events, histogram)
{
	int minor = 0, segv = 0, result, hits;
	char trigger[128], *text, *line;
	struct trace trace;

	snprintf(trigger, sizeof(trigger), "hist:keys=result,duration.log2 if common_pid == %d",
		 self->child.pid);
	turn_on(_metadata, "traps/page_fault_exit");
	if (trace_write("events/traps/page_fault_exit/trigger", trigger))
		SKIP(return, "no hist triggers");
	let_work(_metadata, &self->child, &trace);

	text = trace_read("events/traps/page_fault_exit/hist");
	ASSERT_TRUE(!!text);
	EXPECT_TRUE(!!strstr(text, "Dropped: 0"));
	while ((line = strsep(&text, "\n"))) {
		if (sscanf(line, "{ result: %d, duration: ~ 2^%*d } hitcount: %d",
			   &result, &hits) != 2)
			continue;
		minor += result == 0 ? hits : 0;
		segv += result == 6 ? hits : 0;
	}
	/* There may be some around the work. */
	EXPECT_LE(trace_count(&trace, "page_fault_exit", "* result=MINOR"), minor);
	EXPECT_EQ(SEGV_FAULTS, segv);
}

/* --- Last: is anything left of all that, also when it is killed? */

/* Kills this program, run anew in a group of its own, when its instance is there. */
TEST(nothing_left)
{
	char instance[64];

	if (geteuid() || !trace_available())
		SKIP(return, "needs root and events/traps");
	for (int ms = 1; ms < 500; ms *= 4) {
		pid_t pid = fork();

		if (!pid) {
			setpgid(0, 0);
			close(STDOUT_FILENO);
			close(STDERR_FILENO);
			execl("/proc/self/exe", "killed_test", "-f", "events", NULL);
			_exit(1);
		}
		snprintf(instance, sizeof(instance), TRACEFS "instances/killed_test_%d", pid);
		while (access(instance, F_OK) && !waitpid(pid, NULL, WNOHANG))
			;
		EXPECT_EQ(0, access(instance, F_OK));
		usleep(1000 * ms);
		kill(-pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		for (int i = 0; i < 500 && !access(instance, F_OK); i++)
			usleep(10000);
		EXPECT_NE(0, access(instance, F_OK)) {
			TH_LOG("%s is left after %d ms", instance, ms);
		}
	}
}

TEST_HARNESS_MAIN
