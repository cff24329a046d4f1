// SPDX-License-Identifier: GPL-2.0
/*
 * Each page fault is recorded once, with its result and its flags, and is counted
 * as getrusage() counts it.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config; faults on
 * files also mkfs.ext4 and a loop device.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "fault.h"

#define STACK_STEP	(64L << 10)

/* --- Memory: the address of round 0, NULL if it cannot be made */

static char *map_below_stack(void)
{
	fault_step = -STACK_STEP;
	return (char *)((unsigned long)__builtin_frame_address(0) & -PAGE) - 4 * STACK_STEP;
}

static void copy_late(void *address)
{
	usleep(SLEEP_US);
	userfault_copy(address);
}

static char *map_missing(void)
{
	return userfault_map(ROUNDS, copy_late);
}

/* The first of two page faults ends by a signal. */
static void interrupt_first(void *address)
{
	static int faults;

	if (faults++ % 2) {
		copy_late(address);
	} else {
		usleep(SLEEP_US);
		syscall(SYS_tgkill, getpid(), getpid(), SIGTRAP);
	}
}

static char *map_interrupted(void)
{
	return userfault_map(ROUNDS, interrupt_first);
}

/* To a CPU on which this process is not now */
static int migrate(void)
{
	cpu_set_t all, now;

	CPU_ZERO(&all);
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		CPU_SET(cpu, &all);
	sched_getaffinity(getpid(), sizeof(now), &now);
	CPU_XOR(&now, &now, &all);
	return sched_setaffinity(getpid(), sizeof(now), &now);
}

static void migrate_and_copy(void *address)
{
	migrate();
	copy_late(address);
}

static char *map_migrating(void)
{
	return migrate() ? NULL : userfault_map(ROUNDS, migrate_and_copy);
}

static char *map_poisoned(void)
{
	char *map = userfault_map(ROUNDS, NULL);
	struct uffdio_poison poison = {
		.range	= { (unsigned long)map, ROUNDS * PAGE },
	};

	return map && !ioctl(userfault, UFFDIO_POISON, &poison) ? map : NULL;
}

static char *map_no_exec(void)
{
	return has_no_exec() ? map_filled() : NULL;
}

static char *map_shared(void)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);
	char *map = ftruncate(fd, ROUNDS * PAGE) ? MAP_FAILED :
		    mmap(NULL, ROUNDS * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (map == MAP_FAILED)
		return NULL;
	madvise(map, ROUNDS * PAGE, MADV_NOHUGEPAGE);
	return map;
}

/* --- How it is accessed */

/* The kernel reads a name there. */
static void access_name(void *address)
{
	access(address, F_OK);
	errno = errno == EFAULT ? EFAULT : 0;
}

/* --- Tests of how page faults end */

VARIANT(read_absent, map_absent, raise_read, USER_READ, "SIGSEGV", MMAP_LOCK, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGSEGV);
VARIANT(read_untouched, map_untouched, raise_read, USER_READ, "MINOR", 0, .ip = raise_read_ip);
VARIANT(write_untouched, map_untouched, raise_write, USER_WRITE, "MINOR", 0,
	.ip = raise_write_ip);
VARIANT(write_read_only, map_read_only, raise_write, USER_WRITE_PROT, "SIGSEGV", 0,
	.ip = raise_write_ip, .resume = raise_write_resume, .signal = SIGSEGV);
VARIANT(write_stack, map_below_stack, raise_write, USER_WRITE, "MINOR", MMAP_LOCK);
VARIANT(fetch_no_exec, map_no_exec, raise_fetch, USER_FETCH_PROT, "SIGSEGV", 0, .fetch = true,
	.resume = raise_fetch_resume, .signal = SIGSEGV,
	.absent = "the CPU or the kernel has no NX");
VARIANT(read_beyond_eof, map_beyond_eof, raise_read, USER_READ, "SIGBUS", 0, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGBUS);
VARIANT(read_file, map_uncached, raise_read, USER_READ, "MAJOR", MMAP_LOCK | RETRIED,
	.absent = "no ext4 file system on a loop device can be made");
VARIANT(kernel_untouched, map_untouched, read_pipe, KERNEL_WRITE, "MINOR", MMAP_LOCK,
	.kernel = true);
VARIANT(kernel_absent, map_absent, read_pipe, KERNEL_WRITE, "FIXUP", MMAP_LOCK, .kernel = true,
	.error = EFAULT);
VARIANT(kernel_shared, map_shared, read_pipe, KERNEL_WRITE, "MINOR", MMAP_LOCK, .kernel = true);
VARIANT(kernel_file, map_uncached, access_name, KERNEL_READ, "MAJOR", MMAP_LOCK | RETRIED,
	.kernel = true, .absent = "no ext4 file system on a loop device can be made");
VARIANT(userfault_missing, map_missing, raise_write, USER_WRITE, "WAITED", WAITED,
	.absent = "no userfaultfd");
VARIANT(userfault_interrupted, map_interrupted, raise_write, USER_WRITE, "INTERRUPTED", SLEPT,
	.again = "WAITED", .signal = SIGTRAP, .absent = "no userfaultfd");
VARIANT(userfault_migrated, map_migrating, raise_write, USER_WRITE, "WAITED", WAITED | MIGRATED,
	.absent = "no userfaultfd, or one CPU only");
VARIANT(read_poisoned, map_poisoned, raise_read, USER_READ, "SIGBUS", 0, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGBUS, .code = BUS_MCEERR_AR,
	.absent = "no UFFDIO_POISON");
VARIANT(read_guarded, map_guarded, raise_read, USER_READ, "SIGSEGV", 0, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGSEGV, .absent = "no MADV_GUARD_INSTALL");

/* --- A test of page faults while the address space changes */

#define CONTENDED	2000

static char *denied;
static bool done;

/* A VMA that is split and merged again */
static void *protect_neighbour(void *unused)
{
	char *middle = denied + 2 * PAGE;

	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		mprotect(middle, PAGE, PROT_READ);
		mprotect(middle, PAGE, PROT_NONE);
	}
	return NULL;
}

static void read_contended(struct report *report, int round)
{
	pthread_t thread;

	if (!round)
		denied = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	done = false;
	report->failed = denied == MAP_FAILED ||
			 pthread_create(&thread, NULL, protect_neighbour, NULL);
	if (report->failed)
		return;
	raise_resume = raise_read_resume;
	for (int i = 0; i < CONTENDED; i++)
		raise_read(denied);
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

FIXTURE(contended) {
	struct child child;
};

FIXTURE_SETUP(contended)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	start(_metadata, &self->child, read_contended);
}

FIXTURE_TEARDOWN_PARENT(contended)
{
	tear_down(_metadata);
}

/* All are of a page that is mapped, whatever lock they took, as the handler saw. */
TEST_F(contended, codes)
{
	int denials = 0, failed = 0;
	struct trace trace;

	turn_on(_metadata, "traps/page_fault_exit");
	let_work(_metadata, &self->child, &trace);
	expect_signals(_metadata, &self->child, &trace);
	EXPECT_EQ(CONTENDED, self->child.report->raised_count);
	for (int i = 0; i < trace.count; i++) {
		if (strcmp("ACCERR", trace.records[i].code))
			continue;
		denials++;
		failed += !!(trace.records[i].flags & VMA_LOCK_FAILED);
	}
	EXPECT_EQ(CONTENDED, denials);
	TH_LOG("the VMA's lock did not do in %d of %d", failed, denials);
}

TEST_HARNESS_MAIN
