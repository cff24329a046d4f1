// SPDX-License-Identifier: GPL-2.0
/*
 * The traps events under load: eight threads raise exceptions of all kinds
 * while signals arrive, they are preempted and migrated, a CPU comes and goes,
 * and tracing is switched on and off. Nothing is lost, nothing has a wrong pair.
 *
 * TRAPS_STORM is the number of exceptions in each storm, 40000 if not set.
 *
 * Needs root, tracefs at /sys/kernel/tracing and the options in ./config.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/utsname.h>
#include <time.h>

#include "invasive_fixture.h"
#include "memory.h"
#include "raw.h"

#ifdef __x86_64__
#define REG_IP		REG_RIP
#else
#define REG_IP		REG_EIP
#endif
#define FLAG_TF		0x100

#define THREADS		8
#define WARM_UP		200
#define FRESH_PAGES	256
#define RECORD_SIZE	64		/* bytes, at most */
#define TIMEOUT		600		/* seconds, for a million */

/* enum trap_result */
enum {
	MINOR, MAJOR, RETRY, OOM, SIGBUS_SENT, HWPOISON, SIGSEGV_SENT, FIXUP,
	SIGNAL_SENT = 14,
	RESULTS,
};

#define VECTORS		33

/* --- The threads, and what they know of the exceptions that they raised */

struct thread {
	pthread_t id;
	pid_t tid;
	timer_t timer;
	char *fresh, *denied, *beyond_eof;
	int next_fresh;
	unsigned int random;
	long left;			/* exceptions to raise, about */
	/* Signals of exceptions by vector, and what causes none */
	unsigned long raised[VECTORS];
	unsigned long fixups;
	long minflt, majflt, switches[2];
};

static struct storm {
	struct thread threads[THREADS];
	pthread_barrier_t barrier;
	long each;			/* exceptions, about */
	long pause_us;			/* after every few */
	bool stop;			/* before that many are raised */
	int finished;			/* threads */
	bool failed;
} storm;

static __thread struct thread *self_thread;

