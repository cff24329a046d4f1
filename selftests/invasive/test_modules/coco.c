// SPDX-License-Identifier: GPL-2.0
/*
 * Stands in for the CPU, the TDX module and the hypervisor of a confidential guest, for coco_test
 * of the traps selftests. The kernel's entry code and handlers of #VE and #VC are its own.
 *
 * While the module is there, INT 20 is a #VE and INT 29 a #VC of the instruction behind it, also
 * in user mode. #DB is a #VC that says so, as in an SEV-ES guest. The parameters:
 *
 *  ve_reason	exit reason of #VE, of an instruction of two bytes
 *  vc_code	error code of #VC
 *  inner	raise another #VC, 1: in the handler of one that asks the hypervisor,
 *		2: while the entry of one is recorded
 *  inners	how often that was done
 *  raise	takes the NAME of what to raise in the kernel; ENODEV if the handler did not do what
 *		the instruction does
 */
#include <linux/cc_platform.h>
#include <linux/cpumask.h>
#include <linux/ftrace.h>
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <asm/desc.h>
#include <asm/page_types.h>
#include <asm/processor.h>
#include <asm/sev.h>
#include <asm/svm.h>
#include <asm/tdx.h>
#include <asm/trapnr.h>

#include "coco.h"

static unsigned long ve_reason;
module_param(ve_reason, ulong, 0600);

unsigned long coco_vc_code;
module_param_named(vc_code, coco_vc_code, ulong, 0600);

enum { INNER_NONE, INNER_IN_HANDLER, INNER_IN_RECORDING };
static int inner;

static unsigned int inners;
module_param(inners, uint, 0600);

static void raise_inner(int where)
{
	unsigned long code = coco_vc_code;

	if (inner != where)
		return;
	inner = INNER_NONE;
	coco_vc_code = SVM_EXIT_MONITOR;
	inners += raise_vc_monitor(0);
	coco_vc_code = code;
	inner = where;
}

static struct tracepoint *trap_entry;

static void on_trap_entry(void *unused, struct pt_regs *regs, unsigned long ip, unsigned int vector)
{
	if (vector == X86_TRAP_VC)
		raise_inner(INNER_IN_RECORDING);
}

/* The callback switches the events on. */
static int inner_set(const char *text, const struct kernel_param *param)
{
	int before = inner, error = param_set_int(text, param);

	if (!error && before == INNER_IN_RECORDING)
		error = tracepoint_probe_unregister(trap_entry, on_trap_entry, NULL);
	if (!error && inner == INNER_IN_RECORDING)
		error = tracepoint_probe_register(trap_entry, on_trap_entry, NULL);
	return error;
}

static const struct kernel_param_ops inner_ops = { .set = inner_set, .get = param_get_int };
module_param_cb(inner, &inner_ops, &inner, 0600);

/* --- The TDX module and the hypervisor: what the kernel calls instead of TDCALL, VMGEXIT */

static void get_ve_info(struct ve_info *ve)
{
	*ve = (struct ve_info) { .exit_reason = ve_reason, .instr_len = 2 };
}

/* All registers are 0. */
static enum es_result call_hypervisor(struct ghcb *ghcb, struct es_em_ctxt *ctxt, u64 exit_code,
				      u64 exit_info_1, u64 exit_info_2)
{
	raise_inner(INNER_IN_HANDLER);
	ghcb_set_rax(ghcb, 0);
	ghcb_set_rbx(ghcb, 0);
	ghcb_set_rcx(ghcb, 0);
	ghcb_set_rdx(ghcb, 0);
	return ES_OK;
}

static void notrace replace(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *regs)
{
	ftrace_regs_set_instruction_pointer(regs, (unsigned long)ops->private);
}

static struct replacement {
	unsigned char function[32];
	struct ftrace_ops ops;
} replacements[] = {
	{ "tdx_get_ve_info", {
		.func = replace, .flags = FTRACE_OPS_FL_IPMODIFY, .private = get_ve_info } },
	{ "sev_es_ghcb_hv_call", {
		.func = replace, .flags = FTRACE_OPS_FL_IPMODIFY, .private = call_hypervisor } },
};

static void restore_functions(int count)
{
	while (count--)
		unregister_ftrace_function(&replacements[count].ops);
}

static int replace_functions(void)
{
	for (int i = 0; i < ARRAY_SIZE(replacements); i++) {
		struct replacement *r = &replacements[i];
		int error = ftrace_set_filter(&r->ops, r->function, strlen(r->function), 1) ?:
			    register_ftrace_function(&r->ops);

		if (error) {
			restore_functions(i);
			return error;
		}
	}
	return 0;
}

/* --- The CPU: gates, and what an SEV-ES guest has for each of its CPUs */

static gate_desc gates[IDT_ENTRIES] __aligned(PAGE_SIZE);
static const struct desc_ptr idt = { sizeof(gates) - 1, (unsigned long)gates };
static struct desc_ptr kernel_idt;

