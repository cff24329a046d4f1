// SPDX-License-Identifier: GPL-2.0
/*
 * How page faults end that need more than a mapping: files, swap, huge pages,
 * userfaultfd, protection keys, corrupted memory, the OOM killer, the vsyscall
 * page, MMIO. Each is recorded once, with the result, and is counted as
 * getrusage() counts it.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config; some
 * also mkfs.ext4, mkswap, swapon and a loop device.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"
#include "memory.h"
#include "userfault.h"

#define HUGE_PAGE	(2L << 20)
#define STACK_STEP	(64L << 10)
#define NOTE_SIZE	32
#define TIMEOUT		300		/* seconds: swapping takes long with KASAN */

/* --- What must be there; each returns why it cannot, or NULL */

static int uncached_file = -1;

static const char *need_block_device(char *note)
{
	uncached_file = open_uncached(2);
	return uncached_file < 0 ? "no ext4 file system on a loop device can be made" : NULL;
}

/* Swaps to a loop device, which is gone when it is not swapped to any more. */
static const char *need_swap(char *note)
{
	char command[64];
	FILE *output;
	int ret = 1;

	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) ||
	    system("truncate -s 16M /tmp/swap && mkswap -q /tmp/swap 2>/dev/null"))
		return "no file to swap to can be made";
	output = popen("losetup -f --show /tmp/swap", "r");
	if (output) {
		ret = fscanf(output, "%31s", note) != 1;
		pclose(output);
	}
	if (ret)
		return "no loop device";
	ret = swapon(note, 0);
	snprintf(command, sizeof(command), "losetup -d %s", note);
	if (!system(command) && !ret)
		return NULL;
	swapoff(note);
	return "cannot swap to a loop device";
}

static void end_swap(const char *note)
{
	swapoff(note);
}

#define NR_HUGEPAGES	"/proc/sys/vm/nr_hugepages"

static long set_huge_pages(long add)
{
	FILE *file = fopen(NR_HUGEPAGES, "r+");
	long before = -1, after = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &before) == 1) {
		rewind(file);
		fprintf(file, "%ld", before + add);
		rewind(file);
		if (fscanf(file, "%ld", &after) != 1)
			after = -1;
	}
	fclose(file);
	return after - before;
}

static const char *need_huge_pages(char *note)
{
	long added = set_huge_pages(2);

	snprintf(note, NOTE_SIZE, "%ld", added);
	if (added == 2)
		return NULL;
	set_huge_pages(-added);
	return "no two free huge pages";
}

static void end_huge_pages(const char *note)
{
	set_huge_pages(-atol(note));
}

static const char *need_transparent(char *note)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
	bool never = true;
	char text[64];

	if (file) {
		never = !fgets(text, sizeof(text), file) || strstr(text, "[never]");
		fclose(file);
	}
	return never ? "no transparent huge pages" : NULL;
}

static const char *need_userfault(char *note)
{
	return userfault_available(false) ? NULL : "no userfaultfd";
}

static const char *need_userfault_protect(char *note)
{
	return userfault_available(true) ? NULL : "no userfaultfd with write protection";
}

static const char *need_pkeys(char *note)
{
	int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);

	if (key < 0)
		return "no protection keys";
	pkey_free(key);
	return NULL;
}

static const char *need_hwpoison(char *note)
{
	/* Refused for no bytes by a kernel that does not know it */
	return madvise(NULL, 0, MADV_HWPOISON) ? "no CONFIG_MEMORY_FAILURE" : NULL;
}

static bool has_vsyscall(const char *permissions)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[256];
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, "[vsyscall]") && strstr(line, permissions);
	if (file)
		fclose(file);
	return found;
}

static const char *need_vsyscall(char *note)
{
	return has_vsyscall("xp ") ? NULL : "no vsyscall page";
}

static const char *need_unreadable_vsyscall(char *note)
{
	return has_vsyscall("--xp ") ? NULL : "no vsyscall page that cannot be read";
}

/* --- Memory: the address of a first, untraced access */

