// SPDX-License-Identifier: GPL-2.0
/*
 * Raises exceptions in the kernel, for kernel_test of the traps selftests.
 *
 * In debugfs, traps_raiser/raise takes the NAME of an exception, which is raised
 * before the write returns; ENODEV if the CPU did not raise it. "nmi CPU" sends
 * an NMI and waits for it, "nmi_in_nmi" one to this CPU, whose handler sends another one
 * and raises #DE. traps_raiser/nmi_at takes the name of a function: whenever
 * the writing program calls it, it is interrupted by an NMI; of pf_in_nmi_at, by one whose
 * handler reads the second page, where no program has memory; of delay_at, it is delayed
 * by DELAY_MS.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nmi.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/apic.h>
#include <asm/desc.h>
#include <asm/fpu/api.h>
#include <asm/special_insns.h>
#include <asm/trap_pf.h>
#include <asm/trapnr.h>

#include "raiser.h"

/* The global descriptor of a segment that is not present. */
#define ABSENT_ENTRY	GDT_ENTRY_TLS_MAX

static atomic_t nmi_count;
static bool nmi_again;			/* inside of the next one */
static bool nmi_reads;

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	char byte;

	if (atomic_dec_if_positive(&nmi_count) < 0)
		return NMI_DONE;
	if (nmi_again) {
		nmi_again = false;
		atomic_inc(&nmi_count);
		__apic_send_IPI_mask(cpumask_of(smp_processor_id()), NMI_VECTOR);
		raise_de(0);
	}
	if (nmi_reads) {
		nmi_reads = false;
		copy_from_user_nofault(&byte, (void __user *)PAGE_SIZE, 1);
	}
	return NMI_HANDLED;
}

static int send_nmi(int cpu)
{
	atomic_inc(&nmi_count);
	__apic_send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
	/* At most a minute or so: the other CPU may be an emulated one that does not run now. */
	for (long i = 0; i < 1000000000 && atomic_read(&nmi_count); i++)
		cpu_relax();
	return atomic_read(&nmi_count) ? -ETIMEDOUT : 0;
}

static bool raise_with_segment(bool (*raise)(unsigned long))
{
	struct desc_struct absent = GDT_ENTRY_INIT(DESC_DATA32 & ~_DESC_PRESENT, 0, 0xfffff);
	struct desc_struct *entry, saved;
	unsigned long flags;
	bool raised;

	local_irq_save(flags);
	entry = &get_current_gdt_rw()[ABSENT_ENTRY];
	saved = *entry;
	*entry = absent;
	raised = raise(ABSENT_ENTRY * 8);
	*entry = saved;
	local_irq_restore(flags);
	return raised;
}

static bool raise_with_fpu(bool (*raise)(unsigned long))
{
	bool raised;

	kernel_fpu_begin();
	raised = raise(0);
	kernel_fpu_end();
	return raised;
}

static bool raise_with_ts(bool (*raise)(unsigned long))
{
	bool raised;

	kernel_fpu_begin();
	write_cr0(read_cr0() | X86_CR0_TS);
	raised = raise(0);
	kernel_fpu_end();
	return raised;
}

/* Watched by the test. */
int traps_raiser_watched;

static bool raise_with_watched(bool (*raise)(unsigned long))
{
	return raise((unsigned long)&traps_raiser_watched);
}

/* Nothing else sees the exception of that task. */
static struct task_struct *consuming;

static int on_die(struct notifier_block *block, unsigned long why, void *data)
{
	struct die_args *args = data;

	if (why != DIE_TRAP || current != consuming)
		return NOTIFY_DONE;
	args->regs->ip = (unsigned long)raise_de_resume;
	return NOTIFY_STOP;
}

static struct notifier_block die_notifier = { .notifier_call = on_die };

static bool raise_consumed(bool (*raise)(unsigned long))
{
	bool raised;

	consuming = current;
	raised = raise(0);
	consuming = NULL;
	return raised;
}

static bool raise_by_fred(unsigned long vector, unsigned long error_code, unsigned long data)
{
#ifdef CONFIG_X86_64
	struct raised_event event = {
		.error_code	= error_code,
		/* In 64-bit mode */
		.info		= __KERNEL_DS | vector << 32 | (unsigned long)EVENT_TYPE_HWEXC << 48 | BIT(57),
		.data		= data,
	};

	return raise_event((unsigned long)&event);
#else
	return false;
#endif
}

static bool raise_machine_check(bool (*raise)(unsigned long))
{
	return cpu_feature_enabled(X86_FEATURE_FRED) ? raise_by_fred(X86_TRAP_MC, 0, 0) : raise(0);
}

static bool raise_fault(bool (*raise)(unsigned long), unsigned long error_code)
{
	struct raised_fault fault = {
		.address	= (unsigned long)&traps_raiser_watched,
		.error_code	= error_code,
	};
	struct desc_ptr idt;

	if (cpu_feature_enabled(X86_FEATURE_FRED))
		return raise_by_fred(X86_TRAP_PF, error_code, fault.address);
	store_idt(&idt);
	fault.handler = gate_offset((gate_desc *)idt.address + X86_TRAP_PF);
	return raise((unsigned long)&fault);
}

static bool raise_with_stale_tlb(bool (*raise)(unsigned long))
{
	return raise_fault(raise, X86_PF_PROT | X86_PF_WRITE);
}

#ifdef CONFIG_X86_32
static bool raise_with_absent(bool (*raise)(unsigned long))
{
	return raise_fault(raise, 0);
}
#endif

