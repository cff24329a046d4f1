// SPDX-License-Identifier: GPL-2.0
/*
 * floor - what an event without fields costs: less, no event can cost
 *
 * Reading /sys/module/floor/parameters/ticks calls the tracepoint floor:floor in a
 * loop and returns the ticks of the TSC for a hundred calls, of the cheapest round.
 */
#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sysfs.h>
#include <asm/msr.h>

#define CREATE_TRACE_POINTS
#include "floor.h"

#define BATCH	256
#define ROUNDS	32

static u64 batch(void)
{
	unsigned long flags;
	u64 start, ticks;

	local_irq_save(flags);
	start = rdtsc();
	for (int i = 0; i < BATCH; i++)
		trace_floor(i);
	ticks = rdtsc() - start;
	local_irq_restore(flags);
	return ticks;
}

static int get_ticks(char *buffer, const struct kernel_param *kp)
{
	u64 best = U64_MAX;

	for (int i = 0; i < ROUNDS; i++)
		best = min(best, batch());
	return sysfs_emit(buffer, "%llu\n", best * 100 / BATCH);
}

static const struct kernel_param_ops ticks_ops = { .get = get_ticks };
module_param_cb(ticks, &ticks_ops, NULL, 0400);

MODULE_DESCRIPTION("Cost of an event without fields");
MODULE_LICENSE("GPL");
