// SPDX-License-Identifier: GPL-2.0
/*
 * Kprobes by breakpoint wherever the kernel allows one: no check for notrace
 * stops a module.
 *
 * An address written to <debugfs>/traps_kprobes is probed as long as the file is
 * open. What is read from it is, in the order of the writes, how often each probe
 * was hit since it was registered, also while another one was handled; an unsigned
 * long each.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

struct probe {
	struct kprobe	kprobe;
	unsigned long	hits;
};

#define MAX_PROBES	16384

/* One for each open file. */
struct probes {
	struct mutex	lock;		/* protects the rest */
	unsigned int	count;
	struct kprobe	*kprobes[MAX_PROBES];
};

/* Approximate if several CPUs hit it at once. */
static int count_hit(struct kprobe *kprobe, struct pt_regs *regs)
{
	container_of(kprobe, struct probe, kprobe)->hits++;
	return 0;
}
NOKPROBE_SYMBOL(count_hit);

/* Keeps the breakpoint from being optimized away. */
static void after_hit(struct kprobe *kprobe, struct pt_regs *regs, unsigned long flags)
{
}
NOKPROBE_SYMBOL(after_hit);

static int probes_open(struct inode *inode, struct file *file)
{
	struct probes *probes = kvzalloc(sizeof(*probes), GFP_KERNEL);

	if (!probes)
		return -ENOMEM;
	mutex_init(&probes->lock);
	file->private_data = probes;
	return nonseekable_open(inode, file);
}

static int probes_release(struct inode *inode, struct file *file)
{
	struct probes *probes = file->private_data;

	unregister_kprobes(probes->kprobes, probes->count);
	for (unsigned int i = 0; i < probes->count; i++)
		kfree(container_of(probes->kprobes[i], struct probe, kprobe));
	kvfree(probes);
	return 0;
}

static ssize_t probes_write(struct file *file, const char __user *text,
			    size_t size, loff_t *offset)
{
	struct probes *probes = file->private_data;
	unsigned long address;
	struct probe *probe;
	int ret;

	ret = kstrtoul_from_user(text, size, 16, &address);
	if (ret)
		return ret;

	guard(mutex)(&probes->lock);
	if (probes->count == MAX_PROBES)
		return -ENOSPC;
	probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	if (!probe)
		return -ENOMEM;
	probe->kprobe.addr = (kprobe_opcode_t *)address;
	probe->kprobe.pre_handler = count_hit;
	probe->kprobe.post_handler = after_hit;
	ret = register_kprobe(&probe->kprobe);
	if (ret) {
		kfree(probe);
		return ret;
	}
	probes->kprobes[probes->count++] = &probe->kprobe;
	return size;
}

static ssize_t probes_read(struct file *file, char __user *buffer, size_t size,
			   loff_t *offset)
{
	struct probes *probes = file->private_data;
	unsigned int i;

	guard(mutex)(&probes->lock);
	for (i = 0; i < probes->count && (i + 1) * sizeof(long) <= size; i++) {
		struct kprobe *kprobe = probes->kprobes[i];
		unsigned long hits = kprobe->nmissed +
			container_of(kprobe, struct probe, kprobe)->hits;

		if (put_user(hits, (unsigned long __user *)buffer + i))
			return -EFAULT;
	}
	return i * sizeof(long);
}

static const struct file_operations probes_fops = {
	.owner		= THIS_MODULE,
	.open		= probes_open,
	.release	= probes_release,
	.write		= probes_write,
	.read		= probes_read,
};

static struct dentry *probes_file;

static int __init traps_kprobes_init(void)
{
	probes_file = debugfs_create_file("traps_kprobes", 0600, NULL, NULL,
					  &probes_fops);
	return PTR_ERR_OR_ZERO(probes_file);
}
module_init(traps_kprobes_init);

static void __exit traps_kprobes_exit(void)
{
	debugfs_remove(probes_file);
}
module_exit(traps_kprobes_exit);

MODULE_DESCRIPTION("Kprobes for the selftests of the traps events");
MODULE_LICENSE("GPL");
