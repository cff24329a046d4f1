/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module that raises exceptions in the kernel, test_modules/raiser.c.
 */
#ifndef _TRAPS_MODULE_H
#define _TRAPS_MODULE_H

int module_load(void);
int module_unload(void);
int module_write(const char *file, const char *text);
int module_send_nmi(int cpu);

#endif
