// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults whose preparation changes the system: swap, huge pages, corrupted
 * memory, the OOM killer, MMIO; and those of memory that takes longer to prepare.
 *
 * Swap needs mkswap and a loop device.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include "fault.h"
#include "invasive_fixture.h"

/* --- Memory: the address of round 0, NULL if it cannot be made */

static char *map_truncated(void)
{
	FILE *file = tmpfile();
	char *map;

	if (!file || ftruncate(fileno(file), ROUNDS * PAGE))
		return NULL;
	map = mmap(NULL, ROUNDS * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (map == MAP_FAILED)
		return NULL;
	memset(map, 1, ROUNDS * PAGE);
	return ftruncate(fileno(file), 0) ? NULL : map;
}

/* Shared with a process that lives as long as this one */
static char *map_shared_by_fork(void)
{
	char *map = map_filled();
	pid_t pid = map ? fork_bound() : -1;

	while (!pid)
		pause();
	return pid < 0 ? NULL : map;
}

#define NR_HUGEPAGES	"/proc/sys/vm/nr_hugepages"

static long huge_size;

static char *map_hugetlb(void)
{
	char *map, number[32];

	huge_size = file_number("/proc/meminfo", "Hugepagesize: %ld kB") * 1024;
	fault_step = huge_size;
	snprintf(number, sizeof(number), "%ld", file_number(NR_HUGEPAGES, "%ld") + ROUNDS);
	if (huge_size <= 0 || file_change(NR_HUGEPAGES, number) ||
	    file_number("/proc/meminfo", "HugePages_Free: %ld") < ROUNDS)
		return NULL;
	map = mmap(NULL, ROUNDS * huge_size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	return map == MAP_FAILED ? NULL : map;
}

static char *map_transparent(void)
{
	char *map;

	huge_size = file_number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "%ld");
	fault_step = huge_size;
	if (huge_size <= 0)
		return NULL;
	map = map_anonymous((ROUNDS + 1) * (huge_size / PAGE));
	if (!map)
		return NULL;
	map += -(unsigned long)map % huge_size;
	return madvise(map, ROUNDS * huge_size, MADV_HUGEPAGE) ? NULL : map;
}

static void unprotect_late(void *address)
{
	struct uffdio_writeprotect protection = {
		.range	= { (unsigned long)address & -PAGE, PAGE },
	};

	usleep(SLEEP_US);
	ioctl(userfault, UFFDIO_WRITEPROTECT, &protection);
}

static char *map_protected(void)
{
	static char page[ROUNDS * PAGE];
	char *map = userfault_map(ROUNDS, unprotect_late);
	struct uffdio_register range = {
		.range	= { (unsigned long)map, sizeof(page) },
		.mode	= UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_copy copy = {
		.dst	= (unsigned long)map,
		.src	= (unsigned long)page,
		.len	= sizeof(page),
		.mode	= UFFDIO_COPY_MODE_WP,
	};

	return map && !ioctl(userfault, UFFDIO_REGISTER, &range) &&
	       !ioctl(userfault, UFFDIO_COPY, &copy) ? map : NULL;
}

/* As far as it was begun. */
static int end_swap(const char *device, const char *unused)
{
	char command[64];

	swapoff(device);
	snprintf(command, sizeof(command), "losetup -d %s 2>/dev/null", device);
	return system(command) < 0 ? -errno : 0;
}

/* Swaps to a loop device. */
static bool begin_swap(void)
{
	char device[32] = "";
	FILE *output;

	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) ||
	    system("truncate -s 16M /tmp/swap && mkswap -q /tmp/swap 2>/dev/null"))
		return false;
	output = popen("losetup -f --show /tmp/swap", "r");
	if (!output || fscanf(output, "%31s", device) != 1 || pclose(output))
		return false;
	undo_later(end_swap, device, "");
	return !swapon(device, 0);
}

/* More than one fault reads ahead */
#define SWAP_STEP	64

/*
 * A page is out only if it need not be written any more: at the second time,
 * when it was read back and not changed. Those that are to be faulted on are
 * waited for: others may stay in the batch of another CPU.
 */
