/* SPDX-License-Identifier: GPL-2.0 */
/*
 * traps.h - the exceptions of a stream of trace data
 */
#ifndef TRAPS_H
#define TRAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <libkshark.h>
#include <libtraps.h>

/* Marks functions that KernelShark looks up. All other symbols are hidden. */
#define EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A kind is a vector, a TRAPS_OUTCOME(), and the number of the architecture that names the vector.
 * It decides the name and, but for the code, the colour of an exception.
 */
#define VECTOR_PF	TRAPS_VECTOR_PF
#define OUTCOME_NONE	0xffff	/* without exit */

static inline uint32_t make_kind(uint8_t arch, uint8_t vector, uint16_t outcome)
{
	return (uint32_t)arch << 24 | vector << 16 | outcome;
}

static inline uint8_t kind_arch(uint32_t kind)
{
	return kind >> 24;
}

static inline uint8_t kind_vector(uint32_t kind)
{
	return kind >> 16;
}

static inline uint16_t kind_outcome(uint32_t kind)
{
	return kind;
}

#define KIND_NAME_SIZE	48
#define FLAGS_NAME_SIZE	288

/* Use the names of a format until it is forgotten. Returns the number of its architecture. */
uint8_t kinds_learn(const struct traps_format *format);
void kinds_forget(const struct traps_format *format);
const char *kind_name(uint32_t kind, char name[KIND_NAME_SIZE]);
unsigned int kind_color(uint32_t kind);	/* 0xRRGGBB */
const char *flags_name(unsigned int value, char name[FLAGS_NAME_SIZE]);

/* @entry or @exit is NULL if it was not recorded. */
struct exception {
	const struct kshark_entry	*entry;
	const struct kshark_entry	*exit;
	/*
	 * Times of the records when they were loaded, see traps_shift(). They
	 * are equal if only one end is known.
	 */
	int64_t				begin;
	int64_t				end;
	int64_t				duration;	/* -1 without exit */
	int32_t				pid;
	uint32_t			kind;
	uint16_t			flags;
	bool				slow;	/* one of the slowest of its stream */
};

#define NR_EVENTS	4
#define NR_SLOW		10

struct record;

struct traps {
	struct kshark_data_stream	*stream;
	struct traps_format		*format;
	uint8_t				arch;	/* kinds_learn() */
	int				event_ids[NR_EVENTS];
	/* The loaded records, until they are paired. */
	struct record			*records;
	size_t				nr_records, max_records;
	int64_t				*lost;
	size_t				nr_lost, max_lost;
	int				last_cpu;
	int64_t				last_offset;
	bool				paired;
	struct exception		*exceptions;
	size_t				nr_exceptions, max_exceptions;
	void				*plot;	/* plot.cpp's */
};

/* The exceptions of stream @sd, paired; NULL if there are none. */
struct traps *traps_get(int sd);

/* The record that stands for an exception. */
static inline const struct kshark_entry *traps_record(const struct exception *e)
{
	return e->exit ? e->exit : e->entry;
}

/* Do KernelShark's filters show it in the graphs? Event filters have a bit of their own. */
static inline bool traps_visible(const struct exception *e)
{
	const uint16_t bits = KS_GRAPH_VIEW_FILTER_MASK | KS_EVENT_VIEW_FILTER_MASK;

	return (traps_record(e)->visible & bits) == bits;
}

/*
 * KernelShark does not load plugins of its option -p for an appended file. This adds the
 * plugin of stream @sd to all streams without it; @rows are all loaded entries.
 */
void traps_adopt(int sd, struct kshark_entry **rows, size_t nr);

/* How far the user has moved the times of the stream since it was loaded. */
int64_t traps_shift(const struct traps *traps);

/* Counts how often exceptions of any stream became invalid. */
extern unsigned long traps_generation;

/* plot.cpp */
struct kshark_cpp_argv;
void plot_draw(struct kshark_cpp_argv *argv, int sd, int value, int action);
void plot_free(void *plot);

#ifdef __cplusplus
}
#endif

#endif
