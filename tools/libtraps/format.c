// SPDX-License-Identifier: GPL-2.0
/*
 * format.c - the fields of the events, and the names in their print fmt
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libtraps.h"

enum field {
	VECTOR, USER_MODE, ERROR_CODE, IP, ADDRESS, EVENT_DATA, RESULT, FLAGS, CODE, DURATION,
	CURR, FIELDS
};

#define BIT(field)	(1U << (field))
#define DR_STEP		0x4000	/* of DR6, the event_data of #DB: after an instruction */

static const char * const field_names[FIELDS] = {
	[VECTOR]	= "vector",
	[USER_MODE]	= "user_mode",
	[ERROR_CODE]	= "error_code",
	[IP]		= "ip",
	[ADDRESS]	= "address",
	[EVENT_DATA]	= "event_data",
	[RESULT]	= "result",
	[FLAGS]		= "flags",
	[CODE]		= "code",
	[DURATION]	= "duration",
	[CURR]		= "curr",
};

#define ENDED	(BIT(RESULT) | BIT(FLAGS) | BIT(DURATION))
#define TRAP	(BIT(VECTOR) | BIT(USER_MODE) | BIT(ERROR_CODE) | BIT(IP) | BIT(EVENT_DATA))
#define FAULT	(BIT(ADDRESS) | BIT(USER_MODE) | BIT(ERROR_CODE) | BIT(IP))

static const struct {
	const char	*name;
	unsigned int	fields;
} types[TRAPS_TYPES] = {
	[TRAPS_TRAP_ENTRY]	 = { "trap_entry", TRAP },
	[TRAPS_TRAP_EXIT]	 = { "trap_exit", TRAP | ENDED | BIT(CODE) },
	[TRAPS_PAGE_FAULT_ENTRY] = { "page_fault_entry", FAULT },
	[TRAPS_PAGE_FAULT_EXIT]	 = { "page_fault_exit", FAULT | ENDED | BIT(CODE) },
	[TRAPS_MM_FAULT]	 = { "mm_fault", BIT(ADDRESS) | BIT(CURR) | ENDED },
};

struct names {
	struct name {
		unsigned long long	value;
		char			*text;
	} *list;
	size_t	nr;
};

struct traps_format {
	struct tep_handle	*tep;
	struct type {
		struct tep_event	*event;
		struct tep_format_field	*field[FIELDS];
		int			size;		/* where the last of them ends */
	} type[TRAPS_TYPES];
	struct names	vectors, results, codes, flags, error_code;
};

/* A field, or what ends with it: result << 8 | code */
static bool prints(const struct tep_print_arg *arg, const char *field)
{
	while (arg->type == TEP_PRINT_OP)
		arg = arg->op.right;
	return arg->type == TEP_PRINT_FIELD && !strcmp(arg->field.name, field);
}

static const struct tep_print_flag_sym *find_names(const struct tep_print_arg *arg,
						   const char *field)
{
	const struct tep_print_flag_sym *names = NULL;

	for (; arg && !names; arg = arg->next) {
		if (arg->type == TEP_PRINT_SYMBOL && prints(arg->symbol.field, field))
			names = arg->symbol.symbols;
		else if (arg->type == TEP_PRINT_FLAGS && prints(arg->flags.field, field))
			names = arg->flags.flags;
		else if (arg->type == TEP_PRINT_OP)	/* field ? __print_flags() : "0" */
			names = find_names(arg->op.left, field) ?: find_names(arg->op.right, field);
	}
	return names;
}

/* The format of any event with the field will do. */
static bool copy_names(struct names *names, const struct traps_format *format, enum field field)
{
	const struct tep_print_flag_sym *from = NULL;
	struct name *list;
	unsigned int i;

	for (i = 0; i < TRAPS_TYPES && !from; i++) {
		if (format->type[i].event)
			from = find_names(format->type[i].event->print_fmt.args,
					  field_names[field]);
	}
	for (; from; from = from->next) {
		list = realloc(names->list, (names->nr + 1) * sizeof(*list));
		if (!list)
			return false;
		names->list = list;
		list[names->nr].value = strtoull(from->value, NULL, 0);
		list[names->nr].text = strdup(from->str);
		if (!list[names->nr].text)
			return false;
		names->nr++;
	}
	return true;
}

static void free_names(struct names *names)
{
	while (names->nr)
		free(names->list[--names->nr].text);
	free(names->list);
}

/* Returns what is missing. */
static const char *find_fields(struct tep_handle *tep, enum traps_type type, struct type *found)
{
	unsigned int i;
	int end;

	found->event = tep_find_event_by_name(tep, TRAPS_SYSTEM, types[type].name);
	for (i = 0; i < FIELDS && found->event; i++) {
		if (!(types[type].fields & BIT(i)))
			continue;
		found->field[i] = tep_find_field(found->event, field_names[i]);
		if (!found->field[i])
			return field_names[i];
		end = found->field[i]->offset + found->field[i]->size;
		found->size = end > found->size ? end : found->size;
	}
	return NULL;
}

struct traps_format *traps_format_new(struct tep_handle *tep, const char **missing)
{
	struct traps_format *format = calloc(1, sizeof(*format));
	unsigned int i, nr = 0;

