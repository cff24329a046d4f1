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
 *
 * Nor does it know threads. The mappings of a process are those of one task, and the "task" OWNERS
 * has a mapping for each of the others: from its TID, to the next number, of that task in
 * hexadecimal digits.
 *
 * libtracecmd looks for a task in a list of all. So the options are read here, too.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace-cmd.h>
#include "trapstat.h"

#define OPTION_DONE	0
#define OPTION_PROCMAPS	10
#define SECTION_BYTES	16	/* the header: id, flags, description; size in 8 bytes */
#define NAME_BYTES	4000	/* libtracecmd takes lines of 4096 */
#define OWNERS		INT_MAX

/* libtracecmd exports these, but installs no header for them. */
size_t tracecmd_get_options_offset(struct tracecmd_input *handle);
unsigned long tracecmd_get_in_file_version(struct tracecmd_input *handle);

struct area {
	uint64_t	start;
	uint64_t	end;
	char		*text;
};

/* The option of a task, or of one that is none; its areas are in order. */
struct areas {
	int		tid;
	char		*text;
	struct area	*area;	/* NULL until one is looked for */
	size_t		nr;
};

static void *recorded;		/* struct areas by tid */
static struct map *threads;	/* what OWNERS gets */
static size_t nr_threads;

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

static void write_task(pid_t tid, pid_t owner, const struct map *map, size_t nr, void *data)
{
	if (tid == owner) {
		write_option(data, tid, map, nr);
		write_option(data, -tid, map, nr);
		return;
	}
	if (!(nr_threads & (nr_threads - 1)))
		threads = allocate(threads, (nr_threads ? 2 * nr_threads : 1) * sizeof(*threads));
	threads[nr_threads++] = (struct map){ .start = tid, .end = tid + 1,
					      .name = print_string("%x", owner) };
}

static int compare_starts(const void *a, const void *b)
{
	const struct map *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void write_threads(FILE *file)
{
	if (!nr_threads)
		return;
	qsort(threads, nr_threads, sizeof(*threads), compare_starts);
	write_option(file, OWNERS, threads, nr_threads);
	while (nr_threads)
		free(threads[--nr_threads].name);
}

static int compare_tids(const void *a, const void *b)
{
	const struct areas *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void free_areas(void *areas)
{
	free(((struct areas *)areas)->text);
	free(((struct areas *)areas)->area);
	free(areas);
}

/* A task that has several has the last one, as with libtracecmd. */
static bool read_areas(FILE *file, size_t size)
{
	struct areas *new = allocate(NULL, sizeof(*new)), **found;

	memset(new, 0, sizeof(*new));
	new->text = allocate(NULL, size + 1);
	if (fread(new->text, 1, size, file) != size) {
		free_areas(new);
		return false;
	}
	new->text[size] = '\0';
	new->tid = strtoul(new->text, NULL, 16);
	found = tsearch(new, &recorded, compare_tids);
	if (!found)
		die("out of memory");
	if (*found != new) {
		free_areas(*found);
		*found = new;
	}
	return true;
}

/* @keep: the mappings that are among the options from here on */
static bool read_options(FILE *file, bool keep)
{
	uint64_t id, size;

	while (get(file, &id, 2) && id != OPTION_DONE) {
		if (!get(file, &size, 4) ||
		    !(keep && id == OPTION_PROCMAPS ? read_areas(file, size) :
						      !fseek(file, size, SEEK_CUR)))
			return false;
	}
	return !ferror(file) && !feof(file);
}

/*
 * Go through the sections of options from that at @next on. Returns the place in the last one
 * where the offset of the next one belongs, or -1.
 */
static long read_sections(FILE *file, uint64_t next, bool keep)
{
	uint64_t size;

	while (next) {
		if (fseek(file, next + SECTION_BYTES, SEEK_SET) || !read_options(file, keep) ||
		    !get(file, &size, 4) || !get(file, &next, 8))
			return -1;
	}
	return ftell(file) - 8;
}

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
	return get(file, &next, 8) ? read_sections(file, next, false) : -1;
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
	write_threads(file);
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

/* Read the mappings of a recording. */
void procmaps_use(struct tracecmd_input *handle, const char *path)
{
	FILE *file = fopen(path, "re");
	size_t at = tracecmd_get_options_offset(handle);

	tdestroy(recorded, free_areas);
	recorded = NULL;
	if (!file)
		die("%s: %s", path, strerror(errno));
	if (tracecmd_get_in_file_version(handle) >= 7)
		read_sections(file, at, true);
	else if (!fseek(file, at, SEEK_SET))
		read_options(file, true);
	fclose(file);
}

/* What print_name() has escaped, in place. */
static void scan_name(char *name)
{
	const char *from = name;
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

static void scan_areas(struct areas *areas)
{
	char *line = strchr(areas->text, '\n'), *end;
	struct area *area = allocate(NULL, sizeof(*area));
	int at = 0;

	for (; line && (end = strchr(++line, '\n')); line = end) {
		*end = '\0';
		if (!(areas->nr & (areas->nr - 1)))
			area = allocate(area, 2 * (areas->nr + 1) * sizeof(*area));
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &area[areas->nr].start,
			   &area[areas->nr].end, &at) < 2)
			break;
		area[areas->nr].text = line + at;
		scan_name(area[areas->nr++].text);
	}
	areas->area = area;
}

static int compare_address(const void *address, const void *area)
{
	const struct area *in = area;
	uint64_t at = *(const uint64_t *)address;

	return at < in->start ? -1 : at >= in->end;
}

static const struct area *find_area(int tid, uint64_t address)
{
	struct areas key = { .tid = tid }, **found = tfind(&key, &recorded, compare_tids);

	if (!found)
		return NULL;
	if (!(*found)->area)
		scan_areas(*found);
	return bsearch(&address, (*found)->area, (*found)->nr, sizeof(struct area),
		       compare_address);
}

/* The range of @area and its adjacent mappings of the same file. */
static void extend(pid_t tid, const struct area *area, uint64_t *start, uint64_t *end)
{
	const struct area *next = area;

	do {
		*start = next->start;
		next = find_area(tid, *start - 1);
	} while (next && !strcmp(next->text, area->text));
	next = area;
	do {
		*end = next->end;
		next = find_area(tid, *end);
	} while (next && !strcmp(next->text, area->text));
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
	const struct area *owner = find_area(OWNERS, tid), *found, *id;
	static struct map map;

	if (owner)
		tid = strtoul(owner->text, NULL, 16);
	found = find_area(tid, address);
	if (!found || !place)
		return found;
	memset(&map, 0, sizeof(map));
	map.start = found->start;
	map.end = found->end;
	map.name = found->text;
	id = find_area(-tid, address);
	if (id)
		scan_id(&map, id->text);
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
