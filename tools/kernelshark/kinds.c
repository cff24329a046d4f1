// SPDX-License-Identifier: GPL-2.0
/*
 * kinds.c - names and colours of exceptions
 *
 * The names come from the formats of the events. All colours of an architecture are
 * different, and light enough for a black label.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "traps.h"

#define NAME_SIZE	16
#define MAX_FORMATS	64
#define ANY_ARCH	-1

/*
 * Numbers never change, so the names of one stream serve all; but those of vectors are other
 * ones on each architecture.
 */
static struct {
	const struct traps_format	*format;
	uint8_t				arch;
} formats[MAX_FORMATS];

static const struct {
	const char	*name;
	unsigned int	color;
} colors[] = {
	{ "#DE",		0xfdd835 },
	{ "#DB",		0x8c9eff },
	{ "NMI",		0x90a4ae },
	{ "#BP",		0x42a5f5 },
	{ "#OF",		0xffb74d },
	{ "#BR",		0xff8a65 },
	{ "#UD",		0xba68c8 },
	{ "#NM",		0x26c6da },
	{ "#DF",		0xff5252 },
	{ "OLD_MF",		0xbcaaa4 },
	{ "#TS",		0x80cbc4 },
	{ "#NP",		0x9fa8da },
	{ "#SS",		0xf8bbd0 },
	{ "#GP",		0xf06292 },
	{ "SPURIOUS",		0xcfd8dc },
	{ "#MF",		0xc0ca33 },
	{ "#AC",		0xb39ddb },
	{ "#XF",		0xdce775 },
	{ "#VE",		0x80deea },
	{ "#CP",		0xea80fc },
	{ "#VC",		0x4db6ac },
	{ "IRET",		0xa1887f },
	{ "UNKNOWN",		0xba68c8 },
	{ "WFx",		0xcfd8dc },
	{ "CP15_32",		0xf8bbd0 },
	{ "CP15_64",		0x9fa8da },
	{ "CP14_MR",		0xbcaaa4 },
	{ "CP14_LS",		0xa1887f },
	{ "FP_ASIMD",		0x26c6da },
	{ "OTHER",		0x90a4ae },
	{ "CP14_64",		0x80cbc4 },
	{ "BTI",		0xea80fc },
	{ "ILL",		0xff5252 },
	{ "SYS64",		0xf06292 },
	{ "SVE",		0x4db6ac },
	{ "FPAC",		0x80deea },
	{ "SME",		0xdce775 },
	{ "PC_ALIGN",		0xb39ddb },
	{ "SP_ALIGN",		0xffb74d },
	{ "MOPS",		0xff8a65 },
	{ "FP_EXC32",		0xc0ca33 },
	{ "FP_EXC64",		0xfdd835 },
	{ "GCS",		0xe1bee7 },
	{ "BREAKPT_LOW",	0x8c9eff },
	{ "BREAKPT_CUR",	0x7986cb },
	{ "SOFTSTP_LOW",	0x81d4fa },
	{ "SOFTSTP_CUR",	0x4fc3f7 },
	{ "WATCHPT_LOW",	0xce93d8 },
	{ "WATCHPT_CUR",	0xab47bc },
	{ "BKPT32",		0x64b5f6 },
	{ "BRK64",		0x42a5f5 },
	{ "#PF MINOR",		0x66bb6a },
	{ "#PF MAJOR",		0xfb8c00 },
	{ "#PF RETRY",		0xaeea00 },
	{ "#PF OOM",		0x8d6e63 },
	{ "#PF SIGBUS",		0xff4081 },
	{ "#PF HWPOISON",	0xb388ff },
	{ "#PF SIGSEGV",	0xef5350 },
	{ "#PF FIXUP",		0x26a69a },
	{ "#PF SPURIOUS",	0xb0bec5 },
	{ "#PF KERNEL",		0x82b1ff },
	{ "#PF CONSUMED",	0xd7ccc8 },
	{ "#PF EMULATED",	0xc5e1a5 },
	{ "#PF HANDLED",	0xff7043 },
	{ "#PF OOPS",		0xff1744 },
	{ "#PF INTERRUPTED",	0xffe082 },
	{ "#PF WARN",		0xffab91 },
	{ "#PF SIGILL",		0xe6ee9c },
	{ "#PF SIGTRAP",	0x90caf9 },
	{ "#PF SIGFPE",		0xffcc80 },
	{ "#PF SIGSYS",		0xb2dfdb },
	{ "#PF SIGKILL",	0xffccbc },
};