	*missing = format ? NULL : "memory";
	for (i = 0; i < TRAPS_TYPES && !*missing; i++) {
		*missing = find_fields(tep, i, &format->type[i]);
		nr += !!format->type[i].event;
	}
	if (*missing || !nr)
		goto failed;
	format->tep = tep;
	*missing = "memory";
	if (copy_names(&format->vectors, format, VECTOR) &&
	    copy_names(&format->results, format, RESULT) &&
	    copy_names(&format->codes, format, CODE) &&
	    copy_names(&format->flags, format, FLAGS) &&
	    copy_names(&format->error_code, format, ERROR_CODE))
		return format;
failed:
	traps_format_free(format);
	return NULL;
}

void traps_format_free(struct traps_format *format)
{
	if (!format)
		return;
	free_names(&format->vectors);
	free_names(&format->results);
	free_names(&format->codes);
	free_names(&format->flags);
	free_names(&format->error_code);
	free(format);
}

bool traps_format_has(const struct traps_format *format, enum traps_type type)
{
	return format->type[type].event;
}

const char *traps_event_name(enum traps_type type)
{
	return types[type].name;
}

static uint64_t number(const struct type *type, enum field field, struct tep_record *record)
{
	unsigned long long value = 0;

	if (type->field[field])
		tep_read_number_field(type->field[field], record->data, &value);
	return value;
}

static unsigned int trap_vector(unsigned int vector)
{
	return vector == TRAPS_VECTOR_PF ? TRAPS_VECTOR_ILL : vector;
}

bool traps_read(const struct traps_format *format, struct tep_record *record,
		struct traps_event *event)
{
	const struct type *type = format->type;
	int id = tep_data_type(format->tep, record);
	unsigned int i;

	for (i = 0; i < TRAPS_TYPES && !(type->event && type->event->id == id); i++)
		type++;
	if (i == TRAPS_TYPES || record->size < type->size)
		return false;
	*event = (struct traps_event){
		.type		= i,
		.cpu		= record->cpu,
		.pid		= tep_data_pid(format->tep, record),
		.ts		= record->ts,
		.vector		= types[i].fields & BIT(VECTOR) ?
				  trap_vector(number(type, VECTOR, record)) : TRAPS_VECTOR_PF,
		.result		= number(type, RESULT, record),
		.code		= number(type, CODE, record),
		.flags		= number(type, FLAGS, record),
		.user_mode	= number(type, USER_MODE, record),
		.curr		= number(type, CURR, record),
		.error_code	= number(type, ERROR_CODE, record),
		.ip		= number(type, IP, record),
		.address	= number(type, ADDRESS, record),
		.event_data	= number(type, EVENT_DATA, record),
		.duration	= number(type, DURATION, record),
	};
	return true;
}

static const char *find_name(const struct names *names, unsigned long long value)
{
	size_t i;

	for (i = 0; i < names->nr; i++) {
		if (names->list[i].value == value)
			return names->list[i].text;
	}
	return NULL;
}

const char *traps_vector_name(const struct traps_format *format, unsigned int vector)
{
	if (vector == TRAPS_VECTOR_ILL)
		vector = TRAPS_VECTOR_PF;
	else if (vector == TRAPS_VECTOR_PF)
		return "#PF";
	return find_name(&format->vectors, vector);
}

bool traps_same_vectors(const struct traps_format *a, const struct traps_format *b)
{
	const char *x, *y;
	unsigned int i;

	for (i = 0; i < TRAPS_VECTORS; i++) {
		x = traps_vector_name(a, i);
		y = traps_vector_name(b, i);
		if (x && y && strcmp(x, y))
			return false;
	}
	return true;
}

const char *traps_result_name(const struct traps_format *format, unsigned int result)
{
	return find_name(&format->results, result);
}

const char *traps_code_name(const struct traps_format *format, unsigned int result,
			    unsigned int code)
{
	return code == SI_KERNEL ? "KERNEL" : find_name(&format->codes, TRAPS_OUTCOME(result, code));
}

uint64_t traps_raised_at(const struct traps_format *format, unsigned int vector,
			 uint64_t event_data, uint64_t ip)
{
	const char *name = traps_vector_name(format, vector) ?: "";

	return ip - (!strcmp(name, "#BP") || !strcmp(name, "#OF") ||
		     (!strcmp(name, "#DB") && event_data & DR_STEP));
}

static char *name_bits(const struct names *names, unsigned long long value)
{
	char *text = NULL;
	size_t size, i;
	FILE *file = open_memstream(&text, &size);
	const char *separator = "";

	if (!file)
		return NULL;
	for (i = 0; i < names->nr; i++) {
		if (!names->list[i].value || (value & names->list[i].value) != names->list[i].value)
			continue;
		value &= ~names->list[i].value;
		fprintf(file, "%s%s", separator, names->list[i].text);
		separator = "|";
	}
	if (value || !*separator)
		fprintf(file, "%s%#llx", separator, value);
	if (!fclose(file))
		return text;
	free(text);
	return NULL;
}

char *traps_flags_name(const struct traps_format *format, unsigned int flags)
{
	return name_bits(&format->flags, flags);
}

char *traps_error_code_name(const struct traps_format *format, unsigned int vector,
			    uint64_t error_code)
{
	static const struct names none;

	return name_bits(vector == TRAPS_VECTOR_PF ? &format->error_code : &none, error_code);
}
