// SPDX-License-Identifier: GPL-2.0
/*
 * kinds.c - names and colours of exceptions
 *
 * The numbers and names are those of Documentation/trace/events-traps.rst. The
 * colours are all different, and light enough for a black label.
 */
#include <stdio.h>
#include "traps.h"

struct kind {
	const char	*name;
	unsigned int	color;
};

static const struct kind vectors[] = {
	[0]	= { "#DE",	0xfdd835 },
	[1]	= { "#DB",	0x8c9eff },
	[2]	= { "NMI",	0x90a4ae },
	[3]	= { "#BP",	0x42a5f5 },
	[4]	= { "#OF",	0xffb74d },
	[5]	= { "#BR",	0xff8a65 },
	[6]	= { "#UD",	0xba68c8 },
	[7]	= { "#NM",	0x26c6da },
	[8]	= { "#DF",	0xff5252 },
	[9]	= { "OLD_MF",	0xbcaaa4 },
	[10]	= { "#TS",	0x80cbc4 },
	[11]	= { "#NP",	0x9fa8da },
	[12]	= { "#SS",	0xf8bbd0 },
	[13]	= { "#GP",	0xf06292 },
	[15]	= { "SPURIOUS",	0xcfd8dc },
	[16]	= { "#MF",	0xc0ca33 },
	[17]	= { "#AC",	0xb39ddb },
	[18]	= { "#MC",	0xff7043 },
	[19]	= { "#XF",	0xdce775 },
	[20]	= { "#VE",	0x80deea },
	[21]	= { "#CP",	0xea80fc },
	[29]	= { "#VC",	0x4db6ac },
	[32]	= { "IRET",	0xa1887f },
};

static const struct kind results[] = {
	[0]	= { "#PF MINOR",	0x66bb6a },
	[1]	= { "#PF MAJOR",	0xfb8c00 },
	[2]	= { "#PF RETRY",	0xaeea00 },
	[3]	= { "#PF OOM",		0x8d6e63 },
	[4]	= { "#PF SIGBUS",	0xff4081 },
	[5]	= { "#PF HWPOISON",	0xb388ff },
	[6]	= { "#PF SIGSEGV",	0xef5350 },
	[7]	= { "#PF FIXUP",	0x26a69a },
	[8]	= { "#PF SPURIOUS",	0xb0bec5 },
	[9]	= { "#PF KERNEL",	0x82b1ff },
	[10]	= { "#PF KMMIO",	0xd7ccc8 },
	[11]	= { "#PF EMULATED",	0xc5e1a5 },
	[12]	= { "#PF ERRATUM",	0xffe082 },
	[13]	= { "#PF OOPS",		0xff1744 },
};

static const unsigned int unknown_color = 0x9e9e9e;

static const struct kind *find_kind(unsigned int kind)
{
	const struct kind *found = NULL;

	if (kind < sizeof(vectors) / sizeof(*vectors))
		found = &vectors[kind];
	else if (kind >= KIND_FAULT && kind - KIND_FAULT < sizeof(results) / sizeof(*results))
		found = &results[kind - KIND_FAULT];
	return found && found->name ? found : NULL;
}

const char *kind_name(unsigned int kind, char name[KIND_NAME_SIZE])
{
	const struct kind *known = find_kind(kind);

	if (known)
		snprintf(name, KIND_NAME_SIZE, "%s", known->name);
	else if (kind == KIND_FAULT_OPEN)
		snprintf(name, KIND_NAME_SIZE, "#PF");
	else if (kind >= KIND_FAULT)
		snprintf(name, KIND_NAME_SIZE, "#PF result %u", kind - KIND_FAULT);
	else
		snprintf(name, KIND_NAME_SIZE, "vector %u", kind);
	return name;
}

unsigned int kind_color(unsigned int kind)
{
	const struct kind *known = find_kind(kind);

	return known ? known->color : unknown_color;
}
