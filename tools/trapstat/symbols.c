// SPDX-License-Identifier: GPL-2.0
/*
 * symbols.c - names addresses by the symbols of the kernel and of ELF files
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <tracefs.h>
#include "trapstat.h"

struct symbol {
	uint64_t	start;
	uint64_t	size;
	char		*name;
};

struct image {
	char		*name;
	GElf_Phdr	*segment;
	size_t		nr_segments;
	struct symbol	*symbol;
	size_t		nr_symbols;
	struct image	*next;
};

static struct tep_handle *kernel;
static struct image *images;
static find_place find;

static char *read_file(const char *path)
{
	size_t size = 0, nr = 0, got;
	FILE *file = fopen(path, "r");
	char *text = NULL;

	while (file) {
		if (size - nr < 2) {
			size = size ? 2 * size : 1 << 20;
			text = allocate(text, size);
		}
		got = fread(text + nr, 1, size - nr - 1, file);
		if (!got)
			break;
		nr += got;
	}
	if (!file)
		return NULL;
	fclose(file);
	text[nr] = '\0';
	return text;
}

/* Use the mappings and kernel symbols of a recording, and the files of this machine. */
void symbols_recorded(struct tep_handle *tep)
{
	kernel = tep;
	find = procmaps_find;
	elf_version(EV_CURRENT);
}

/* Use the mappings of running processes and the symbols of the running kernel. */
void symbols_live(void)
{
	char *text;

	find = maps_find;
	elf_version(EV_CURRENT);
	if (!options.table[FROM] || kernel)
		return;
	text = read_file("/proc/kallsyms");
	kernel = tep_alloc();
	if (!text || !kernel || tep_parse_kallsyms(kernel, text))
		note("no names of kernel functions: cannot read /proc/kallsyms");
	free(text);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void read_symbols(struct image *image, Elf *elf, Elf_Scn *section, GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t i, nr = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;
	GElf_Sym symbol;
	const char *name;

	image->symbol = allocate(NULL, (nr + 1) * sizeof(*image->symbol));
	for (i = 0; data && i < nr; i++) {
		if (!gelf_getsym(data, i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    (GELF_ST_TYPE(symbol.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC))
			continue;
		name = elf_strptr(elf, head->sh_link, symbol.st_name);
		if (!name || !*name)
			continue;
		image->symbol[image->nr_symbols].start = symbol.st_value;
		image->symbol[image->nr_symbols].size = symbol.st_size;
		image->symbol[image->nr_symbols++].name = print_string("%s", name);
	}
	qsort(image->symbol, image->nr_symbols, sizeof(*image->symbol), compare_symbols);
}

static void read_image(struct image *image, Elf *elf)
{
	Elf_Scn *section = NULL, *table = NULL;
	GElf_Shdr head, table_head = { };
	size_t i;

	if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &image->nr_segments)) {
		image->nr_segments = 0;
		return;
	}
	image->segment = allocate(NULL, (image->nr_segments + 1) * sizeof(*image->segment));
	for (i = 0; i < image->nr_segments; i++) {
		if (!gelf_getphdr(elf, i, &image->segment[i]))
			image->segment[i].p_type = PT_NULL;
	}
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head))
			continue;
		if (head.sh_type == SHT_SYMTAB || (head.sh_type == SHT_DYNSYM && !table)) {
			table = section;
			table_head = head;
		}
	}
	if (table)
		read_symbols(image, elf, table, &table_head);
}

static struct image *get_image(const char *name)
{
	struct image *image;
	Elf *elf;
	int fd;

	for (image = images; image; image = image->next) {
		if (!strcmp(image->name, name))
			return image;
	}
	image = allocate(NULL, sizeof(*image));
	memset(image, 0, sizeof(*image));
	image->name = print_string("%s", name);
	image->next = images;
	images = image;
	/* O_NONBLOCK: do not wait for the writer of a fifo */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (elf)
		read_image(image, elf);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return image;
}

/*
 * Convert @offset from the beginning of the mapping to an offset in the file. Returns false
 * if the file is missing or is not the mapped one: its mapping would not be @span long.
 */
