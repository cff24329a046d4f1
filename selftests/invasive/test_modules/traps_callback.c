// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks of the traps events that fail, for the tests of what happens then.
 *
 * Once the name of an event is written to the parameter oops_at, the next task called
 * COMM that raises it dies in the callback.
 */
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#define COMM	"traps_victim"

static char oops_at[32];
module_param_string(oops_at, oops_at, sizeof(oops_at), 0600);

static void oops_once(void *name)
{
	if (strcmp(current->comm, COMM) || strcmp(oops_at, name))
		return;
	*oops_at = '\0';
	*(volatile int *)NULL = 0;
}

static char *events[] = { "trap_entry", "trap_exit", "page_fault_entry", "page_fault_exit" };

static void register_callback(struct tracepoint *tracepoint, void *count)
{
	for (int i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(tracepoint->name, events[i]) &&
		    !tracepoint_probe_register(tracepoint, oops_once, events[i]))
			++*(int *)count;
}

static int __init callback_init(void)
{
	int count = 0;

	for_each_kernel_tracepoint(register_callback, &count);
	return count == ARRAY_SIZE(events) ? 0 : -ENOENT;
}
module_init(callback_init);

static void unregister_callback(struct tracepoint *tracepoint, void *unused)
{
	for (int i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(tracepoint->name, events[i]))
			tracepoint_probe_unregister(tracepoint, oops_once, events[i]);
}

static void __exit callback_exit(void)
{
	for_each_kernel_tracepoint(unregister_callback, NULL);
	tracepoint_synchronize_unregister();
}
module_exit(callback_exit);

MODULE_DESCRIPTION("Callbacks that fail, for the selftests of the traps events");
MODULE_LICENSE("GPL");
