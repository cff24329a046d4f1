// SPDX-License-Identifier: GPL-2.0
/*
 * Dies as a kernel does that has a crash kernel: the other CPUs are stopped by NMIs, of which
 * this CPU gets one, too.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/panic.h>

#include <asm/reboot.h>

static int __init traps_crash_init(void)
{
	/* Not exported; a kprobe tells where it is. */
	struct kprobe probe = { .symbol_name = "nmi_shootdown_cpus" };
	void (*shootdown)(nmi_shootdown_cb callback);
	int ret = register_kprobe(&probe);

	if (ret)
		return ret;
	shootdown = (void *)probe.addr;
	unregister_kprobe(&probe);
	shootdown(NULL);
	asm volatile("int $2");
	panic("traps_crash");
}
module_init(traps_crash_init);

MODULE_DESCRIPTION("A crash, for the checks of the traps events");
MODULE_LICENSE("GPL");