static const unsigned int unknown_color = 0x9e9e9e;

static bool is_of(const struct traps_format *format, uint8_t arch)
{
	size_t i;

	for (i = 0; i < MAX_FORMATS; i++) {
		if (formats[i].format && formats[i].arch == arch &&
		    !traps_same_vectors(formats[i].format, format))
			return false;
	}
	return true;
}

static void replace(const struct traps_format *old, const struct traps_format *new, uint8_t arch)
{
	size_t i;

	for (i = 0; i < MAX_FORMATS && formats[i].format != old; i++)
		;
	if (i == MAX_FORMATS)
		return;
	formats[i].format = new;
	formats[i].arch = arch;
}

uint8_t kinds_learn(const struct traps_format *format)
{
	uint8_t arch;

	for (arch = 0; !is_of(format, arch); arch++)
		;
	replace(NULL, format, arch);
	return arch;
}

void kinds_forget(const struct traps_format *format)
{
	replace(format, NULL, 0);
}

typedef const char *(*find_name_t)(const struct traps_format *format, unsigned int value);

/* @arch: ANY_ARCH, or the one whose names these are */
static void name_number(char *text, const char *what, find_name_t find, int arch,
			unsigned int value)
{
	const char *name = NULL;
	size_t i;

	for (i = 0; i < MAX_FORMATS && !name; i++) {
		if (formats[i].format && (arch == ANY_ARCH || formats[i].arch == arch))
			name = find(formats[i].format, value);
	}
	if (name)
		snprintf(text, NAME_SIZE, "%s", name);
	else
		snprintf(text, NAME_SIZE, "%s %u", what, value & 0xff);	/* of an outcome: the code */
}

static void name_vector(char *text, uint32_t kind)
{
	name_number(text, "vector", traps_vector_name, kind_arch(kind), kind_vector(kind));
}

static const char *find_code(const struct traps_format *format, unsigned int outcome)
{
	return traps_code_name(format, outcome >> 8, outcome & 0xff);
}

const char *kind_name(uint32_t kind, char name[KIND_NAME_SIZE])
{
	char vector[NAME_SIZE], result[NAME_SIZE] = "", code[NAME_SIZE] = "";
	unsigned int outcome = kind_outcome(kind);

	name_vector(vector, kind);
	if (outcome != OUTCOME_NONE)
		name_number(result, "result", traps_result_name, ANY_ARCH, outcome >> 8);
	if (outcome != OUTCOME_NONE && outcome & 0xff)
		name_number(code, "code", find_code, ANY_ARCH, outcome);
	snprintf(name, KIND_NAME_SIZE, "%s%s%s%s%s", vector, *result ? " " : "", result,
		 *code ? "/" : "", code);
	return name;
}

unsigned int kind_color(uint32_t kind)
{
	char name[KIND_NAME_SIZE];
	size_t i;

	if (kind_vector(kind) == VECTOR_PF)
		*strchrnul(kind_name(kind, name), '/') = '\0';
	else
		name_vector(name, kind);
	for (i = 0; i < sizeof(colors) / sizeof(*colors); i++) {
		if (!strcmp(colors[i].name, name))
			return colors[i].color;
	}
	return unknown_color;
}

const char *flags_name(unsigned int value, char name[FLAGS_NAME_SIZE])
{
	const struct traps_format *format;
	char *text = NULL;
	size_t i;

	for (i = 0; i < MAX_FORMATS && !text; i++) {
		format = formats[i].format;
		if (format && (traps_format_has(format, TRAPS_TRAP_EXIT) ||
			       traps_format_has(format, TRAPS_PAGE_FAULT_EXIT)))
			text = traps_flags_name(format, value);
	}
	snprintf(name, FLAGS_NAME_SIZE, "%s", text ? text : "?");
	free(text);
	return name;
}
