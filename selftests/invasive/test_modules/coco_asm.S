/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NAME_ip is the instruction that #VE or #VC is of. raise_NAME() returns whether the handler did
 * what it does, as far as that can be told.
 */
#include <linux/cfi_types.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/trapnr.h>
#include <asm/unwind_hints.h>
#include <uapi/asm/svm.h>

	.text

/* What the CPU would have pushed, the error code, and on to the kernel's entry */
.macro GATE name, code
SYM_CODE_START(\name)
	UNWIND_HINT_IRET_REGS
	ENDBR
	pushq	\code
	ANNOTATE_RETPOLINE_SAFE
	jmp	*coco_vc_handler(%rip)
SYM_CODE_END(\name)
.endm

GATE coco_vc, coco_vc_code(%rip)
GATE coco_vc_db, $(SVM_EXIT_EXCP_BASE+X86_TRAP_DB)

.macro IP name, vector
	int	$\vector
SYM_INNER_LABEL(\name\()_ip, SYM_L_GLOBAL)
.endm

.macro RESUME name
SYM_INNER_LABEL(\name\()_resume, SYM_L_GLOBAL)
	_ASM_EXTABLE(\name\()_ip, \name\()_resume)
.endm

/* The CPU's own CPUID has a number in EAX. */
.macro RAISE_CPUID name, vector
SYM_TYPED_FUNC_START(\name)
	push	%rbx
	xor	%eax, %eax
	xor	%ecx, %ecx
	IP \name, \vector
	cpuid
	RESUME \name
	test	%eax, %eax
	sete	%al
	pop	%rbx
	RET
SYM_FUNC_END(\name)
.endm

RAISE_CPUID raise_ve_cpuid, X86_TRAP_VE
RAISE_CPUID raise_vc_cpuid, X86_TRAP_VC

SYM_TYPED_FUNC_START(raise_vc_monitor)
	mov	%rsp, %rax
	xor	%ecx, %ecx
	xor	%edx, %edx
	IP raise_vc_monitor, X86_TRAP_VC
	monitor
	mov	$1, %eax
	RET
SYM_FUNC_END(raise_vc_monitor)

/* The upper half has to be 0. */
SYM_TYPED_FUNC_START(raise_vc_dr7)
	mov	$1, %eax
	mov	%rax, %rcx
	shl	$32, %rcx
	IP raise_vc_dr7, X86_TRAP_VC
	mov	%rcx, %dr7
	xor	%eax, %eax
	RESUME raise_vc_dr7
	RET
SYM_FUNC_END(raise_vc_dr7)

/* Two bytes */
SYM_TYPED_FUNC_START(raise_vc_movs)
	mov	%rdi, %rsi
	push	$0
	mov	%rsp, %rdi
	mov	$2, %ecx
	IP raise_vc_movs, X86_TRAP_VC
	rep movsb
	RESUME raise_vc_movs
	pop	%rax
	mov	$1, %eax
	RET
SYM_FUNC_END(raise_vc_movs)
