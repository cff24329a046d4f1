// SPDX-License-Identifier: GPL-2.0
/*
 * ticks - what only code in the kernel can measure
 *
 * Reading /sys/module/ticks/parameters/NAME does it in a loop and returns the ticks of
 * the TSC for a hundred times, of the cheapest round:
 *
 *	event	calls the tracepoint floor:floor, which has no fields: less, no event
 *		can cost
 *	nmi	sends an NMI to its own CPU and waits for it
 */
#include <linux/irqflags.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sysfs.h>
#include <asm/apic.h>
#include <asm/msr.h>
#include <asm/nmi.h>

#define CREATE_TRACE_POINTS
#include "floor.h"

#define BATCH	256
#define ROUNDS	32

static int nmis;

static int count_nmi(unsigned int type, struct pt_regs *regs)
{
	WRITE_ONCE(nmis, nmis + 1);
	return NMI_HANDLED;
}

static void call_event(int i)
{
	trace_floor(i);
}

static void send_nmi(int i)
{
	int before = READ_ONCE(nmis);

	native_apic_mem_write(APIC_ICR, APIC_DEST_SELF | APIC_DM_NMI);
	while (READ_ONCE(nmis) == before)
		cpu_relax();
}

static __always_inline u64 batch(void (*once)(int i))
{
	unsigned long flags;
	u64 start, ticks;

	local_irq_save(flags);
	start = rdtsc();
	for (int i = 0; i < BATCH; i++)
		once(i);
	ticks = rdtsc() - start;
	local_irq_restore(flags);
	return ticks;
}

static __always_inline int get(char *buffer, void (*once)(int i))
{
	u64 best = U64_MAX;

	for (int i = 0; i < ROUNDS; i++)
		best = min(best, batch(once));
	return sysfs_emit(buffer, "%llu\n", best * 100 / BATCH);
}

static int get_event(char *buffer, const struct kernel_param *kp)
{
	return get(buffer, call_event);
}

static int get_nmi(char *buffer, const struct kernel_param *kp)
{
	int ret = register_nmi_handler(NMI_LOCAL, count_nmi, 0, "ticks");

	if (ret)
		return ret;
	ret = get(buffer, send_nmi);
	unregister_nmi_handler(NMI_LOCAL, "ticks");
	return ret;
}

static const struct kernel_param_ops event_ops = { .get = get_event };
module_param_cb(event, &event_ops, NULL, 0400);

static const struct kernel_param_ops nmi_ops = { .get = get_nmi };
module_param_cb(nmi, &nmi_ops, NULL, 0400);

MODULE_DESCRIPTION("Ticks of an event without fields, and of an NMI");
MODULE_LICENSE("GPL");
