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

#define RAISE(name)	.globl raise_##name; .type raise_##name, @function; raise_##name:
#define IP(name)	.globl raise_##name##_ip; raise_##name##_ip:
#define RESUME(name)	.globl raise_##name##_resume; raise_##name##_resume:

	.text

RAISE(de)
	xor	%edx, %edx
	mov	$1, %eax
	xor	%ecx, %ecx
IP(de)	div	%ecx
RESUME(de)	ret

/* The handler clears TF in the third step. */
RAISE(db)
	pushf
	orl	$0x100, (STACK)
	popf
	nop
IP(db1)	nop
IP(db2)	nop
IP(db3)	ret

RAISE(bp)
	int3
IP(bp)
RESUME(bp)	ret

RAISE(of)
	int	$4
IP(of)	ret

#ifndef __x86_64__
RAISE(br)
	push	$1
	push	$0
	mov	$2, %eax
IP(br)	bound	%eax, (%esp)
RESUME(br)	add	$8, %esp
	ret
#endif

/* void raise_watched(int *watched): on which there is a watchpoint */
RAISE(watched)
	GET_ARGUMENT1
	movl	$1, (ARGUMENT1)
IP(watched)	ret

/* On its first instruction there is a uprobe. */
RAISE(probed)
	nop
IP(probed)	ret

/* Emulated for who has called iopl(). */
RAISE(cli)
IP(cli)	cli
RESUME(cli)	ret

/* void raise_es(unsigned int selector) */
RAISE(es)
	GET_ARGUMENT1
	mov	ARGUMENT1, AX
IP(es)	mov	%eax, %es
RESUME(es)	ret

/* void raise_ss(unsigned int selector) */
RAISE(ss)
	GET_ARGUMENT1
	mov	ARGUMENT1, AX
IP(ss)	mov	%eax, %ss
RESUME(ss)	ret

/* IRET with NT set is a return from a nested task, of which there is none. */
RAISE(iret)
	pushf
	orl	$0x4000, (STACK)
	popf
IP(iret)	iretl
RESUME(iret)	pushf
	andl	$~0x4000, (STACK)
	popf
	ret

/* The exception is raised by the next x87 instruction that waits for it. */
RAISE(mf)
	fninit
	push	$0x37b		/* all masked but division by zero */
	fldcw	(STACK)
	fld1
	fldz
	fdivrp
IP(mf)	fwait
RESUME(mf)	fninit
	pop	AX
	ret

RAISE(ac)
	pushf
	orl	$0x40000, (STACK)
	popf
IP(ac)	mov	1(STACK), %eax
RESUME(ac)	pushf
	andl	$~0x40000, (STACK)
	popf
	ret

RAISE(xf)
	push	$0x1d80		/* all masked but division by zero */
	ldmxcsr	(STACK)
	mov	$1, %eax
	cvtsi2ss %eax, %xmm0
	xorps	%xmm1, %xmm1
IP(xf)	divss	%xmm1, %xmm0
RESUME(xf)	movl	$0x1f80, (STACK)
	ldmxcsr	(STACK)
	pop	AX
	ret

#ifdef __x86_64__
/* A return address that is not the one on the shadow stack. */
RAISE(cp)
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
IP(cp)	ret
	/* The handler resumes here, with the address still on the stack. */
RESUME(cp)	add	$8, %rsp
	mov	$SYS_arch_prctl, %eax
	mov	$ARCH_SHSTK_DISABLE, %edi
	mov	$ARCH_SHSTK_SHSTK, %esi
	syscall
2:	ret

/* void raise_call_stackless(void *address): a call without a stack */
RAISE(call_stackless)
	push	%rbx
	mov	%rsp, %rbx
	xor	%esp, %esp
	jmp	*%rdi
RESUME(call_stackless)	mov	%rbx, %rsp
	pop	%rbx
	ret
#endif

/* void raise_sgdt(void *address): emulated by the handler of #GP, which writes */
RAISE(sgdt)
	GET_ARGUMENT1
IP(sgdt)	sgdt	(ARGUMENT1)
RESUME(sgdt)	ret

RAISE(ud)
IP(ud)	ud2
RESUME(ud)	ret

RAISE(gp)
IP(gp)	hlt
RESUME(gp)	ret

/* void raise_read(void *address) */
RAISE(read)
	GET_ARGUMENT1
IP(read)	mov	(ARGUMENT1), %al
RESUME(read)	ret

/* void raise_write(void *address) */
RAISE(write)
	GET_ARGUMENT1
IP(write)	movb	$1, (ARGUMENT1)
RESUME(write)	ret

/* void raise_fetch(void *address) */
RAISE(fetch)
	GET_ARGUMENT1
	jmp	*ARGUMENT1
RESUME(fetch)	ret

/* void raise_read_framed(void *address, void *frame): frame is walked */
RAISE(read_framed)
	GET_ARGUMENT1
	GET_ARGUMENT2
	push	FRAME
	mov	ARGUMENT2, FRAME
	mov	(ARGUMENT1), %al
	pop	FRAME
	ret

	.section .note.GNU-stack, "", @progbits