static char *map_file(int fd, long length, int prot)
{
	char *map = mmap(NULL, length, prot, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return NULL;
	madvise(map, length, MADV_RANDOM);
	return map;
}

static char *map_uncached(void)
{
	return map_file(uncached_file, 2 * PAGE, PROT_READ);
}

static char *map_truncated(void)
{
	FILE *file = tmpfile();
	char *map;

	if (!file || ftruncate(fileno(file), 2 * PAGE))
		return NULL;
	map = map_file(fileno(file), 2 * PAGE, PROT_READ | PROT_WRITE);
	if (map) {
		memset(map, 1, 2 * PAGE);
		if (ftruncate(fileno(file), 0))
			map = NULL;
	}
	fclose(file);
	return map;
}

/* More than one fault reads ahead */
#define SWAP_STEP	64

/*
 * A page is out only if it need not be written any more: at the second time,
 * when it was read back and not changed. The two that are to be faulted on are
 * waited for: others may stay in the batch of another CPU.
 */
static char *map_swapped(void)
{
	unsigned char resident[2 * SWAP_STEP];
	char *map = map_anonymous(2 * SWAP_STEP);

	if (!map)
		return NULL;
	memset(map, 1, 2 * SWAP_STEP * PAGE);
	for (int tries = 0; tries < 100; tries++) {
		madvise(map, 2 * SWAP_STEP * PAGE, MADV_PAGEOUT);
		usleep(10000);
		mincore(map, 2 * SWAP_STEP * PAGE, resident);
		if (!((resident[0] | resident[SWAP_STEP]) & 1))
			return map;
		for (int i = 0; i < 2 * SWAP_STEP; i++)
			raise_read(map + i * PAGE);
	}
	return NULL;
}

/* Shared with a process that lives as long as this one */
static char *map_shared_by_fork(void)
{
	char *map = map_filled();
	pid_t pid = map ? fork() : -1;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid < 0 ? NULL : map;
}

static char *map_transparent(void)
{
	char *map = map_anonymous(3 * HUGE_PAGE / PAGE);

	if (!map)
		return NULL;
	map += -(unsigned long)map % HUGE_PAGE;
	return madvise(map, 2 * HUGE_PAGE, MADV_HUGEPAGE) ? NULL : map;
}

static char *map_hugetlb(void)
{
	char *map = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

static char *map_below_stack(void)
{
	return (char *)((unsigned long)__builtin_frame_address(0) & -PAGE) - 4 * STACK_STEP;
}

static char *map_missing(void)
{
	return userfault_map(2, false, userfault_copy);
}

static char *map_protected(void)
{
	return userfault_map(2, true, userfault_unprotect);
}

static pid_t interrupted;

/* The first of two page faults ends by a signal. */
static void interrupt_first(void *address)
{
	static int faults;

	if (faults++ % 2)
		userfault_copy(address);
	else
		tgkill(getpid(), interrupted, SIGTRAP);
}

static char *map_interrupted(void)
{
	interrupted = gettid();
	return userfault_map(2, false, interrupt_first);
}

static char *map_with_key(void)
{
	int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	char *map = map_filled();

	if (!map || pkey_mprotect(map, 2 * PAGE, PROT_READ | PROT_WRITE, key))
		return NULL;
	return map;
}

static char *map_poisoned(void)
{
	char *map = map_filled();

	return map && !madvise(map, 2 * PAGE, MADV_HWPOISON) ? map : NULL;
}

static char *vsyscall_time(void)
{
	return (char *)0xffffffffff600400;
}

/* --- How it is accessed */

static void read_byte(void *address)
{
	raise_read(address);
}

static void write_all(void *address)
{
	for (long offset = 0; offset < HUGE_PAGE; offset += PAGE)
		raise_write((char *)address + offset);
}

/* A second time when that is allowed */
static void write_and_allow(void *address)
{
	raise_write(address);
	mprotect(address, PAGE, PROT_READ | PROT_WRITE);
	raise_write(address);
}

/* The kernel reads one byte. */
static void write_pipe(void *address)
{
	int fds[2];

	if (pipe(fds))
		return;
	if (write(fds[1], address, 1) == 1)
		errno = 0;
	close(fds[0]);
	close(fds[1]);
}

static void call_time(void *address)
{
	((time_t (*)(time_t *))address)(NULL);
}

/* --- Tests of how page faults end */

FIXTURE(memory) {
	struct child child;
	char note[NOTE_SIZE];		/* of need(), for undo() */
};

FIXTURE_VARIANT(memory) {
	const char *(*need)(char *note);
	void (*undo)(const char *note);
	char *(*map)(void);
	long step;			/* to the traced access, if not a page */
	void (*raise)(void *address);
	const char *error_code;
	const char *resume;
	const char *result;
	const char *again;		/* the result of a second one */
	int signal;			/* or 0 */
	int code;			/* si_code, or 0: any */
	int error;			/* of the system call, or 0 */
	bool kernel;
};

FIXTURE_VARIANT_ADD(memory, file) {
	.need		= need_block_device,
	.map		= map_uncached,
	.raise		= read_byte,
	.error_code	= "USER",
	.result		= "MAJOR",
};

FIXTURE_VARIANT_ADD(memory, file_truncated) {
	.map		= map_truncated,
	.raise		= read_byte,
	.error_code	= "USER",
	.resume		= raise_read_resume,
	.result		= "SIGBUS",
	.signal		= SIGBUS,
	.code		= BUS_ADRERR,
};

FIXTURE_VARIANT_ADD(memory, file_truncated_kernel) {
	.map		= map_truncated,
	.raise		= write_pipe,
	.error_code	= "0",
	.result		= "FIXUP",
	.error		= EFAULT,
	.kernel		= true,
};

FIXTURE_VARIANT_ADD(memory, swapped) {
	.need		= need_swap,
	.undo		= end_swap,
	.map		= map_swapped,
	.step		= SWAP_STEP * PAGE,
	.raise		= read_byte,
	.error_code	= "USER",
	.result		= "MAJOR",
};

FIXTURE_VARIANT_ADD(memory, copy_on_write) {
	.map		= map_shared_by_fork,
	.raise		= raise_write,
	.error_code	= "PROT|WRITE|USER",
	.result		= "MINOR",
};

FIXTURE_VARIANT_ADD(memory, write_allowed) {
	.map		= map_read_only,
	.raise		= write_and_allow,
	.error_code	= "PROT|WRITE|USER",
	.resume		= raise_write_resume,
	.result		= "SIGSEGV",
	.signal		= SIGSEGV,
};

FIXTURE_VARIANT_ADD(memory, transparent) {
	.need		= need_transparent,
	.map		= map_transparent,
	.step		= HUGE_PAGE,
	.raise		= write_all,
	.error_code	= "WRITE|USER",
	.result		= "MINOR",
};

FIXTURE_VARIANT_ADD(memory, hugetlb) {
	.need		= need_huge_pages,
	.undo		= end_huge_pages,
	.map		= map_hugetlb,
	.step		= HUGE_PAGE,
	.raise		= write_all,
	.error_code	= "WRITE|USER",
	.result		= "MINOR",
};

FIXTURE_VARIANT_ADD(memory, stack) {
	.map		= map_below_stack,
	.step		= -STACK_STEP,
	.raise		= raise_write,
	.error_code	= "WRITE|USER",
	.result		= "MINOR",
};

FIXTURE_VARIANT_ADD(memory, userfault_missing) {
	.need		= need_userfault,
	.map		= map_missing,
	.raise		= raise_write,
	.error_code	= "WRITE|USER",
	.result		= USERFAULT_RESULT,
};

FIXTURE_VARIANT_ADD(memory, userfault_protected) {
	.need		= need_userfault_protect,
	.map		= map_protected,
	.raise		= raise_write,
	.error_code	= "PROT|WRITE|USER",
	.result		= USERFAULT_RESULT,
};

FIXTURE_VARIANT_ADD(memory, userfault_interrupted) {
	.need		= need_userfault,
	.map		= map_interrupted,
	.raise		= raise_write,
	.error_code	= "WRITE|USER",
	.result		= "RETRY",
	.again		= USERFAULT_RESULT,
	.signal		= SIGTRAP,
};

FIXTURE_VARIANT_ADD(memory, protection_key) {
	.need		= need_pkeys,
	.map		= map_with_key,
	.raise		= read_byte,
	.error_code	= "PROT|USER|PK",
	.resume		= raise_read_resume,
	.result		= "SIGSEGV",
	.signal		= SIGSEGV,
};

/* The two pages are lost until the next boot. */
FIXTURE_VARIANT_ADD(memory, poisoned) {
	.need		= need_hwpoison,
	.map		= map_poisoned,
	.raise		= read_byte,
	.error_code	= "USER",
	.resume		= raise_read_resume,
	.result		= "HWPOISON",
	.signal		= SIGBUS,
	.code		= BUS_MCEERR_AR,
};

#ifdef __x86_64__
FIXTURE_VARIANT_ADD(memory, vsyscall_called) {
	.need		= need_vsyscall,
	.map		= vsyscall_time,
	.raise		= call_time,
	.error_code	= "*USER|INSTR",
	.result		= "EMULATED",
};

FIXTURE_VARIANT_ADD(memory, vsyscall_read) {
	.need		= need_unreadable_vsyscall,
	.map		= vsyscall_time,
	.raise		= read_byte,
	.error_code	= "*USER",
	.resume		= raise_read_resume,
	.result		= "SIGSEGV",
	.signal		= SIGSEGV,
};
#endif

FIXTURE_SETUP(memory)
{
	const char *reason;

	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	reason = variant->need ? variant->need(self->note) : NULL;
	if (reason) {
		trace_remove();
		SKIP(return, "%s", reason);
	}
}

FIXTURE_TEARDOWN_PARENT(memory)
{
	tear_down(_metadata);
	if (variant->undo)
		variant->undo(self->note);
}

static char *(*memory_map)(void);
static void (*memory_raise)(void *address);
static long memory_step;

static void raise_memory(struct report *report, bool traced)
{
	static char *map;

	if (!traced)
		map = memory_map();
	if (!map) {
		report->failed = true;
		return;
	}
	report->address = (unsigned long)map + (traced ? memory_step : 0);
	errno = 0;
	memory_raise((void *)report->address);
	report->error = errno;
}

static void check_durations(struct __test_metadata *_metadata,
			    const struct trace *trace, const struct report *report)
{
	unsigned long long sum = 0;

	for (int i = 0; i < trace->count; i++)
		if (!strcmp(trace->records[i].event, "page_fault_exit")) {
			EXPECT_LT(0, trace->records[i].duration);
			sum += trace->records[i].duration;
		}
	EXPECT_LT(sum, report->time);
}

/* Once, with the result, and no other page fault. */
TEST_F_TIMEOUT(memory, recorded, TIMEOUT)
{
	int count = variant->again ? 2 : 1;
	const struct report *report;
	struct trace trace;
	char text[160];

	memory_map = variant->map;
	memory_raise = variant->raise;
	memory_step = variant->map == vsyscall_time ? 0 : variant->step ?: PAGE;
	raise_resume = variant->resume;
	start(_metadata, &self->child, raise_memory);
	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);
	report = self->child.report;

	EXPECT_EQ(variant->error, report->error);
	EXPECT_EQ(!!variant->signal, report->raised_count);
	EXPECT_EQ(variant->signal, report->raised[0].signal);
	if (variant->code)
		EXPECT_EQ(variant->code, report->raised[0].code);

	snprintf(text, sizeof(text), "address=0x%lx error_code=%s ip=* %s", report->address,
		 variant->error_code, variant->kernel ? "kernel" : "user");
	EXPECT_EQ(count, trace_count(&trace, "page_fault_entry", "%s", text));
	expect_result(_metadata, &trace, text, variant->result);
	if (variant->again)
		expect_result(_metadata, &trace, text, variant->again);
	EXPECT_EQ(2 * count, trace_count(&trace, "page_fault_*", "*"));
	EXPECT_EQ(0, trace_count(&trace, "trap_*", "*"));
	EXPECT_TRUE(trace_balanced(&trace));
	EXPECT_EQ(report->minflt, trace_count(&trace, "page_fault_exit", "* result=MINOR"));
	EXPECT_EQ(report->majflt, trace_count(&trace, "page_fault_exit", "* result=MAJOR"));

	check_durations(_metadata, &trace, report);
}

/* --- Tests of what is not a page fault of this kind */

/* The kernel makes the page present as if it was accessed. */
static void read_by_kernel(struct report *report, bool traced)
{
	static char *map, byte;
	struct iovec to = { &byte, 1 }, from = { NULL, 1 };

	if (!traced)
		map = map_untouched();
	from.iov_base = map + (traced ? PAGE : 0);
	report->address = (unsigned long)from.iov_base;
	if (!map || process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
		report->failed = true;
}

FIXTURE(other) {
	struct child child;
};

FIXTURE_SETUP(other)
{
	set_up(_metadata);
}

FIXTURE_TEARDOWN_PARENT(other)
{
	trace_write(TRACE_TOP "current_tracer", "nop");
	tear_down(_metadata);
}

/* No exception, but counted by getrusage() */
TEST_F(other, get_user_pages)
{
	struct trace trace;

	start(_metadata, &self->child, read_by_kernel);
	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);
	EXPECT_EQ(1, self->child.report->minflt);
	EXPECT_EQ(0, trace.count);
}

#define MEMORY_LIMIT	(4L << 20)

/* A memory cgroup of its own for a test. */
struct cgroup {
	char root[32];
	char path[64];
};

static void remove_cgroup(const struct cgroup *cgroup)
{
	rmdir(cgroup->path);
	umount(cgroup->root);
	rmdir(cgroup->root);
}

static int set_in_cgroup(const char *directory, const char *name, long value)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	snprintf(text, sizeof(text), "%ld", value);
	return file_write(path, text);
}

