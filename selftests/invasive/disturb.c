// SPDX-License-Identifier: GPL-2.0
/* What disturbs the threads of a storm: signals, other tasks, other CPUs. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "storm.h"
#include "trace.h"

/* Exceptions in each millisecond of a pause: less than kernels without debugging raise */
#define PER_MS		2

static unsigned int disturbances;
static unsigned long counts[4];
static bool stop;

static bool disturbing(void)
{
	return !__atomic_load_n(&stop, __ATOMIC_SEQ_CST);
}

/*
 * After each disturbance. On a slow kernel it takes longer, until PER_MS are raised:
 * otherwise the threads would be disturbed all the time, and raise nothing.
 */
static void pause_ms(unsigned int which, int ms)
{
	long left = storm_left();

	counts[__builtin_ctz(which)]++;
	do {
		usleep(ms * 1000);
	} while (disturbing() && left - storm_left() < ms * PER_MS);
}

unsigned long disturbed(unsigned int which)
{
	return counts[__builtin_ctz(which)];
}

static timer_t timers[THREADS];

static int create_timers(void)
{
	struct sigevent event = {
		.sigev_notify	= SIGEV_THREAD_ID,
		.sigev_signo	= SIGALRM,
	};

	for (int i = 0; i < THREADS; i++) {
		event._sigev_un._tid = storm_threads[i].tid;
		if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]))
			return -errno;
	}
	return 0;
}

/* Sends each thread a signal in turn, and lets its own timer send another one later. */
static void *interrupt(void *unused)
{
	const struct itimerspec later = { .it_value.tv_nsec = 20000000 };

	for (int i = 0; disturbing(); i++) {
		tgkill(getpid(), storm_threads[i % THREADS].tid, SIGUSR1);
		timer_settime(timers[i % THREADS], 0, &later, NULL);
		pause_ms(INTERRUPT, 3);
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
		pause_ms(PREEMPT, 3);
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
		sched_setaffinity(storm_threads[i % THREADS].tid, sizeof(set), &set);
		pause_ms(MIGRATE, 2);
	}
	return NULL;
}

/* The file that switches the last CPU off and on, or NULL. */
const char *hotplug_file(void)
{
	static char file[64];

	snprintf(file, sizeof(file), "/sys/devices/system/cpu/cpu%ld/online",
		 sysconf(_SC_NPROCESSORS_CONF) - 1);
	return access(file, W_OK) ? NULL : file;
}

int hotplugs;

static void set_online(const char *online)
{
	const char *file = hotplug_file();

	if (file && !file_write(file, online) && *online == '0')
		hotplugs++;
}

static void *hotplug(void *unused)
{
	while (disturbing()) {
		set_online("0");
		pause_ms(HOTPLUG, 50);
		set_online("1");
		pause_ms(HOTPLUG, 50);
	}
	return NULL;
}

static void *(* const all[])(void *) = { interrupt, preempt, migrate, hotplug };
static pthread_t threads[ARRAY_SIZE(all)];

int disturb_start(unsigned int which)
{
	int ret = which & INTERRUPT ? create_timers() : 0;

	stop = false;
	disturbances = which;
	memset(counts, 0, sizeof(counts));
	for (size_t i = 0; i < ARRAY_SIZE(all) && !ret; i++)
		if (which & 1U << i)
			ret = -pthread_create(&threads[i], NULL, all[i], NULL);
	return ret;
}

void disturb_stop(void)
{
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (disturbances & 1U << i)
			pthread_join(threads[i], NULL);
	for (int i = 0; disturbances & INTERRUPT && i < THREADS; i++)
		timer_delete(timers[i]);
}
