// SPDX-License-Identifier: GPL-2.0
/*
 * metrics.c - writes the counts since the start for Prometheus: in OpenMetrics 1.0.0, or in
 * the text format 0.0.4
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "trapstat.h"

#define NSEC_PER_SEC	1000000000
/* A histogram has a bucket for each power of two: up to 256 ns, ..., up to 17 s, longer */
#define FIRST_BUCKET	8
#define LAST_BUCKET	34

static FILE *out;
static bool openmetrics;
static const struct sample *sample;
static bool mm_faults;		/* what is written: these, or exceptions */
static const char *subject;	/* how the names of their metrics begin */

/*
 * @what follows "Exceptions" or the like. In the text format, a counter has the name of its
 * lines, and there are no units.
 */
static void put_family(const char *name, const char *type, const char *unit, const char *what)
{
	const char *events = mm_faults ? "Page faults without an exception" : "Exceptions";
	const char *suffix = !strcmp(type, "counter") && !openmetrics ? "_total" : "";
	char *full = print_string("trapstat_%s%s%s", subject, name, suffix);

	fprintf(out, "# HELP %s %s%s\n# TYPE %s %s\n", full, events, what, full, type);
	if (openmetrics && unit)
		fprintf(out, "# UNIT %s %s\n", full, unit);
	free(full);
}

/*
 * @value may have any bytes. What is not ASCII becomes U+FFFD and its number, so that no two values
 * are the same: a name may have any other text, such as systemd's \xNN.
 */
static void put_label(const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value < ' ' || *value > '~')
			fprintf(out, "\xef\xbf\xbd%02x", (unsigned char)*value);
		else
			fprintf(out, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
	}
	putc('"', out);
}

/* Up to the value: name, vector, and the label @by if it is not NULL */
static void put_name(const char *name, unsigned int vector, const char *by, const char *value)
{
	fprintf(out, "trapstat_%s%s{", subject, name);
	if (!mm_faults) {
		put_label("vector", vector_name(vector));
		putc(',', out);
	}
	put_label(by, value);
}

static void put_outcome(const char *name, const struct outcome *o, const char *by,
			const char *value)
{
	const char *code = code_name(o->result);

	put_name(name, o->vector, "result", result_name(o->result));
	if (code) {
		putc(',', out);
		put_label("code", code);
	}
	if (by) {
		putc(',', out);
		put_label(by, value);
	}
	fputs("} ", out);
}

static void put_count(uint64_t count)
{
	fprintf(out, "%" PRIu64 "\n", count);
}