static const char *resume_of(unsigned long ip)
{
	const struct {
		const char *ip, *resume;
	} all[] = {
		{ raise_ud_ip,		raise_ud_resume },
		{ raise_de_ip,		raise_de_resume },
		{ raise_gp_ip,		raise_gp_resume },
		{ raise_read_ip,	raise_read_resume },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (ip == (unsigned long)all[i].ip)
			return all[i].resume;
	return NULL;
}

/* May be interrupted by a handler that counts the same. */
static void count(unsigned long *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* The same. Returns how many exceptions are left to raise. */
static long raised(struct thread *thread, long number)
{
	return __atomic_sub_fetch(&thread->left, number, __ATOMIC_RELAXED);
}

static void on_exception(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const char *resume = resume_of(regs[REG_IP]);

	if (regs[REG_TRAPNO] < VECTORS)
		count(&self_thread->raised[regs[REG_TRAPNO]]);
	if (resume)
		regs[REG_IP] = (unsigned long)resume;
	if (regs[REG_IP] == (greg_t)(unsigned long)raise_db3_ip)
		regs[REG_EFL] &= ~FLAG_TF;
}

/* A put_user(): one page fault of the kernel. */
static bool kernel_write(void *address)
{
	return syscall(SYS_time, address) != -1;
}

/* Interrupts whatever is being raised, and raises more. */
static void on_interruption(int signal)
{
	int saved = errno;

	raise_bp();
	if (!kernel_write(self_thread->denied))
		count(&self_thread->fixups);
	raised(self_thread, 2);
	errno = saved;
}

static void set_handlers(void)
{
	static const int exceptions[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV };
	struct sigaction action = {
		.sa_sigaction	= on_exception,
		.sa_flags	= SA_SIGINFO | SA_NODEFER,
	};

	for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++)
		sigaction(exceptions[i], &action, NULL);
	action = (struct sigaction) {
		.sa_handler	= on_interruption,
		.sa_flags	= SA_RESTART,
	};
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
}

static char *fresh_page(struct thread *thread)
{
	if (thread->next_fresh == FRESH_PAGES) {
		madvise(thread->fresh, FRESH_PAGES * PAGE, MADV_DONTNEED);
		thread->next_fresh = 0;
	}
	return thread->fresh + thread->next_fresh++ * PAGE;
}

/* Returns how many. */
static int raise_any(struct thread *thread)
{
	switch (rand_r(&thread->random) % 10) {
	case 0:
		raise_bp();
		return 1;
	case 1:
		raise_ud();
		return 1;
	case 2:
		raise_de();
		return 1;
	case 3:
		raise_gp();
		return 1;
	case 4:
		raise_db();
		return 3;
	case 5:
		raise_read(thread->denied);
		return 1;
	case 6:
		raise_read(thread->beyond_eof);
		return 1;
	case 7:
		if (!kernel_write(thread->denied))
			count(&thread->fixups);
		return 1;
	case 8:
		kernel_write(fresh_page(thread));
		return 1;
	default:
		raise_write(fresh_page(thread));
		return 1;
	}
}

static void nap(long us)
{
	const struct timespec time = { .tv_nsec = us * 1000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void raise_all(struct thread *thread, long count)
{
	thread->left = count;
	while (raised(thread, 0) > 0 && !__atomic_load_n(&storm.stop, __ATOMIC_SEQ_CST)) {
		for (int i = 0; i < 10; i++)
			raised(thread, raise_any(thread));
		if (storm.pause_us)
			nap(storm.pause_us);
	}
}

static void meet(void)
{
	pthread_barrier_wait(&storm.barrier);
}

static void *thread_main(void *data)
{
	struct thread *thread = data;
	struct rusage before, after;

	self_thread = thread;
	thread->tid = gettid();
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	/* All that it needs is present before anything is counted. */
	raise_all(thread, WARM_UP);
	on_interruption(0);
	getrusage(RUSAGE_THREAD, &after);
	meet();
	memset(thread->raised, 0, sizeof(thread->raised));
	thread->fixups = 0;
	getrusage(RUSAGE_THREAD, &before);
	meet();
	/* Tracing is switched on. */
	meet();
	raise_all(thread, storm.each);
	__atomic_add_fetch(&storm.finished, 1, __ATOMIC_SEQ_CST);
	meet();
	/* No more interruptions. */
	meet();
	getrusage(RUSAGE_THREAD, &after);
	thread->minflt = after.ru_minflt - before.ru_minflt;
	thread->majflt = after.ru_majflt - before.ru_majflt;
	thread->switches[0] = after.ru_nvcsw - before.ru_nvcsw;
	thread->switches[1] = after.ru_nivcsw - before.ru_nivcsw;
	meet();
	/* No more tracing. */
	meet();
	return NULL;
}

static void map_memory(struct thread *thread)
{
	thread->fresh = map_anonymous(FRESH_PAGES);
	thread->denied = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	thread->beyond_eof = map_beyond_eof();
	if (!thread->fresh || thread->denied == MAP_FAILED || !thread->beyond_eof)
		storm.failed = true;
}

/* The threads are ready, none raises anything. */
static void storm_prepare(struct __test_metadata *_metadata, long count)
{
	memset(&storm, 0, sizeof(storm));
	storm.each = count / THREADS;
	pthread_barrier_init(&storm.barrier, NULL, THREADS + 1);
	set_handlers();
	for (int i = 0; i < THREADS; i++) {
		map_memory(&storm.threads[i]);
		ASSERT_FALSE(storm.failed);
		storm.threads[i].random = i + 1;
		ASSERT_EQ(0, pthread_create(&storm.threads[i].id, NULL, thread_main,
					    &storm.threads[i]));
	}
	meet();
	meet();
}

/* --- What disturbs them */

#define INTERRUPT	0x1
#define PREEMPT		0x2
#define MIGRATE		0x4
#define HOTPLUG		0x8

static struct {
	unsigned int which;
	bool stop;
	pthread_t threads[4];
	int count;
} disturbance;

static bool disturbing(void)
{
	return !__atomic_load_n(&disturbance.stop, __ATOMIC_SEQ_CST);
}

/* The timers of the threads interrupt them, too. */
static void *interrupt(void *unused)
{
	for (int i = 0; disturbing(); i++) {
		tgkill(getpid(), storm.threads[i % THREADS].tid, SIGUSR1);
		nap(3000);
	}
	return NULL;
}

static unsigned long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void *preempt(void *unused)
{
	const struct sched_param param = { .sched_priority = 1 };
	unsigned long long start;

	pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	while (disturbing()) {
		for (start = now(); now() - start < 300000;)
			;
		nap(3000);
	}
	return NULL;
}

static void *migrate(void *unused)
{
	int cpus = sysconf(_SC_NPROCESSORS_CONF);
	cpu_set_t set;

	for (int i = 0; disturbing(); i++) {
		CPU_ZERO(&set);
		CPU_SET((i + i / THREADS) % cpus, &set);
		/* Fails for a CPU that is offline just now. */
		sched_setaffinity(storm.threads[i % THREADS].tid, sizeof(set), &set);
		nap(2000);
	}
	return NULL;
}

/* The file that switches the last CPU off and on, or NULL. */
static const char *hotplug_file(void)
{
	static char file[64];

	snprintf(file, sizeof(file), "/sys/devices/system/cpu/cpu%ld/online",
		 sysconf(_SC_NPROCESSORS_CONF) - 1);
	return access(file, W_OK) ? NULL : file;
}

static int hotplugs;

static void set_online(const char *online)
{
	const char *file = hotplug_file();

	if (file && !file_write(file, online))
		hotplugs++;
}

/* It is busy while another one is changed. */
static int switch_on(const char *file, const char *online)
{
	int error = file_write(file, online);

	for (int i = 0; i < 100 && error == -EBUSY; i++) {
		usleep(10000);
		error = file_write(file, online);
	}
	return error;
}

static void *hotplug(void *unused)
{
	while (disturbing()) {
		set_online("0");
		nap(50000);
		set_online("1");
		nap(50000);
	}
	return NULL;
}

static void start_timer(struct __test_metadata *_metadata, struct thread *thread)
{
	struct sigevent event = {
		.sigev_notify	= SIGEV_THREAD_ID,
		.sigev_signo	= SIGALRM,
	};
	const struct itimerspec time = {
		.it_value	= { .tv_nsec = 20000000 },
		.it_interval	= { .tv_nsec = 20000000 },
	};

	event._sigev_un._tid = thread->tid;
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &thread->timer));
	ASSERT_EQ(0, timer_settime(thread->timer, 0, &time, NULL));
}

static void disturb(struct __test_metadata *_metadata, unsigned int which)
{
	static void *(* const all[])(void *) = { interrupt, preempt, migrate, hotplug };

	memset(&disturbance, 0, sizeof(disturbance));
	disturbance.which = which;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!(which & 1U << i))
			continue;
		ASSERT_EQ(0, pthread_create(&disturbance.threads[disturbance.count], NULL,
					    all[i], NULL));
		disturbance.count++;
	}
	for (int i = 0; which & INTERRUPT && i < THREADS; i++)
		start_timer(_metadata, &storm.threads[i]);
}

