/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instructions that raise exceptions, in functions to be called from C.
 *
 * NAME_ip is the instruction pointer that the exception reports, NAME_resume
 * is where the signal handler lets the function go on if that is elsewhere.
 */
#include <asm/prctl.h>
#include <sys/syscall.h>

#ifndef ARCH_SHSTK_ENABLE
#define ARCH_SHSTK_ENABLE	0x5001
#define ARCH_SHSTK_DISABLE	0x5002
#define ARCH_SHSTK_SHSTK	1
#endif

#ifdef __x86_64__
#define ARGUMENT1	%rdi
#define ARGUMENT2	%rsi
#define GET_ARGUMENT1
#define GET_ARGUMENT2
#define AX		%rax
#define FRAME		%rbp
#define STACK		%rsp
#else
#define ARGUMENT1	%ecx
#define ARGUMENT2	%edx
#define GET_ARGUMENT1	mov 4(%esp), %ecx
#define GET_ARGUMENT2	mov 8(%esp), %edx
#define AX		%eax
#define FRAME		%ebp
#define STACK		%esp
#endif

#define FUNCTION(name)	.globl name; .type name, @function; name
#define LABEL(name)	.globl name; name

	.text

FUNCTION(raise_de):
	xor	%edx, %edx
	mov	$1, %eax
	xor	%ecx, %ecx
LABEL(raise_de_ip):
	div	%ecx
LABEL(raise_de_resume):
	ret

/* The handler clears TF in the third step. */
FUNCTION(raise_db):
	pushf
	orl	$0x100, (STACK)
	popf
	nop
LABEL(raise_db_ip1):
	nop
LABEL(raise_db_ip2):
	nop
LABEL(raise_db_ip3):
	ret

FUNCTION(raise_bp):
	int3
LABEL(raise_bp_ip):
	ret

FUNCTION(raise_of):
	int	$4
LABEL(raise_of_ip):
	ret

#ifndef __x86_64__
FUNCTION(raise_into):
	mov	$0x7fffffff, %eax
	inc	%eax
	into
LABEL(raise_into_ip):
	ret

	.section .rodata
bounds:	.long	0, 1
	.text

FUNCTION(raise_br):
	mov	$2, %eax
LABEL(raise_br_ip):
	bound	%eax, bounds
LABEL(raise_br_resume):
	ret
#endif

/* Like a breakpoint of a debugger in hardware. */
FUNCTION(raise_int1):
	.byte	0xf1
LABEL(raise_int1_ip):
	ret

/* void raise_watched(int *watched): on which there is a watchpoint */
FUNCTION(raise_watched):
	GET_ARGUMENT1
	movl	$1, (ARGUMENT1)
LABEL(raise_watched_ip):
	ret

/* On its instruction there is a breakpoint in hardware. */
FUNCTION(raise_executed):
LABEL(raise_executed_ip):
	ret

/* void raise_es(unsigned int selector) */
FUNCTION(raise_es):
	GET_ARGUMENT1
	mov	ARGUMENT1, AX
LABEL(raise_es_ip):
	mov	%eax, %es
LABEL(raise_es_resume):
	ret

/* void raise_ss(unsigned int selector) */
FUNCTION(raise_ss):
	GET_ARGUMENT1
	mov	ARGUMENT1, AX
LABEL(raise_ss_ip):
	mov	%eax, %ss
LABEL(raise_ss_resume):
	ret

#ifdef __x86_64__
/* An address that is not canonical, by the register that means the stack. */
FUNCTION(raise_ss_canonical):
	push	%rbp
	movabs	$0x4000000000000000, %rbp
LABEL(raise_ss_canonical_ip):
	mov	(%rbp), %al
LABEL(raise_ss_canonical_resume):
	pop	%rbp
	ret
#endif

/* IRET with NT set is a return from a nested task, of which there is none. */
FUNCTION(raise_iret):
	pushf
	orl	$0x4000, (STACK)
	popf
