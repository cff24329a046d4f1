// SPDX-License-Identifier: GPL-2.0
/*
 * The traps events, see Documentation/trace/events-traps.rst: their fields, that
 * what is on is recorded in pairs, a histogram of durations, and that nothing is
 * left of this program when it is killed.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config. Works in
 * a tracefs instance of its own and looks only at its own children.
 */
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fixture.h"
#include "memory.h"

/* --- Tests of what userspace reads about the events */

static const struct field {
	const char *events;		/* a pattern */
	const char *text;		/* type and name */
	unsigned int size;		/* 0: that of a long */
} fields[] = {
	{ "*_e*",		"bool user_mode",		1 },
	{ "*_e*",		"unsigned long error_code",	0 },
	{ "*_e*",		"unsigned long ip",		0 },
	{ "*t",			"u8 result",			1 },
	{ "*_exit",		"u8 code",			1 },
	{ "*t",			"u16 flags",			2 },
	{ "*t",			"u64 duration",			8 },
	{ "*_fault*",		"unsigned long address",	0 },
	{ "mm_fault",		"unsigned int fault_flags",	4 },
	{ "mm_fault",		"unsigned int mm_id",		4 },
	{ "mm_fault",		"bool curr",			1 },
	{ "trap_*",		"u16 vector",			2 },
	{ "trap_*",		"unsigned long event_data",	0 },
};

static const char * const results[] = {
	"MINOR", "MAJOR", "RETRY", "OOM", "SIGBUS", "HWPOISON", "SIGSEGV", "FIXUP",
	"SPURIOUS", "KERNEL", "CONSUMED", "EMULATED", "HANDLED", "OOPS", "INTERRUPTED", "WARN",
	"SIGILL", "SIGTRAP", "SIGFPE", "SIGSYS", "SIGKILL",
};

static void expect_field(struct __test_metadata *_metadata, const char *format,
			 const struct field *field)
{
	unsigned int size = 0;
	int is_signed = 1;
	char text[64];

	snprintf(text, sizeof(text), "\tfield:%s;", field->text);
	format = strstr(format, text);
	ASSERT_TRUE(!!format) {
		TH_LOG("no%s", text);
	}
	EXPECT_EQ(2, sscanf(format + strlen(text), " offset:%*u; size:%u; signed:%d;",
			    &size, &is_signed));
	EXPECT_EQ(field->size ?: kernel_bits() / 8, size);
	EXPECT_EQ(0, is_signed);
}

static void expect_name(struct __test_metadata *_metadata, const char *format,
			const char *number, const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "{ %s, \"%s\" }", number, name);
	EXPECT_TRUE(!!strstr(format, text)) {
		TH_LOG("no %s", text);
	}
}

/* Those of the signal that is a result, which are told apart by both */
static void expect_codes(struct __test_metadata *_metadata, const char *format, size_t result)
{
	char number[32];
	int signal = SIGSYS;

	while (signal && strcmp(signal_name(signal) ?: "", results[result]))
		signal--;
	for (int code = 1; code < 16; code++) {
		if (!code_name(signal, code))
			continue;
		snprintf(number, sizeof(number), "(%zu << 8 | (%d))", result, code);
		expect_name(_metadata, format, number, code_name(signal, code));
	}
}

static void expect_format(struct __test_metadata *_metadata, const char *event)
{
	char file[64], number[16], *format;

	snprintf(file, sizeof(file), TRACEFS "events/traps/%s/format", event);
	format = file_read(file);
	ASSERT_TRUE(!!format);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!fnmatch(fields[i].events, event, 0))
			expect_field(_metadata, format, &fields[i]);
	if (fnmatch("*t", event, 0))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		snprintf(number, sizeof(number), "%zu", i);
		expect_name(_metadata, format, number, results[i]);
		if (!fnmatch("*_exit", event, 0))
			expect_codes(_metadata, format, i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(trace_flags); i++) {
		snprintf(number, sizeof(number), "0x%02x", 1 << i);
		expect_name(_metadata, format, number, trace_flags[i]);
	}
}

/* Types and names of all fields, wherever they are, and the names of their values */
TEST(formats)
{
	if (geteuid() || !trace_available())
		SKIP(return, "needs root and events/traps");
	expect_format(_metadata, "trap_entry");
	expect_format(_metadata, "trap_exit");
	expect_format(_metadata, "page_fault_entry");
	expect_format(_metadata, "page_fault_exit");
	if (!access(TRACEFS "events/traps/mm_fault", F_OK))
		expect_format(_metadata, "mm_fault");
}

/* --- Tests with many events of several kinds */

#define MINOR_FAULTS	8
#define SEGV_FAULTS	3
#define BREAKPOINTS	2

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
	raise_resume = raise_bp_resume;
	for (int i = 0; i < BREAKPOINTS; i++)
		raise_bp();
	raise_resume = NULL;
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