static void stop_disturbing(void)
{
	__atomic_store_n(&disturbance.stop, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < disturbance.count; i++)
		pthread_join(disturbance.threads[i], NULL);
	for (int i = 0; disturbance.which & INTERRUPT && i < THREADS; i++)
		timer_delete(storm.threads[i].timer);
}

/* --- Running it */

static void storm_start(void)
{
	meet();
}

static void storm_stop(void)
{
	__atomic_store_n(&storm.stop, true, __ATOMIC_SEQ_CST);
}

static bool storm_done(void)
{
	return __atomic_load_n(&storm.finished, __ATOMIC_SEQ_CST) == THREADS;
}

/* The threads have raised everything, and wait. */
static void storm_wait(void)
{
	meet();
	stop_disturbing();
	meet();
	meet();
}

static void storm_end(void)
{
	meet();
	for (int i = 0; i < THREADS; i++)
		pthread_join(storm.threads[i].id, NULL);
}

static long storm_size(void)
{
	const char *size = getenv("TRAPS_STORM");

	return size ? atol(size) : 40000;
}

/* How many exceptions the threads know of. */
static unsigned long storm_sum(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < THREADS; i++) {
		const struct thread *thread = &storm.threads[i];

		for (int vector = 0; vector < VECTORS; vector++)
			sum += thread->raised[vector];
		sum += thread->fixups + thread->minflt + thread->majflt;
	}
	return sum;
}

