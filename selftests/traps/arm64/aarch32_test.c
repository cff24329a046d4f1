// SPDX-License-Identifier: GPL-2.0
/*
 * Exceptions of programs in AArch32 state are recorded once. A program is a few
 * instructions in a file of memory, so that no compiler for AArch32 is needed.
 *
 * Needs root, tracefs at /sys/kernel/tracing, the options in ../config and config.aarch64.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fixture.h"
#include "memory.h"

#define START		0x10000
#define CODE		(START + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr))

#define MOV_R0(value)	(0xe3a00000 | (value))
#define EXIT		0xe3a07001, 0xef000000		/* mov r7, #__NR_exit; svc #0 */

FIXTURE(aarch32) {
	pid_t pid;
	int go;
};

FIXTURE_VARIANT(aarch32) {
	uint32_t code[6];
	int signal;
	const char *events;
	const char *raised;		/* what the events say, patterns */
	const char *result;		/* if not the signal */
	const char *function;		/* emulates it if the kernel has it */
};

#define VARIANT(name, ...) FIXTURE_VARIANT_ADD(aarch32, name) { __VA_ARGS__ }
#define TRAP(name, esr)	"trap_*", \
	"vector=" name " mode=user error_code=" esr " ip=0x10054 event_data=0x0"
#define FAULT(address, error_code, ip) "page_fault_*", \
	"address=" address " error_code=" error_code " ip=" ip " mode=user"

/* Returns its file, or -1. */
static int make_program(const uint32_t *code, size_t size)
{
	struct {
		Elf32_Ehdr head;
		Elf32_Phdr segment;
	} elf = {
		.head = {
			.e_ident	= { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
					    ELFDATA2LSB, EV_CURRENT },
			.e_type		= ET_EXEC,
			.e_machine	= EM_ARM,
			.e_version	= EV_CURRENT,
			.e_entry	= CODE,
			.e_phoff	= sizeof(Elf32_Ehdr),
			.e_flags	= EF_ARM_EABI_VER5,
			.e_ehsize	= sizeof(Elf32_Ehdr),
			.e_phentsize	= sizeof(Elf32_Phdr),
			.e_phnum	= 1,
		},
		.segment = {
			.p_type		= PT_LOAD,
			.p_vaddr	= START,
			.p_paddr	= START,
			.p_filesz	= sizeof(elf) + size,
			.p_memsz	= sizeof(elf) + size,
			.p_flags	= PF_R | PF_X,
			.p_align	= PAGE,
		},
	};
	int fd = memfd_create("aarch32", MFD_CLOEXEC);

	return write(fd, &elf, sizeof(elf)) == sizeof(elf) &&
	       write(fd, code, size) == (ssize_t)size ? fd : -1;
}

/* A process that becomes the program when something is written to *@go. */
static pid_t start_program(const uint32_t *code, size_t size, int *go)
{
	char * const args[] = { "aarch32", NULL };
	int fd = make_program(code, size), ends[2];
	pid_t pid;
	char byte;

	if (fd < 0 || pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1)
			fexecve(fd, args, environ);
		_exit(1);
	}
	close(ends[0]);
	close(fd);
	*go = ends[1];
	return pid;
}

/* Returns what waitpid() says of it. */
static int run(pid_t pid, int go)
{
	int status;

	return write(go, "", 1) == 1 && waitpid(pid, &status, 0) == pid ? status : -1;
}

FIXTURE_SETUP(aarch32)
{
	static const uint32_t nothing[] = { MOV_R0(0), EXIT };
	int go, status;
	pid_t pid;

	set_up(_metadata);
	if (_metadata->exit_code)
		return;
	pid = start_program(nothing, sizeof(nothing), &go);
	ASSERT_LT(0, pid);
	status = run(pid, go);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		SKIP(return, "no program of AArch32 can be executed");
	ASSERT_EQ(0, status);
	close(go);
	if (variant->function && !file_has_word("/proc/kallsyms", variant->function))
		SKIP(return, "the kernel has no %s()", variant->function);
	self->pid = start_program(variant->code, sizeof(variant->code), &self->go);
	ASSERT_LT(0, self->pid);
	ASSERT_EQ(0, trace_prepare(self->pid));
}

