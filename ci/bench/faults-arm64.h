/* SPDX-License-Identifier: GPL-2.0 */
/* What faults.c does on arm64 */

/* Of the generic timer, whose ticks are 16 ns in QEMU; a batch has many. */
static unsigned long clock_ns(void)
{
	unsigned long ticks, frequency;

	asm volatile("isb; mrs %0, cntvct_el0; mrs %1, cntfrq_el0" : "=r" (ticks), "=r" (frequency));
	return ticks * (1000000000 / frequency);
}

static void skip_instruction(ucontext_t *uc)
{
	uc->uc_mcontext.pc += insn_size;
}

static void handle_segv(void) { handle(SIGSEGV, 4); }
static void handle_ill(void) { handle(SIGILL, 4); }
static void handle_trap(void) { handle(SIGTRAP, 4); }

static void segv(unsigned int i)
{
	asm volatile("ldrb w0, [%0]" : : "r" (0L) : "x0");
}

static void unknown(unsigned int i)
{
	asm volatile("udf #0");
}

static void breakpoint(unsigned int i)
{
	asm volatile("brk #0");
}

#define ARCH_KINDS \
	{ "segv",	handle_segv,		segv,		NULL }, \
	{ "unknown",	handle_ill,		unknown,	NULL }, \
	{ "brk",	handle_trap,		breakpoint,	NULL },
