// SPDX-License-Identifier: GPL-2.0
/* The saved context of an exception */
#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "memory.h"
#include "trace.h"

#ifdef __x86_64__
#define REG_IP		REG_RIP
#define REG_SEGMENT	REG_CSGSFS
#else
#define REG_IP		REG_EIP
#define REG_SEGMENT	REG_CS
#endif
#define FLAG_TF		0x100
#define FLAG_AC		0x40000

void allow_misaligned(void)
{
	__writeeflags(__readeflags() & ~FLAG_AC);
}

void context_note(struct raised *raised, const mcontext_t *context)
{
	const greg_t *regs = context->gregs;

	raised->told = true;
	raised->vector = regs[REG_TRAPNO];
	raised->error_code = regs[REG_ERR];
	raised->ip = regs[REG_IP];
}

static void set_cs(greg_t *regs, unsigned short cs)
{
	regs[REG_SEGMENT] = (regs[REG_SEGMENT] & ~0xffffL) | cs;
}

void context_resume(mcontext_t *context)
{
	static unsigned short good_cs;
	greg_t *regs = context->gregs;

	if (raise_cs && !good_cs) {
		good_cs = regs[REG_SEGMENT];
		set_cs(regs, raise_cs);
	} else if (good_cs) {
		set_cs(regs, good_cs);
		good_cs = 0;
	}
	if (raise_resume)
		regs[REG_IP] = (unsigned long)raise_resume;
	if (raise_steps && !--raise_steps)
		regs[REG_EFL] &= ~FLAG_TF;
}

bool has_no_exec(void)
{
	return file_has_word("/proc/cpuinfo", "nx") && kernel_bits() == 64;
}

bool has_umip(void)
{
	return file_has_word("/proc/cpuinfo", "umip");
}

bool is_tcg(void)
{
	unsigned int leaf, name[3];

	__cpuid(0x40000000, leaf, name[0], name[1], name[2]);
	return file_has_word("/proc/cpuinfo", "hypervisor") && !memcmp(name, "TCGTCGTCGTCG", 12);
}

#ifdef __x86_64__
bool has_vsyscall(bool lass)
{
	char *text = file_read("/proc/self/maps");
	char *line = text ? strstr(text, "--xp") : NULL;

	while (line && strncmp(line + strcspn(line, "[\n"), "[vsyscall]", 10))
		line = strstr(line + 1, "--xp");
	free(text);
	return line && file_has_word("/proc/cpuinfo", "lass") == lass;
}
#endif