/* --- What was recorded of them */

struct task {
	pid_t pid;
	/* The exceptions that have no exit yet, the last one last */
	struct raw_record open[8];
	int depth;
	bool known;		/* that these are all */
	int epoch;
	unsigned long exits[VECTORS], results[RESULTS];
	long switches[2];	/* by itself, and not */
};

struct check {
	struct task tasks[THREADS];
	bool stable_clock;
	/* Between the marks "off" and "on", events come as they like */
	bool off;
	int epoch;
	unsigned long records, alone, errors, preempted, migrated;
};

#define MARK_OFF	"off"
#define MARK_ON		"on"

static bool same(const struct raw_record *entry, const struct raw_record *exit)
{
	return entry->vector == exit->vector && entry->address == exit->address &&
	       entry->error_code == exit->error_code && entry->ip == exit->ip &&
	       entry->event_data == exit->event_data && entry->user_mode == exit->user_mode;
}

/* Otherwise the clocks of two CPUs may differ, and with them duration and time. */
static bool is_clock_stable(void)
{
	char name[16] = "";
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			   "r");

	if (file) {
		if (fscanf(file, "%15s", name) != 1)
			*name = '\0';
		fclose(file);
	}
	return !strcmp(name, "tsc") || !strcmp(name, "kvm-clock");
}

static void complain(struct check *check, const char *what,
		     const struct raw_record *record)
{
	if (check->errors++ < 10)
		fprintf(stderr, "# %s: %s of %d at %llu on CPU %d, vector %u ip 0x%lx %s\n",
			what, record->kind == RAW_ENTRY ? "entry" : "exit", record->pid,
			record->time, record->cpu, record->vector, record->ip,
			record->user_mode ? "user" : "kernel");
}

/*
 * User mode is at the bottom: no other exception can be open when it raises one,
 * or after the last one.
 */
static void check_entry(struct check *check, struct task *task,
			const struct raw_record *record)
{
	if (record->user_mode) {
		if (task->known && task->depth)
			complain(check, "no exit of another one before the", record);
		task->known = true;
		task->depth = 0;
	}
	if (task->depth == (int)ARRAY_SIZE(task->open)) {
		complain(check, "nested too deeply", record);
		task->depth = 0;
	}
	task->open[task->depth++] = *record;
}

