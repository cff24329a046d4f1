/* SPDX-License-Identifier: GPL-2.0 */
/* What SystemTap 5.6 needs to build its modules, and the traps events', on Linux 7.3. */

/* Its runtime uses task_euid(), which is gone. */
#define task_euid(task)	task_cred_xxx(task, euid)

/* It takes these events for some that DECLARE_TRACE() declares, with a suffix. */
#define check_trace_callback_type_trap_entry_tp		check_trace_callback_type_trap_entry
#define check_trace_callback_type_trap_exit_tp		check_trace_callback_type_trap_exit
#define check_trace_callback_type_page_fault_entry_tp	check_trace_callback_type_page_fault_entry
#define check_trace_callback_type_page_fault_exit_tp	check_trace_callback_type_page_fault_exit
