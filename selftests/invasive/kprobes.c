// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the functions that may run while a trap event is recorded. The kernel
 * has two kinds of functions that can be probed:
 *
 * - Those that the function tracer can trace: it tells which ones ran, and who
 *   called them. Those are taken that ran with interrupts off, as the recording
 *   does, and that another function on the path called.
 * - Those that it cannot, most of them of the tracer itself. Of them all are
 *   taken whose name says what the recording consists of, more than run. Left
 *   out are the functions of other events.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kprobes.h"
#include "invasive.h"

#define AVAILABLE	"/sys/kernel/tracing/available_filter_functions_addrs"
#define BLACKLIST	"/sys/kernel/debug/kprobes/blacklist"
#define CALL_SIZE	5	/* of ftrace's call at the beginning of a function */
#define ENDBR_SIZE	4	/* of what may be before it */

static const char * const ours[] = {
	"*_trap_entry", "*_trap_exit", "*_page_fault_entry", "*_page_fault_exit",
	/* and no other event's either */
	"perf_trace_buf_*", "perf_trace_run_*",
	NULL
};

static const char * const of_other_events[] = {
	"trace_event_raw_event_*", "trace_event_get_offsets_*", "perf_trace_[a-z]*_*",
	"trace_raw_output_*", "__bpf_trace_*", "__traceiter_*", "__probestub_*",
	NULL
};

/* What static calls patch is no function, and must not be probed. */
static const char * const trampolines[] = {
	"__SCT__*",
	NULL
};

static const char * const of_recording[] = {
	/* ftrace */
	"trace_*", "__trace_*", "tracing_*", "__ftrace_*", "ring_buffer_*", "rb_*", "__rb_*",
	"filter_*", "event_*", "hist_*", "*tracing_map*", "resolve_var_refs", "record_trap_*",
	"__traceiter_*", "*irq_work_*", "jhash",
	/* perf, BPF */
	"perf_*", "__perf_*", "*_callchain*", "__output_*", "bpf_trace_*",
	/* stacks, and the memory that they are in */
	"stack_trace_*", "arch_stack_*", "unwind_*", "core_kernel_text",
	"is_ftrace_trampoline", "ftrace_graph_ret_addr", "*memcpy*", "*memset*", "__get_user_*",
	"copy_from_user*", "copy_to_user*", "rep_*_alternative",
	/* clocks, see function_is_clock() */
	"sched_clock*", "native_sched_clock*", "local_clock*",
	NULL
};

/*
 * Those that any recording calls, whatever is counted. With lockdep, rcu_is_watching()
 * is called everywhere: its breakpoints would fill the buffer. See probes_test.
 */
static const char * const named[] = {
	"trace_event_buffer_reserve", "trace_event_buffer_commit",
	"trace_buffer_lock_reserve", "ring_buffer_lock_reserve", "ring_buffer_unlock_commit",
	"local_clock", "sched_clock", "native_sched_clock",
	NULL
};

static const char * const clocks[] = {
	"sched_clock*", "native_sched_clock*", "local_clock*", "trace_clock*",
	NULL
};

static bool matches(const char *name, const char * const *patterns)
{
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, name, 0))
			return true;
	return false;
}

static int by_address(const void *a, const void *b)
{
	unsigned long left = ((const struct function *)a)->address;
	unsigned long right = ((const struct function *)b)->address;

	return left < right ? -1 : left > right;
}

/* The function that begins at the address, or NULL. */
static struct function *begins(struct functions *functions, unsigned long address)
{
	struct function key = { .address = address };

	return bsearch(&key, functions->list, functions->count, sizeof(key), by_address);
}

/* All of the kernel proper that is not in a section of init code. */
static int read_symbols(struct functions *functions)
{
	unsigned long address, start = 0, end = 0;
	char *text = file_read("/proc/kallsyms"), *rest = text, *line;
	int room = 0, name, name_end, used = 0;
	char type;

	while (rest && (line = strsep(&rest, "\n"))) {
		if (sscanf(line, "%lx %c %n%*s%n", &address, &type, &name, &name_end) != 2 ||
		    !strchr("tT", type) || line[name_end])
			continue;
		line[name_end] = '\0';
		if (!strcmp(line + name, "_stext"))
			start = address;
		if (!strcmp(line + name, "_etext"))
			end = address;
		if (functions->count == room) {
			room = room ? 2 * room : 1 << 16;
			functions->list = reallocarray(functions->list, room,
						       sizeof(*functions->list));
			if (!functions->list)
				return -1;
		}
		functions->list[functions->count++] = (struct function) {
			.name		= line + name,
			.address	= address,
		};
	}
	if (!start || !end)
		return -1;
	qsort(functions->list, functions->count, sizeof(*functions->list), by_address);
	/* One name for each address is enough. */
	for (int i = 0; i < functions->count; i++) {
		address = functions->list[i].address;
		if (address >= start && address < end &&
		    (!used || address != functions->list[used - 1].address))
			functions->list[used++] = functions->list[i];
	}
	functions->count = used;
	return 0;
}

