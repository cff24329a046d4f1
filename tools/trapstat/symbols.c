// SPDX-License-Identifier: GPL-2.0
/*
 * symbols.c - names addresses by the symbols of the kernel and of ELF files
 *
 * A file is known by its build ID, or else by its inode: a path has another file in another
 * mount namespace, after an upgrade, and on another machine. It is opened when code of it is
 * named, and not when it is mapped, because an open file keeps its file system mounted. Only a
 * recording (maps.c) reads the build IDs of what was mapped before.
 */
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <libiberty/demangle.h>
#include <search.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <tracefs.h>
#include "trapstat.h"

#define ANCESTORS	8
#define MAX_IMAGES	512
#define MAX_NAME	1024
#define MAX_SYMBOLS	(1U << 20)	/* of a file, and of all that are kept: some 100 MB */
#define MAX_READING	5.0		/* files, in s of a CPU; then a tenth of it */
#define MAX_STRINGS	(64U << 20)	/* bytes of the names in a file */
#define MAX_FUNCTION	(1U << 20)	/* of the kernel, whose symbols have no sizes */
#define KALLSYMS_AGE	64.0		/* s, at most: to read them takes a tenth of one */

struct symbol {
	uint64_t	start;
	uint64_t	size;
	bool		local;
	char		*name;
};

/* A mapped file. Its addresses are those of its ELF tables. */
struct image {
	struct file_id	id;
	char		*name;
	bool		found;
	const struct place *place;	/* for which it is looked for */
	pid_t		tid;		/* the last one for which it was */
	uint64_t	used;
	bool		asked;		/* debuginfod, which may take long */
	GElf_Phdr	*segment;
	size_t		nr_segments;
	struct symbol	*symbol;
	size_t		nr_symbols;
	Dwfl		*dwfl;		/* source lines */
	Dwfl_Module	*module;
	GElf_Addr	bias;
};

static struct tep_handle *kernel;
static uint64_t text_begin, text_end;	/* code that neither comes nor goes */
static double kallsyms_read;		/* when they were */
static double kallsyms_age = 1;		/* when they are read again; doubles each time */
static void *images;
static size_t nr_images, nr_all_symbols;
static double reading;		/* for how long, less a tenth of the time since */
static struct image *unused;	/* for the longest time, or without a build ID */
static find_place find;

/* Use the mappings and kernel symbols of a recording, and the files of this machine. */
void symbols_recorded(struct tep_handle *tep)
{
	kernel = tep;
	find = procmaps_find;
}

/* That of the first line of /proc/kallsyms with this @end */
static uint64_t address_in(const char *text, const char *end)
{
	const char *line = strstr(text, end);

	while (line && line > text && line[-1] != '\n')
		line--;
	return line ? strtoull(line, NULL, 16) : 0;
}

static void read_kallsyms(void)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char *text = NULL;
	size_t size = 0;

	tep_free(kernel);
	kernel = tep_alloc();
	text_begin = 0;
	text_end = UINT64_MAX;
	if (!file || getdelim(&text, &size, '\0', file) <= 0 || !kernel ||
	    tep_parse_kallsyms(kernel, text)) {
		note("no names of kernel functions: cannot read /proc/kallsyms");
	} else if (!address_in(text, " _etext\n")) {
		note("no names of kernel functions: /proc/kallsyms has no addresses, see kernel.kptr_restrict");
	} else {
		/* libtraceevent takes the last one for the end of that before it */
		tep_register_function(kernel, "", UINT64_MAX, NULL);
		text_begin = address_in(text, " _stext\n");
		text_end = address_in(text, " _etext\n");
	}
	if (file)
		fclose(file);
	free(text);
	kallsyms_read = clock_now();
}

/* Use the mappings of running processes and the symbols of the running kernel. */
void symbols_live(void)
{
	find = maps_find;
	if (options.table[FROM] && !kernel)
		read_kallsyms();
}

