/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trapstat.h - what the files of trapstat share
 *
 * Counts from the kernel (bpf.c, or hist.c) and from a file (report.c) become a sample,
 * which output.c prints.
 */
#ifndef TRAPSTAT_H
#define TRAPSTAT_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <poll.h>
#include <sys/types.h>
#include <linux/types.h>
#include <libtraps.h>
#include "counter.h"

#define SYSTEM		TRAPS_SYSTEM
#define VECTOR_PF	TRAPS_VECTOR_PF
#define ALL_RESULTS	UINT_MAX
#define COMM_LEN	16
#define PAGE_BYTES	4096

enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_INCOMPLETE = 3 };

enum table { BY_CPU, LATENCY, OUTCOMES, TASKS, ADDRESSES, FROM, WORST, TABLES };

#define MAX_PIDS	128
#define MAX_CPUS	8192

/* What was not built is NULL: the Makefile leaves out bpf.c, export.c, screen.c and serve.c. */
#define OPTIONAL __attribute__((weak))

struct options {
	bool		table[TABLES];
	bool		bars;
	bool		json;
	bool		perfetto;
	bool		total;
	bool		no_bpf;
	enum group	group;
	unsigned long	top;
	unsigned long	worst;
	unsigned long	entries;
	unsigned long	buffer_kb;
	const char	*record;
	const char	*openmetrics;	/* file */
	const char	*serve;		/* address */
	bool		metrics;	/* one of both */
	bool		screen;
	bool		stacks;
	bool		lines;
	/* not for report */
	pid_t		pids[MAX_PIDS];
	size_t		nr_pids;
	char		*vector_list;
	bool		vectors[VECTORS];
	bool		some_vectors;
	bool		cpus[MAX_CPUS];
	bool		some_cpus;
	char		**command;
	double		interval;	/* 0: only at the end of the command */
	unsigned long	count;		/* 0: forever */
};

/* options.c */
extern struct options options;
extern const char * const group_names[GROUPS];

void parse_options(int argc, char **argv, bool report);

/* The vector of mm_fault, which is no exception */
#define VECTOR_NONE	MM_FAULT

/* Fields that are not keys of a table are 0 in all of its rows. */
struct row {
	unsigned int	vector;
	unsigned int	result;		/* TRAPS_OUTCOME(): LATENCY, or of one page fault */
	unsigned int	cpu;		/* BY_CPU: column */
	pid_t		pid;
	bool		kernel;		/* FROM: raised in kernel mode */
	uint64_t	value;		/* highest duration of the bucket, page or ip */
	uint64_t	low;		/* LATENCY: lowest duration of the bucket */
	uint64_t	count;
	uint64_t	sum;		/* ns */
	char		comm[COMM_LEN];
};

struct rows {
	struct row	*row;
	size_t		nr;
	size_t		size;
};

/* The exceptions of one vector, result and code */
struct outcome {
	unsigned int	vector;
	unsigned int	result;		/* TRAPS_OUTCOME() */
	uint64_t	count;
	uint64_t	user;		/* raised in user mode */
	uint64_t	waited;		/* ns of those that slept or were preempted */
	uint64_t	ran;		/* ns of the others */
	uint64_t	flag[FLAGS];
	uint64_t	longest;	/* ns, at least that of the bucket without an end */
};

struct outcomes {
	struct outcome	*outcome;
	size_t		nr;
};

/* What TASKS, ADDRESSES and FROM count: by id, kind and name */
struct line {
	uint32_t	id;		/* thread, process or user; or 0 */
	unsigned int	vector;
	const char	*kind;
	char		*name;
	uint64_t	count;
	uint64_t	sum;		/* ns */
	double		changed;	/* by clock_now(); only for Prometheus */
};

struct lines {
	void		*tree;
	size_t		nr;
	uint64_t	others;		/* exceptions of lines that were left out */
	uint64_t	nr_others;	/* these lines */
	double		next_seen;	/* before it, Prometheus may not have seen a line's last count */
	const struct lines *known;	/* of an interval: what these lines are to be added to */
};