static void read_calls(struct functions *functions)
{
	char *text = file_read(AVAILABLE), *rest = text, *line;

	while (rest && (line = strsep(&rest, "\n"))) {
		unsigned long call = strtoul(line, NULL, 16);
		struct function *function = begins(functions, call);

		if (!function)
			function = begins(functions, call - ENDBR_SIZE);
		if (function)
			function->call = call;
	}
	free(text);
}

static int read_blacklist(struct functions *functions)
{
	char *text = file_read(BLACKLIST), *rest = text, *line;
	unsigned long start;

	while (rest && (line = strsep(&rest, "\n"))) {
		struct function *function = NULL;

		if (sscanf(line, "0x%lx-", &start) == 1)
			function = begins(functions, start);
		if (function)
			function->blacklisted = true;
	}
	free(text);
	return text ? 0 : -1;
}

/**
 * functions_find - find what has a name of the recording path
 * @functions: filled in with all functions, by address
 *
 * Return: 0, or -1 if the kernel does not tell what is needed.
 */
int functions_find(struct functions *functions)
{
	functions->list = NULL;
	functions->count = 0;
	if (read_symbols(functions) || read_blacklist(functions))
		return -1;
	read_calls(functions);
	for (int i = 0; i < functions->count; i++) {
		struct function *function = &functions->list[i];

		function->probe = -1;
		function->named = matches(function->name, named);
		function->candidate = !function->blacklisted &&
			(function->named ||
			 (!function->call && !matches(function->name, trampolines) &&
			  matches(function->name, of_recording) &&
			  (!matches(function->name, of_other_events) ||
			   matches(function->name, ours))));
	}
	return 0;
}

/* "comm-pid [cpu] flags time: function <-caller" with interrupts off? */
static bool parse_call(char *line, int pid, char **name, char **caller)
{
	char *flags, *text = strstr(line, ": ");

	if (!text || strlen(line) < 17 || atoi(line + 17) != pid)
		return false;
	flags = strstr(line, "] ");
	*name = text + 2;
	*caller = strstr(text, " <-");
	if (!flags || !strchr("dD", flags[2]) || !*caller)
		return false;
	**caller = '\0';
	*caller += strlen(" <-");
	return true;
}

static bool is_candidate(const struct functions *functions, const char *name)
{
	for (int i = 0; i < functions->count; i++)
		if (functions->list[i].candidate && !strcmp(functions->list[i].name, name))
			return true;
	return false;
}

/**
 * functions_add_called - add what the function tracer saw candidates call
 * @functions: what functions_find() found
 * @pid: the process to look at
 *
 * Return: how many functions were added.
 */
int functions_add_called(struct functions *functions, int pid)
{
	char *text = trace_read("trace"), *rest = text, *line;
	struct { char *name, *caller; } calls[2048];
	int count = 0, added = 0, before;

	while (rest && (line = strsep(&rest, "\n"))) {
		char *name, *caller;
		int i;

		if (!parse_call(line, pid, &name, &caller))
			continue;
		for (i = 0; i < count; i++)
			if (!strcmp(calls[i].name, name) && !strcmp(calls[i].caller, caller))
				break;
		if (i == (int)ARRAY_SIZE(calls))
			return -1;
		calls[i].name = name;
		calls[i].caller = caller;
		if (i == count)
			count++;
	}

	/* Until no caller is new. */
	do {
		before = added;
		for (int i = 0; i < count; i++) {
			if (!calls[i].name || !is_candidate(functions, calls[i].caller))
				continue;
			for (int j = 0; j < functions->count; j++) {
				struct function *function = &functions->list[j];

				if (strcmp(function->name, calls[i].name) ||
				    function->blacklisted || function->candidate)
					continue;
				function->candidate = true;
				added++;
			}
			calls[i].name = NULL;
		}
	} while (added > before);
	free(text);
	return added;
}

/**
 * function_probe - put a breakpoint into a function
 * @functions: what functions_find() found
 * @function: one of them
 * @add: does it at an address
 * @n: the number that the probe gets
 *
 * Not where ftrace's call is, which the kernel would use instead, but behind it;
 * where the kernel refuses that, one of the next instructions.
 *
 * Return: 0, or the error of the last attempt.
 */
int function_probe(const struct functions *functions, struct function *function,
		   int (*add)(unsigned long address, int n), int n)
{
	unsigned long address = function->call ? function->call + CALL_SIZE : function->address;
	const struct function *next = function + 1;
	int ret = -EINVAL;

	for (int i = 0; i < 32 && ret; i++, address++) {
		if (next < functions->list + functions->count && address >= next->address)
			break;
		ret = add(address, n);
	}
	if (!ret)
		function->probe = n;
	return ret;
}

/*
 * Where a clock is read to reserve an event in the ring buffer, a kprobe event is
 * another event to reserve: ring_buffer_lock_reserve() tries again, a thousand
 * times, and warns. No trap event is needed for that.
 */
bool function_is_clock(const struct function *function)
{
	return matches(function->name, clocks);
}
