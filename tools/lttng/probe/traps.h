/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM traps

#if !defined(LTTNG_TRACE_TRAPS_H) || defined(TRACE_HEADER_MULTI_READ)
#define LTTNG_TRACE_TRAPS_H

#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/trap_events.h>
#include <lttng/tracepoint-event.h>

#include <asm/trap_pf.h>
#include <asm/trapnr.h>

LTTNG_TRACEPOINT_ENUM(traps_vector,
	TP_ENUM_VALUES(
		ctf_enum_value("#DE",		X86_TRAP_DE)
		ctf_enum_value("#DB",		X86_TRAP_DB)
		ctf_enum_value("NMI",		X86_TRAP_NMI)
		ctf_enum_value("#BP",		X86_TRAP_BP)
		ctf_enum_value("#OF",		X86_TRAP_OF)
		ctf_enum_value("#BR",		X86_TRAP_BR)
		ctf_enum_value("#UD",		X86_TRAP_UD)
		ctf_enum_value("#NM",		X86_TRAP_NM)
		ctf_enum_value("#DF",		X86_TRAP_DF)
		ctf_enum_value("OLD_MF",	X86_TRAP_OLD_MF)
		ctf_enum_value("#TS",		X86_TRAP_TS)
		ctf_enum_value("#NP",		X86_TRAP_NP)
		ctf_enum_value("#SS",		X86_TRAP_SS)
		ctf_enum_value("#GP",		X86_TRAP_GP)
		ctf_enum_value("SPURIOUS",	X86_TRAP_SPURIOUS)
		ctf_enum_value("#MF",		X86_TRAP_MF)
		ctf_enum_value("#AC",		X86_TRAP_AC)
		ctf_enum_value("#XF",		X86_TRAP_XF)
		ctf_enum_value("#VE",		X86_TRAP_VE)
		ctf_enum_value("#CP",		X86_TRAP_CP)
		ctf_enum_value("#VC",		X86_TRAP_VC)
		ctf_enum_value("IRET",		X86_TRAP_IRET)
	)
)

/* The kernel's own list, of <trace/misc/traps.h>. */
#undef EM
#undef EMe
#define EM(number, name)	ctf_enum_value(name, number)
#define EMe(number, name)	ctf_enum_value(name, number)

LTTNG_TRACEPOINT_ENUM(traps_result,
	TP_ENUM_VALUES(
		TRAP_RESULTS
	)
)

#ifdef CONFIG_LTTNG_EXPERIMENTAL_BITWISE_ENUM
LTTNG_TRACEPOINT_ENUM(traps_page_fault_error_code,
	TP_ENUM_VALUES(
		ctf_enum_value("PROT",		X86_PF_PROT)
		ctf_enum_value("WRITE",		X86_PF_WRITE)
		ctf_enum_value("USER",		X86_PF_USER)
		ctf_enum_value("RSVD",		X86_PF_RSVD)
		ctf_enum_value("INSTR",		X86_PF_INSTR)
		ctf_enum_value("PK",		X86_PF_PK)
		ctf_enum_value("SHSTK",		X86_PF_SHSTK)
		ctf_enum_value("SGX",		X86_PF_SGX)
		ctf_enum_value("RMP",		X86_PF_RMP)
	)
)
LTTNG_TRACEPOINT_ENUM(traps_flags,
	TP_ENUM_VALUES(
		ctf_enum_value("SLEPT",		TRAP_FLAG_SLEPT)
		ctf_enum_value("PREEMPTED",	TRAP_FLAG_PREEMPTED)
		ctf_enum_value("MIGRATED",	TRAP_FLAG_MIGRATED)
		ctf_enum_value("MMAP_LOCK",	TRAP_FLAG_MMAP_LOCK)
		ctf_enum_value("RETRIED",	TRAP_FLAG_RETRIED)
		ctf_enum_value("VMA_LOCK_FAILED", TRAP_FLAG_VMA_LOCK_FAILED)
	)
)
#define traps_ctf_page_fault_error_code	\
	ctf_enum(traps_page_fault_error_code, unsigned long, error_code, error_code)
#define traps_ctf_flags	ctf_enum(traps_flags, u16, flags, flags)
#else
#define traps_ctf_page_fault_error_code	\
	ctf_integer_hex(unsigned long, error_code, error_code)
#define traps_ctf_flags	ctf_integer(u16, flags, flags)
#endif /* CONFIG_LTTNG_EXPERIMENTAL_BITWISE_ENUM */

LTTNG_TRACEPOINT_EVENT_MAP(trap_entry,

	traps_trap_entry,

	TP_PROTO(struct pt_regs *regs, unsigned long ip, unsigned int vector,
		 unsigned long error_code, unsigned long event_data),

	TP_ARGS(regs, ip, vector, error_code, event_data),

	TP_FIELDS(
		ctf_enum(traps_vector, u16, vector, vector)
		ctf_integer(bool, user_mode, user_mode(regs))
		ctf_integer_hex(unsigned long, error_code, error_code)
		ctf_integer_hex(unsigned long, ip, ip)
		ctf_integer_hex(unsigned long, event_data, event_data)
	)
)

LTTNG_TRACEPOINT_EVENT_MAP(trap_exit,

	traps_trap_exit,

	TP_PROTO(struct pt_regs *regs, unsigned long ip, unsigned int vector,
		 unsigned long error_code, unsigned long event_data,
		 unsigned int result, unsigned int code, unsigned int flags,
		 u64 duration),

	TP_ARGS(regs, ip, vector, error_code, event_data, result, code, flags,
		duration),

	TP_FIELDS(
		ctf_enum(traps_vector, u16, vector, vector)
		ctf_integer(bool, user_mode, user_mode(regs))
		ctf_enum(traps_result, u8, result, result)
		traps_ctf_flags
		ctf_integer(u8, code, code)
		ctf_integer_hex(unsigned long, error_code, error_code)
		ctf_integer_hex(unsigned long, ip, ip)
		ctf_integer_hex(unsigned long, event_data, event_data)
		ctf_integer(u64, duration, duration)
	)
)

LTTNG_TRACEPOINT_EVENT_MAP(page_fault_entry,

	traps_page_fault_entry,

	TP_PROTO(struct pt_regs *regs, unsigned long ip, unsigned long address,
		 unsigned long error_code),

	TP_ARGS(regs, ip, address, error_code),

	TP_FIELDS(
		ctf_integer_hex(unsigned long, address, address)
		traps_ctf_page_fault_error_code
		ctf_integer_hex(unsigned long, ip, ip)
		ctf_integer(bool, user_mode, user_mode(regs))
	)
)

LTTNG_TRACEPOINT_EVENT_MAP(page_fault_exit,

	traps_page_fault_exit,

	TP_PROTO(struct pt_regs *regs, unsigned long ip, unsigned long address,
		 unsigned long error_code, unsigned int result,
		 unsigned int code, unsigned int flags, u64 duration),

	TP_ARGS(regs, ip, address, error_code, result, code, flags, duration),

	TP_FIELDS(
		ctf_integer_hex(unsigned long, address, address)
		traps_ctf_page_fault_error_code
		ctf_integer_hex(unsigned long, ip, ip)
		ctf_integer(bool, user_mode, user_mode(regs))
		ctf_enum(traps_result, u8, result, result)
		traps_ctf_flags
		ctf_integer(u8, code, code)
		ctf_integer(u64, duration, duration)
	)
)

/* Without mm_id, which modules cannot compute. */
LTTNG_TRACEPOINT_EVENT_MAP(mm_fault,

	traps_mm_fault,

	TP_PROTO(struct mm_struct *mm, unsigned long address,
		 unsigned int fault_flags, unsigned int result,
		 unsigned int flags, u64 duration),

	TP_ARGS(mm, address, fault_flags, result, flags, duration),

	TP_FIELDS(
		ctf_integer_hex(unsigned long, address, address)
		ctf_integer(unsigned int, fault_flags, fault_flags)
		ctf_integer(bool, curr, current->mm == mm && !(current->flags & PF_KTHREAD))
		ctf_enum(traps_result, u8, result, result)
		traps_ctf_flags
		ctf_integer(u64, duration, duration)
	)
)

#endif /* LTTNG_TRACE_TRAPS_H */

/* This part must be outside protection */
#include <lttng/define_trace.h>
