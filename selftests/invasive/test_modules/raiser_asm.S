/* SPDX-License-Identifier: GPL-2.0 */
/*
 * NAME_ip is the instruction pointer that the exception reports. Where the
 * kernel could not go on, the exception table has an entry for it. Returns whether
 * the exception was raised, as far as that can be told.
 */
#include <linux/cfi_types.h>
#include <linux/export.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/msr-index.h>
#include <asm/nospec-branch.h>
#include <asm/page_types.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>

#ifdef CONFIG_X86_64
#define ARGUMENT	%rdi
#else
#define ARGUMENT	%eax
#endif

/* The address of a function is never that of its instruction. */
.macro BEGIN name
SYM_TYPED_FUNC_START(\name)
	nop
.endm

.macro IP name
SYM_INNER_LABEL(\name\()_ip, SYM_L_GLOBAL)
.endm

.macro RESUME name, raised_nothing=0
	mov	$\raised_nothing, %eax
	jmp	3f
SYM_INNER_LABEL(\name\()_resume, SYM_L_GLOBAL)
	mov	$1, %eax
3:	_ASM_EXTABLE(\name\()_ip, \name\()_resume)
.endm

	.text

BEGIN raise_de
	xor	%edx, %edx
	mov	$1, %eax
	xor	%ecx, %ecx
	IP raise_de
	div	%ecx
	RESUME raise_de
	RET
SYM_FUNC_END(raise_de)

/* There is a watchpoint on the address. */
BEGIN raise_db
	movl	$1, (ARGUMENT)
	IP raise_db
	mov	$1, %eax
	RET
SYM_FUNC_END(raise_db)

/*
 * INT n does not push an error code and reports the next instruction. The
 * handlers of some vectors just return to it.
 */
.macro RAISE_INT name, vector, returns=0
BEGIN \name
	int	$\vector
	IP \name
	RESUME \name, \returns
	RET
SYM_FUNC_END(\name)
.endm

RAISE_INT raise_of, 4
RAISE_INT raise_old_mf, 9
RAISE_INT raise_spurious, 15, 1
RAISE_INT raise_mf_int, 16
RAISE_INT raise_mc, 18, 1
RAISE_INT raise_xf_int, 19

/* Not one of the instructions that WARN() and BUG() use. */
BEGIN raise_ud
	IP raise_ud
	.byte	0x8e, 0xc8	/* mov %eax, %cs */
	RESUME raise_ud
	RET
SYM_FUNC_END(raise_ud)

/* With CR0.TS set. The handler clears it, and the instruction is repeated. */
BEGIN raise_nm
	IP raise_nm
	fnop
SYM_INNER_LABEL(raise_nm_resume, SYM_L_GLOBAL)
	mov	$1, %eax
	RET
SYM_FUNC_END(raise_nm)

#ifdef CONFIG_X86_32
BEGIN raise_ts
	pushf
	orl	$0x4000, (%esp)
	popf
	IP raise_ts
	iret
	RESUME raise_ts
	pushf
	andl	$~0x4000, (%esp)
	popf
	RET
SYM_FUNC_END(raise_ts)
#endif

BEGIN raise_np
	IP raise_np
	mov	ARGUMENT, %es
	RESUME raise_np
	RET
SYM_FUNC_END(raise_np)

BEGIN raise_ss
	IP raise_ss
	mov	ARGUMENT, %ss
	RESUME raise_ss
	RET
SYM_FUNC_END(raise_ss)

/* A selector beyond the end of the GDT. */
BEGIN raise_gp_selector
	mov	$0xfff8, %ecx
	IP raise_gp_selector
	mov	%ecx, %es
	RESUME raise_gp_selector
	RET
SYM_FUNC_END(raise_gp_selector)

#ifdef CONFIG_X86_64
/* An address that is not canonical */
BEGIN raise_gp
	movabs	$0x4000000000000000, %rcx
	IP raise_gp
	mov	(%rcx), %al
	RESUME raise_gp
	RET
SYM_FUNC_END(raise_gp)
#endif

/* All exceptions are masked but division by zero. */
BEGIN raise_mf
	fninit
	push	$0x37b
	fldcw	(%_ASM_SP)
	pop	%_ASM_AX
	fld1
	fldz
	fdivrp
	IP raise_mf
	fwait
	RESUME raise_mf
	fninit
	RET
SYM_FUNC_END(raise_mf)

BEGIN raise_xf
	push	$0x1d80
	ldmxcsr	(%_ASM_SP)
	mov	$1, %eax
	cvtsi2ss %eax, %xmm0
	xorps	%xmm1, %xmm1
	IP raise_xf
	divss	%xmm1, %xmm0
	RESUME raise_xf
	movl	$0x1f80, (%_ASM_SP)
	ldmxcsr	(%_ASM_SP)
	pop	%_ASM_CX
	RET
SYM_FUNC_END(raise_xf)

#ifdef CONFIG_X86_KERNEL_IBT
/* An indirect jump to where no ENDBR is. */
BEGIN raise_cp
	lea	raise_cp_ip(%rip), %rax
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rax
SYM_FUNC_END(raise_cp)

SYM_CODE_START(raise_cp_ip)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	mov	$1, %eax
	RET
SYM_CODE_END(raise_cp_ip)
#endif

/* Calls the handler of page faults as the CPU does; ARGUMENT: struct raised_fault * */
BEGIN raise_pf
#ifdef CONFIG_X86_64
	mov	%rsp, %rax
	and	$-16, %rsp
	push	$__KERNEL_DS
	push	%rax
#endif
	pushf
	cli
	mov	(ARGUMENT), %_ASM_CX
	mov	%_ASM_CX, %cr2
	push	$__KERNEL_CS
	push	$raise_pf_ip
	push	__ASM_SEL(4, 8)(ARGUMENT)
	ANNOTATE_RETPOLINE_SAFE
	jmp	*__ASM_SEL(8, 16)(ARGUMENT)
	IP raise_pf
	ANNOTATE_NOENDBR
	mov	$1, %eax
	RET
SYM_FUNC_END(raise_pf)
STACK_FRAME_NON_STANDARD raise_pf

#ifdef CONFIG_X86_64
/*
 * Enters the kernel as FRED does; ARGUMENT: struct raised_event *. A jump would need an
 * ENDBR at the entry.
 */
BEGIN raise_event
	mov	$MSR_IA32_FRED_CONFIG, %ecx
	rdmsr
	shl	$32, %rdx
	or	%rdx, %rax
	and	$PAGE_MASK, %rax
	add	$256, %rax
	mov	%rsp, %rdx
	and	$-64, %rsp
	push	$0
	push	16(ARGUMENT)
	push	8(ARGUMENT)
	push	%rdx
	pushf
	cli
	push	$__KERNEL_CS
	push	$raise_event_ip
	push	(ARGUMENT)
	push	%rax
	ANNOTATE_UNRET_SAFE
	ret
	int3
	IP raise_event
	ANNOTATE_NOENDBR
	mov	$1, %eax
	RET
SYM_FUNC_END(raise_event)
STACK_FRAME_NON_STANDARD raise_event

/* Jumps to the lower half of an address. */
BEGIN raise_pf_erratum
	lea	raise_pf_erratum_resume(%rip), %rax
	mov	%eax, %eax
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rax
SYM_FUNC_END(raise_pf_erratum)

SYM_CODE_START(raise_pf_erratum_resume)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	mov	$1, %eax
	RET
SYM_CODE_END(raise_pf_erratum_resume)
#endif