static void check_exit(struct check *check, struct task *task,
		       const struct raw_record *record)
{
	const struct raw_record *entry;

	task->exits[record->vector % VECTORS]++;
	if (record->vector == VECTOR_PF)
		task->results[record->result % RESULTS]++;
	else if (record->vector != VECTOR_NMI && record->user_mode &&
		 record->result != SIGNAL_SENT)
		complain(check, "no signal", record);
	task->switches[0] += !!(record->flags & SLEPT);
	task->switches[1] += !!(record->flags & PREEMPTED);
	check->preempted += !!(record->flags & PREEMPTED);
	check->migrated += !!(record->flags & MIGRATED);
	if (!record->duration && check->stable_clock)
		complain(check, "no duration", record);

	if (task->depth) {
		entry = &task->open[--task->depth];
		if (!same(entry, record))
			complain(check, "not what the last entry says", record);
		if (record->duration > record->time - entry->time && check->stable_clock)
			complain(check, "too long a duration", record);
		if (record->cpu != entry->cpu && !(record->flags & MIGRATED))
			complain(check, "not said to have migrated", record);
		if (record->cpu == entry->cpu && record->flags & MIGRATED)
			complain(check, "not migrated", record);
	} else if (task->known) {
		complain(check, "no entry", record);
	} else {
		check->alone++;
	}
	if (record->user_mode) {
		if (task->known && task->depth)
			complain(check, "inner ones without an exit", record);
		task->known = true;
		task->depth = 0;
	}
}

static void check_record(struct check *check, const struct raw_record *record)
{
	struct task *task = NULL;

	if (record->kind == RAW_MARK) {
		check->off = !strncmp(record->mark, MARK_OFF, strlen(MARK_OFF));
		check->epoch++;
		return;
	}
	check->records++;
	for (int i = 0; i < THREADS; i++)
		if (check->tasks[i].pid == record->pid)
			task = &check->tasks[i];
	if (!task || check->off)
		return;
	/* What was begun before the mark may end without having an entry. */
	if (task->epoch != check->epoch) {
		task->epoch = check->epoch;
		task->known = false;
		task->depth = 0;
	}
	if (record->kind == RAW_ENTRY)
		check_entry(check, task, record);
	else
		check_exit(check, task, record);
}

/* Reads all that was recorded, and pairs entries and exits of each thread. */
static void check_pairs(struct __test_metadata *_metadata, struct check *check)
{
	struct raw *raw = raw_open();
	struct raw_record record;

	ASSERT_TRUE(!!raw);
	memset(check, 0, sizeof(*check));
	check->stable_clock = is_clock_stable();
	if (!check->stable_clock)
		TH_LOG("the TSC is not stable: durations are not checked");
	for (int i = 0; i < THREADS; i++) {
		check->tasks[i].pid = storm.threads[i].tid;
		check->tasks[i].known = true;
	}
	while (raw_next(raw, &record))
		check_record(check, &record);
	EXPECT_FALSE(raw_failed(raw));
	EXPECT_EQ(0, raw_missed(raw));
	raw_close(raw);
	EXPECT_EQ(0, check->errors);
}

/* As many of each kind as the threads know of */
static void check_counts(struct __test_metadata *_metadata, const struct check *check)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread *thread = &storm.threads[i];
		const struct task *task = &check->tasks[i];

		EXPECT_EQ(0, task->depth);
		for (int vector = 0; vector < VECTORS; vector++) {
			if (vector == VECTOR_PF || vector == VECTOR_NMI)
				continue;
			EXPECT_EQ(thread->raised[vector], task->exits[vector]) {
				TH_LOG("vector %d", vector);
			}
		}
		EXPECT_EQ(thread->raised[VECTOR_PF],
			  task->results[SIGSEGV_SENT] + task->results[SIGBUS_SENT]);
		/* The kernel adds some, when it touches the area of rseq. */
		EXPECT_LE(thread->fixups, task->results[FIXUP]);
		EXPECT_EQ(thread->minflt, task->results[MINOR]);
		EXPECT_EQ(thread->majflt, task->results[MAJOR]);
		EXPECT_LE(task->switches[0], thread->switches[0]);
		EXPECT_LE(task->switches[1], thread->switches[1]);
	}
}

/* --- Tests */

FIXTURE(storm) {
	int unused;
};

FIXTURE_VARIANT(storm) {
	unsigned int disturb;
};