static const struct raiser {
	const char *name;
	bool (*raise)(unsigned long argument);
	bool (*with)(bool (*raise)(unsigned long argument));
} raisers[] = {
	{ "de", raise_de },
	{ "de_consumed", raise_de, raise_consumed },
	{ "db", raise_db, raise_with_watched },
	{ "of", raise_of },
	{ "ud", raise_ud },
	{ "nm", raise_nm, raise_with_ts },
	{ "old_mf", raise_old_mf },
	{ "np", raise_np, raise_with_segment },
	{ "ss", raise_ss, raise_with_segment },
	{ "gp_selector", raise_gp_selector },
	{ "spurious", raise_spurious },
	{ "mf", raise_mf, raise_with_fpu },
	{ "mf_int", raise_mf_int },
	{ "mc", raise_mc, raise_machine_check },
	{ "xf", raise_xf, raise_with_fpu },
	{ "xf_int", raise_xf_int },
#ifdef CONFIG_X86_64
	{ "gp", raise_gp },
	{ "pf_erratum", raise_pf_erratum },
#else
	{ "ts", raise_ts },
	{ "pf_vmalloc", raise_pf, raise_with_absent },
#endif
	{ "pf_spurious", raise_pf, raise_with_stale_tlb },
#ifdef CONFIG_X86_KERNEL_IBT
	{ "cp", raise_cp },
#endif
};

static int raise(const char *name)
{
	bool raised;
	int cpu;

	if (sscanf(name, "nmi %d", &cpu) == 1)
		return cpu >= 0 && cpu < nr_cpu_ids && cpu_online(cpu) ?
		       send_nmi(cpu) : -ENXIO;

	if (!strcmp(name, "nmi_in_nmi")) {
		guard(preempt)();
		nmi_again = true;
		return send_nmi(smp_processor_id());
	}

	for (int i = 0; i < ARRAY_SIZE(raisers); i++) {
		const struct raiser *raiser = &raisers[i];

		if (strcmp(raiser->name, name))
			continue;
		guard(preempt)();
		raised = raiser->with ? raiser->with(raiser->raise) : raiser->raise(0);
		return raised ? 0 : -ENODEV;
	}
	return -EINVAL;
}

static ssize_t get_string(char *to, size_t size, const char __user *buffer, size_t count)
{
	if (count >= size)
		return -EINVAL;
	if (copy_from_user(to, buffer, count))
		return -EFAULT;
	to[count] = '\0';
	strim(to);
	return 0;
}

static ssize_t raise_write(struct file *file, const char __user *buffer, size_t count,
			   loff_t *position)
{
	char name[32];
	ssize_t error = get_string(name, sizeof(name), buffer, count);

	if (!error)
		error = raise(name);
	return error ?: count;
}

static const struct file_operations raise_fops = {
	.owner	= THIS_MODULE,
	.write	= raise_write,
};

static DEFINE_MUTEX(probe_mutex);
static char probe_function[KSYM_NAME_LEN];
static char probe_comm[TASK_COMM_LEN];

static int on_probe(struct kprobe *probe, struct pt_regs *regs)
{
	if (!strcmp(current->comm, probe_comm))
		send_nmi(smp_processor_id());
	return 0;
}

static int on_probe_to_read(struct kprobe *probe, struct pt_regs *regs)
{
	nmi_reads = !strcmp(current->comm, probe_comm);
	return on_probe(probe, regs);
}

#define DELAY_MS	300

static int delay(struct kprobe *probe, struct pt_regs *regs)
{
	if (!strcmp(current->comm, probe_comm))
		mdelay(DELAY_MS);
	return 0;
}

static struct kprobe probe;

static void remove_probe(void)
{
	if (*probe_function)
		unregister_kprobe(&probe);
	*probe_function = '\0';
}

static ssize_t at_write(struct file *file, const char __user *buffer, size_t count,
			loff_t *position)
{
	char name[sizeof(probe_function)];
	ssize_t error = get_string(name, sizeof(name), buffer, count);

	if (error)
		return error;
	guard(mutex)(&probe_mutex);
	remove_probe();
	strscpy(probe_function, name);
	strscpy(probe_comm, current->comm);
	probe = (struct kprobe) {
		.symbol_name	= probe_function,
		.pre_handler	= file_inode(file)->i_private,
	};
	error = register_kprobe(&probe);
	if (error)
		*probe_function = '\0';
	return error ?: count;
}

static const struct file_operations at_fops = {
	.owner	= THIS_MODULE,
	.write	= at_write,
};

static struct dentry *dir;

static int __init raiser_init(void)
{
	int error = register_nmi_handler(NMI_LOCAL, on_nmi, NMI_FLAG_FIRST, "traps_raiser");

	if (error)
		return error;
	register_die_notifier(&die_notifier);
	dir = debugfs_create_dir("traps_raiser", NULL);
	debugfs_create_file("raise", 0200, dir, NULL, &raise_fops);
	debugfs_create_file("nmi_at", 0200, dir, on_probe, &at_fops);
	debugfs_create_file("pf_in_nmi_at", 0200, dir, on_probe_to_read, &at_fops);
	debugfs_create_file("delay_at", 0200, dir, delay, &at_fops);
	return 0;
}

static void __exit raiser_exit(void)
{
	debugfs_remove(dir);
	remove_probe();
	unregister_die_notifier(&die_notifier);
	unregister_nmi_handler(NMI_LOCAL, "traps_raiser");
}

module_init(raiser_init);
module_exit(raiser_exit);
MODULE_DESCRIPTION("Raises exceptions for the traps selftests");
MODULE_LICENSE("GPL");
