// SPDX-License-Identifier: GPL-2.0
/*
 * exceptions - raise exceptions that a user program can raise, survive them
 *
 * usage: exceptions
 * needs: x86_64
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t caught;

static void handler(int sig)
{
	caught = sig;
	siglongjmp(back, 1);
}

static void divide(void)
{
	asm volatile("xor %%edx, %%edx; xor %%ecx, %%ecx; div %%ecx"
		     ::: "eax", "ecx", "edx", "cc");
}

static void single_step(void)
{
	/* the red zone must survive pushf */
	asm volatile("sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf; nop; add $128, %%rsp"
		     ::: "cc", "memory");
}

static void breakpoint(void)
{
	asm volatile("int3");
}

static void overflow(void)
{
	asm volatile("int $4");
}

static void undefined(void)
{
	asm volatile("ud2");
}

static void privileged(void)
{
	asm volatile("hlt");
}

static void null_write(void)
{
	asm volatile("movl $0, 0" ::: "memory");
}

static const struct {
	const char *name;
	void (*raise)(void);
} exceptions[] = {
	{ "#DE div by 0",	divide },
	{ "#DB single step",	single_step },
	{ "#BP int3",		breakpoint },
	{ "#OF int $4",		overflow },
	{ "#UD ud2",		undefined },
	{ "#GP hlt",		privileged },
	{ "#PF write to 0",	null_write },
};

static const int signals[] = { SIGFPE, SIGTRAP, SIGILL, SIGSEGV };

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	volatile unsigned int i;	/* survives siglongjmp() */
	int status;
	pid_t pid;

	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);

	for (i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++) {
		caught = 0;
		if (!sigsetjmp(back, 1))
			exceptions[i].raise();
		printf("%-16s %s\n", exceptions[i].name,
		       caught ? strsignal(caught) : "no signal");
		if (!caught)
			return 1;
	}

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		null_write();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status)) {
		fprintf(stderr, "exceptions: the child was to die of a segfault\n");
		return 1;
	}
	printf("%-16s %s\n", "child, #PF", strsignal(WTERMSIG(status)));
	return 0;
}
