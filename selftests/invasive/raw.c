// SPDX-License-Identifier: GPL-2.0
/*
 * Reads trace_pipe_raw. The layout of the events is what traps_test checks, that of a page
 * and of the ring buffer's headers is told by events/header_page and events/header_event.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "invasive.h"
#include "memory.h"
#include "raw.h"

/* In the commit field of a page */
#define MISSED_EVENTS	0x80000000UL
#define MISSED_STORED	0x40000000UL
#define COMMIT_SIZE	0x07ffffffUL

/* In the type_len field of an event; less: the length in words */
#define TYPE_PADDING	29
#define TYPE_EXTEND	30
#define TYPE_STAMP	31

struct page {
	uint64_t time;
	unsigned long commit;
	unsigned char data[PAGE - sizeof(uint64_t) - sizeof(long)];
};

struct common {
	unsigned short type;
	unsigned char flags, preempt_count;
	int pid;
};

struct trap_entry {
	struct common common;
	uint16_t vector;
	bool user_mode;
	unsigned long error_code, ip, event_data;
};

struct trap_exit {
	struct common common;
	uint16_t vector;
	bool user_mode;
	uint8_t result;
	uint16_t flags;
	uint8_t code;
	unsigned long error_code, ip, event_data;
	uint64_t duration;
};

/* An entry ends before the result. */
struct page_fault {
	struct common common;
	unsigned long address, error_code, ip;
	bool user_mode;
	uint8_t result;
	uint16_t flags;
	uint8_t code;
	uint64_t duration;
};

struct print {
	struct common common;
	unsigned long ip;
	char text[16];
};

union event {
	struct common common;
	struct trap_entry trap_entry;
	struct trap_exit trap_exit;
	struct page_fault page_fault;
	struct print print;
};

enum {
	TRAP_ENTRY, TRAP_EXIT, PAGE_FAULT_ENTRY, PAGE_FAULT_EXIT, PRINT, RING,
	EVENTS,
};

struct buffer {
	int fd;
	struct page page;
	size_t at, end;			/* in its data */
	unsigned long long time;
	bool pending;			/* head is the next record */
	struct raw_record head;
};

struct raw {
	long ids[EVENTS];
	unsigned long missed;
	bool failed;
	int count;
	struct buffer *buffers;		/* one for each CPU */
};

/**
 * raw_open - begin to read what was recorded
 *
 * Return: for raw_next(), or NULL.
 */
struct raw *raw_open(void)
{
	static const char * const names[EVENTS] = {
		"traps/trap_entry", "traps/trap_exit",
		"traps/page_fault_entry", "traps/page_fault_exit", "ftrace/print",
		"traps_ring/ring",
	};
	struct raw *raw = calloc(1, sizeof(*raw));
	char file[64];

	if (!raw)
		return NULL;
	for (int event = 0; event < EVENTS; event++) {
		snprintf(file, sizeof(file), TRACEFS "events/%s/format", names[event]);
		raw->ids[event] = file_number(file, "ID: %ld");
	}
	raw->count = sysconf(_SC_NPROCESSORS_CONF);
	raw->buffers = calloc(raw->count, sizeof(*raw->buffers));
	for (int cpu = 0; raw->buffers && cpu < raw->count; cpu++) {
		snprintf(file, sizeof(file), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		raw->buffers[cpu].fd = trace_open(file, O_RDONLY | O_NONBLOCK);
		if (raw->buffers[cpu].fd < 0)
			return NULL;
	}
	return raw->buffers ? raw : NULL;
}

static bool next_page(struct raw *raw, struct buffer *buffer)
{
	ssize_t got = read(buffer->fd, &buffer->page, sizeof(buffer->page));
	unsigned long commit = buffer->page.commit;

	if (got <= 0) {
		raw->failed |= got < 0 && errno != EAGAIN;
		return false;
	}
	buffer->time = buffer->page.time;
	buffer->at = 0;
	buffer->end = commit & COMMIT_SIZE;
	if (buffer->end > sizeof(buffer->page.data)) {
		raw->failed = true;
		return false;
	}
	if (commit & MISSED_STORED)
		raw->missed += *(unsigned long *)(buffer->page.data + buffer->end);
	else if (commit & MISSED_EVENTS)
		raw->missed++;
	return true;
}

static struct raw_record of_trap_entry(const struct trap_entry *trap)
{
	return (struct raw_record) {
		.vector		= trap->vector,
		.error_code	= trap->error_code,
		.ip		= trap->ip,
		.user_mode	= trap->user_mode,
		.event_data	= trap->event_data,
	};
}

static struct raw_record of_trap_exit(const struct trap_exit *trap)
{
	return (struct raw_record) {
		.vector		= trap->vector,
		.error_code	= trap->error_code,
		.ip		= trap->ip,
		.user_mode	= trap->user_mode,
		.event_data	= trap->event_data,
		.result		= trap->result,
		.code		= trap->code,
		.flags		= trap->flags,
		.duration	= trap->duration,
	};
}

static struct raw_record of_page_fault(const struct page_fault *fault)
{
	return (struct raw_record) {
		.vector		= VECTOR_PF,
		.address	= fault->address,
		.error_code	= fault->error_code,
		.ip		= fault->ip,
		.user_mode	= fault->user_mode,
		.result		= fault->result,
		.code		= fault->code,
		.flags		= fault->flags,
		.duration	= fault->duration,
	};
}

/* Fills in the record, or returns false if it is of another event. */
static bool decode(const struct raw *raw, const void *data, size_t length,
		   struct raw_record *record)
{
	union event event = {};
	int n = 0;

