// SPDX-License-Identifier: GPL-2.0
/*
 * Reads trace_pipe_raw. The layout of a page and of the events is taken from
 * events/header_page and the events' format; that of the ring buffer's own
 * headers is in <linux/ring_buffer.h> and events/header_event.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "raw.h"
#include "invasive.h"

/* In the commit field of a page */
#define MISSED_EVENTS	0x80000000UL
#define MISSED_STORED	0x40000000UL
#define COMMIT_SIZE	0x07ffffffUL

/* In the type_len field of an event; less: the length in words */
#define TYPE_PADDING	29
#define TYPE_EXTEND	30
#define TYPE_STAMP	31

enum field {
	TYPE, PID, VECTOR, ADDRESS, ERROR_CODE, IP, USER_MODE, EVENT_DATA, RESULT, FLAGS,
	DURATION,
	BUF,
	FIELDS,
};

static const char * const field_names[FIELDS] = {
	"common_type", "common_pid", "vector", "address", "error_code", "ip",
	"user_mode", "event_data", "result", "flags", "duration", "buf",
};

struct format {
	const char *event;
	enum raw_kind kind;
	unsigned int id;
	unsigned int offset[FIELDS], size[FIELDS];	/* size 0: has not */
};

struct buffer {
	int fd;
	unsigned char *page;
	size_t at, end;
	unsigned long long time;
	bool pending;			/* head is the next record */
	struct raw_record head;
};

struct raw {
	struct format formats[5];
	size_t page_size, commit_offset, commit_size, data_offset;
	unsigned long missed;
	bool failed;
	int count;
	struct buffer *buffers;		/* one for each CPU */
};

static bool read_format(struct format *format)
{
	char file[64], *text, *line, *rest, *name;
	unsigned int offset, size;

	snprintf(file, sizeof(file), "events/%s/format", format->event);
	text = trace_read(file);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "ID: %u", &format->id) == 1)
			continue;
		if (sscanf(line, " field:%*[^;]; offset:%u; size:%u;", &offset, &size) != 2)
			continue;
		line[strcspn(line, ";[")] = '\0';
		name = strrchr(line, ' ');
		for (int i = 0; name && i < FIELDS; i++)
			if (!strcmp(name + 1, field_names[i])) {
				format->offset[i] = offset;
				format->size[i] = size ?: 1;
			}
	}
	free(text);
	return format->id;
}

static bool read_header_page(struct raw *raw)
{
	char *text = trace_read("events/header_page"), *line, *rest = text;
	unsigned int size = 0, offset;

	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, " field: local_t commit; offset:%u; size:%u;",
			   &offset, &size) == 2) {
			raw->commit_offset = offset;
			raw->commit_size = size;
		} else if (sscanf(line, " field: char data; offset:%u; size:%u;",
				  &offset, &size) == 2) {
			raw->data_offset = offset;
			raw->page_size = offset + size;
		}
	}
	free(text);
	return raw->page_size && raw->commit_size;
}

/**
 * raw_open - begin to read what was recorded
 *
 * Return: for raw_next(), or NULL.
 */
struct raw *raw_open(void)
{
	static const struct format formats[] = {
		{ "traps/trap_entry",		RAW_ENTRY },
		{ "traps/trap_exit",		RAW_EXIT },
		{ "traps/page_fault_entry",	RAW_ENTRY },
		{ "traps/page_fault_exit",	RAW_EXIT },
		{ "ftrace/print",		RAW_MARK },
	};
	struct raw *raw = calloc(1, sizeof(*raw));
	char file[64];

	if (!raw || !read_header_page(raw))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		raw->formats[i] = formats[i];
		if (!read_format(&raw->formats[i]))
			return NULL;
	}
	raw->count = sysconf(_SC_NPROCESSORS_CONF);
	raw->buffers = calloc(raw->count, sizeof(*raw->buffers));
	if (!raw->buffers)
		return NULL;
	for (int cpu = 0; cpu < raw->count; cpu++) {
		struct buffer *buffer = &raw->buffers[cpu];

		snprintf(file, sizeof(file), "per_cpu/cpu%d/trace_pipe_raw", cpu);
		buffer->fd = trace_open(file, O_RDONLY | O_NONBLOCK);
		buffer->page = malloc(raw->page_size);
		if (buffer->fd < 0 || !buffer->page)
			return NULL;
	}
	return raw;
}

