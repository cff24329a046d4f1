// SPDX-License-Identifier: GPL-2.0
/*
 * Kprobes by breakpoint wherever the kernel allows one: no check for notrace
 * stops a module.
 *
 * Written to <debugfs>/traps_kprobes, "p ADDRESS" adds a kprobe, which is off,
 * "e N" switches the one with that number on and "d N" off; all numbers are
 * hexadecimal. They are gone when the file is
 * closed. What is read from it is how often each was hit, also while another one
 * was handled; an unsigned long each.
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
	return stream_open(inode, file);
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

static int add_probe(struct probes *probes, unsigned long address)
{
	struct probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	int ret;

	if (!probe)
		return -ENOMEM;
	probe->kprobe.addr = (kprobe_opcode_t *)address;
	probe->kprobe.pre_handler = count_hit;
	probe->kprobe.post_handler = after_hit;
	probe->kprobe.flags = KPROBE_FLAG_DISABLED;
	ret = probes->count < MAX_PROBES ? register_kprobe(&probe->kprobe) : -ENOSPC;
	if (ret) {
		kfree(probe);
		return ret;
	}
	probes->kprobes[probes->count++] = &probe->kprobe;
	return 0;
}

static ssize_t probes_write(struct file *file, const char __user *user,
			    size_t size, loff_t *offset)
{
	struct probes *probes = file->private_data;
	unsigned long number;
	char text[32] = {}, command;
	int ret;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, user, size))
		return -EFAULT;
	if (sscanf(text, "%c %lx", &command, &number) != 2)
		return -EINVAL;

	guard(mutex)(&probes->lock);
	if (command == 'p')
		ret = add_probe(probes, number);
	else if (number >= probes->count)
		ret = -EINVAL;
	else if (command == 'e')
		ret = enable_kprobe(probes->kprobes[number]);
	else
		ret = disable_kprobe(probes->kprobes[number]);
	return ret ?: size;
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
