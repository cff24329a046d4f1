/* SPDX-License-Identifier: GPL-2.0 */
/* raise.c's part that is x86's */
#include <asm/ldt.h>
#include <x86intrin.h>

#define FLAG_TF		0x100ULL
#define FLAG_AC		0x40000ULL
#define USER_CS32	0x23		/* the kernel's segment for 32-bit code */
#define LDT_SELECTOR	0xf		/* entry 1 of the LDT, for user mode */

#define NAME_WIDTH	3
#define PAGE_FAULT	"#PF", 14

static int vector_of(int signal, const mcontext_t *context)
{
	(void)signal;
	return context->gregs[REG_TRAPNO];
}

/* What is misaligned in the handler is not meant. */
static void allow_misaligned(void)
{
	__writeeflags(__readeflags() & ~FLAG_AC);
}

static void divide(void)
{
	asm volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx"
		     ::: "eax", "ecx", "edx", "cc");
}

static void single_step(void)
{
	__writeeflags(__readeflags() | FLAG_TF);
}

static void breakpoint(void)
{
	asm volatile("int3");
}

static void overflow(void)
{
	asm volatile("int $4");
}

/* BOUND is for 32-bit code, whose data segment is not loaded here: by that of code. */
static void out_of_bounds(void)
{
	static struct {
		unsigned char bound[3];		/* bound %eax, %cs:address */
		unsigned int address;
		int bounds[2];
	} __attribute__((packed)) *code;
	static struct {
		unsigned int offset;
		unsigned short segment;
	} start = { .segment = USER_CS32 };

	if (!code) {
		code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		if (code == MAP_FAILED)
			err(1, "br: memory");
		memcpy(code->bound, "\x2e\x62\x05", sizeof(code->bound));
		code->address = (unsigned long)code->bounds;
		start.offset = (unsigned long)code;
	}
	asm volatile("mov $1, %%eax; ljmp *%0" :: "m" (start) : "eax");
}

static void undefined(void)
{
	asm volatile("ud2");
}

static unsigned int absent_segment(void)
{
	struct user_desc segment = {
		.entry_number		= LDT_SELECTOR >> 3,
		.limit			= 0xfffff,
		.limit_in_pages		= 1,
		.seg_32bit		= 1,
		.seg_not_present	= 1,
	};

	syscall(SYS_modify_ldt, 0x11, &segment, sizeof(segment));
	return LDT_SELECTOR;
}

static void load_es(void)
{
	asm volatile("mov %0, %%es" :: "r" (absent_segment()));
}

static void load_ss(void)
{
	asm volatile("mov %0, %%ss" :: "r" (absent_segment()));
}

static void privileged(void)
{
	asm volatile("hlt");
}

static void divide_x87(void)
{
	unsigned short control = 0x37b;		/* all masked but division by zero */

	asm volatile("fninit; fldcw %0; fld1; fldz; fdivrp; fwait" :: "m" (control));
	asm volatile("fninit");
}

static void misaligned(void)
{
	__writeeflags(__readeflags() | FLAG_AC);
	asm volatile("mov 1(%%rsp), %%eax" ::: "eax");
	__writeeflags(__readeflags() & ~FLAG_AC);
}

static void divide_sse(void)
{
	unsigned int masks = _MM_GET_EXCEPTION_MASK();
	float one = 1, zero = 0;

	_MM_SET_EXCEPTION_MASK(masks & ~_MM_MASK_DIV_ZERO);
	asm volatile("divss %1, %0" : "+x" (one) : "x" (zero));
	_MM_SET_EXCEPTION_MASK(masks);
}

static void write_null(void)
{
	asm volatile("movb $1, 16" ::: "memory");
}

static void write_kernel(void)
{
	asm volatile("movb $1, -4096" ::: "memory");
}

#define LOWER_VECTORS \
	{ "de", "#DE", 0, SIGFPE, "Divide Error: DIV by 0", .once = divide }, \
	{ "db", "#DB", 1, SIGTRAP, "Debug: a single step", .once = single_step }, \
	{ "bp", "#BP", 3, SIGTRAP, "Breakpoint: INT3", .once = breakpoint }, \
	{ "of", "#OF", 4, SIGSEGV, "Overflow: INT 4", .once = overflow }, \
	{ "br", "#BR", 5, SIGSEGV, "BOUND Range Exceeded: BOUND in 32-bit code", \
	  .once = out_of_bounds, .unless = "no 32-bit code runs here" }, \
	{ "ud", "#UD", 6, SIGILL, "Invalid Opcode: UD2", .once = undefined }, \
	{ "np", "#NP", 11, SIGBUS, "Segment Not Present: ES is loaded with one", \
	  .once = load_es, .unless = "the kernel has no modify_ldt()" }, \
	{ "ss", "#SS", 12, SIGBUS, "Stack Fault: SS is loaded with such a segment", \
	  .once = load_ss, .unless = "the kernel has no modify_ldt()" }, \
	{ "gp", "#GP", 13, SIGSEGV, "General Protection: HLT", .once = privileged },

#define HIGHER_VECTORS \
	{ "mf", "#MF", 16, SIGFPE, "x87 FPU Floating-Point Error: FDIV by 0", .once = divide_x87 }, \
	{ "ac", "#AC", 17, SIGBUS, "Alignment Check: a misaligned read, with the AC flag", \
	  .once = misaligned, .unless = "this CPU does not check alignment: is it emulated?" }, \
	{ "xf", "#XF", 19, SIGFPE, "SIMD Floating-Point Exception: DIVSS by 0", \
	  .once = divide_sse, .unless = "this CPU does not raise it: is it emulated?" },
