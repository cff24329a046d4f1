/* SPDX-License-Identifier: GPL-2.0 */
/* raise.c's part that is arm64's */
#include <asm/mman.h>

#define NAME_WIDTH	8
#define PAGE_FAULT	"DABT", 0x24

/* With these signals the kernel saves ESR_EL1, with others that of an earlier one. */
static int vector_of(int signal, const mcontext_t *context)
{
	const struct _aarch64_ctx *part = (const void *)context->__reserved;

	if (signal != SIGSEGV && signal != SIGBUS)
		return NOT_TOLD;
	while (part->magic && part->magic != ESR_MAGIC)
		part = (const void *)((const char *)part + part->size);
	return part->magic ? (int)(((const struct esr_context *)part)->esr >> 26) : NOT_TOLD;
}

static void allow_misaligned(void)
{
}

static void undefined(void)
{
	asm volatile("udf #0");
}

/* A return is no landing pad. */
static void branch_to_guarded(void)
{
	static unsigned int *page;

	if (!page) {
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			err(1, "bti: memory");
		*page = 0xd65f03c0;
		__builtin___clear_cache((char *)page, (char *)(page + 1));
		mprotect(page, PAGE, PROT_READ | PROT_EXEC | PROT_BTI);
	}
	asm volatile("blr %0" :: "r" (page) : "x30", "memory");
}

static void read_register(void)
{
	asm volatile("mrs x0, ccsidr_el1" ::: "x0");
}

static void branch_misaligned(void)
{
	asm volatile("adr x0, . + 2; br x0" ::: "x0");
}

static void breakpoint(void)
{
	asm volatile("brk #0");
}

static void misaligned(void)
{
	static long word[2];

	asm volatile("ldxr x0, [%0]" :: "r" ((char *)word + 1) : "x0");
}

/* Memory has tag 0 at first. */
static void read_tagged(void)
{
	static char *page;

	if (!page) {
		prctl(PR_SET_TAGGED_ADDR_CTRL, PR_TAGGED_ADDR_ENABLE | PR_MTE_TCF_SYNC, 0, 0, 0);
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_MTE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	if (page != MAP_FAILED)
		asm volatile("ldrb w0, [%0]" :: "r" ((unsigned long)page | 3UL << 56) : "x0");
}

static void write_null(void)
{
	asm volatile("strb w0, [%0]" :: "r" (16UL) : "memory");
}

static void write_kernel(void)
{
	asm volatile("strb w0, [%0]" :: "r" (-4096UL) : "memory");
}

#define LOWER_VECTORS \
	{ "ud", "UNKNOWN", 0x00, SIGILL, "Undefined instruction: UDF", .once = undefined }, \
	{ "bti", "BTI", 0x0d, SIGILL, "Branch Target: a call of what is no target", \
	  .once = branch_to_guarded, .unless = "the CPU or the kernel has no BTI" }, \
	{ "sys", "SYS64", 0x18, SIGILL, "System register: MRS of CCSIDR_EL1", \
	  .once = read_register }, \
	{ "pc", "PC_ALIGN", 0x22, SIGBUS, "Misaligned PC: BR", .once = branch_misaligned },

#define HIGHER_VECTORS \
	{ "ac", PAGE_FAULT, SIGBUS, "a misaligned LDXR", .once = misaligned }, \
	{ "mte", PAGE_FAULT, SIGSEGV, "a read with another tag", .once = read_tagged, \
	  .unless = "the CPU or the kernel has no MTE" }, \
	{ "bp", "BRK64", 0x3c, SIGTRAP, "Breakpoint: BRK", .once = breakpoint },
