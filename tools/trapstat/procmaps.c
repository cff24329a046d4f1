// SPDX-License-Identifier: GPL-2.0
/*
 * procmaps.c - mappings in a recording, in the format of trace-cmd record --proc-map
 *
 * --proc-map uses ptrace(), keeps SIGTRAP from the traced program and knows only the tasks
 * that it is given. So trapstat -o appends its own mappings (maps.c) to the finished file,
 * as another section of options: see trace-cmd.dat.v7(5).
 *
 * That format has no offset in the mapped file, and nothing that identifies the file. So a
 * "task" with the negative number has these, in the place of the names: OFFSET,BUILD-ID, and
 * ?MIXED if other owners of the area had this protection. For a recording without them, only
 * the distance of an address from the beginning of the file's mappings is known.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace-cmd.h>
#include "trapstat.h"

#define OPTION_DONE	0
#define OPTION_PROCMAPS	10
#define SECTION_BYTES	16	/* the header: id, flags, description; size in 8 bytes */
#define LINE_BYTES	4096	/* what libtracecmd takes */
#define NAME_BYTES	4000

/* libtracecmd exports this, but installs no header for it. */
struct tracecmd_proc_addr_map {
	unsigned long long	start;
	unsigned long long	end;
	char			*lib_name;
};

struct tracecmd_proc_addr_map *tracecmd_search_task_map(struct tracecmd_input *handle, int pid,
							unsigned long long address);

static struct tracecmd_input *input;

static void put(FILE *file, uint64_t value, size_t size)
{
	fwrite(&value, size, 1, file);	/* x86 and the file are little endian */
}

static bool get(FILE *file, uint64_t *value, size_t size)
{
	*value = 0;
	return fread(value, size, 1, file) == 1;
}

/*
 * White space and backslashes are escaped as in /proc/mounts. An area without a name gets the
 * name of perf.
 */
static void print_name(FILE *text, const char *name)
{
	size_t i;

	if (!*name)
		name = "//anon";
	for (i = 0; name[i] && i < NAME_BYTES; i++)
		fprintf(text, isspace((unsigned char)name[i]) || name[i] == '\\' ? "\\%03o" : "%c",
			name[i]);
}

static void print_id(FILE *text, const struct map *map)
{
	unsigned int i;

	fprintf(text, "%llx,", (unsigned long long)map->offset);
	for (i = 0; i < map->id.build_id_size; i++)
		fprintf(text, "%02x", map->id.build_id[i]);
	if (map->mixed)
		fprintf(text, "?%x", map->mixed);
}

/* Write one option: the number of mappings, then a line for each. */
static void write_option(FILE *file, pid_t tid, const struct map *map, size_t nr)
{
	char *option;
	size_t size, i;
	FILE *text;

	text = open_memstream(&option, &size);
	if (!text)
		die("out of memory");
	/* "?": the program's name is not used */
	fprintf(text, "%x %zx ?\n", tid, nr);
	for (i = 0; i < nr; i++) {
		fprintf(text, "%llx %llx ",
			(unsigned long long)map_low(&map[i], i ? &map[i - 1] : NULL),
			(unsigned long long)map[i].end);
		if (tid < 0)
			print_id(text, &map[i]);
		else
			print_name(text, map[i].name);
		putc('\n', text);
	}
	putc('\0', text);
	fclose(text);
	put(file, OPTION_PROCMAPS, 2);
	put(file, size, 4);
	fwrite(option, size, 1, file);
	free(option);
}

static void write_task(pid_t tid, const struct map *map, size_t nr, void *data)
{
	write_option(data, tid, map, nr);
	write_option(data, -tid, map, nr);
}

/* Find the place in the last section of options where the offset of the next one belongs. */
static long find_last(FILE *file)
{
	uint64_t next, id, size;
	char byte;

	/* the header: magic, version, endianness, size of a long, page size, compression */
	if (fseek(file, 10, SEEK_SET) || fscanf(file, "7%c", &byte) != 1 || byte)
		return -1;
	if (fseek(file, 6, SEEK_CUR))
		return -1;
	for (id = 0; id < 2; ) {
		if (!get(file, &size, 1))
			return -1;
		id += !size;
	}
	if (!get(file, &next, 8))
		return -1;
	while (next) {
		if (fseek(file, next + SECTION_BYTES, SEEK_SET))
			return -1;
		do {
			if (!get(file, &id, 2) || !get(file, &size, 4) ||
			    (id != OPTION_DONE && fseek(file, size, SEEK_CUR)))
				return -1;
		} while (id != OPTION_DONE);
		if (!get(file, &next, 8))
			return -1;
	}
	return ftell(file) - 8;
}