LABEL(raise_iret_ip):
	iretl
LABEL(raise_iret_resume):
	pushf
	andl	$~0x4000, (STACK)
	popf
	ret

/* The exception is raised by the next x87 instruction that waits for it. */
FUNCTION(raise_mf):
	fninit
	push	$0x37b		/* all masked but division by zero */
	fldcw	(STACK)
	fld1
	fldz
	fdivrp
LABEL(raise_mf_ip):
	fwait
LABEL(raise_mf_resume):
	fninit
	pop	AX
	ret

FUNCTION(raise_ac):
	pushf
	orl	$0x40000, (STACK)
	popf
LABEL(raise_ac_ip):
	mov	1(STACK), %eax
LABEL(raise_ac_resume):
	pushf
	andl	$~0x40000, (STACK)
	popf
	ret

FUNCTION(raise_xf):
	push	$0x1d80		/* all masked but division by zero */
	ldmxcsr	(STACK)
	mov	$1, %eax
	cvtsi2ss %eax, %xmm0
	xorps	%xmm1, %xmm1
LABEL(raise_xf_ip):
	divss	%xmm1, %xmm0
LABEL(raise_xf_resume):
	movl	$0x1f80, (STACK)
	ldmxcsr	(STACK)
	pop	AX
	ret

#ifdef __x86_64__
/* A return address that is not the one on the shadow stack. */
FUNCTION(raise_cp):
	mov	$SYS_arch_prctl, %eax
	mov	$ARCH_SHSTK_ENABLE, %edi
	mov	$ARCH_SHSTK_SHSTK, %esi
	syscall
	test	%rax, %rax
	jnz	2f
	call	1f
	nop			/* a call of what follows it has no shadow */
1:	lea	raise_cp_resume(%rip), %rax
	mov	%rax, (%rsp)
LABEL(raise_cp_ip):
	ret
	/* The handler resumes here, with the address still on the stack. */
LABEL(raise_cp_resume):
	add	$8, %rsp
	mov	$SYS_arch_prctl, %eax
	mov	$ARCH_SHSTK_DISABLE, %edi
	mov	$ARCH_SHSTK_SHSTK, %esi
	syscall
2:	ret

/* SGDT is emulated by the handler of #GP, which writes to memory. */
FUNCTION(raise_sgdt):
LABEL(raise_sgdt_ip):
	sgdt	(%rdi)
	ret
#endif

FUNCTION(raise_ud):
LABEL(raise_ud_ip):
	ud2
LABEL(raise_ud_resume):
	ret

FUNCTION(raise_gp):
LABEL(raise_gp_ip):
	hlt
LABEL(raise_gp_resume):
	ret

/* void raise_read(void *address) */
FUNCTION(raise_read):
	GET_ARGUMENT1
LABEL(raise_read_ip):
	mov	(ARGUMENT1), %al
LABEL(raise_read_resume):
	ret

/* void raise_write(void *address) */
FUNCTION(raise_write):
	GET_ARGUMENT1
LABEL(raise_write_ip):
	movb	$1, (ARGUMENT1)
LABEL(raise_write_resume):
	ret

/* void raise_fetch(void *address) */
FUNCTION(raise_fetch):
	GET_ARGUMENT1
	jmp	*ARGUMENT1
LABEL(raise_fetch_resume):
	ret

/* void raise_read_framed(void *address, void *frame): frame is walked */
FUNCTION(raise_read_framed):
	GET_ARGUMENT1
	GET_ARGUMENT2
	push	FRAME
	mov	ARGUMENT2, FRAME
	mov	(ARGUMENT1), %al
	pop	FRAME
	ret

/* void raise_spin(struct spin *spin): waits in user mode */
FUNCTION(raise_spin):
	GET_ARGUMENT1
	movl	$1, 4(ARGUMENT1)
1:	pause
	cmpl	$0, (ARGUMENT1)
	je	1b
	ret

	.section .note.GNU-stack, "", @progbits