static char *map_swapped(void)
{
	unsigned char resident[ROUNDS * SWAP_STEP];
	char *map = begin_swap() ? map_anonymous(ROUNDS * SWAP_STEP) : NULL;

	if (!map)
		return NULL;
	fault_step = SWAP_STEP * PAGE;
	memset(map, 1, sizeof(resident) * PAGE);
	for (int tries = 0; tries < 100; tries++) {
		int present = 0;

		madvise(map, sizeof(resident) * PAGE, MADV_PAGEOUT);
		usleep(10000);
		mincore(map, sizeof(resident) * PAGE, resident);
		for (int round = 0; round < ROUNDS; round++)
			present += resident[round * SWAP_STEP] & 1;
		if (!present)
			return map;
		for (size_t i = 0; i < sizeof(resident); i++)
			raise_read(map + i * PAGE);
	}
	return NULL;
}

#define UNPOISON	"/sys/kernel/debug/hwpoison/unpoison-pfn"

static char *map_poisoned(void)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char *map = map_filled(), number[32];
	unsigned long long entry;

	if (!map || access(UNPOISON, W_OK))
		return NULL;
	for (int round = 0; round < ROUNDS; round++) {
		char *page = map + round * PAGE;

		if (pread(pagemap, &entry, sizeof(entry), (unsigned long)page / PAGE * 8) !=
		    sizeof(entry))
			return NULL;
		snprintf(number, sizeof(number), "0x%llx", entry & ((1ULL << 55) - 1));
		if (madvise(page, PAGE, MADV_HWPOISON))
			return NULL;
		/* When it is not mapped any more */
		undo_later(file_write_again, UNPOISON, number);
	}
	close(pagemap);
	return map;
}

/* --- How it is accessed */

static void read_byte(void *address)
{
	raise_read(address);
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

static void write_all(void *address)
{
	for (long offset = 0; offset < huge_size; offset += PAGE)
		raise_write((char *)address + offset);
}

/* --- Tests of how page faults end */

VARIANT(read_truncated, map_truncated, read_byte, "USER", "SIGBUS", 0,
	.resume = raise_read_resume, .signal = SIGBUS, .code = BUS_ADRERR);
VARIANT(kernel_truncated, map_truncated, write_pipe, "0", "FIXUP", MMAP_LOCK,
	.kernel = true, .error = EFAULT);
VARIANT(write_shared, map_shared_by_fork, raise_write, "PROT|WRITE|USER", "MINOR", 0);
VARIANT(hugetlb, map_hugetlb, write_all, "WRITE|USER", "MINOR", 0,
	.absent = "no four free huge pages");
VARIANT(userfault_protected, map_protected, raise_write, "PROT|WRITE|USER", "WAITED", WAITED,
	.absent = "no userfaultfd with write protection");
VARIANT(poisoned, map_poisoned, read_byte, "USER", "SIGBUS", 0,
	.resume = raise_read_resume, .signal = SIGBUS, .code = BUS_MCEERR_AR,
	.absent = "no CONFIG_MEMORY_FAILURE, or no unpoison-pfn");

/* --- Tests of page faults of which only the number is known */

static void lock_all(void *address)
{
	mlock(address, huge_size);
}

/* The pages of a pipe are made from the user's, not copied. */
static void splice_page(void *address)
{
	const struct iovec from = { address, PAGE };
	int fds[2];

	if (pipe(fds))
		return;
	if (vmsplice(fds[1], &from, 1, 0) == PAGE)
		errno = 0;
	close(fds[0]);
	close(fds[1]);
}

static pid_t debugged;

/* Shared with a process that this one debugs, and that has stopped */
static char *map_debugged(void)
{
	char *map = map_filled();

	debugged = map ? fork_bound() : -1;
	if (!debugged) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	return waitpid(debugged, NULL, 0) == debugged ? map : NULL;
}

static void poke(void *address)
{
	ptrace(PTRACE_POKEDATA, debugged, address, 1);
}

static int direct = -1;

/* A file on a device whose pages are read without a cache */
static char *map_direct(void)
{
	char *map = map_uncached();

	direct = map ? open("/tmp/mnt/file", O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
	return direct < 0 ? NULL : map_untouched();
}

static void read_directly(void *address)
{
	if (pread(direct, address, PAGE, 0) == PAGE)
		errno = 0;
}

static int ring = -1;

static char *map_for_ring(void)
{
	struct io_uring_params params = {};

	ring = syscall(SYS_io_uring_setup, 1, &params);
	return ring < 0 ? NULL : map_untouched();
}

static void register_buffer(void *address)
{
	const struct iovec buffer = { address, PAGE };

	syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1);
	syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0);
}

