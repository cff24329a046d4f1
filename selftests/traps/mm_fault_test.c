// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults that no exception raises are recorded; with those that exceptions raise
 * they are as many as getrusage() counts.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config; faults on
 * files also mkfs.ext4 and a loop device.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "fixture.h"
#include "memory.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

static char *(*fault_map)(void);
static int (*fault_cause)(void *address);
static pid_t other;			/* a process with the same memory */

/* --- Memory: the address of round 0, NULL if it cannot be made */

static char *fork_with(char *map)
{
	other = map ? fork_bound() : -1;
	while (!other)
		pause();
	return other < 0 ? NULL : map;
}

static char *map_in_other(void)
{
	return fork_with(map_untouched());
}

static char *map_after_fork(void)
{
	return fork_with(map_filled());
}

static char *map_missing(void)
{
	return userfault_map(ROUNDS, userfault_copy);
}

/* --- Who needs the page; the error, or 0 */

static int error_of(long ret)
{
	return ret < 0 ? errno : 0;
}

static int populate(void *address)
{
	return mmap(address, PAGE, PROT_READ | PROT_WRITE,
		    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		    -1, 0) == MAP_FAILED ? errno : 0;
}

static int lock(void *address)
{
	return error_of(mlock(address, PAGE));
}

static int populate_read(void *address)
{
	return error_of(madvise(address, PAGE, MADV_POPULATE_READ));
}

static int populate_write(void *address)
{
	return error_of(madvise(address, PAGE, MADV_POPULATE_WRITE));
}

static int read_own(void *address)
{
	char byte;
	const struct iovec to = { &byte, 1 }, from = { address, 1 };

	return error_of(process_vm_readv(getpid(), &to, 1, &from, 1, 0));
}

static int write_other(void *address)
{
	const struct iovec from = { "", 1 }, to = { address, 1 };

	return error_of(process_vm_writev(other, &from, 1, &to, 1, 0));
}

static int write_mem(void *address)
{
	int fd = open("/proc/self/mem", O_WRONLY);
	int error = error_of(pwrite64(fd, "", 1, (unsigned long)address));

	close(fd);
	return error;
}

/* Adds 0. The kernel tries first without taking page faults: that is an exception. */
static int add_in_futex(void *address)
{
	static int word;

	return error_of(syscall(SYS_futex, &word, FUTEX_WAKE_OP_PRIVATE, 1, 1, address,
				FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)));
}

/* --- Tests */

FIXTURE(mm_fault) {
	struct child child;
};