static bool append(FILE *file, long last)
{
	long begin, end;

	if (fseek(file, 0, SEEK_END))
		return false;
	begin = ftell(file);
	put(file, 0, 8);
	put(file, 0, 8);
	maps_each(write_task, file);
	put(file, OPTION_DONE, 2);
	put(file, 8, 4);
	put(file, 0, 8);
	end = ftell(file);
	fseek(file, begin + 8, SEEK_SET);
	put(file, end - begin - SECTION_BYTES, 8);
	/* link the section only when it is complete */
	if (fflush(file) || ferror(file) || fseek(file, last, SEEK_SET))
		return false;
	put(file, begin, 8);
	return !fflush(file) && !ferror(file);
}

/* Append the mappings to the file of trace-cmd. */
void procmaps_append(const char *path)
{
	FILE *file = fopen(path, "r+e");
	long last = file ? find_last(file) : 0;

	if (last < 0)
		note("%s: it lacks what processes have mapped: not a file of version 7", path);
	else if (!file || !append(file, last))
		note("%s: it lacks what processes have mapped: %s", path, strerror(errno));
	if (file)
		fclose(file);
}

void procmaps_use(struct tracecmd_input *handle)
{
	input = handle;
}

/* The range of @map and its adjacent mappings of the same file. */
static void extend(pid_t tid, const struct tracecmd_proc_addr_map *map, uint64_t *start,
		   uint64_t *end)
{
	const struct tracecmd_proc_addr_map *next = map;

	do {
		*start = next->start;
		next = tracecmd_search_task_map(input, tid, *start - 1);
	} while (next && !strcmp(next->lib_name, map->lib_name));
	next = map;
	do {
		*end = next->end;
		next = tracecmd_search_task_map(input, tid, *end);
	} while (next && !strcmp(next->lib_name, map->lib_name));
}

/* What print_name() has escaped. */
static void scan_name(char *name, const char *from)
{
	unsigned int byte;
	int at;

	for (; *from; from += at) {
		if (*from != '\\' || sscanf(from, "\\%3o%n", &byte, &at) != 1) {
			byte = *from;
			at = 1;
		}
		*name++ = byte;
	}
	*name = '\0';
}

/* What print_id() has written. */
static void scan_id(struct map *map, const char *text)
{
	const char *mixed = strchr(text, '?');
	unsigned int byte;
	int at = 0;

	if (mixed)
		sscanf(mixed, "?%x", &map->mixed);
	sscanf(text, "%" SCNx64 ",%n", &map->offset, &at);
	while (map->id.build_id_size < sizeof(map->id.build_id) &&
	       sscanf(text += at, "%2x%n", &byte, &at) == 1)
		map->id.build_id[map->id.build_id_size++] = byte;
}

/* @place: NULL to ask only whether the address is mapped. It is valid until the next call. */
bool procmaps_find(pid_t tid, uint64_t address, struct place *place)
{
	struct tracecmd_proc_addr_map *found = tracecmd_search_task_map(input, tid, address), *id;
	static char name[LINE_BYTES + 1];
	static struct map map;

	if (!found || !place)
		return found;
	memset(&map, 0, sizeof(map));
	map.start = found->start;
	map.end = found->end;
	map.name = name;
	scan_name(name, found->lib_name);
	id = tracecmd_search_task_map(input, -tid, address);
	if (id)
		scan_id(&map, id->lib_name);
	if (!map_is_sure(&map, place->code))
		return false;
	map_place(&map, address, place);
	place->tid = tid;
	if (!strcmp(place->kind, "file") && id) {
		place->no_symbols = !map.id.build_id_size;
	} else if (!strcmp(place->kind, "file")) {
		extend(tid, found, &map.start, &map.end);
		place->offset = address - map.start;
		place->no_symbols = !symbols_file_offset(place, map.end - map.start);
	}
	return true;
}