SIMPLE_FIXTURE(several, set_up)

FIXTURE_VARIANT(several) {
	char *(*map)(void);
	void (*raise)(void *address);
	const char *event;
	const char *result;
	const char *absent;		/* why there may be no memory */
};

#define SEVERAL(name, ...) FIXTURE_VARIANT_ADD(several, name) { __VA_ARGS__ }
#define NO_SWAP	"cannot swap to a loop device"
#define NO_THP	"no transparent huge pages"

/* The huge page may not be had: then there is one for each small page. */
SEVERAL(transparent, map_transparent, write_all, "page_fault_exit", "MINOR", NO_THP);
SEVERAL(transparent_locked, map_transparent, lock_all, "mm_fault", "MINOR", NO_THP);
SEVERAL(hugetlb_locked, map_hugetlb, lock_all, "mm_fault", "MINOR", "no four free huge pages");
SEVERAL(swapped, map_swapped, read_byte, "page_fault_exit", "MAJOR", NO_SWAP);
SEVERAL(swapped_read_remotely, map_swapped, read_remotely, "mm_fault", "MAJOR", NO_SWAP);
SEVERAL(poisoned_read_remotely, map_poisoned, read_remotely, "mm_fault", "HWPOISON",
	"no CONFIG_MEMORY_FAILURE, or no unpoison-pfn");
SEVERAL(spliced, map_untouched, splice_page, "mm_fault", "MINOR");
SEVERAL(registered, map_for_ring, register_buffer, "mm_fault", "MINOR", "no io_uring");
SEVERAL(poked, map_debugged, poke, "mm_fault", "MINOR");
SEVERAL(read_directly, map_direct, read_directly, "mm_fault", "MINOR",
	"no ext4 file system on a loop device can be made");

/* As many as getrusage() counts, at least one with the result. */
TEST_F(several, recorded)
{
	const struct report *report;
	struct child child;
	struct trace trace;

	fault_map = variant->map;
	fault_raise = variant->raise;
	start_or_skip(_metadata, &child, raise_fault, variant->absent);
	if (_metadata->exit_code)
		return;
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);
	report = child.report;
	EXPECT_EQ(report->minflt, trace_count(&trace, "*_fault*", "* result=MINOR"));
	EXPECT_EQ(report->majflt, trace_count(&trace, "*_fault*", "* result=MAJOR"));
	EXPECT_LE(1, trace_count(&trace, variant->event, "* result=%s", variant->result));
	EXPECT_TRUE(trace_balanced(&trace));
	TH_LOG("result %s", variant->result);
}

/* --- Tests of whole programs, with all processes that they run */

SIMPLE_FIXTURE(program, set_up)

FIXTURE_VARIANT(program) {
	const char *needs;
	const char *command;		/* in an empty folder */
};

#define PROGRAM(name, ...) FIXTURE_VARIANT_ADD(program, name) { __VA_ARGS__ }

/* Its arguments have more than a page. */
PROGRAM(exec, "sh", "sh -c true $(seq 5000)");
PROGRAM(gcc, "gcc", "echo 'int main() { return 0; }' >a.c; gcc -O2 a.c");
PROGRAM(make, "make",
	"for i in 1 2 3 4; do echo 'int f;' >$i.c; done; make -s -j 2 1.o 2.o 3.o 4.o");

static const char *command;
static struct rusage *used;		/* of the children, after each round */

static void run_command(struct report *report, int round)
{
	char text[256];

	snprintf(text, sizeof(text), "d=$(mktemp -d) && cd $d && { %s; }; e=$?; rm -r $d; exit $e",
		 command);
	report->failed = system(text) != 0;
	getrusage(RUSAGE_CHILDREN, &used[round]);
}