	memcpy(&event, data, length < sizeof(event) ? length : sizeof(event));
	while (raw->ids[n] != event.common.type)
		if (++n == EVENTS)
			return false;
	if (n == PRINT) {
		*record = (struct raw_record) { .kind = RAW_MARK };
		memcpy(record->mark, event.print.text, sizeof(record->mark));
	} else if (n == RING) {
		*record = (struct raw_record) {
			.kind = RAW_RING, .data = data, .length = length,
		};
	} else {
		*record = n == TRAP_ENTRY ? of_trap_entry(&event.trap_entry) :
			  n == TRAP_EXIT ? of_trap_exit(&event.trap_exit) :
			  of_page_fault(&event.page_fault);
		record->kind = n == TRAP_ENTRY || n == PAGE_FAULT_ENTRY ? RAW_ENTRY : RAW_EXIT;
	}
	record->pid = event.common.pid;
	return true;
}

/* The CPU's next record becomes its head. */
static void advance(struct raw *raw, int cpu)
{
	struct buffer *buffer = &raw->buffers[cpu];
	const uint32_t *data;
	unsigned long long delta;
	unsigned int type, length;

	buffer->pending = false;
	while (!buffer->pending) {
		if (buffer->at >= buffer->end) {
			if (!next_page(raw, buffer))
				return;
			continue;
		}
		data = (const uint32_t *)(buffer->page.data + buffer->at);
		type = *data & 0x1f;
		delta = *data++ >> 5;
		length = 4 * type;

		switch (type) {
		case TYPE_PADDING:
			/* Without a delta: the rest of the page */
			length = delta ? *data : buffer->end;
			break;
		case TYPE_STAMP:
			buffer->time &= 0x1fULL << 59;
			/* fall through */
		case TYPE_EXTEND:
			delta += (unsigned long long)*data << 27;
			length = 4;
			break;
		case 0:
			/* It counts itself. */
			length = *data++ - 4;
			buffer->at += 4;
			break;
		}
		buffer->time += delta;
		buffer->at += 4 + length;
		if (type >= TYPE_PADDING || !decode(raw, data, length, &buffer->head))
			continue;
		buffer->head.cpu = cpu;
		buffer->head.time = buffer->time;
		buffer->pending = true;
	}
}

/**
 * raw_next - get the next record of the traps events, of trace_marker, or of the module ring
 * @raw: from raw_open()
 * @record: filled in
 *
 * The order is that of time, and on each CPU that of the recording.
 *
 * Return: false if there is none.
 */
bool raw_next(struct raw *raw, struct raw_record *record)
{
	struct buffer *first = NULL;

	for (int cpu = 0; cpu < raw->count; cpu++) {
		struct buffer *buffer = &raw->buffers[cpu];

		if (!buffer->pending)
			advance(raw, cpu);
		if (buffer->pending && (!first || buffer->head.time < first->head.time))
			first = buffer;
	}
	if (!first)
		return false;
	*record = first->head;
	first->pending = false;
	return true;
}

/* Could something not be read? */
bool raw_failed(const struct raw *raw)
{
	return raw->failed;
}

/* How many records were overwritten before they were read, as the pages tell. */
unsigned long raw_missed(const struct raw *raw)
{
	return raw->missed;
}

void raw_close(struct raw *raw)
{
	for (int cpu = 0; cpu < raw->count; cpu++)
		close(raw->buffers[cpu].fd);
	free(raw->buffers);
	free(raw);
}