/* Does it belong to one who could do to trapstat what he wants? */
static bool is_own(const struct stat *status)
{
	return !status->st_uid || status->st_uid == geteuid();
}

/*
 * Whether @elf does not take more memory for its names and build ID than it should. Anybody may run
 * a file that is nearly empty and says that it has gigabytes of symbols. If it has no section of
 * them, libdwfl takes their number from elsewhere.
 */
static bool is_modest(Elf *elf)
{
	const size_t size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	bool dynamic = false, symbols = false;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Phdr segment;
	size_t i, nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &segment) ||
		    (segment.p_type == PT_NOTE && segment.p_filesz > MAX_STRINGS))
			return false;
		dynamic |= segment.p_type == PT_DYNAMIC;
	}
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			return false;
		switch (header.sh_type) {
		case SHT_SYMTAB:
		case SHT_DYNSYM:
			symbols = true;
			if (header.sh_entsize != size || header.sh_size / size > MAX_SYMBOLS ||
			    header.sh_flags & SHF_COMPRESSED)
				return false;
			break;
		case SHT_STRTAB:
		case SHT_NOTE:
		case SHT_SYMTAB_SHNDX:
			if (header.sh_size > MAX_STRINGS || header.sh_flags & SHF_COMPRESSED)
				return false;
			break;
		}
	}
	return symbols || !dynamic;
}

/* The same of what libdwfl finds by name. xz packs gigabytes of symbols well: minidebuginfo. */
static bool has_modest_names(int fd, Elf *elf)
{
	Elf_Scn *section = NULL;
	struct stat status;
	GElf_Shdr header;
	const char *name;
	size_t names;

	if (fstat(fd, &status) || elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		if (!name || strncmp(name, ".gnu", 4))
			continue;
		if (header.sh_size > MAX_STRINGS ||
		    (!strcmp(name, ".gnu_debugdata") && !is_own(&status)))
			return false;
	}
	return true;
}

/*
 * elf_begin() has memory for all sections. A file that says it has 0 of them, or most segments,
 * tells elsewhere how many millions there are.
 */
static bool has_few_headers(int fd)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr half;
		Elf64_Ehdr full;
	} header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return false;
	if (header.ident[EI_CLASS] == ELFCLASS32)
		return header.half.e_shnum && header.half.e_phnum != PN_XNUM;
	return header.full.e_shnum && header.full.e_phnum != PN_XNUM;
}

static Elf *begin_elf(int fd)
{
	/* not mapped: a file that becomes shorter would end trapstat by a SIGBUS */
	Elf *elf = has_few_headers(fd) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;

	if (elf && !is_modest(elf)) {
		elf_end(elf);
		elf = NULL;
	}
	return elf;
}

/*
 * open() of a device may do something, that of a fifo waits for a writer, and so may reading from
 * a file of /proc or tracefs, which has no size.
 */
static int open_regular(const char *path)
{
	int fd = -1, name = open(path, O_PATH | O_CLOEXEC);
	struct stat status;
	char *same;

	if (name < 0)
		return -1;
	if (!fstat(name, &status) && S_ISREG(status.st_mode) && status.st_size) {
		same = print_string("/proc/self/fd/%d", name);
		fd = open(same, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		free(same);
	}
	close(name);
	return fd;
}

static int open_elf(const char *path, Elf **elf)
{
	int fd = open_regular(path);

	elf_version(EV_CURRENT);
	*elf = fd >= 0 ? begin_elf(fd) : NULL;
	return fd;
}

static void close_elf(int fd, Elf **elf)
{
	elf_end(*elf);
	*elf = NULL;
	if (fd >= 0)
		close(fd);
}

static bool read_build_id(Elf *elf, struct file_id *id)
{
	const void *bits;
	ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &bits) : 0;

	memset(id, 0, sizeof(*id));
	if (size <= 0 || (size_t)size > sizeof(id->build_id))
		return false;
	memcpy(id->build_id, bits, size);
	id->build_id_size = size;
	return true;
}