static bool make_cgroup(struct cgroup *cgroup)
{
	char control[64];

	snprintf(cgroup->root, sizeof(cgroup->root), "/tmp/traps_test_XXXXXX");
	if (!mkdtemp(cgroup->root))
		return false;
	snprintf(cgroup->path, sizeof(cgroup->path), "%s/traps_test", cgroup->root);
	snprintf(control, sizeof(control), "%s/cgroup.subtree_control", cgroup->root);
	if (!mount("none", cgroup->root, "cgroup2", 0, NULL) &&
	    !file_write(control, "+memory") && !mkdir(cgroup->path, 0700) &&
	    !set_in_cgroup(cgroup->path, "memory.max", MEMORY_LIMIT)) {
		/* Is not there without swap. */
		set_in_cgroup(cgroup->path, "memory.swap.max", 0);
		return true;
	}
	remove_cgroup(cgroup);
	return false;
}

/* Uses more memory than its cgroup may, when told so. */
static void use_too_much(const struct cgroup *cgroup, int told)
{
	char *page = map_anonymous(2 * MEMORY_LIMIT / PAGE), go;

	if (!page || set_in_cgroup(cgroup->path, "cgroup.procs", getpid()) ||
	    read(told, &go, 1) != 1)
		_exit(1);
	for (long i = 0; i < 2 * MEMORY_LIMIT / PAGE; i++)
		raise_write(page + i * PAGE);
	_exit(0);
}

