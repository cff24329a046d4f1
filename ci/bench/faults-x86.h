/* SPDX-License-Identifier: GPL-2.0 */
/* What faults.c does on x86 */
#include <x86intrin.h>

#define FLAG_TF		0x100L

static unsigned long clock_ns(void)
{
	return __rdtsc();
}

static void skip_instruction(ucontext_t *uc)
{
	uc->uc_mcontext.gregs[REG_RIP] += insn_size;
	uc->uc_mcontext.gregs[REG_EFL] &= ~FLAG_TF;
}

static void handle_segv(void) { handle(SIGSEGV, 2); }
static void handle_gp(void) { handle(SIGSEGV, 1); }
static void handle_ud(void) { handle(SIGILL, 2); }
static void handle_trap(void) { handle(SIGTRAP, 0); }
static void handle_de(void) { handle(SIGFPE, 2); }

static void segv(unsigned int i)
{
	asm volatile("movb (%%rax), %%al" : : "a" (0L));
}

static void gp(unsigned int i)
{
	asm volatile("hlt");
}

static void ud(unsigned int i)
{
	asm volatile("ud2");
}

static void bp(unsigned int i)
{
	asm volatile("int3");
}

static void db(unsigned int i)
{
	/* Single step: the nop is stepped over, then the handler clears the flag. */
	asm volatile("leaq -128(%%rsp), %%rsp; pushfq; orq %0, (%%rsp); popfq; nop;"
		     "leaq 128(%%rsp), %%rsp" : : "i" (FLAG_TF) : "cc", "memory");
}

static void de(unsigned int i)
{
	asm volatile("divl %%ecx" : : "a" (1), "c" (0), "d" (0));
}

/* For a kprobe on put_user(), which is no function that ftrace knows: an int3. */
static void time_syscall(unsigned int i)
{
	long now;

	syscall(SYS_time, &now);
}

#define ARCH_KINDS \
	{ "segv",	handle_segv,		segv,		NULL }, \
	{ "gp",		handle_gp,		gp,		NULL }, \
	{ "ud",		handle_ud,		ud,		NULL }, \
	{ "bp",		handle_trap,		bp,		NULL }, \
	{ "db",		handle_trap,		db,		NULL }, \
	{ "de",		handle_de,		de,		NULL }, \
	{ "time",	NULL,			time_syscall,	NULL },