unsigned long coco_vc_handler;

static void make_gates(void)
{
	store_idt(&kernel_idt);
	memcpy(gates, (void *)kernel_idt.address, sizeof(gates));
	coco_vc_handler = gate_offset(&gates[X86_TRAP_VC]);
	gates[X86_TRAP_VE].bits.dpl = 3;
	pack_gate(&gates[X86_TRAP_VC], GATE_INTERRUPT, (unsigned long)coco_vc, 3,
		  IST_INDEX_VC + 1, __KERNEL_CS);
	pack_gate(&gates[X86_TRAP_DB], GATE_INTERRUPT, (unsigned long)coco_vc_db, 3,
		  IST_INDEX_VC + 1, __KERNEL_CS);
}

/* Four pages: struct sev_es_runtime_data, which the kernel keeps to itself, and a stack */
#define ORDER	2

static void *parts[NR_CPUS];

static void free_parts(void)
{
	for (int cpu = 0; cpu < nr_cpu_ids; cpu++)
		free_pages((unsigned long)parts[cpu], ORDER);
}

static int make_parts(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		parts[cpu] = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, ORDER);
		if (!parts[cpu]) {
			free_parts();
			return -ENOMEM;
		}
	}
	return 0;
}

static void * __percpu *runtime_data;
static unsigned long kernel_stack[NR_CPUS];

static void take_over(void *unused)
{
	int cpu = smp_processor_id();
	u64 *stack = &this_cpu_ptr(&cpu_tss_rw)->x86_tss.ist[IST_INDEX_VC];

	kernel_stack[cpu] = *stack;
	*stack = (unsigned long)parts[cpu] + (PAGE_SIZE << ORDER);
	*this_cpu_ptr(runtime_data) = parts[cpu];
	load_idt(&idt);
}

static void give_back(void *unused)
{
	load_idt(&kernel_idt);
	this_cpu_ptr(&cpu_tss_rw)->x86_tss.ist[IST_INDEX_VC] = kernel_stack[smp_processor_id()];
	*this_cpu_ptr(runtime_data) = NULL;
}

/* --- What raises in the kernel */

static const struct raiser {
	const char *name;
	bool (*raise)(unsigned long argument);
	unsigned long argument;
} raisers[] = {
	{ "ve_cpuid", raise_ve_cpuid },
	{ "vc_cpuid", raise_vc_cpuid },
	{ "vc_monitor", raise_vc_monitor },
	{ "vc_dr7", raise_vc_dr7 },
	{ "vc_movs", raise_vc_movs, (unsigned long)gates },
	/* Where nothing is mapped */
	{ "vc_movs_absent", raise_vc_movs, -PAGE_SIZE },
};

static int raise_set(const char *name, const struct kernel_param *param)
{
	for (int i = 0; i < ARRAY_SIZE(raisers); i++) {
		if (!sysfs_streq(name, raisers[i].name))
			continue;
		guard(irqsave)();
		return raisers[i].raise(raisers[i].argument) ? 0 : -ENODEV;
	}
	return -EINVAL;
}

static const struct kernel_param_ops raise_ops = { .set = raise_set };
module_param_cb(raise, &raise_ops, NULL, 0200);

/* --- The module */

static void find_trap_entry(struct tracepoint *tracepoint, void *unused)
{
	if (!strcmp(tracepoint->name, "trap_entry"))
		trap_entry = tracepoint;
}

static struct sev_config *config;

static int __init coco_init(void)
{
	/* Not exported; a kprobe tells where it is. */
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*lookup)(const char *name);
	int error = register_kprobe(&probe);

	if (error)
		return error;
	lookup = (void *)probe.addr;
	unregister_kprobe(&probe);
	config = (void *)lookup("sev_cfg");
	runtime_data = (void * __percpu *)lookup("runtime_data");
	for_each_kernel_tracepoint(find_trap_entry, NULL);
	if (!config || !runtime_data || !trap_entry)
		return -ENOENT;
	/* In a confidential guest these are not to be replaced. */
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT) || cpu_feature_enabled(X86_FEATURE_FRED))
		return -ENODEV;

	error = make_parts();
	if (error)
		return error;
	error = replace_functions();
	if (error) {
		free_parts();
		return error;
	}
	make_gates();
	on_each_cpu(take_over, NULL, 1);
	config->ghcbs_initialized = true;
	return 0;
}
module_init(coco_init);

static void __exit coco_exit(void)
{
	config->ghcbs_initialized = false;
	on_each_cpu(give_back, NULL, 1);
	if (inner == INNER_IN_RECORDING)
		tracepoint_probe_unregister(trap_entry, on_trap_entry, NULL);
	tracepoint_synchronize_unregister();
	restore_functions(ARRAY_SIZE(replacements));
	free_parts();
}
module_exit(coco_exit);

MODULE_DESCRIPTION("Stands in for a confidential guest's CPU, for the traps selftests");
MODULE_LICENSE("GPL");