bool symbols_file_offset(const char *file, uint64_t offset, uint64_t span, uint64_t *in_file)
{
	struct image *image = get_image(file);
	uint64_t start = UINT64_MAX, end = 0;
	const GElf_Phdr *segment;
	size_t i;

	for (i = 0; i < image->nr_segments; i++) {
		segment = &image->segment[i];
		if (segment->p_type != PT_LOAD)
			continue;
		if (segment->p_vaddr < start)
			start = segment->p_vaddr & ~(PAGE_BYTES - 1ULL);
		if (segment->p_vaddr + segment->p_filesz > end)
			end = segment->p_vaddr + segment->p_filesz;
	}
	if (start >= end || ((end - start + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1ULL)) != span)
		return false;
	for (i = 0; i < image->nr_segments; i++) {
		segment = &image->segment[i];
		if (segment->p_type == PT_LOAD &&
		    start + offset >= (segment->p_vaddr & ~(PAGE_BYTES - 1ULL)) &&
		    start + offset < segment->p_vaddr + segment->p_filesz) {
			*in_file = start + offset - segment->p_vaddr + segment->p_offset;
			return true;
		}
	}
	return false;
}

/* The function at @offset in a file, or NULL. */
static const char *find_symbol(const char *file, uint64_t offset)
{
	struct image *image = get_image(file);
	size_t i, low = 0, high = image->nr_symbols, middle;
	const struct symbol *symbol;
	const GElf_Phdr *segment;

	for (i = 0; i < image->nr_segments; i++) {
		segment = &image->segment[i];
		if (segment->p_type == PT_LOAD && offset >= segment->p_offset &&
		    offset < segment->p_offset + segment->p_filesz)
			break;
	}
	if (i == image->nr_segments)
		return NULL;
	offset += image->segment[i].p_vaddr - image->segment[i].p_offset;

	while (low < high) {
		middle = (low + high) / 2;
		if (image->symbol[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	symbol = low ? &image->symbol[low - 1] : NULL;
	return symbol && offset < symbol->start + symbol->size ? symbol->name : NULL;
}

/* Returns whether the place is known; if not, place->kind is "kernel" or "unknown". */
static bool place_of(const struct row *row, struct place *place)
{
	memset(place, 0, sizeof(*place));
	place->kind = row->value >> 63 ? "kernel" : "unknown";
	return !(row->value >> 63) && find(row->pid, row->value, place);
}

char *kernel_symbol(uint64_t address)
{
	const char *symbol = kernel ? tep_find_function(kernel, address) : NULL;

	return symbol ? print_string("%s", symbol) :
			print_string("0x%llx", (unsigned long long)address);
}

/* What raised the exception: function and file, file and offset, or address and task. */
char *symbol_of_ip(const struct row *row)
{
	const char *symbol = NULL;
	struct place place;
	char *name, *text;

	if (!place_of(row, &place)) {
		if (strcmp(place.kind, "kernel"))
			return print_string("0x%llx (%s)", (unsigned long long)row->value,
					    row->comm);
		name = kernel_symbol(row->value);
		text = print_string("%s [kernel]", name);
		free(name);
		return text;
	}
	if (!strcmp(place.kind, "file")) {
		if (!place.no_symbols)
			symbol = find_symbol(place.name, place.offset);
		if (symbol)
			return print_string("%s (%s)", symbol, place.name);
	} else if (strcmp(place.kind, "other")) {
		return print_string("%s+0x%llx (%s)", place.kind,
				    (unsigned long long)place.offset, row->comm);
	}
	return print_string("%s+0x%llx", place.name, (unsigned long long)place.offset);
}

/* What a page belongs to: a file, which all tasks share, or an area of a task. */
char *name_of_page(const struct row *row, const char **kind)
{
	struct place place;
	bool known = place_of(row, &place);

	*kind = place.kind;
	if (!strcmp(place.kind, "kernel"))
		return print_string("0x%llx", (unsigned long long)row->value);
	if (!known)
		return print_string("0x%llx %s[%d]", (unsigned long long)row->value, row->comm,
				    row->pid);
	if (!strcmp(place.kind, "file"))
		return print_string("%s+0x%llx", place.name, (unsigned long long)place.offset);
	if (!strcmp(place.kind, "anon"))
		return print_string("0x%llx+0x%llx %s[%d]",
				    (unsigned long long)(row->value - place.offset),
				    (unsigned long long)place.offset, row->comm, row->pid);
	return print_string("%s%c0x%llx %s[%d]", place.name,
			    strcmp(place.kind, "stack") ? '+' : '-',
			    (unsigned long long)place.offset, row->comm, row->pid);
}