struct sample {
	struct rows	rows[TABLES];		/* BY_CPU, LATENCY, WORST */
	struct outcomes	outcomes;
	struct lines	lines[TABLES];		/* TASKS, ADDRESSES, FROM */
	uint64_t	uncounted;		/* upper limit of exceptions that all tables lack */
	uint64_t	lost_tasks;		/* upper limit of children that all tables lack */
	uint64_t	missing[TABLES];	/* those that one lacks, too */
	uint64_t	twice[TABLES];		/* upper limit of those counted twice */
	bool		no_flags;		/* user, waited and flag are unknown */
	bool		recorded;
	const char	*buckets;
	const char	*host, *kernel;		/* NULL: not known */
	const char	*source;		/* what has counted; NULL: several recordings */
	double		time;			/* its end, seconds since 1970; 0: not known */
	double		seconds;
	double		read_at;		/* CLOCK_MONOTONIC */
	bool		rates;			/* print counts per second */
	const char	*title;
	char		**columns;		/* NULL: no column */
	unsigned int	nr_columns;
};

/* base.c: one line on stderr; exit */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void bad_usage(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void put_safe(const char *text, FILE *to);
void *allocate(void *old, size_t size);
char *safe_string(const char *text);
bool is_printable(uint32_t code);
char *print_string(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* rows.c */
void rows_add(struct rows *rows, const struct row *row);
void rows_merge(struct rows *rows);
void rows_subtract(struct rows *rows, const struct rows *before);
void rows_free(struct rows *rows);

/* sample.c */
struct outcome *sample_outcome(struct sample *sample, unsigned int vector, unsigned int result);
void sample_add_line(struct sample *sample, enum table table, const struct row *row);
void sample_add(struct sample *to, const struct sample *from);
void sample_merge(struct sample *sample);
void sample_free(struct sample *sample);

/* lines.c */
void lines_add(struct lines *lines, const struct line *line);
struct line **lines_sorted(const struct lines *lines,
			   int (*compare)(const void *a, const void *b));
void lines_free(struct lines *lines);

/* options.c */
unsigned long number(const char *what, const char *text, unsigned long min, unsigned long max);

/* names.c */
void names_live(void);
void names_load(struct traps_format *loaded);
extern bool names_mixed;		/* were others loaded before, of another architecture? */
const char *vector_name(unsigned int vector);
void choose_vectors(char *list);
const char *result_name(unsigned int outcome);
const char *code_name(unsigned int outcome);
const char *outcome_name(unsigned int outcome);
uint64_t raised_at(unsigned int vector, uint64_t event_data, uint64_t ip);
char *error_code_name(unsigned int vector, uint64_t code);
char *flags_name(unsigned int flags);

/* trapstat.c */
double clock_now(void);		/* CLOCK_MONOTONIC, s */
void restore_signals(void);
bool sleep_ms(unsigned int ms);
int end_child(pid_t pid, int signal, double patience, bool works);
void end_if_signaled(void);
void write_begins(void);
void write_ends(void);

/* instance.c */
struct tracefs_instance;

void instance_check(void);
void instance_remove_dead(void);
struct tracefs_instance *instance_create(const char *suffix, int *lock);
void instance_choose(struct tracefs_instance *instance);
void instance_destroy_all(void);

/* bpf.c */
OPTIONAL const char *bpf_start(void);
OPTIONAL void bpf_go(void);
OPTIONAL int bpf_wake_fd(void);
OPTIONAL void bpf_drain(struct sample *sample);
OPTIONAL void bpf_read(struct sample *sample);
OPTIONAL void bpf_count_task(pid_t tid);
OPTIONAL void bpf_stop(void);

/* hist.c */
void hist_start(struct tracefs_instance *instance, unsigned int nr_cpus);
void hist_read(struct tracefs_instance *instance, struct sample *sample, bool last);
void hist_stop(void);

/* tasks.c: the processes of -p, and who they are */
const char *tasks_unknown(void);
const char *table_unknown(enum table table);
const char *table_empty(enum table table);
void tasks_open(const pid_t *pids, size_t nr);
size_t tasks_poll(struct pollfd *fds, size_t nr);
bool tasks_ended(void);
void tasks_each(const pid_t *pids, size_t nr, void (*call)(pid_t tid));
long long tasks_cpu(pid_t pid);
char *task_user(uid_t uid);
char *task_comm(pid_t pid);
pid_t task_process(pid_t tid);
void task_threads(pid_t pid, void (*call)(pid_t tid));
char *task_cgroup(uint64_t id);
void tasks_read(void);

/* command.c: CMD of -c */
pid_t command_fork(char **argv);
void command_go(void);

/* record.c: trace-cmd */
void record_start(const pid_t *pids, size_t nr);
int record_fd(void);
void record_failed(void) __attribute__((noreturn));
bool record_stop(void);

/* sideband.c */
void sideband_start(unsigned int nr_cpus, bool mappings);
size_t sideband_poll(struct pollfd *fds, size_t nr);
void sideband_read(void);
bool sideband_read_until(uint64_t until, pid_t pid);
uint64_t sideband_clock(void);

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
	struct file_id	id;
	uint32_t	protection;	/* PROT_*, all that its owner had */
	uint32_t	mixed;		/* that of others who had a part of it meanwhile */
	unsigned int	old;		/* the period in which it may have gone, or 0 */
};

struct place {
	const char	*kind;		/* file, anon, heap, stack, other */
	const char	*name;
	uint64_t	offset;
	bool		code;		/* is asked for: only what is executable has it */
	bool		no_symbols;	/* this machine does not have the mapped file */
	const struct map *map;
	pid_t		tid;
};

void maps_begin(bool mappings, bool some);
void maps_know(pid_t tid);
void maps_fork(pid_t pid, pid_t parent, pid_t tid, uint64_t time);
void maps_exec(pid_t tid, uint64_t time);
pid_t maps_parent(pid_t tid);
size_t maps_nr_gone(void);
void maps_exit(pid_t tid);
void maps_lost(void);
void maps_rename(pid_t tid, const char *comm);
void maps_add(pid_t pid, struct map *map, uint64_t time);
void maps_read_running(void);
void maps_period(void);
void maps_next_period(void);
void maps_each(void (*call)(pid_t tid, pid_t owner, const struct map *map, size_t nr, void *data),
	       void *data);
const char *maps_comm(pid_t tid);
bool maps_find(pid_t tid, uint64_t address, struct place *place);
bool maps_is_file(int fd, const struct file_id *id);
bool map_is_sure(const struct map *map, bool code);
bool map_is_stack(const struct map *map);
uint64_t map_low(const struct map *map, const struct map *below);
void map_place(const struct map *map, uint64_t address, struct place *place);

/* procmaps.c: mappings in a recording */
struct tracecmd_input;

void procmaps_append(const char *path);
void procmaps_use(struct tracecmd_input *handle, const char *path);
bool procmaps_find(pid_t tid, uint64_t address, struct place *place);

/* symbols.c */
typedef bool (*find_place)(pid_t tid, uint64_t address, struct place *place);

void symbols_live(void);
void symbols_recorded(struct tep_handle *tep);
void symbols_forget(void);
bool symbols_identify(const char *path, struct file_id *id);
bool symbols_file_offset(struct place *place, uint64_t span);
char *symbol_of_ip(const struct row *row);
char *kernel_symbol(uint64_t address);
char *name_of_page(const struct row *row, const char **kind);

/* report.c, export.c */
int report_main(int nr_files, char **files);
OPTIONAL int export_main(int nr_files, char **files);

/* worst.c: -w of a report */
void worst_add(struct rows *rows, const struct traps_event *e);
void worst_user_stack(uint64_t ts, unsigned int cpu, const uint64_t *callers, size_t nr);
struct task_switch;
void worst_switch(const struct task_switch *s);
void worst_restart(void);

/* screen.c: trapstat top */
enum screen_act { SCREEN_GO_ON, SCREEN_RESTART, SCREEN_QUIT };

OPTIONAL void screen_choose(void);
OPTIONAL void screen_open(const struct sample *sample);
OPTIONAL enum screen_act screen_keys(const struct sample *sample);
OPTIONAL bool screen_frozen(void);
OPTIONAL bool screen_note(const char *format, va_list args);
OPTIONAL void screen_close(void);

/* output.c */
int output(const struct sample *sample);
void output_flush(void);

/* metrics.c: the counts since the start */
void metrics_begin(struct sample *counts);
void metrics_write(FILE *file, const struct sample *counts, bool as_openmetrics);
bool metrics_save(const char *path, const struct sample *counts);

/* serve.c */
OPTIONAL void serve_start(const char *where, const struct sample *(*read)(void));
OPTIONAL int serve_fd(void);
OPTIONAL double serve_timeout(void);
OPTIONAL void serve_run(void);
OPTIONAL void serve_stop(void);

/* json.c */
char *valid_utf8(const char *text);

#endif