FIXTURE_VARIANT(mm_fault) {
	char *(*map)(void);
	int (*cause)(void *address);
	const char *fault_flags;	/* and whose memory */
	const char *result;
	const char *again;		/* the result of a second call */
	unsigned int flags;
	int error;
	const char *absent;		/* why there may be no memory */
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(mm_fault, name) { __VA_ARGS__ }
#define READ	"ALLOW_RETRY|KILLABLE"
#define WRITE	"WRITE|" READ
#define REMOTE	READ "|REMOTE"
#define NO_FILE	"no ext4 file system on a loop device can be made"

VARIANT(populate, map_untouched, populate, WRITE " mm_id=* curr=1", "MINOR");
VARIANT(mlock, map_untouched, lock, WRITE " mm_id=* curr=1", "MINOR");
VARIANT(populate_read, map_untouched, populate_read, READ " mm_id=* curr=1", "MINOR");
VARIANT(populate_write, map_untouched, populate_write, WRITE " mm_id=* curr=1", "MINOR");
VARIANT(read_own, map_untouched, read_own, REMOTE " mm_id=* curr=1", "MINOR");
VARIANT(read_shared, map_after_fork, read_own, REMOTE "|UNSHARE mm_id=* curr=1", "MINOR");
VARIANT(write_other, map_in_other, write_other, "WRITE|" REMOTE " mm_id=* curr=0", "MINOR");
VARIANT(write_mem, map_untouched, write_mem, "WRITE|*REMOTE mm_id=* curr=1", "MINOR");
VARIANT(futex, map_untouched, add_in_futex, "WRITE mm_id=* curr=1", "MINOR");
VARIANT(file, map_uncached, read_own, "*REMOTE mm_id=* curr=1", "RETRY", .again = "MAJOR",
	.absent = NO_FILE);
VARIANT(userfault, map_missing, read_own, REMOTE " mm_id=* curr=1", "RETRY", .flags = SLEPT,
	.absent = "no userfaultfd");
VARIANT(beyond_eof, map_beyond_eof, read_own, REMOTE " mm_id=* curr=1", "SIGBUS", .error = EFAULT);
VARIANT(guarded, map_guarded, read_own, REMOTE " mm_id=* curr=1", "SIGSEGV", .error = EFAULT,
	.absent = "no MADV_GUARD_INSTALL");

static void cause_fault(struct report *report, int round)
{
	void *page = page_of_round(report, round, fault_map);

	if (page)
		report->error = fault_cause(page);
}

/* The child causes it once untraced. */
FIXTURE_SETUP(mm_fault)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (access(TRACEFS "events/traps/mm_fault", F_OK))
		SKIP(return, "no traps:mm_fault");
	fault_map = variant->map;
	fault_cause = variant->cause;
	start_or_skip(_metadata, &self->child, cause_fault, variant->absent);
}

FIXTURE_TEARDOWN_PARENT(mm_fault)
{
	tear_down(_metadata);
}

TEST_F(mm_fault, recorded)
{
	const struct report *report = self->child.report;
	struct trace trace;
	char text[160];

	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(0, trace.count);

	turn_on(_metadata, "traps");
	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(variant->error, report->error);
	EXPECT_EQ(report->minflt, trace_count(&trace, "*_fault*", "* result=MINOR"));
	EXPECT_EQ(report->majflt, trace_count(&trace, "*_fault*", "* result=MAJOR"));
	EXPECT_EQ(variant->again ? 2 : 1, trace_count(&trace, "mm_fault", "*"));

	snprintf(text, sizeof(text), "address=0x%lx fault_flags=%s", report->address,
		 variant->fault_flags);
	expect_exit(_metadata, &self->child, &trace, text, variant->result, variant->flags);
	if (variant->again)
		expect_exit(_metadata, &self->child, &trace, text, variant->again, 0);
}

/* The same address in the memory of two processes */
static void fault_in_both(struct report *report, int round)
{
	void *page = page_of_round(report, round, map_in_other);

	if (page)
		report->error = write_other(page) ?: populate_write(page);
}

static unsigned int id_of(const struct trace_record *record)
{
	unsigned int id = 0;

	if (record)
		sscanf(strstr(record->text, " mm_id="), " mm_id=%u", &id);
	return id;
}

FIXTURE(mm_id) {
	struct child child;
};

FIXTURE_SETUP(mm_id)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (access(TRACEFS "events/traps/mm_fault", F_OK))
		SKIP(return, "no traps:mm_fault");
	start(_metadata, &self->child, fault_in_both);
}

FIXTURE_TEARDOWN_PARENT(mm_id)
{
	tear_down(_metadata);
}

/* It tells whose memory it is, not whose fault. */
TEST_F(mm_id, of_memory)
{
	const struct trace_record *own, *others;
	struct trace trace;

	turn_on(_metadata, "traps/mm_fault");
	let_work(_metadata, &self->child, &trace);
	EXPECT_EQ(0, self->child.report->error);
	own = trace_find(&trace, "mm_fault", "* curr=1 *");
	others = trace_find(&trace, "mm_fault", "* curr=0 *");
	EXPECT_NE(0, id_of(own));
	EXPECT_NE(0, id_of(others));
	EXPECT_NE(id_of(own), id_of(others));
}

TEST_HARNESS_MAIN
