// SPDX-License-Identifier: GPL-2.0
/* The saved context of an exception */
#include <signal.h>
#include <stddef.h>

#include "raise.h"

/* These signals tell what ESR_EL1 was, others tell that of an earlier exception. */
void context_note(struct raised *raised, const mcontext_t *context)
{
	const struct _aarch64_ctx *part = (const void *)context->__reserved;

	raised->ip = context->pc;
	if (raised->signal != SIGSEGV && raised->signal != SIGBUS)
		return;
	while (part->magic && part->magic != ESR_MAGIC)
		part = (const void *)part + part->size;
	if (!part->magic)
		return;
	raised->told = true;
	raised->error_code = ((const struct esr_context *)part)->esr;
	raised->vector = raised->error_code >> 26 & 0x3f;
}

void context_resume(mcontext_t *context)
{
	if (raise_resume)
		context->pc = (unsigned long)raise_resume;
}
