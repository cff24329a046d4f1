/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libtraps.h - reads, names and pairs the events of events/traps; see libtraps(3)
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

/* Fields that an event of its type does not have are 0. */
struct traps_event {
	enum traps_type	type;
	unsigned int	cpu;
	pid_t		pid;
	uint64_t	ts;
	unsigned int	vector;		/* TRAPS_VECTOR_PF of page faults */
	unsigned int	result;
	unsigned int	flags;
	unsigned int	fault_flags;
	unsigned int	mm_id;
	bool		user_mode;
	bool		curr;
	uint64_t	error_code;
	uint64_t	ip;
	uint64_t	address;
	uint64_t	event_data;
	uint64_t	duration;
	void		*data;		/* the caller's */
};

static inline bool traps_is_entry(const struct traps_event *event)
{
	return event->type == TRAPS_TRAP_ENTRY || event->type == TRAPS_PAGE_FAULT_ENTRY;
}

/* The events of a kernel or a recording, and the names in their formats */
struct traps_format;

struct traps_format *traps_format_new(struct tep_handle *tep, const char **missing);
void traps_format_free(struct traps_format *format);
bool traps_format_has(const struct traps_format *format, enum traps_type type);
const char *traps_event_name(enum traps_type type);

bool traps_read(const struct traps_format *format, struct tep_record *record,
		struct traps_event *event);

bool traps_same_vectors(const struct traps_format *a, const struct traps_format *b);
const char *traps_vector_name(const struct traps_format *format, unsigned int vector);
const char *traps_result_name(const struct traps_format *format, unsigned int result);
char *traps_flags_name(const struct traps_format *format, unsigned int flags);
char *traps_error_code_name(const struct traps_format *format, unsigned int vector,
			    uint64_t error_code);

/* Pairs entries with exits. */
struct traps_pairing;
typedef void (*traps_pair_t)(const struct traps_event *entry, const struct traps_event *exit,
			     void *arg);

struct traps_pairing *traps_pairing_new(traps_pair_t pair, void *arg);
void traps_pairing_free(struct traps_pairing *pairing);
int traps_pairing_add(struct traps_pairing *pairing, const struct traps_event *event);
void traps_pairing_lost(struct traps_pairing *pairing, uint64_t ts);
void traps_pairing_end(struct traps_pairing *pairing);
void traps_pairing_open(struct traps_pairing *pairing, pid_t pid, unsigned int cpu,
			void (*call)(struct traps_event *entry, void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif
