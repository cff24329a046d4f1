/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of the recording path that a breakpoint can be put into.
 */
#ifndef _TRAPS_KPROBES_H
#define _TRAPS_KPROBES_H

#include <stdbool.h>

struct function {
	const char *name;
	unsigned long address;
	unsigned long call;	/* of ftrace, 0: it cannot be traced */
	bool blacklisted;
	bool candidate;		/* may be on the recording path */
	bool named;		/* is on it */
	int probe;		/* its number, -1: none */
};

struct functions {
	struct function *list;
	int count;
};

int functions_find(struct functions *functions);
int functions_add_called(struct functions *functions, int pid);
int function_probe(const struct functions *functions, struct function *function,
		   int (*add)(unsigned long address, int n), int n);
bool function_is_clock(const struct function *function);

#endif