/* The victim of the OOM killer is the one who needs the memory. */
TEST_F(other, oom)
{
	struct cgroup cgroup;
	int told[2], status;
	char filter[64];
	pid_t pid;

	if (!make_cgroup(&cgroup))
		SKIP(return, "no memory cgroup can be made");
	stay_on_cpu(_metadata);
	ASSERT_EQ(0, pipe(told));
	pid = fork();
	if (!pid)
		use_too_much(&cgroup, told[0]);
	ASSERT_EQ(0, trace_prepare(pid, sched_getcpu()));
	snprintf(filter, sizeof(filter), "common_pid == %d && result == 3 && user_mode == 1",
		 pid);
	EXPECT_EQ(0, trace_write("events/traps/page_fault_exit/filter", filter));
	turn_on(_metadata, "traps/page_fault_exit");
	EXPECT_EQ(1, write(told[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	remove_cgroup(&cgroup);

	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	EXPECT_LE(1, trace_stat(sched_getcpu(), "entries"));
	TH_LOG("result OOM");
}

#define VIRTIO_RNG	"/sys/bus/virtio/drivers/virtio_rng/"
#define VIRTIO_PCI	"/sys/bus/pci/drivers/virtio-pci/"

/* The name of a PCI device that nobody misses for a moment, or false */
static bool find_device(char *name, size_t size)
{
	char path[PATH_MAX];
	glob_t found;
	bool ret = false;

	if (glob(VIRTIO_RNG "virtio*", 0, NULL, &found))
		return false;
	if (realpath(found.gl_pathv[0], path)) {
		*strrchr(path, '/') = '\0';
		snprintf(name, size, "%s", strrchr(path, '/') + 1);
		ret = true;
	}
	globfree(&found);
	return ret;
}

static char device[32];

/* Its driver maps its registers, and uses them. */
static void rebind(struct report *report, bool traced)
{
	if (file_write(VIRTIO_PCI "unbind", device) || file_write(VIRTIO_PCI "bind", device))
		report->failed = true;
}

/* Each access is let through by a single step. */
TEST_F(other, kmmio)
{
	struct trace trace;
	int count;

	if (!find_device(device, sizeof(device)))
		SKIP(return, "no virtio-rng on PCI, whose driver could be bound anew");
	/* Only with CONFIG_PROVE_LOCKING: it is not told of the step's interrupt flag. */
	if (!access("/proc/lockdep_chains", F_OK))
		SKIP(return, "mmiotrace makes lockdep complain, and stop");
	/* Takes all CPUs but one off until the end. */
	if (trace_write(TRACE_TOP "current_tracer", "mmiotrace"))
		SKIP(return, "no mmiotrace");
	start(_metadata, &self->child, rebind);
	turn_on(_metadata, "traps");
	finish(_metadata, &self->child, &trace);
	ASSERT_EQ(0, trace_write(TRACE_TOP "current_tracer", "nop"));

	count = trace_count(&trace, "page_fault_exit", "* kernel result=KMMIO");
	EXPECT_LT(0, count);
	TH_LOG("result KMMIO");
	EXPECT_EQ(count, trace_count(&trace, "page_fault_entry", "* kernel"));
	EXPECT_EQ(count, trace_count(&trace, "trap_entry", "#DB * kernel"));
	EXPECT_EQ(count, trace_count(&trace, "trap_exit", "#DB * kernel"));
	EXPECT_TRUE(trace_balanced(&trace));
	check_durations(_metadata, &trace, self->child.report);
}

TEST_HARNESS_MAIN