/* Set *@id to the file's build ID if it has one. Returns false if it cannot be opened. */
bool symbols_identify(const char *path, struct file_id *id)
{
	struct file_id build_id;
	Elf *elf;
	int fd = open_elf(path, &elf);

	if (read_build_id(elf, &build_id))
		*id = build_id;
	close_elf(fd, &elf);
	return fd >= 0;
}

/* Not in a recording of trace-cmd --proc-map. */
static bool has_id(const struct image *image)
{
	return image->id.build_id_size || image->id.inode;
}

static bool is_same(const struct image *image, int fd, Elf *elf)
{
	struct file_id found;

	if (image->id.build_id_size)
		return read_build_id(elf, &found) && !memcmp(&found, &image->id, sizeof(found));
	return !has_id(image) || maps_is_file(fd, &image->id);
}

/* Takes over @path. */
static int open_same(const struct image *image, char *path, char **name, Elf **elf)
{
	int fd = open_elf(path, elf);

	if (*elf && is_same(image, fd, *elf) && has_modest_names(fd, *elf)) {
		*name = path;
		return fd;
	}
	close_elf(fd, elf);
	free(path);
	return -1;
}

/*
 * Open the mapped file: by its path; by its path where the task, or a process that made it,
 * sees it; by the mapping, because the file may be deleted; or by its build ID.
 */
static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	struct image *image = *data;
	const struct map *map = image->place->map;
	pid_t pid = image->place->tid;
	unsigned int i;
	int fd;

	fd = open_same(image, print_string("%s", map->name), file_name, elf);
	for (i = 0; fd < 0 && has_id(image) && pid && i < ANCESTORS; i++) {
		fd = open_same(image, print_string("/proc/%d/root%s", pid, map->name), file_name,
			       elf);
		if (fd < 0)
			fd = open_same(image, print_string("/proc/%d/map_files/%llx-%llx", pid,
							   (unsigned long long)map->start,
							   (unsigned long long)map->end),
				       file_name, elf);
		pid = maps_parent(pid);
	}
	if (fd >= 0 || image->asked)
		return fd;
	image->asked = true;
	return dwfl_build_id_find_elf(module, data, name, base, file_name, elf);
}

/* Takes over @path. Anybody may run a program with anything beside it. */
static int open_beside(Dwfl_Module *module, char *path, char **found)
{
	char *folder = print_string("%.*s", (int)(strrchr(path, '/') - path), path);
	const unsigned char *build_id;
	struct file_id id;
	struct stat status;
	GElf_Addr address;
	Elf *elf = NULL;
	int fd = -1, size = dwfl_module_build_id(module, &build_id, &address);

	if (!stat(folder, &status) && is_own(&status) && !(status.st_mode & S_IWOTH))
		fd = open_elf(path, &elf);
	free(folder);
	if (elf && !fstat(fd, &status) && is_own(&status) && read_build_id(elf, &id) &&
	    size == (int)id.build_id_size && !memcmp(build_id, id.build_id, size)) {
		elf_end(elf);
		*found = path;
		return fd;
	}
	close_elf(fd, &elf);
	free(path);
	return -1;
}

/* @link: the name of the debug file, if @file has one */
static int find_beside(Dwfl_Module *module, const char *file, const char *link, char **found)
{
	static const char * const folders[] = { "", ".debug/" };
	const char *name = file ? strrchr(file, '/') : NULL;
	unsigned int i;
	int fd = -1;

	if (!name++ || (link && strchr(link, '/')))
		return -1;
	for (i = 0; i < 2 && fd < 0; i++)
		fd = open_beside(module, print_string("%.*s%s%s%s", (int)(name - file), file,
						      folders[i], link ?: name,
						      link ? "" : ".debug"), found);
	return fd;
}

