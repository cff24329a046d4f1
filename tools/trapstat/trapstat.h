/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trapstat.h - what the files of trapstat share
 *
 * Counts from the kernel (hist.c) and from a file (report.c) become rows in the tables of
 * a sample, which output.c prints.
 */
#ifndef TRAPSTAT_H
#define TRAPSTAT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <libtraps.h>

#define SYSTEM		TRAPS_SYSTEM
#define VECTOR_PF	TRAPS_VECTOR_PF
#define ALL_RESULTS	UINT_MAX
#define COMM_LEN	16
#define PAGE_BYTES	4096

enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_INCOMPLETE = 3 };

enum table { BY_CPU, LATENCY, TASKS, ADDRESSES, FROM, WORST, TABLES };

/* The buckets of durations: exact, powers of two, or any other value: steps of so many ns. */
enum { EXACT = 0, LOG2 = 1 };

#define MAX_PIDS	128

struct options {
	bool		table[TABLES];
	bool		json;
	bool		chrome;
	unsigned long	buckets;
	unsigned long	top;
	unsigned long	worst;
	unsigned long	entries;
	unsigned long	buffer_kb;
	const char	*record;
	bool		stacks;
	bool		lines;
	/* not for report */
	pid_t		pids[MAX_PIDS];
	size_t		nr_pids;
	char		**command;
	double		interval;
	unsigned long	count;		/* 0: forever */
};

/* options.c */
extern struct options options;

void parse_options(int argc, char **argv, bool report);

/* Fields that are not keys of a table are 0 in all of its rows. */
struct row {
	unsigned int	vector;
	unsigned int	result;		/* LATENCY */
	unsigned int	cpu;		/* BY_CPU: column */
	pid_t		pid;
	uint64_t	value;		/* upper bound of the duration, page, ip or flags */
	uint64_t	count;
	uint64_t	sum;		/* LATENCY, WORST: ns */
	char		comm[COMM_LEN];
};

struct rows {
	struct row	*row;
	size_t		nr;
	size_t		size;
};

struct sample {
	struct rows	table[TABLES];
	uint64_t	missing[TABLES];	/* exceptions that a table lacks */
	uint64_t	twice[TABLES];		/* upper limit of those counted twice */
	bool		replaced[TABLES];	/* a histogram was nearly full */
	unsigned long	buckets;
	double		seconds;
	bool		rates;			/* print counts per second */
	const char	*title;
	char		**columns;		/* NULL: no column */
	unsigned int	nr_columns;
};

/* base.c: one line on stderr; exit */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void bad_usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *allocate(void *old, size_t size);
char *print_string(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* rows.c */
void rows_add(struct rows *rows, const struct row *row);
void rows_merge(struct rows *rows);
void rows_subtract(struct rows *rows, const struct rows *before);
void rows_free(struct rows *rows);
void sample_free(struct sample *sample);
uint64_t bucket_low(unsigned long buckets, uint64_t high);

/* names.c */
void names_live(void);
void names_load(struct traps_format *loaded);
const char *vector_name(unsigned int vector);
const char *result_name(unsigned int result);
char *error_code_name(unsigned int vector, uint64_t code);
char *flags_name(unsigned int flags);

/* instance.c */
struct tracefs_instance;

void instance_check(void);
void instance_remove_dead(void);
struct tracefs_instance *instance_create(const char *suffix, int *lock);
void instance_set_pids(struct tracefs_instance *instance, const pid_t *pids, size_t nr);
void instance_destroy_all(void);

/* hist.c */
void hist_start(struct tracefs_instance *instance, unsigned int nr_cpus);
void hist_read(struct tracefs_instance *instance, struct sample *sample, bool last);

/* command.c: CMD of -c */
pid_t command_fork(char **argv);
void command_go(void);

/* record.c: trace-cmd */
void record_start(const pid_t *pids, size_t nr);
bool record_stop(void);

/* sideband.c */
struct pollfd;

void sideband_start(unsigned int nr_cpus);
size_t sideband_poll(struct pollfd *fds, size_t nr);
void sideband_read(void);

/*
 * What tells a file from any other of the same name: its build ID, which is the same on all
 * machines, or else its inode. Compared as a whole.
 */
struct file_id {
	uint8_t		build_id[20];	/* the rest is 0 if it is known */
	uint32_t	build_id_size;
	uint32_t	major;
	uint32_t	minor;
	uint64_t	inode;
	uint64_t	generation;	/* 0 if it is not known */
};

/* maps.c: the file or area of a task's address, the name of a task */
struct map {
	uint64_t	start;
	uint64_t	end;
	uint64_t	offset;
	char		*name;
	struct file_id	id;		/* of executable mappings */
};

struct place {
	const char	*kind;		/* file, anon, heap, stack, other */
	const char	*name;
	uint64_t	offset;
	bool		no_symbols;	/* this machine does not have the mapped file */
	const struct map *map;
	pid_t		tid;
};

void maps_fork(pid_t pid, pid_t parent, pid_t tid);
pid_t maps_parent(pid_t tid);
void maps_exit(pid_t tid);
void maps_rename(pid_t tid, const char *comm);
void maps_add(pid_t pid, const struct map *map);
void maps_read_running(void);
void maps_forget(void);
void maps_each(void (*call)(pid_t tid, const struct map *map, size_t nr, void *data),
	       void *data);
const char *maps_comm(pid_t tid);
bool maps_find(pid_t tid, uint64_t address, struct place *place);
bool maps_own_inode(const void *address, const struct file_id *id);
bool map_is_stack(const struct map *map);
uint64_t map_low(const struct map *map, const struct map *below);
void map_place(const struct map *map, uint64_t address, struct place *place);

/* procmaps.c: mappings in a recording */
struct tracecmd_input;

void procmaps_append(const char *path);
void procmaps_use(struct tracecmd_input *handle);
bool procmaps_find(pid_t tid, uint64_t address, struct place *place);

/* symbols.c */
typedef bool (*find_place)(pid_t tid, uint64_t address, struct place *place);

void symbols_live(void);
void symbols_recorded(struct tep_handle *tep);
void symbols_identify(const char *path, struct file_id *id);
bool symbols_file_offset(struct place *place, uint64_t span);
char *symbol_of_ip(const struct row *row);
char *kernel_symbol(uint64_t address);
char *name_of_page(const struct row *row, const char **kind);

/* report.c, chrome.c */
int report_main(int nr_files, char **files);
int chrome_main(int nr_files, char **files);

/* worst.c: -w of a report */
void worst_add(struct rows *rows, const struct traps_event *e);
void worst_user_stack(uint64_t ts, unsigned int cpu, const uint64_t *callers, size_t nr);
struct task_switch;
void worst_switch(const struct task_switch *s);
void worst_restart(void);

/* output.c */
void output_check_width(void);
int output(struct sample *sample);
void output_flush(void);

/* json.c */
void json_string(const char *text);

#endif
