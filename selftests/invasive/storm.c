// SPDX-License-Identifier: GPL-2.0
/* The threads of a storm, and what they know of the exceptions that they raised. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "memory.h"
#include "storm.h"
#include "trace.h"

#ifdef __x86_64__
#define REG_IP		REG_RIP
#else
#define REG_IP		REG_EIP
#endif
#define FLAG_TF		0x100

#define WARM_UP		200
#define FRESH_PAGES	256

struct thread storm_threads[THREADS];
long storm_pause_us, storm_keep;

static pthread_barrier_t barrier;
static long each;			/* exceptions of a thread, about */
static bool stop;			/* before that many are raised */
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

	if (regs[REG_TRAPNO] < VECTORS) {
		count(&self_thread->raised[regs[REG_TRAPNO]]);
		self_thread->codes[regs[REG_TRAPNO]][signal] = info->si_code;
	}
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

static void raise_all(struct thread *thread)
{
	long left;

	while ((left = raised(thread, 0)) > 0 && !__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		for (int i = 0; i < 10 && left >= __atomic_load_n(&storm_keep, __ATOMIC_SEQ_CST); i++)
			raised(thread, raise_any(thread));
		if (storm_pause_us)
			usleep(storm_pause_us);
	}
}

static void meet(void)
{
	pthread_barrier_wait(&barrier);
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
	thread->left = WARM_UP;
	raise_all(thread);
	on_interruption(0);
	getrusage(RUSAGE_THREAD, &after);
	meet();
	memset(thread->raised, 0, sizeof(thread->raised));
	thread->fixups = 0;
	thread->left = each;
	getrusage(RUSAGE_THREAD, &before);
	meet();
	/* Tracing is switched on. */
	meet();
	raise_all(thread);
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

static bool map_memory(struct thread *thread)
{
	thread->fresh = map_anonymous(FRESH_PAGES);
	thread->denied = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	thread->beyond_eof = map_beyond_eof();
	return thread->fresh && thread->denied != MAP_FAILED && thread->beyond_eof;
}

/* --- A storm, in this order */

/* How many exceptions to raise */
long storm_size(void)
{
	const char *size = getenv("TRAPS_STORM");

	return size ? atol(size) : 40000;
}

/* The threads are ready, none raises anything. */
int storm_prepare(long count)
{
	memset(storm_threads, 0, sizeof(storm_threads));
	storm_pause_us = 0;
	storm_keep = 0;
	each = count / THREADS;
	stop = false;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	set_handlers();
	for (int i = 0; i < THREADS; i++) {
		struct thread *thread = &storm_threads[i];

		thread->random = i + 1;
		if (!map_memory(thread) || pthread_create(&thread->id, NULL, thread_main, thread))
			return -1;
	}
	meet();
	meet();
	return 0;
}

int storm_start(unsigned int disturbances)
{
	int ret = disturb_start(disturbances);

	meet();
	return ret;
}

long storm_left(void)
{
	long sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += raised(&storm_threads[i], 0);
	return sum;
}

void storm_stop(void)
{
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
}

/* Waits until all is raised, and switches the events off. */
int storm_end(void)
{
	int ret;

	meet();
	disturb_stop();
	meet();
	meet();
	ret = trace_write("events/traps/enable", "0");
	meet();
	for (int i = 0; i < THREADS; i++)
		pthread_join(storm_threads[i].id, NULL);
	return ret;
}

/* How many exceptions the threads know of. */
unsigned long storm_sum(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < THREADS; i++) {
		const struct thread *thread = &storm_threads[i];

		for (int vector = 0; vector < VECTORS; vector++)
			sum += thread->raised[vector];
		sum += thread->fixups + thread->minflt + thread->majflt;
	}
	return sum;
}