/*
 * The file with the symbols of one that has none. libdwfl may look for its build ID, but not for
 * its name, for it opens whatever has that.
 */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word sum, char **found)
{
	int fd = find_beside(module, file, link, found);
	Elf *elf;

	(void)sum;
	if (fd >= 0)
		return fd;
	fd = dwfl_standard_find_debuginfo(module, data, name, base, NULL, NULL, 0, found);
	elf = fd >= 0 ? begin_elf(fd) : NULL;
	if (fd >= 0 && !elf) {
		close(fd);
		free(*found);
		*found = NULL;
		fd = -1;
	}
	elf_end(elf);
	return fd;
}

/* The last one of several names of a function is the one to show: not local, short. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return y->local - x->local ?: (int)strlen(y->name) - (int)strlen(x->name) ?:
	       strcmp(x->name, y->name);
}

/* dwfl_module_addrinfo() would go through all symbols for each address. */
static void read_symbols(struct image *image)
{
	int i, nr = dwfl_module_getsymtab(image->module);
	struct symbol *symbol;
	GElf_Addr address;
	const char *name;
	GElf_Sym sym;

	image->symbol = allocate(NULL, ((nr > 0 ? nr : 0) + 1) * sizeof(*image->symbol));
	for (i = 0; i < nr; i++) {
		name = dwfl_module_getsym_info(image->module, i, &sym, &address, NULL, NULL, NULL);
		if (!name || !*name || sym.st_shndx == SHN_UNDEF || !sym.st_size ||
		    (GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
		     GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC))
			continue;
		symbol = &image->symbol[image->nr_symbols++];
		symbol->start = address - image->bias;
		symbol->size = sym.st_size;
		symbol->local = GELF_ST_BIND(sym.st_info) == STB_LOCAL;
		symbol->name = print_string("%.*s", MAX_NAME, name);
	}
	qsort(image->symbol, image->nr_symbols, sizeof(*image->symbol), compare_symbols);
	nr_all_symbols += image->nr_symbols;
}

static void read_segments(struct image *image, Elf *elf)
{
	size_t i, nr;

	if (elf_getphdrnum(elf, &nr))
		return;
	image->segment = allocate(NULL, (nr + 1) * sizeof(*image->segment));
	for (i = 0; i < nr; i++) {
		if (gelf_getphdr(elf, i, &image->segment[image->nr_segments]) &&
		    image->segment[image->nr_segments].p_type == PT_LOAD)
			image->nr_segments++;
	}
}

/* Only source lines need the file later on. */
static void read_image(struct image *image)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	void **data;
	Elf *elf;

	/* a download takes longer than an interval; only here, for -c passes it on */
	if (find == maps_find)
		unsetenv("DEBUGINFOD_URLS");
	image->dwfl = dwfl_begin(&callbacks);
	image->module = dwfl_report_module(image->dwfl, image->name, 0, INT64_MAX);
	if (!image->module)
		die("out of memory");
	dwfl_module_info(image->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = image;
	if (image->id.build_id_size)
		dwfl_module_report_build_id(image->module, image->id.build_id,
					    image->id.build_id_size, 0);
	dwfl_report_end(image->dwfl, NULL, NULL);
	elf = dwfl_module_getelf(image->module, &image->bias);
	image->found = elf;
	if (elf) {
		read_segments(image, elf);
		read_symbols(image);
	}
	if (!elf || !options.lines) {
		dwfl_end(image->dwfl);
		image->dwfl = NULL;
	}
}

static int compare_images(const void *a, const void *b)
{
	const struct image *x = a, *y = b;

	return memcmp(&x->id, &y->id, sizeof(x->id)) ?: strcmp(x->name, y->name);
}

static void find_unused(const void *node, VISIT visit, int depth)
{
	struct image *image = *(struct image *const *)node;

	(void)depth;
	if ((visit == preorder || visit == leaf) && (!unused || image->used < unused->used))
		unused = image;
}

