// SPDX-License-Identifier: GPL-2.0
/* tsc - print how many thousand times a second this machine's TSC counts */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

/* A time in nanoseconds, and the TSC then: the best of many tries, as others may run in between */
static uint64_t both(uint64_t *tsc)
{
	uint64_t before, after, best = UINT64_MAX, time = 0;
	struct timespec now;
	int i;

	for (i = 0; i < 1000; i++) {
		before = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC, &now);
		after = __rdtsc();
		if (after - before < best) {
			best = after - before;
			*tsc = before + best / 2;
			time = now.tv_sec * 1000000000ULL + now.tv_nsec;
		}
	}
	return time;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 50000000 };
	uint64_t tsc, tsc_then, time, then = both(&tsc_then);

	nanosleep(&pause, NULL);
	time = both(&tsc);
	printf("%.0f\n", (tsc - tsc_then) * 1e6 / (time - then));
	return 0;
}
