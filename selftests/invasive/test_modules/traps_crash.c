// SPDX-License-Identifier: GPL-2.0
/*
 * Dies as a kernel does that has a crash kernel: the other CPUs are stopped by NMIs, of which
 * this CPU gets one, too. With how=recording it dies of a double fault, because the recording
 * of the next exception uses up the stack; it says so if anything is recorded after that.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/panic.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <asm/reboot.h>

static char *how = "crash";
module_param(how, charp, 0);

static noinline void use_up_stack(const char *outer)
{
	char buffer[512];

	memset(buffer, *outer, sizeof(buffer));
	if (*buffer)
		use_up_stack(buffer);
	barrier_data(buffer);
}

static void callback(void *unused)
{
	static atomic_t dying = ATOMIC_INIT(-1);
	int cpu = raw_smp_processor_id(), before = atomic_cmpxchg(&dying, -1, cpu);

	if (before == -1)
		use_up_stack("x");
	if (before == cpu)
		pr_emerg("traps_crash: recorded again\n");
}

static void register_callback(struct tracepoint *tracepoint, void *ret)
{
	if (!strcmp(tracepoint->name, "page_fault_entry") ||
	    !strcmp(tracepoint->name, "trap_entry"))
		*(int *)ret = tracepoint_probe_register(tracepoint, callback, NULL);
}

static int __init traps_crash_init(void)
{
	/* Not exported; a kprobe tells where it is. */
	struct kprobe probe = { .symbol_name = "nmi_shootdown_cpus" };
	void (*shootdown)(nmi_shootdown_cb callback);
	int ret = -ENOENT;

	if (!strcmp(how, "recording")) {
		for_each_kernel_tracepoint(register_callback, &ret);
		return ret;
	}
	ret = register_kprobe(&probe);
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