static unsigned long long number(const unsigned char *data, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, data, size < sizeof(value) ? size : sizeof(value));
	return value;
}

static bool next_page(struct raw *raw, struct buffer *buffer)
{
	ssize_t got = read(buffer->fd, buffer->page, raw->page_size);
	unsigned long commit;

	if (got <= 0) {
		if (got < 0 && errno != EAGAIN)
			raw->failed = true;
		return false;
	}
	buffer->time = number(buffer->page, 8);
	commit = number(buffer->page + raw->commit_offset, raw->commit_size);
	buffer->at = raw->data_offset;
	buffer->end = raw->data_offset + (commit & COMMIT_SIZE);
	if (buffer->end > raw->page_size) {
		raw->failed = true;
		return false;
	}
	if (commit & MISSED_EVENTS)
		raw->missed += commit & MISSED_STORED ?
			number(buffer->page + buffer->end, raw->commit_size) : 1;
	return true;
}

static unsigned long long get(const struct format *format, enum field field,
			      const unsigned char *data)
{
	return number(data + format->offset[field], format->size[field]);
}

/* Fills in the record, or returns false if it is of another event. */
static bool decode(const struct raw *raw, const unsigned char *data,
		   size_t length, struct raw_record *record)
{
	const struct format *format = raw->formats;
	unsigned int id = get(format, TYPE, data);

	while (format->id != id)
		if (++format == raw->formats + ARRAY_SIZE(raw->formats))
			return false;
	record->kind = format->kind;
	record->pid = get(format, PID, data);
	record->mark[0] = '\0';
	if (format->kind == RAW_MARK) {
		snprintf(record->mark, sizeof(record->mark), "%.*s",
			 (int)(length - format->offset[BUF]),
			 data + format->offset[BUF]);
		return true;
	}
	record->vector = format->size[VECTOR] ? get(format, VECTOR, data) : VECTOR_PF;
	record->address = get(format, ADDRESS, data);
	record->error_code = get(format, ERROR_CODE, data);
	record->ip = get(format, IP, data);
	record->user_mode = get(format, USER_MODE, data);
	record->event_data = get(format, EVENT_DATA, data);
	record->result = get(format, RESULT, data);
	record->flags = get(format, FLAGS, data);
	record->duration = get(format, DURATION, data);
	return true;
}

/* The CPU's next record becomes its head. */
static void advance(struct raw *raw, int cpu)
{
	struct buffer *buffer = &raw->buffers[cpu];
	unsigned long long delta, word;
	const unsigned char *data;
	unsigned int type;
	size_t length;

	buffer->pending = false;
	while (!buffer->pending) {
		if (buffer->at >= buffer->end) {
			if (!next_page(raw, buffer))
				return;
			continue;
		}
		data = buffer->page + buffer->at;
		type = number(data, 4) & 0x1f;
		delta = number(data, 4) >> 5;
		word = number(data + 4, 4);
		data += 4;
		length = 4 * type;

		switch (type) {
		case TYPE_PADDING:
			/* Without a delta: the rest of the page */
			length = delta ? word : buffer->end;
			break;
		case TYPE_EXTEND:
			delta += word << 27;
			length = 4;
			break;
		case TYPE_STAMP:
			buffer->time &= 0x1fULL << 59;
			delta += word << 27;
			length = 4;
			break;
		case 0:
			length = word;
			data += 4;
			break;
		}
		buffer->time += delta;
		buffer->at += 4 + length;
		if (type >= TYPE_PADDING)
			continue;
		buffer->head.cpu = cpu;
		buffer->head.time = buffer->time;
		buffer->pending = decode(raw, data, type ? length : length - 4,
					 &buffer->head);
	}
}

/**
 * raw_next - get the next record of the traps events or of trace_marker
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
	for (int cpu = 0; cpu < raw->count; cpu++) {
		close(raw->buffers[cpu].fd);
		free(raw->buffers[cpu].page);
	}
	free(raw->buffers);
	free(raw);
}