FIXTURE_VARIANT_ADD(storm, interrupted) {
	.disturb	= INTERRUPT | PREEMPT,
};

FIXTURE_VARIANT_ADD(storm, migrated) {
	.disturb	= INTERRUPT | PREEMPT | MIGRATE,
};

FIXTURE_VARIANT_ADD(storm, hotplugged) {
	.disturb	= INTERRUPT | PREEMPT | MIGRATE | HOTPLUG,
};

/*
 * The clock is the one of the durations, and in order across CPUs. Whatever is
 * recorded may be of one CPU.
 */
static void prepare_buffer(struct __test_metadata *_metadata, long exceptions)
{
	char kb[24];

	ASSERT_EQ(0, trace_write("trace_clock", "global"));
	snprintf(kb, sizeof(kb), "%ld", exceptions * 2 * RECORD_SIZE / 1024 + 1024);
	ASSERT_EQ(0, trace_write("buffer_size_kb", kb));
}

FIXTURE_SETUP(storm)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (!(variant->disturb & HOTPLUG))
		return;
	if (!hotplug_file() || sysconf(_SC_NPROCESSORS_ONLN) < sysconf(_SC_NPROCESSORS_CONF))
		SKIP(return, "not all CPUs are on, or the last one cannot be switched off");
	undo_later(switch_on, hotplug_file(), "1");
}

FIXTURE_TEARDOWN_PARENT(storm)
{
	tear_down(_metadata);
}

/* Everything is recorded, in pairs that say the same. */
TEST_F_TIMEOUT(storm, pairs, TIMEOUT)
{
	long count = storm_size();
	struct check check;

	prepare_buffer(_metadata, 2 * count);
	storm_prepare(_metadata, count);
	turn_on(_metadata, "traps");
	disturb(_metadata, variant->disturb);
	storm_start();
	storm_wait();
	ASSERT_EQ(0, trace_write("tracing_on", "0"));
	storm_end();
	EXPECT_EQ(0, trace_stat("overrun"));
	EXPECT_EQ(0, trace_stat("dropped events"));
	check_pairs(_metadata, &check);
	EXPECT_LE(2 * count, check.records);
	EXPECT_EQ(!!(variant->disturb & HOTPLUG), hotplugs > 0);
	check_counts(_metadata, &check);
	TH_LOG("%lu exits say PREEMPTED, %lu MIGRATED", check.preempted, check.migrated);
	if (kernel_is_preemptible())
		EXPECT_LT(0, check.preempted);
	if (kernel_is_preemptible() && variant->disturb & MIGRATE && sysconf(_SC_NPROCESSORS_ONLN) > 1)
		EXPECT_LT(0, check.migrated);
}

FIXTURE(overrun) {
	int unused;
};

FIXTURE_SETUP(overrun)
{
	set_up(_metadata);
}

FIXTURE_TEARDOWN_PARENT(overrun)
{
	tear_down(_metadata);
}

