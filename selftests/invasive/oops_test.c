// SPDX-License-Identifier: GPL-2.0
/*
 * A BUG() is recorded, as a #UD without an exit, and a WARN() is not. An oops in a
 * callback of a trap event ends the task. The CPU that it ran on goes on recording the
 * events of other tasks.
 *
 * Needs LKDTM, and the module test_modules/traps_callback.ko. Who dies in a callback
 * holds tracepoint_srcu for ever: no event can be removed any more, so all of it stays.
 */
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "invasive_fixture.h"

#define LKDTM		"/sys/kernel/debug/provoke-crash/DIRECT"
#define OOPS_AT		"/sys/module/traps_callback/parameters/oops_at"
#define VICTIM		"traps_victim"

static void switch_on(struct __test_metadata *_metadata)
{
	if (file_has_word("/proc/sys/kernel/panic_on_oops", "1"))
		SKIP(return, "an oops is a panic here");
	if (geteuid())
		SKIP(return, "needs root");
	if (!trace_available())
		SKIP(return, "no events/traps in tracefs");
	ASSERT_EQ(0, trace_write(TRACEFS "events/traps/enable", "1"));
}

FIXTURE(lkdtm) {
};

FIXTURE_SETUP(lkdtm)
{
	if (access(LKDTM, W_OK))
		SKIP(return, LKDTM ": %s", strerror(errno));
	switch_on(_metadata);
}

FIXTURE_TEARDOWN(lkdtm)
{
}

/* Returns the status of a task that has LKDTM do it. */
static int provoke(const char *what, pid_t *pid)
{
	int status = -1;

	*pid = fork();
	if (!*pid)
		_exit(file_write(LKDTM, what));
	waitpid(*pid, &status, 0);
	return status;
}

FIXTURE(oops) {
};

FIXTURE_VARIANT(oops) {
	const char *event;
};

FIXTURE_VARIANT_ADD(oops, trap_entry) { "trap_entry" };
FIXTURE_VARIANT_ADD(oops, trap_exit) { "trap_exit" };
FIXTURE_VARIANT_ADD(oops, page_fault_entry) { "page_fault_entry" };
FIXTURE_VARIANT_ADD(oops, page_fault_exit) { "page_fault_exit" };

FIXTURE_SETUP(oops)
{
	int error;

	switch_on(_metadata);
	if (_metadata->exit_code)
		return;
	/* Unloading waits for all callbacks to end, and a task that has died in one never does. */
	if (access("test_modules/traps_callback.ko", F_OK))
		SKIP(return, "no test_modules/traps_callback.ko");
	error = module_load_forever("traps_callback");
	ASSERT_TRUE(!error || error == EEXIST);
	stay_on_cpu(_metadata, sched_getcpu());
}

FIXTURE_TEARDOWN(oops)
{
}

/* Page faults and a #UD of a new task. Returns the signal that ends it. */
static int raise_both(const char *comm, pid_t *pid)
{
	const struct rlimit no_core = { 0, 0 };
	int status = 0;

	*pid = fork();
	if (!*pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		prctl(PR_SET_NAME, comm);
		*(volatile char *)mmap(NULL, 1, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
		__builtin_trap();
	}
	waitpid(*pid, &status, 0);
	return WTERMSIG(status);
}

/* Of that task */
static int count_events(pid_t pid, const char *event)
{
	char *text = trace_read(TRACEFS "trace"), *line, *next = text, pattern[128];
	int count = 0;

	snprintf(pattern, sizeof(pattern), "*-%d *: %s*", pid, event);
	while (next && (line = strsep(&next, "\n")))
		count += !fnmatch(pattern, line, 0);
	free(text);
	return count;
}

TEST_F(lkdtm, warning)
{
	pid_t pid;

	ASSERT_EQ(0, provoke("WARNING", &pid));
	EXPECT_EQ(0, count_events(pid, "trap_*"));
}

TEST_F(lkdtm, bug)
{
	pid_t pid;

	ASSERT_TRUE(WIFSIGNALED(provoke("BUG", &pid)));
	EXPECT_EQ(1, count_events(pid, "trap_entry: vector=#UD mode=kernel"));
	EXPECT_EQ(0, count_events(pid, "trap_exit"));
	/* The oops has switched the tracing off. */
	EXPECT_EQ(0, trace_write(TRACEFS "tracing_on", "1"));
}

static void expect_all_recorded(struct __test_metadata *_metadata)
{
	pid_t pid;

	ASSERT_EQ(SIGILL, raise_both("traps_other", &pid));
	EXPECT_EQ(1, count_events(pid, "trap_entry"));
	EXPECT_EQ(1, count_events(pid, "trap_exit"));
	EXPECT_LE(1, count_events(pid, "page_fault_entry"));
	EXPECT_LE(1, count_events(pid, "page_fault_exit"));
}

TEST_F(oops, cpu_goes_on)
{
	pid_t victim;

	expect_all_recorded(_metadata);
	ASSERT_EQ(0, file_write(OOPS_AT, variant->event));
	ASSERT_NE(SIGILL, raise_both(VICTIM, &victim));
	/* An oops switches the tracing off. */
	ASSERT_EQ(0, trace_write(TRACEFS "tracing_on", "1"));
	expect_all_recorded(_metadata);
}

TEST_HARNESS_MAIN