static void find_plain(const void *node, VISIT visit, int depth)
{
	struct image *image = *(struct image *const *)node;

	(void)depth;
	if ((visit == preorder || visit == leaf) && !image->id.build_id_size)
		unused = image;
}

/* Drop the image that @visit has found. Returns false if there is none. */
static bool drop(void (*visit)(const void *node, VISIT visit, int depth))
{
	struct image *image;

	unused = NULL;
	twalk(images, visit);
	image = unused;
	if (!image)
		return false;
	tdelete(image, &images, compare_images);
	nr_images--;
	nr_all_symbols -= image->nr_symbols;
	while (image->nr_symbols)
		free(image->symbol[--image->nr_symbols].name);
	free(image->symbol);
	free(image->segment);
	free(image->name);
	dwfl_end(image->dwfl);
	free(image);
	return true;
}

/* Called after a report: a file without a build ID may be another one the next time. */
void symbols_forget(void)
{
	while (drop(find_plain))
		;
}

/* Anybody may run many programs with a million symbols each, more than are kept. */
static bool may_read(void)
{
	static double before;
	double now = clock_now();

	reading -= (now - before) / 10;
	if (reading < 0)
		reading = 0;
	before = now;
	return find != maps_find || reading < MAX_READING;
}

/* A file that was not found may be where another task is. */
static struct image *get_image(const struct place *place)
{
	static uint64_t uses;
	struct image key = { .id = place->map->id, .name = (char *)place->name };
	struct image **found = tfind(&key, &images, compare_images), *image;
	clock_t begin;

	if (found) {
		image = *found;
	} else {
		if (nr_images++ == MAX_IMAGES)
			drop(find_unused);
		image = allocate(NULL, sizeof(*image));
		*image = key;
		image->name = print_string("%s", place->name);
		if (!tsearch(image, &images, compare_images))
			die("out of memory");
	}
	image->used = ++uses;
	if (!image->found && image->tid != place->tid && may_read()) {
		begin = clock();
		image->tid = place->tid;
		image->place = place;
		read_image(image);
		reading += (clock() - begin) / (double)CLOCKS_PER_SEC;
		while (nr_all_symbols > MAX_SYMBOLS && nr_images > 1)
			drop(find_unused);
	}
	return image;
}

/*
 * Convert place->offset from the beginning of the mapping to an offset in the file. Returns
 * false if the file is missing or is not the mapped one: its mapping would not be @span long.
 */
bool symbols_file_offset(struct place *place, uint64_t span)
{
	const struct image *image = get_image(place);
	const GElf_Phdr *segment = image->segment, *end = segment + image->nr_segments;
	uint64_t low = UINT64_MAX, high = 0, address;

	for (; segment < end; segment++) {
		if (segment->p_vaddr < low)
			low = segment->p_vaddr & ~(PAGE_BYTES - 1ULL);
		if (segment->p_vaddr + segment->p_filesz > high)
			high = segment->p_vaddr + segment->p_filesz;
	}
	if (low >= high || ((high - low + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1ULL)) != span)
		return false;
	address = low + place->offset;
	for (segment = image->segment; segment < end; segment++) {
		if (address >= (segment->p_vaddr & ~(PAGE_BYTES - 1ULL)) &&
		    address < segment->p_vaddr + segment->p_filesz) {
			place->offset = address - segment->p_vaddr + segment->p_offset;
			return true;
		}
	}
	return false;
}

/* A name that is written piece by piece, as long as it is not too long */
struct readable {
	char	text[MAX_NAME + 1];
	size_t	nr;
	jmp_buf	too_long;
};

static void add_text(const char *text, size_t nr, void *arg)
{
	struct readable *name = arg;

	if (nr > MAX_NAME - name->nr)
		longjmp(name->too_long, 1);
	memcpy(name->text + name->nr, text, nr);
	name->nr += nr;
}

/*
 * C++ and Rust. The readable form of a name of 200 bytes may have gigabytes. libiberty cannot be
 * told to stop, but has no memory allocated when it calls add_text().
 */