/* What has no room is counted, and told to who reads the rest. */
TEST_F_TIMEOUT(overrun, counted, TIMEOUT)
{
	unsigned long entries, read = 0;
	char filter[THREADS * 32] = "", no_nmi[THREADS * 32 + 32];
	struct raw_record record;
	struct raw *raw;
	long lost;

	storm_prepare(_metadata, storm_size() / 2);
	ASSERT_EQ(0, trace_write("buffer_size_kb", "16"));
	for (int i = 0; i < THREADS; i++)
		snprintf(filter + strlen(filter), sizeof(filter) - strlen(filter),
			 "%scommon_pid == %d", i ? " || " : "", storm.threads[i].tid);
	ASSERT_EQ(0, trace_write("events/traps/page_fault_entry/filter", filter));
	ASSERT_EQ(0, trace_write("events/traps/page_fault_exit/filter", filter));
	snprintf(no_nmi, sizeof(no_nmi), "vector != %d && (%s)", VECTOR_NMI, filter);
	ASSERT_EQ(0, trace_write("events/traps/trap_entry/filter", no_nmi));
	ASSERT_EQ(0, trace_write("events/traps/trap_exit/filter", no_nmi));
	turn_on(_metadata, "traps");
	disturb(_metadata, 0);
	storm_start();
	storm_wait();
	ASSERT_EQ(0, trace_write("events/traps/enable", "0"));
	storm_end();

	entries = trace_stat("entries");
	lost = trace_stat("overrun");
	EXPECT_EQ(0, trace_stat("dropped events"));
	EXPECT_LT(0, lost);
	EXPECT_EQ(2 * storm_sum(), entries + lost);

	raw = raw_open();
	ASSERT_TRUE(!!raw);
	while (raw_next(raw, &record))
		read++;
	EXPECT_FALSE(raw_failed(raw));
	EXPECT_EQ(entries, read);
	/* A page without room for the number tells only that there are some. */
	EXPECT_LT(0, raw_missed(raw));
	EXPECT_GE(lost, raw_missed(raw));
	raw_close(raw);
}

/* --- Tests of switching */

/*
 * What is switched, and back. While it is, events may be without their pair in
 * the instance itself; what is switched elsewhere must not change that.
 */
static const struct operation {
	const char *file, *value, *back;
} here[] = {
	{ "events/traps/enable", "0", "1" },
	{ "events/traps/trap_entry/enable", "0", "1" },
	{ "events/traps/trap_exit/enable", "0", "1" },
	{ "events/traps/page_fault_entry/enable", "0", "1" },
	{ "events/traps/page_fault_exit/enable", "0", "1" },
	{ "events/traps/page_fault_exit/filter", "duration > 50000", "0" },
	{ "events/traps/trap_entry/filter", "vector == 3", "0" },
	{ "events/traps/filter", "ip != 1", "0" },
	{ "tracing_on", "0", "1" },
	{ "events/traps/trap_exit/trigger", "traceoff if vector == 6",
	  "!traceoff if vector == 6" },
	{ "events/traps/trap_entry/trigger", "disable_event:traps:trap_exit",
	  "!disable_event:traps:trap_exit" },
}, elsewhere[] = {
	{ "events/traps/trap_exit/trigger", "hist:keys=vector", "!hist:keys=vector" },
	{ "events/traps/page_fault_exit/trigger", "hist:keys=result,duration.log2",
	  "!hist:keys=result,duration.log2" },
	{ OTHER "events/traps/enable", "1", "0" },
	{ OTHER "events/traps/page_fault_exit/enable", "1", "0" },
	{ OTHER "events/traps/trap_entry/enable", "1", "0" },
	{ OTHER "events/traps/trap_entry/trigger", "stacktrace:3", "!stacktrace" },
	{ OTHER "events/traps/trap_exit/trigger", "snapshot:3", "!snapshot" },
	{ OTHER "events/traps/trap_entry/trigger",
	  "enable_event:traps:page_fault_exit", "!enable_event:traps:page_fault_exit" },
	{ OTHER "events/traps/page_fault_exit/filter", "result == 6", "0" },
	{ OTHER "events/traps/trap_exit/filter", "result == 14 && flags == 0", "0" },
	{ OTHER "snapshot", "1", "0" },
	{ OTHER "current_tracer", "function", "nop" },
	{ OTHER "current_tracer", "function_graph", "nop" },
	{ TRACEFS "events/traps/enable", "1", "0" },
	{ TRACEFS "events/traps/trap_exit/enable", "1", "0" },
	{ TRACEFS "events/traps/page_fault_entry/enable", "1", "0" },
};

static void mark(struct __test_metadata *_metadata, const char *text)
{
	ASSERT_EQ(0, trace_write("trace_marker", text));
}

/* A kernel may be without a tracer. */
static bool is_possible(const struct operation *op)
{
	return strcmp(op->file, OTHER "current_tracer") || trace_has_tracer(op->value);
}