/* As many as getrusage() counts of all of them. */
TEST_F(program, recorded)
{
	struct child child;
	struct trace trace;
	char text[64];

	snprintf(text, sizeof(text), "command -v %s >/dev/null", variant->needs);
	if (system(text))
		SKIP(return, "no %s", variant->needs);
	command = variant->command;
	used = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, used);
	start(_metadata, &child, run_command);
	snprintf(text, sizeof(text), "%d", child.pid);
	ASSERT_EQ(0, trace_write("set_event_pid", text));
	ASSERT_EQ(0, trace_write("options/event-fork", "1"));
	ASSERT_EQ(0, trace_write("events/traps/filter", "0"));
	turn_on(_metadata, "traps/page_fault_exit");
	turn_on(_metadata, "traps/mm_fault");
	let_work(_metadata, &child, &trace);

	EXPECT_EQ(child.report->minflt + used[1].ru_minflt - used[0].ru_minflt,
		  trace_count(&trace, "*", "* result=MINOR"));
	EXPECT_EQ(child.report->majflt + used[1].ru_majflt - used[0].ru_majflt,
		  trace_count(&trace, "*", "* result=MAJOR"));
	EXPECT_LT(0, trace_count(&trace, "mm_fault", "*curr=0 result=MINOR"));
	TH_LOG("%d page faults, %d without an exception", trace.count,
	       trace_count(&trace, "mm_fault", "*"));
}

/* --- Tests of what is not a page fault of this kind */

SIMPLE_FIXTURE(other, set_up)

#define MEMORY_LIMIT	(4L << 20)

static char cgroup_root[32], cgroup[64];

static int unmount(const char *path, const char *unused)
{
	return umount(path) ? -errno : 0;
}

static int set_in_cgroup(const char *name, long value)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "%s/%s", cgroup, name);
	snprintf(text, sizeof(text), "%ld", value);
	return file_write(path, text);
}

/* A memory cgroup of its own */
static bool make_cgroup(void)
{
	char control[64];

	snprintf(cgroup_root, sizeof(cgroup_root), "/tmp/traps_test_XXXXXX");
	if (!mkdtemp(cgroup_root))
		return false;
	undo_later(trace_remove, cgroup_root, "");
	if (mount("none", cgroup_root, "cgroup2", 0, NULL))
		return false;
	undo_later(unmount, cgroup_root, "");
	snprintf(cgroup, sizeof(cgroup), "%s/traps_test", cgroup_root);
	snprintf(control, sizeof(control), "%s/cgroup.subtree_control", cgroup_root);
	undo_later(trace_remove, cgroup, "");
	if (file_write(control, "+memory") || mkdir(cgroup, 0700) ||
	    set_in_cgroup("memory.max", MEMORY_LIMIT))
		return false;
	/* Is not there without swap. */
	set_in_cgroup("memory.swap.max", 0);
	return true;
}

static void (*use)(void *address);
static bool spared;			/* by the OOM killer, which finds no other victim */

/* Uses more memory than its cgroup may. */
static void use_too_much(struct report *report, int round)
{
	static char *pages;

	if (!round) {
		pages = map_anonymous(2 * MEMORY_LIMIT / PAGE);
		report->failed = !pages || set_in_cgroup("cgroup.procs", getpid()) ||
				 (spared && file_write("/proc/self/oom_score_adj", "-1000"));
		return;
	}
	for (long i = 0; i < 2 * MEMORY_LIMIT / PAGE; i++)
		use(pages + i * PAGE);
	_exit(0);
}

static void populate(void *address)
{
	madvise(address, PAGE, MADV_POPULATE_WRITE);
}

static void let_kernel_write(void *address)
{
	if (uname(address))
		_exit(0);
}

SIMPLE_FIXTURE(oom, set_up)

FIXTURE_VARIANT(oom) {
	const char *event;
	void (*use)(void *address);
	const char *filter;
	const char *result;		/* that is tested only here */
	bool spared;
};

FIXTURE_VARIANT_ADD(oom, page_fault) { "page_fault_exit", raise_write, "result == 3", "OOM" };
FIXTURE_VARIANT_ADD(oom, mm_fault) { "mm_fault", populate, "result == 3", "OOM" };
/* With MMAP_LOCK */
#define GIVEN_UP	"user_mode == 0 && result == 7 && flags & 8"
FIXTURE_VARIANT_ADD(oom, kernel_killed) { "page_fault_exit", let_kernel_write, GIVEN_UP };
FIXTURE_VARIANT_ADD(oom, kernel_spared) { "page_fault_exit", let_kernel_write, GIVEN_UP,
	.spared = true };