FIXTURE_TEARDOWN_PARENT(aarch32)
{
	tear_down(_metadata);
}

VARIANT(unknown, { 0xe7f000f0 }, SIGILL, TRAP("UNKNOWN", "0x2000000"));	/* udf #0 */
VARIANT(cp15_32, { 0xee1e0f32 }, SIGILL, TRAP("CP15_32", "0xfe23805"));	/* CNTP_CTL */
VARIANT(cp15_64, { 0xec510f0e }, SIGILL, TRAP("CP15_64", "0x13e0041d"));	/* CNTPCT */
/* wfi */
VARIANT(wfx, { 0xe320f003, MOV_R0(0), EXIT }, SIGILL, TRAP("WFx", "0x7e00000"));
VARIANT(bkpt32, { 0xe1200075 }, SIGTRAP, TRAP("BKPT32", "0xe2000005"));	/* bkpt #5 */
/* ldrb r1, [r0] */
VARIANT(pf_read, { MOV_R0(0x10), 0xe5d01000 }, SIGSEGV, FAULT("0x10", USER_READ, "0x10058"));
/* bx r0 */
VARIANT(pf_fetch, { MOV_R0(0x10), 0xe12fff10 }, SIGSEGV,
	FAULT("0x10", "IABT_LOW|" ABSENT_PAGE, "0x10"));
/* mov r0, #0x10000; orr r0, #2; ldm r0, {r1, r2}, which the kernel carries out */
VARIANT(pf_align, { 0xe3a00801, 0xe3800002, 0xe8900006, MOV_R0(0), EXIT }, 0,
	"page_fault_*", "address=0x10002 error_code=DABT_LOW|ALIGN ip=0x1005c mode=user",
	.result = "EMULATED", .function = "do_compat_alignment_fixup");

TEST_F(aarch32, recorded)
{
	const char *result = variant->result ?: signal_name(variant->signal);
	int marker = trace_open("trace_marker", O_WRONLY), status, code;
	const struct trace_record *sent, *exit;
	struct trace trace;
	char text[160];

	turn_on(_metadata, "traps");
	turn_on(_metadata, "signal");
	ASSERT_LT(0, write(marker, TRACE_BEGIN, strlen(TRACE_BEGIN)));
	status = run(self->pid, self->go);
	ASSERT_LT(0, write(marker, TRACE_END, strlen(TRACE_END)));
	ASSERT_EQ(0, trace_get(&trace));

	/* A WFI may complete: not each CPU traps it. */
	if (variant->signal && !status && !trace_count(&trace, variant->events, "*"))
		SKIP(return, "the CPU carries it out");
	EXPECT_EQ(variant->signal, status & 0x7f);
	EXPECT_EQ(1, trace_count(&trace, variant->events, "%s", variant->raised));
	snprintf(text, sizeof(text), "%s result=%s", variant->raised, result);
	EXPECT_EQ(1, trace_count(&trace, variant->events, "%s", text)) {
		TH_LOG("%s", text);
	}
	EXPECT_EQ(variant->events[0] == 't' ? 2 : 0, trace_count(&trace, "trap_*", "*"));
	EXPECT_EQ(!!variant->signal, trace_count(&trace, "signal_generate", "*"));
	exit = trace_find(&trace, variant->events, text);
	sent = trace_find(&trace, "signal_generate", "*");
	if (exit && sent && sscanf(sent->text, "sig=%*d errno=%*d code=%d", &code) == 1)
		EXPECT_STREQ(code_name(variant->signal, code) ?: "?", exit->code);
	EXPECT_TRUE(trace_balanced(&trace));
	TH_LOG("result %s", result);
}

TEST_HARNESS_MAIN
