/* SPDX-License-Identifier: GPL-2.0 */
#ifdef __x86_64__
#define ARGUMENT	%rdi
#define GET_ARGUMENT
#else
#define ARGUMENT	%ecx
#define GET_ARGUMENT	mov 4(%esp), ARGUMENT
#endif

	.globl	raise_spin, raise_spin_end
	.type	raise_spin, @function

/* void raise_spin(struct spin *spin): waits in user mode */
raise_spin:
	GET_ARGUMENT
	movl	$1, 4(ARGUMENT)
1:	pause
	cmpl	$0, (ARGUMENT)
	je	1b
raise_spin_end:
	ret

	.section .note.GNU-stack, "", @progbits
