/* SPDX-License-Identifier: GPL-2.0 */
/* SystemTap 5.6 needs these definitions to build modules, also for traps events, on Linux 7.3. */

/* SystemTap's runtime uses task_euid(), which 7.3 no longer has. */
#define task_euid(task)	task_cred_xxx(task, euid)

/* SystemTap adds the suffix of DECLARE_TRACE() to the names of these events, too. */
#define check_trace_callback_type_trap_entry_tp		check_trace_callback_type_trap_entry
#define check_trace_callback_type_trap_exit_tp		check_trace_callback_type_trap_exit
#define check_trace_callback_type_page_fault_entry_tp	check_trace_callback_type_page_fault_entry
#define check_trace_callback_type_page_fault_exit_tp	check_trace_callback_type_page_fault_exit
#define check_trace_callback_type_mm_fault_tp		check_trace_callback_type_mm_fault
