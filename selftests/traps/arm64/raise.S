/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instructions that raise exceptions on arm64, in functions to be called from C.
 *
 * NAME_ip is the instruction pointer that the exception reports, NAME_resume
 * is where the signal handler lets the function go on if that is elsewhere.
 */
#define RAISE(name)	.globl raise_##name; .type raise_##name, @function; raise_##name:
#define IP(name)	.globl raise_##name##_ip; raise_##name##_ip:
#define RESUME(name)	.globl raise_##name##_resume; raise_##name##_resume:

	.arch	armv8.5-a+sve
	.text

RAISE(bp)
IP(bp)		brk	#0
RESUME(bp)	ret

/* void raise_watched(int *watched): on which there is a watchpoint */
RAISE(watched)
		mov	w1, #1
IP(watched)	str	w1, [x0]
		ret

/* On its first instruction there is a uprobe or a breakpoint in hardware. */
RAISE(probed)
IP(probed)	add	x0, x0, #1
		ret

RAISE(undefined)
IP(undefined)	udf	#0
RESUME(undefined) ret

/* Of a register that is not for user mode */
RAISE(sctlr)
IP(sctlr)	mrs	x0, sctlr_el1
RESUME(sctlr)	ret

/* Of an ID register that the kernel emulates, and of one that it does not */
RAISE(midr)
IP(midr)	mrs	x0, midr_el1
		ret

RAISE(ccsidr)
IP(ccsidr)	mrs	x0, ccsidr_el1
RESUME(ccsidr)	ret

/* For who has called prctl(PR_SET_TSC) */
RAISE(cntvct)
IP(cntvct)	mrs	x0, cntvct_el0
RESUME(cntvct)	ret

RAISE(wfi)
IP(wfi)		wfi
		ret

RAISE(sve)
IP(sve)		rdvl	x0, #1
		ret

/* smstart, and smstop */
RAISE(sme)
IP(sme)		.inst	0xd503477f
		.inst	0xd503467f
		ret

/* A branch to where there is no landing pad, in a page of its own that is to be guarded */
RAISE(bti)
		adr	x0, raise_bti_ip
		br	x0
RESUME(bti)	ret
		.balign	4096
IP(bti)		ret
		.balign	4096

/* A branch to where no instruction can be */
		.globl	raise_pc_ip
		.set	raise_pc_ip, raise_pc + 2
RAISE(pc)
		adr	x0, raise_pc_ip
		br	x0
RESUME(pc)	ret

/* Until a tracer sets the PC to raise_step_from, or to raise_watched */
RAISE(step)
		b	.
		.globl	raise_step_from
raise_step_from:
		nop
IP(step)	ret

/* void raise_acquire(void *address) */
RAISE(acquire)
IP(acquire)	ldar	x1, [x0]
RESUME(acquire)	ret

/* void raise_read(void *address) */
RAISE(read)
IP(read)	ldrb	w1, [x0]
RESUME(read)	ret

/* void raise_write(void *address) */
RAISE(write)
		mov	w1, #1
IP(write)	strb	w1, [x0]
RESUME(write)	ret

/* void raise_fetch(void *address) */
RAISE(fetch)
		br	x0
RESUME(fetch)	ret

/* void raise_read_framed(void *address, void *frame): frame is walked */
RAISE(read_framed)
		mov	x2, x29
		mov	x29, x1
		ldrb	w1, [x0]
		mov	x29, x2
		ret

	.section .note.GNU-stack, "", %progbits
