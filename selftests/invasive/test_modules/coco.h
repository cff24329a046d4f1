/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gates of coco.c, and the instructions of the kernel that raise #VE and #VC.
 */
#ifndef _TRAPS_COCO_H
#define _TRAPS_COCO_H

#include <linux/types.h>

void coco_vc(void);
void coco_vc_db(void);

bool raise_ve_cpuid(unsigned long argument);
bool raise_vc_cpuid(unsigned long argument);
bool raise_vc_monitor(unsigned long argument);
bool raise_vc_dr7(unsigned long argument);
bool raise_vc_movs(unsigned long source);

#endif
