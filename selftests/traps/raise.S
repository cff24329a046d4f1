/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instructions that raise exceptions, in functions to be called from C.
 *
 * NAME_ip is the instruction pointer that the exception reports, NAME_resume
 * is where the signal handler lets the function go on if that is elsewhere.
 */
#ifdef __x86_64__
#define ARGUMENT1	%rdi
#define ARGUMENT2	%rsi
#define GET_ARGUMENT1
#define GET_ARGUMENT2
#define FRAME		%rbp
#define STACK		%rsp
#else
#define ARGUMENT1	%ecx
#define ARGUMENT2	%edx
#define GET_ARGUMENT1	mov 4(%esp), %ecx
#define GET_ARGUMENT2	mov 8(%esp), %edx
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

/* A selector beyond the end of the GDT. */
FUNCTION(raise_gp_selector):
	mov	$0xfffb, %eax
LABEL(raise_gp_selector_ip):
	mov	%eax, %es
LABEL(raise_gp_selector_resume):
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

	.section .note.GNU-stack, "", @progbits