static char *demangled(const char *mangled)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	struct readable name = { };

	if (!setjmp(name.too_long) &&
	    (rust_demangle_callback(mangled, options, add_text, &name) ||
	     (name.nr = 0, cplus_demangle_v3_callback(mangled, options, add_text, &name))))
		return print_string("%.*s", (int)name.nr, name.text);
	return print_string("%.*s", MAX_NAME, mangled);
}

static char *source_of(const struct image *image, uint64_t address)
{
	Dwfl_Line *line = NULL;
	const char *file;
	int nr;

	if (image->dwfl)
		line = dwfl_module_getsrc(image->module, address + image->bias);
	file = line ? dwfl_lineinfo(line, NULL, &nr, NULL, NULL, NULL) : NULL;
	return file ? print_string(" %s:%d", file, nr) : print_string("%s", "");
}

/* The function, file and source line at a place in a file, or NULL. */
static char *code_at(const struct place *place)
{
	const struct image *image = get_image(place);
	size_t low = 0, high = image->nr_symbols, middle, i;
	const struct symbol *symbol;
	uint64_t address = place->offset;
	char *name, *source, *text;

	for (i = 0; i < image->nr_segments; i++) {
		if (address - image->segment[i].p_offset < image->segment[i].p_filesz)
			break;
	}
	if (i == image->nr_segments)
		return NULL;
	address += image->segment[i].p_vaddr - image->segment[i].p_offset;

	while (low < high) {
		middle = (low + high) / 2;
		if (image->symbol[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	symbol = low ? &image->symbol[low - 1] : NULL;
	if (!symbol || address - symbol->start >= symbol->size)
		return NULL;
	name = demangled(symbol->name);
	source = source_of(image, address);
	text = print_string("%s (%s)%s", name, place->name, source);
	free(name);
	free(source);
	return text;
}

/* Returns whether the place is known; if not, place->kind is "kernel" or "unknown". */
static bool place_of(const struct row *row, bool code, bool kernel, struct place *place)
{
	memset(place, 0, sizeof(*place));
	place->code = code;
	place->kind = kernel ? "kernel" : "unknown";
	return !kernel && find(row->pid, row->value, place);
}

/* Modules and BPF programs may have been loaded, or replaced, since the symbols were read. */
char *kernel_symbol(uint64_t address)
{
	const char *symbol;

	if (kernel && find == maps_find && (address < text_begin || address >= text_end) &&
	    clock_now() >= kallsyms_read + kallsyms_age) {
		read_kallsyms();
		if (kallsyms_age < KALLSYMS_AGE)
			kallsyms_age *= 2;
	}
	symbol = kernel ? tep_find_function(kernel, address) : NULL;
	if (symbol && address - tep_find_function_address(kernel, address) >= MAX_FUNCTION)
		symbol = NULL;
	return symbol ? demangled(symbol) : print_string("0x%llx", (unsigned long long)address);
}

/* What raised the exception: function and file, file and offset, or address and task. */
char *symbol_of_ip(const struct row *row)
{
	struct place place;
	char *name, *text;

	if (!place_of(row, true, row->kernel, &place)) {
		if (strcmp(place.kind, "kernel"))
			return print_string("0x%llx (%s)", (unsigned long long)row->value,
					    row->comm);
		name = kernel_symbol(row->value);
		text = print_string("%s [kernel]", name);
		free(name);
		return text;
	}
	if (!strcmp(place.kind, "file")) {
		text = place.no_symbols ? NULL : code_at(&place);
		if (text)
			return text;
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
	bool known = place_of(row, false, row->value >> 63, &place);
	const char *code = code_name(row->result);

	if (code && !strcmp(code, "MAPERR") && strcmp(place.kind, "kernel"))
		place.kind = "unmapped";	/* what was there may still be known */
	*kind = place.kind;
	if (!strcmp(place.kind, "kernel") || !strcmp(place.kind, "unmapped"))
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
