/* SPDX-License-Identifier: GPL-2.0 */
/* SystemTap 5.6's runtime uses task_euid(), which Linux 7.3 does not have any more. */
#define task_euid(task)	task_cred_xxx(task, euid)