static void put_seconds(uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

static void put_counts(const struct outcome *o)
{
	if (mm_faults || sample->no_flags) {
		put_outcome("s_total", o, NULL, NULL);
		put_count(o->count);
		return;
	}
	put_outcome("s_total", o, "mode", "user");
	put_count(o->user);
	put_outcome("s_total", o, "mode", "kernel");
	put_count(o->count - o->user);
}

/* A bound is the highest duration of a bucket that was counted, so nothing is estimated. */
static void put_histogram(const struct outcome *o)
{
	const struct row *row = sample->rows[LATENCY].row, *end = row + sample->rows[LATENCY].nr;
	uint64_t count = 0, bound;
	unsigned int i;
	char le[24];

	while (row < end && (row->vector != o->vector || row->result != o->result))
		row++;
	for (i = FIRST_BUCKET; i <= LAST_BUCKET; i++) {
		bound = (1ULL << i) - !sample->no_flags;	/* 2^i: the kernel's log2 */
		for (; row < end && row->vector == o->vector && row->result == o->result &&
		     row->value <= bound; row++)
			count += row->count;
		snprintf(le, sizeof(le), "%.11g", (double)bound / NSEC_PER_SEC);
		put_outcome("_duration_seconds_bucket", o, "le", le);
		put_count(count);
	}
	put_outcome("_duration_seconds_bucket", o, "le", "+Inf");
	put_count(o->count);
	put_outcome("_duration_seconds_sum", o, NULL, NULL);
	put_seconds(o->ran + o->waited);
	put_outcome("_duration_seconds_count", o, NULL, NULL);
	put_count(o->count);
}

static void put_times(const struct outcome *o)
{
	put_outcome("_time_seconds_total", o, "state", "ran");
	put_seconds(o->ran);
	put_outcome("_time_seconds_total", o, "state", "waited");
	put_seconds(o->waited);
}

static void put_flags(const struct outcome *o)
{
	unsigned int i;
	char *name;

	for (i = 0; i < FLAGS; i++) {
		name = flags_name(1U << i);
		put_outcome("_flags_total", o, "flag", name);
		put_count(o->flag[i]);
		free(name);
	}
}

static void each_outcome(void (*put)(const struct outcome *o))
{
	const struct outcomes *all = &sample->outcomes;
	const struct outcome *o;

	for (o = all->outcome; o < all->outcome + all->nr; o++) {
		if ((o->vector == VECTOR_NONE) == mm_faults)
			put(o);
	}
}

static void put_cgroups(const char *name, bool times)
{
	struct line **line = lines_sorted(&sample->lines[TASKS], NULL);
	size_t i;

	for (i = 0; i < sample->lines[TASKS].nr; i++) {
		if ((line[i]->vector == VECTOR_NONE) != mm_faults)
			continue;
		put_name(name, line[i]->vector, "cgroup", line[i]->name);
		fputs("} ", out);
		if (times)
			put_seconds(line[i]->sum);
		else
			put_count(line[i]->count);
	}
	free(line);
}

static void put_events(bool of_mm_fault)
{
	mm_faults = of_mm_fault;
	subject = mm_faults ? "mm_fault" : "exception";
	put_family("s", "counter", NULL, mm_faults ? ", by result." : ", by vector, result, code of the signal and mode of the CPU.");
	each_outcome(put_counts);
	put_family("_duration_seconds", "histogram", "seconds", ": how long the kernel took to handle them.");
	each_outcome(put_histogram);
	if (!sample->no_flags) {
		put_family("_time_seconds", "counter", "seconds",
			   ": their durations, of those that slept or were preempted (waited) and of the others (ran).");
		each_outcome(put_times);
		put_family("_flags", "counter", NULL, " that have the flag.");
		each_outcome(put_flags);
	}
	if (!options.table[TASKS])
		return;
	subject = mm_faults ? "cgroup_mm_fault" : "cgroup_exception";
	put_family("s", "counter", NULL, ", by cgroup.");
	put_cgroups("s_total", false);
	put_family("_seconds", "counter", "seconds", ": their durations, by cgroup.");
	put_cgroups("_seconds_total", true);
}

static void put_missed(const char *scope, uint64_t missing)
{
	put_label("trapstat_missed_exceptions_total{scope", scope);
	fprintf(out, "} %" PRIu64 "\n", missing);
}

/* What has counted */
static void put_info(void)
{
	struct utsname host;

	uname(&host);
	if (openmetrics)
		fputs("# HELP trapstat What counts.\n# TYPE trapstat info\n", out);
	else
		fputs("# HELP trapstat_info What counts.\n# TYPE trapstat_info gauge\n", out);
	put_label("trapstat_info{version", VERSION);
	put_label(",engine", sample->no_flags ? "histograms" : "BPF");
	put_label(",kernel", host.release);
	fputs("} 1\n", out);
}

/* It tells that a file is old: who shows it goes on when nobody writes it any more. */
static void put_next_write(void)
{
	const char *name = "trapstat_next_write_timestamp_seconds";

	fprintf(out, "# HELP %s When this is to be written again.\n# TYPE %s gauge\n", name, name);
	if (openmetrics)
		fprintf(out, "# UNIT %s seconds\n", name);
	fprintf(out, "%s %.3f\n", name, time(NULL) + options.interval);
}

/* @counts: those since the start, merged */
void metrics_write(FILE *file, const struct sample *counts, bool as_openmetrics)
{
	const char *name = as_openmetrics ? "trapstat_missed_exceptions" : "trapstat_missed_exceptions_total";

	out = file;
	openmetrics = as_openmetrics;
	sample = counts;
	put_events(false);
	put_events(true);
	fprintf(out, "# HELP %s Exceptions and page faults that were not counted.\n# TYPE %s counter\n",
		name, name);
	put_missed("system", sample->uncounted + sample->missing[LATENCY]);
	if (options.table[TASKS])
		put_missed("cgroup", sample->uncounted + sample->missing[TASKS]);
	put_info();
	if (options.openmetrics)
		put_next_write();
	if (openmetrics)
		fputs("# EOF\n", out);
}

/* Page faults are in the first scrape, so that a rate sees the first of them. */
void metrics_begin(struct sample *counts)
{
	unsigned int i;
	const char *name;

	for (i = 0; i < RESULTS && (!options.some_vectors || options.vectors[VECTOR_PF]); i++) {
		name = result_name(TRAPS_OUTCOME(i, 0));
		if (!strcmp(name, "MINOR") || !strcmp(name, "MAJOR"))
			sample_outcome(counts, VECTOR_PF, TRAPS_OUTCOME(i, 0));
	}
}

/* Whoever reads the file sees all of the old one or all of the new one. */
bool metrics_save(const char *path, const struct sample *counts)
{
	char *temporary = print_string("%s.%d.trapstat", path, getpid());
	const char *end = strrchr(path, '.');
	bool saved = false;
	FILE *file = NULL;
	struct stat old;
	int fd = -1;

	if (!lstat(path, &old) && !S_ISREG(old.st_mode))
		errno = ENOTSUP;
	else if (!unlink(temporary) || errno == ENOENT)		/* of a killed run with this PID */
		fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0)
		file = fdopen(fd, "w");

	if (file) {
		metrics_write(file, counts, !end || strcmp(end, ".prom"));
		saved = !fflush(file) && !ferror(file) && !fchmod(fd, 0644) && !fsync(fd);
		saved = !fclose(file) && saved && !rename(temporary, path);
	}
	if (!saved)
		note("cannot write %s: %s", path,
		     errno == ENOTSUP ? "it is not a regular file" : strerror(errno));
	if (!saved && fd >= 0)
		unlink(temporary);
	free(temporary);
	return saved;
}