/* The victim of the OOM killer, if there is one, is the one who needs the memory. */
TEST_F(oom, recorded)
{
	struct child child;

	if (!make_cgroup())
		SKIP(return, "no memory cgroup can be made");
	use = variant->use;
	spared = variant->spared;
	start(_metadata, &child, use_too_much);
	EXPECT_EQ(spared ? 0 : SIGKILL,
		  work_last(_metadata, &child, variant->event, variant->filter));
	EXPECT_LE(1, last_events());
	if (variant->result)
		TH_LOG("result %s", variant->result);
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
static void rebind(struct report *report, int round)
{
	if (file_write(VIRTIO_PCI "unbind", device) || file_write(VIRTIO_PCI "bind", device))
		report->failed = true;
}

/* Each access is let through by a single step. */
TEST_F(other, kmmio)
{
	struct child child;
	struct trace trace;
	int count;

	if (!find_device(device, sizeof(device)))
		SKIP(return, "no virtio-rng on PCI, whose driver could be bound anew");
	/* Only with CONFIG_PROVE_LOCKING: it is not told of the step's interrupt flag. */
	if (!access("/proc/lockdep_chains", F_OK))
		SKIP(return, "mmiotrace makes lockdep complain, and stop");
	/* The child stays where it begins, and mmiotrace takes all other CPUs off. */
	stay_on_cpu(_metadata, 0);
	start(_metadata, &child, rebind);
	if (file_change(TRACEFS "current_tracer", "mmiotrace"))
		SKIP(return, "no mmiotrace");
	turn_on(_metadata, "traps");
	let_work(_metadata, &child, &trace);

	count = trace_count(&trace, "page_fault_exit", "* mode=kernel result=CONSUMED");
	EXPECT_LT(0, count);
	TH_LOG("result CONSUMED");
	EXPECT_EQ(count, trace_count(&trace, "page_fault_entry", "* mode=kernel"));
	EXPECT_EQ(count, trace_count(&trace, "trap_entry", "vector=#DB mode=kernel * event_data=0x4000"));
	EXPECT_EQ(count, trace_count(&trace, "trap_exit",
				     "vector=#DB mode=kernel * event_data=0x4000 result=CONSUMED"));
	EXPECT_TRUE(trace_balanced(&trace));
}

/* --- Tests of being preempted */

#define PAGES		100
#define PREEMPTIONS	100

/* Wakes up and takes this CPU, again and again. */
static void preempt(void)
{
	const struct sched_param param = { .sched_priority = 1 };
	const struct timespec time = { .tv_nsec = 300000 };

	sched_setscheduler(0, SCHED_FIFO, &param);
	for (;;)
		nanosleep(&time, NULL);
}

static void (*raise_one)(void *address);

/* Until it was preempted so often, wherever */
static void raise_preempted(struct report *report, int round)
{
	char *pages = map_anonymous(PAGES);
	pid_t pid = pages ? fork_bound() : -1;
	struct rusage usage;
	long least;

	if (!pid)
		preempt();
	report->failed = pid < 0;
	if (report->failed)
		return;
	getrusage(RUSAGE_THREAD, &usage);
	least = usage.ru_nivcsw + PREEMPTIONS;
	while (usage.ru_nivcsw < least) {
		madvise(pages, PAGES * PAGE, MADV_DONTNEED);
		for (int i = 0; i < PAGES; i++)
			raise_one(pages + i * PAGE);
		getrusage(RUSAGE_THREAD, &usage);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

SIMPLE_FIXTURE(preempted, set_up)

FIXTURE_VARIANT(preempted) {
	const char *event;
	void (*raise)(void *address);
};

FIXTURE_VARIANT_ADD(preempted, page_fault) { "page_fault_exit", raise_write };
FIXTURE_VARIANT_ADD(preempted, mm_fault) { "mm_fault", populate };

/* Some of these are within page faults. */
TEST_F(preempted, flag)
{
	struct child child;
	struct trace trace;
	char event[32], file[64], filter[64];

	if (!kernel_is_preemptible())
		SKIP(return, "the kernel cannot be preempted");
	raise_one = variant->raise;
	start(_metadata, &child, raise_preempted);
	snprintf(event, sizeof(event), "traps/%s", variant->event);
	snprintf(file, sizeof(file), "events/%s/filter", event);
	snprintf(filter, sizeof(filter), "common_pid == %d && flags & %d", child.pid, PREEMPTED);
	ASSERT_EQ(0, trace_write(file, filter));
	turn_on(_metadata, event);
	let_work(_metadata, &child, &trace);
	EXPECT_LE(1, trace.count);
	EXPECT_LE(trace.count, child.report->nivcsw);
}

TEST_HARNESS_MAIN
