// SPDX-License-Identifier: GPL-2.0
/*
 * Records numbered events in a task, interrupted by softirqs, interrupts and NMIs that
 * record, too, for ring_test of the traps selftests.
 *
 * In debugfs, traps_ring/storm takes COUNT: as many events of the writing task, on a CPU of
 * its own, or until the timers that record meanwhile have done so in an interrupt and in a
 * softirq. Each other writer's CPU is sent NMIs.
 * traps_ring/step takes N: the task's event is interrupted by one in NMI context before its
 * Nth instruction; ERANGE if it has fewer, and is the only one. traps_ring/recorded tells
 * how many events each CPU has recorded in each context.
 *
 * An event that has no fill of its length is torn. The sequence begins with 1 on each CPU
 * in each context.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include <asm/apic.h>
#include <asm/debugreg.h>
#include <asm/nmi.h>

#define CREATE_TRACE_POINTS
#include "ring_events.h"

enum { TASK, SOFTIRQ, IRQ, NMI, CONTEXTS };

struct ring_cpu {
	u32 sequence[CONTEXTS];
	struct hrtimer hard, soft;
	atomic_t nmi;			/* one is on its way */
	long step, step_at;
};

static DEFINE_PER_CPU(struct ring_cpu, ring_cpus);
static struct cpumask writers;

/* Of a task with preemption disabled. The lengths go below and above what type_len tells. */
static noinline void record(u32 context)
{
	u32 sequence = ++this_cpu_ptr(&ring_cpus)->sequence[context];

	trace_ring(context, sequence, sequence * 7 % 151);
}

/* --- a storm */

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define hrtimer_setup(timer, call, clock, mode) \
	(hrtimer_init(timer, clock, mode), (void)((timer)->function = (call)))
#endif

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!atomic_xchg(&this_cpu_ptr(&ring_cpus)->nmi, 0))
		return NMI_DONE;
	record(NMI);
	return NMI_HANDLED;
}

/* At times that do not repeat */
static enum hrtimer_restart again(struct hrtimer *timer, u32 context)
{
	u32 sequence = __this_cpu_read(ring_cpus.sequence[context]);

	record(context);
	hrtimer_forward_now(timer, ns_to_ktime(50000 + sequence * 7919 % 50000));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart on_hard(struct hrtimer *timer)
{
	return again(timer, IRQ);
}

static enum hrtimer_restart on_soft(struct hrtimer *timer)
{
	return again(timer, SOFTIRQ);
}

static void send_nmis(void)
{
	int cpu;

	for_each_cpu(cpu, &writers)
		if (cpu != smp_processor_id() && !atomic_xchg(&per_cpu(ring_cpus, cpu).nmi, 1))
			__apic_send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
}

static int storm(long count)
{
	struct ring_cpu *ring;

	migrate_disable();
	ring = this_cpu_ptr(&ring_cpus);
	cpumask_set_cpu(smp_processor_id(), &writers);
	hrtimer_setup(&ring->hard, on_hard, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_setup(&ring->soft, on_soft, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
	hrtimer_start(&ring->hard, 0, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&ring->soft, 0, HRTIMER_MODE_REL_PINNED_SOFT);
	for (long i = 0; (i < count || !READ_ONCE(ring->sequence[SOFTIRQ]) ||
			  !READ_ONCE(ring->sequence[IRQ])) && !signal_pending(current); i++) {
		scoped_guard(preempt) {
			record(TASK);
			if (i % 16 == 0)
				send_nmis();
		}
		cond_resched();
	}
	hrtimer_cancel(&ring->hard);
	hrtimer_cancel(&ring->soft);
	cpumask_clear_cpu(smp_processor_id(), &writers);
	synchronize_rcu();
	while (atomic_read(&ring->nmi))
		cpu_relax();
	migrate_enable();
	return signal_pending(current) ? -EINTR : 0;
}

/* --- step by step */

static int on_debug(struct notifier_block *block, unsigned long value, void *data)
{
	struct die_args *args = data;
	struct ring_cpu *ring = this_cpu_ptr(&ring_cpus);

	if (value != DIE_DEBUG || !ring->step_at || user_mode(args->regs))
		return NOTIFY_DONE;
	if (++ring->step == ring->step_at)
		record(NMI);
	return NOTIFY_STOP;
}

static struct notifier_block debug_block = { .notifier_call = on_debug, .priority = INT_MAX };

/* Sets or clears the trap flag. */
static __always_inline void single_step(bool on)
{
	if (on)
		asm volatile("pushf; orl %0, (%%" _ASM_SP "); popf" : :
			     "i" (X86_EFLAGS_TF) : "memory", "cc");
	else
		asm volatile("pushf; andl %0, (%%" _ASM_SP "); popf" : :
			     "i" (~X86_EFLAGS_TF) : "memory", "cc");
}

static int step(long at)
{
	struct ring_cpu *ring;
	unsigned long flags;
	bool interrupted;

	local_irq_save(flags);
	ring = this_cpu_ptr(&ring_cpus);
	ring->step = 0;
	ring->step_at = at;
	single_step(true);
	record(TASK);
	single_step(false);
	interrupted = ring->step >= at;
	ring->step_at = 0;
	local_irq_restore(flags);
	return interrupted ? 0 : -ERANGE;
}

/* --- debugfs */

static ssize_t number_write(struct file *file, const char __user *buffer, size_t count,
			   loff_t *position)
{
	int (*run)(long number) = file_inode(file)->i_private;
	long number;
	int error = kstrtol_from_user(buffer, count, 0, &number);

	return error ?: run(number) ?: count;
}

static const struct file_operations number_fops = {
	.owner	= THIS_MODULE,
	.write	= number_write,
};

static int recorded_show(struct seq_file *file, void *unused)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		const u32 *sequence = per_cpu(ring_cpus, cpu).sequence;

		seq_printf(file, "%u %u %u %u\n", sequence[TASK], sequence[SOFTIRQ],
			   sequence[IRQ], sequence[NMI]);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(recorded);

static struct dentry *dir;

static int __init ring_init(void)
{
	int error = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "traps_ring");

	if (error)
		return error;
	register_die_notifier(&debug_block);
	dir = debugfs_create_dir("traps_ring", NULL);
	debugfs_create_file("storm", 0200, dir, storm, &number_fops);
	debugfs_create_file("step", 0200, dir, step, &number_fops);
	debugfs_create_file("recorded", 0400, dir, NULL, &recorded_fops);
	return 0;
}
module_init(ring_init);

static void __exit ring_exit(void)
{
	debugfs_remove(dir);
	unregister_die_notifier(&debug_block);
	unregister_nmi_handler(NMI_LOCAL, "traps_ring");
}
module_exit(ring_exit);

MODULE_DESCRIPTION("Numbered events in all contexts, for the selftests of the ring buffer");
MODULE_LICENSE("GPL");