/* How many exits have that flag? */
static int count_flag(const struct trace *trace, unsigned int flag)
{
	int count = 0;

	for (int i = 0; i < trace->count; i++)
		count += !!(trace->records[i].flags & flag);
	return count;
}

/*
 * All events on: everything is recorded, in pairs, and what happens to the task is
 * in no more of them than getrusage() counts. All off: nothing is.
 */
TEST_F(events, all)
{
	const struct report *report = self->child.report;
	struct trace trace;

	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);

	EXPECT_LE(MINOR_FAULTS, report->minflt);
	EXPECT_EQ(report->minflt, trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(SEGV_FAULTS, trace_count(&trace, "page_fault_exit", "* result=SIGSEGV"));
	EXPECT_EQ(BREAKPOINTS, trace_count(&trace, "trap_exit", "vector=%s * result=SIGTRAP",
					   BREAKPOINT_NAME));
	expect_signals(_metadata, &self->child, &trace);
	EXPECT_TRUE(trace_balanced(&trace));
	EXPECT_LE(count_flag(&trace, SLEPT), report->nvcsw);
	EXPECT_LE(count_flag(&trace, PREEMPTED), report->nivcsw);
	EXPECT_EQ(0, count_flag(&trace, MIGRATED));

	turn(_metadata, "traps", "0");
	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(0, trace.count);
}

/* An exit event does not need its entry event, nor an entry event its exit event. */
TEST_F(events, alone)
{
	static const struct {
		const char *trap, *page_fault, *result;
	} alone[] = {
		{ "trap_entry", "page_fault_exit", " result=SIGSEGV" },
		{ "trap_exit", "page_fault_entry", "" },
	};
	struct trace trace;
	char event[32];

	for (size_t i = 0; i < ARRAY_SIZE(alone); i++) {
		turn(_metadata, "traps", "0");
		snprintf(event, sizeof(event), "traps/%s", alone[i].trap);
		turn_on(_metadata, event);
		snprintf(event, sizeof(event), "traps/%s", alone[i].page_fault);
		turn_on(_metadata, event);
		let_work(_metadata, &self->child, &trace);
		EXPECT_EQ(BREAKPOINTS, trace_count(&trace, alone[i].trap, "* mode=user *"));
		EXPECT_EQ(SEGV_FAULTS,
			  trace_count(&trace, alone[i].page_fault,
				      "address=0x* error_code=" USER_READ " ip=0x%lx mode=user%s",
				      (unsigned long)raise_read_ip, alone[i].result));
		EXPECT_EQ(trace.count, trace_count(&trace, alone[i].trap, "*") +
				       trace_count(&trace, alone[i].page_fault, "*"));
	}
}

/* A histogram by result and duration counts each fault that is recorded. */
TEST_F(events, histogram)
{
	int minor = 0, segv = 0, result, hits;
	char trigger[128], *text, *line;
	struct trace trace;

	snprintf(trigger, sizeof(trigger), "hist:keys=result,duration.log2 if common_pid == %d",
		 self->child.pid);
	if (access(TRACEFS "events/traps/page_fault_exit/hist", F_OK))
		SKIP(return, "no hist triggers");
	turn_on(_metadata, "traps/page_fault_exit");
	ASSERT_EQ(0, trace_write("events/traps/page_fault_exit/trigger", trigger));
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

/* --- Is anything left of all that, also when it is killed? */

static void kill_session(pid_t session)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid;

	while (proc && (entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid > 0 && getsid(pid) == session)
			kill(pid, SIGKILL);
	}
	closedir(proc);
}

/*
 * Kills all processes of this program, run anew in a session of its own, when its
 * instance is there: it makes only one, as the kernel warns when a process is killed while
 * it allocates a buffer. The orphans are this process's, which so knows when the one that
 * cleans up, of another session, has ended.
 */
TEST(nothing_left)
{
	char instance[64];

	if (geteuid() || !trace_available())
		SKIP(return, "needs root and events/traps");
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	for (int ms = 1; ms < 500; ms *= 16) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			int null = open("/dev/null", O_WRONLY);

			setsid();
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
			execl("/proc/self/exe", "killed_test", "-t", "alone", NULL);
			_exit(1);
		}
		snprintf(instance, sizeof(instance), TRACEFS "instances/killed_test_%d", pid);
		while (access(instance, F_OK) && !waitpid(pid, NULL, WNOHANG))
			;
		EXPECT_EQ(0, access(instance, F_OK));
		usleep(1000 * ms);
		do {
			kill_session(pid);
		} while (wait(NULL) > 0);
		EXPECT_NE(0, access(instance, F_OK)) {
			TH_LOG("%s is left after %d ms", instance, ms);
			rmdir(instance);
		}
	}
}

TEST_HARNESS_MAIN
