/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libtraps.h - reads, names and pairs the events of events/traps
 *
 * Documentation/trace/events-traps.rst tells what each field means.
 */
#ifndef LIBTRAPS_H
#define LIBTRAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <event-parse.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRAPS_SYSTEM	"traps"
#define TRAPS_VECTORS	64
#define TRAPS_VECTOR_PF	14	/* on each architecture */
#define TRAPS_VECTOR_ILL 63	/* of arm64, whose number 14 is that of page faults here */

enum traps_type {
	TRAPS_TRAP_ENTRY,
	TRAPS_TRAP_EXIT,
	TRAPS_PAGE_FAULT_ENTRY,
	TRAPS_PAGE_FAULT_EXIT,
	TRAPS_MM_FAULT,
	TRAPS_TYPES
};

/**
 * struct traps_event - one event
 * @pid: of the thread
 * @ts: in the units of the trace's clock, normally nanoseconds
 * @vector: TRAPS_VECTOR_PF of page faults, TRAPS_VECTOR_ILL of arm64's ILL
 * @duration: always in nanoseconds
 * @data: the caller's; traps_read() makes it NULL
 *
 * Fields that an event of its type does not have are 0.
 */
struct traps_event {
	enum traps_type	type;
	unsigned int	cpu;
	pid_t		pid;
	uint64_t	ts;
	unsigned int	vector;
	unsigned int	result;
	unsigned int	code;
	unsigned int	flags;
	bool		user_mode;
	bool		curr;
	uint64_t	error_code;
	uint64_t	ip;
	uint64_t	address;
	uint64_t	event_data;
	uint64_t	duration;
	void		*data;
};

/* How it ended: the result and, of a signal, its code */
#define TRAPS_OUTCOME(result, code)	((result) << 8 | (code))

/* The first one of a pair? */
static inline bool traps_is_entry(const struct traps_event *event)
{
	return event->type == TRAPS_TRAP_ENTRY || event->type == TRAPS_PAGE_FAULT_ENTRY;
}

/* The events of a kernel or a recording, and the names in their formats */
struct traps_format;

/**
 * traps_format_new - find the events, and copy the names in their formats
 * @tep: of a recording or of the running kernel; only traps_read() needs it later
 * @missing: what is wrong, when the function returns NULL
 *
 * One event is enough.
 *
 * Return: NULL if @tep has none of the events (@missing is NULL), if an event lacks a field, or
 * if there is no memory (@missing names it).
 */
struct traps_format *traps_format_new(struct tep_handle *tep, const char **missing);
void traps_format_free(struct traps_format *format);
/* Is the format of this event there? The event itself may not have been recorded. */
bool traps_format_has(const struct traps_format *format, enum traps_type type);
const char *traps_event_name(enum traps_type type);

/* Fill in @event if @record is one of the events, and not too short for its fields. */
bool traps_read(const struct traps_format *format, struct tep_record *record,
		struct traps_event *event);

/* Has no vector another name in @b than in @a? Each architecture has vectors of its own. */
bool traps_same_vectors(const struct traps_format *a, const struct traps_format *b);
/* NULL if the number has no name. A name is valid until traps_format_free(). */
const char *traps_vector_name(const struct traps_format *format, unsigned int vector);
const char *traps_result_name(const struct traps_format *format, unsigned int result);
const char *traps_code_name(const struct traps_format *format, unsigned int result,
			    unsigned int code);
/*
 * A string such as SLEPT|0x80, in which a bit without a name is a number. The caller frees it.
 * Only the error code of a page fault has names.
 */
char *traps_flags_name(const struct traps_format *format, unsigned int flags);
char *traps_error_code_name(const struct traps_format *format, unsigned int vector,
			    uint64_t error_code);

/*
 * An address in what raised the exception. @ip of a trap is behind it, where another function may
 * begin. A #DB is a trap if it is a single step; the processor does not tell of other ones.
 */
uint64_t traps_raised_at(const struct traps_format *format, unsigned int vector,
			 uint64_t event_data, uint64_t ip);

/**
 * typedef traps_pair_t - is called when it is known how an exception ended
 * @entry: NULL if the recording begins after it, has only exits, or lost it: the exception began
 *         @exit's duration before @exit
 * @exit: NULL if the handler did not return, or the exit was lost
 * @arg: that of traps_pairing_new()
 */
typedef void (*traps_pair_t)(const struct traps_event *entry, const struct traps_event *exit,
			     void *arg);

/*
 * An exit belongs to the last entry of its task with the same event, vector, ip, address and
 * mode. Entries between the two have no exit. An entry from user mode ends all earlier ones of
 * its task. The idle task of each CPU is a task of its own. At most 16 exceptions of a task nest:
 * with another one, all of them have no exit.
 */
struct traps_pairing;

/* NULL if there is no memory */
struct traps_pairing *traps_pairing_new(traps_pair_t pair, void *arg);
void traps_pairing_free(struct traps_pairing *pairing);	/* calls nothing */

/* Take the next event of all tasks, in the order of time. Return: -1 if there is no memory. */
int traps_pairing_add(struct traps_pairing *pairing, const struct traps_event *event);

/*
 * Events were lost until @ts. An entry from before and an exit from after it are a pair only if
 * the time between them agrees with the duration: it is at least half of it, and at most twice
 * as long and a millisecond.
 */
void traps_pairing_lost(struct traps_pairing *pairing, uint64_t ts);

/* All entries without exit so far have none. A new stream of events may begin. */
void traps_pairing_end(struct traps_pairing *pairing);

/*
 * Call @call for each entry of a task without exit so far, the outermost first. It may change
 * the entry's data. @cpu tells which idle task is meant if @pid is 0.
 */
void traps_pairing_open(struct traps_pairing *pairing, pid_t pid, unsigned int cpu,
			void (*call)(struct traps_event *entry, void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif
