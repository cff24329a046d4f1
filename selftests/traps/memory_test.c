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
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "fault.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif

#ifdef __aarch64__
#include <asm/mman.h>

#ifndef SEGV_MTESERR
#define SEGV_MTESERR		9
#endif
#endif

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

static char *map_guarded(void)
{
	char *map = map_untouched();

	return map && !madvise(map, ROUNDS * PAGE, MADV_GUARD_INSTALL) ? map : NULL;
}

#ifdef __aarch64__
static char *map_misaligned(void)
{
	char *map = map_filled();

	return map ? map + 1 : NULL;
}

static void read_exclusive(void *address)
{
	raise_exclusive(address);
}

/* Tag 0, as all memory has at first */
static char *map_tagged(void)
{
	char *map;

	if (prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE | PR_MTE_TCF_SYNC, 0, 0, 0))
		return NULL;
	map = mmap(NULL, ROUNDS * PAGE, PROT_READ | PROT_WRITE | PROT_MTE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map == MAP_FAILED ? NULL : memset(map, 1, ROUNDS * PAGE);
}

static void read_tagged(void *address)
{
	raise_read((void *)((unsigned long)address | 3UL << 56));
}
#else
static char *map_with_key(void)
{
	int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	char *map = map_filled();

	return map && !pkey_mprotect(map, ROUNDS * PAGE, PROT_READ | PROT_WRITE, key) ?
	       map : NULL;
}
#endif

#ifdef __x86_64__
static char *find_vsyscall(void)
{
	fault_step = 0;
	return has_vsyscall(false) ? VSYSCALL_TIME : NULL;
}

static void call_time(void *address)
{
	((time_t (*)(time_t *))address)(NULL);
}

static void call_stackless(void *address)
{
	raise_call_stackless(address);
}
#endif

/* --- How it is accessed */

static void read_byte(void *address)
{
	raise_read(address);
}

static void fetch_byte(void *address)
{
	raise_fetch(address);
}

/* The kernel reads a name there. */
static void access_name(void *address)
{
	access(address, F_OK);
	errno = errno == EFAULT ? EFAULT : 0;
}

/* --- Tests of how page faults end */

VARIANT(read_absent, map_absent, read_byte, USER_READ, "SIGSEGV", MMAP_LOCK, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGSEGV);
VARIANT(read_untouched, map_untouched, read_byte, USER_READ, "MINOR", 0, .ip = raise_read_ip);
VARIANT(write_untouched, map_untouched, raise_write, USER_WRITE, "MINOR", 0,
	.ip = raise_write_ip);
VARIANT(write_read_only, map_read_only, raise_write, USER_WRITE_PROT, "SIGSEGV", 0,
	.ip = raise_write_ip, .resume = raise_write_resume, .signal = SIGSEGV);
VARIANT(write_stack, map_below_stack, raise_write, USER_WRITE, "MINOR", MMAP_LOCK);
VARIANT(fetch_no_exec, map_filled, fetch_byte, USER_FETCH_PROT, "SIGSEGV", 0, .fetch = true,
	.resume = raise_fetch_resume, .signal = SIGSEGV,
	.absent = "the CPU or the kernel has no NX");
VARIANT(read_beyond_eof, map_beyond_eof, read_byte, USER_READ, "SIGBUS", 0, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGBUS);
VARIANT(read_file, map_uncached, read_byte, USER_READ, "MAJOR", MMAP_LOCK | RETRIED,
	.absent = "no ext4 file system on a loop device can be made");
VARIANT(kernel_untouched, map_untouched, read_pipe, KERNEL_WRITE, "MINOR", MMAP_LOCK,
	.kernel = true);
VARIANT(kernel_absent, map_absent, read_pipe, KERNEL_WRITE, "FIXUP", MMAP_LOCK, .kernel = true,
	.error = EFAULT);
VARIANT(kernel_file, map_uncached, access_name, KERNEL_READ, "MAJOR", MMAP_LOCK | RETRIED,
	.kernel = true, .absent = "no ext4 file system on a loop device can be made");
VARIANT(userfault_missing, map_missing, raise_write, USER_WRITE, "WAITED", WAITED,
	.absent = "no userfaultfd");
VARIANT(userfault_interrupted, map_interrupted, raise_write, USER_WRITE, "RETRY", SLEPT,
	.again = "WAITED", .signal = SIGTRAP, .absent = "no userfaultfd");
VARIANT(userfault_migrated, map_migrating, raise_write, USER_WRITE, "WAITED", WAITED | MIGRATED,
	.absent = "no userfaultfd, or one CPU only");
VARIANT(read_poisoned, map_poisoned, read_byte, USER_READ, "HWPOISON", 0, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGBUS, .code = BUS_MCEERR_AR,
	.absent = "no UFFDIO_POISON");
VARIANT(read_guarded, map_guarded, read_byte, USER_READ, "SIGSEGV", 0, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGSEGV, .absent = "no MADV_GUARD_INSTALL");

#ifdef __aarch64__
/* A load-exclusive has to be aligned. */
VARIANT(misaligned, map_misaligned, read_exclusive, "DABT_LOW|ALIGN", "SIGBUS", 0,
	.ip = raise_exclusive_ip, .resume = raise_exclusive_resume, .signal = SIGBUS,
	.code = BUS_ADRALN);
/* The address is recorded without its tag. */
VARIANT(tag_check, map_tagged, read_tagged, "DABT_LOW|MTE", "SIGSEGV", 0, .ip = raise_read_ip,
	.resume = raise_read_resume, .signal = SIGSEGV, .code = SEGV_MTESERR,
	.absent = "the CPU or the kernel has no MTE");
#else
VARIANT(protection_key, map_with_key, read_byte, "PROT|USER|PK", "SIGSEGV", 0,
	.resume = raise_read_resume, .signal = SIGSEGV, .absent = "no protection keys");
#endif

#ifdef __x86_64__
#define NO_VSYSCALL	"no vsyscall page that can only be called, or LASS"

VARIANT(vsyscall_called, find_vsyscall, call_time, "*USER|INSTR", "EMULATED", 0,
	.absent = NO_VSYSCALL);
/* Where it is to return to cannot be read. */
VARIANT(vsyscall_stackless, find_vsyscall, call_stackless, "*USER|INSTR", "SIGNAL", 0,
	.resume = raise_call_stackless_resume, .signal = SIGSEGV,
	.absent = NO_VSYSCALL);
#endif

TEST_HARNESS_MAIN