static void operate(struct __test_metadata *_metadata, const struct operation *op)
{
	EXPECT_EQ(0, trace_write(op->file, op->value)) {
		TH_LOG("%s: %s", op->file, op->value);
	}
	nap(3000);
	EXPECT_EQ(0, trace_write(op->file, op->back)) {
		TH_LOG("%s: %s", op->file, op->back);
	}
}

/* And whatever the operation's triggers have left */
static void operate_here(struct __test_metadata *_metadata, const struct operation *op)
{
	mark(_metadata, MARK_OFF);
	operate(_metadata, op);
	trace_write("tracing_on", "1");
	trace_write("events/traps/enable", "1");
	mark(_metadata, MARK_ON);
}

/* Not all functions: to patch those takes seconds in an emulated machine. */
static void operate_elsewhere(struct __test_metadata *_metadata,
			      const struct operation *op)
{
	if (op == elsewhere) {
		EXPECT_EQ(0, other_remove());
		ASSERT_EQ(0, other_create());
		trace_write(OTHER "set_ftrace_filter", "handle_mm_fault");
	}
	if (is_possible(op))
		operate(_metadata, op);
	else
		TH_LOG("no %s tracer", op->value);
}

FIXTURE(toggle) {
	int unused;
};

FIXTURE_SETUP(toggle)
{
	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	if (trace_is_on(TRACEFS "events/traps/enable"))
		SKIP(return, "events/traps is in use");
	undo_later(file_write, TRACEFS "events/traps/enable", "0");
}

FIXTURE_TEARDOWN_PARENT(toggle)
{
	tear_down(_metadata);
}

static void storm_small(struct __test_metadata *_metadata, bool on)
{
	storm_prepare(_metadata, THREADS * WARM_UP);
	if (on)
		turn_on(_metadata, "traps");
	disturb(_metadata, 0);
	storm_start();
	storm_wait();
	ASSERT_EQ(0, trace_write("events/traps/enable", "0"));
	storm_end();
}

/*
 * Pairs are right but where an event is switched on or off; at the end all is
 * recorded if it is on, and nothing if it is off.
 */
TEST_F_TIMEOUT(toggle, pairs, TIMEOUT)
{
	const long count = 160000;
	struct check check;
	size_t i;

	prepare_buffer(_metadata, 2 * count);
	ASSERT_EQ(0, other_create());
	storm_prepare(_metadata, count);
	turn_on(_metadata, "traps");
	disturb(_metadata, INTERRUPT | MIGRATE);
	/* Switching takes long where all CPUs are busy. */
	storm.pause_us = 20000;
	storm_start();
	for (i = 0; i < 2 * ARRAY_SIZE(elsewhere) && !storm_done(); i++) {
		operate_here(_metadata, &here[i % ARRAY_SIZE(here)]);
		operate_elsewhere(_metadata, &elsewhere[i % ARRAY_SIZE(elsewhere)]);
	}
	EXPECT_LE(ARRAY_SIZE(elsewhere), i);
	storm_stop();
	storm_wait();
	ASSERT_EQ(0, trace_write("events/traps/enable", "0"));
	storm_end();
	TH_LOG("%zu of %zu operations, %lu exceptions", i, 2 * ARRAY_SIZE(elsewhere),
	       storm_sum());
	EXPECT_EQ(0, trace_stat("overrun"));
	check_pairs(_metadata, &check);
	EXPECT_LT(0, check.records);

	storm_small(_metadata, true);
	check_pairs(_metadata, &check);
	check_counts(_metadata, &check);
	EXPECT_EQ(0, other_remove());

	storm_small(_metadata, false);
	EXPECT_EQ(0, trace_stat("entries"));
	EXPECT_FALSE(trace_is_on(TRACEFS "events/traps/enable"));
}

TEST_HARNESS_MAIN
