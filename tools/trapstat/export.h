/* SPDX-License-Identifier: GPL-2.0 */
/*
 * export.h - recordings as slices in tracks, in one of several formats
 */
#ifndef TRAPSTAT_EXPORT_H
#define TRAPSTAT_EXPORT_H

#include "recording.h"

struct track {
	bool		of_task;	/* otherwise: of @cpu */
	pid_t		pid;		/* 0: the idle task of @cpu */
	unsigned int	cpu;
};

/* A format. All times are those of the recording. */
struct export_format {
	const char	*name;
	bool		binary;
	void (*begin)(int nr_files, char **files, const uint64_t *zero);	/* may be NULL */
	/* @zero: the time in this file that is the same moment in all files */
	void (*file)(int nr, const struct recording *recording, uint64_t zero);
	void (*track)(const struct track *track, const char *name);
	/* @e: the exit, or the entry if it has not ended there */
	void (*slice)(const struct track *track, uint64_t from, uint64_t to, const char *name,
		      const struct traps_event *e);
	/* @e may be NULL */
	void (*instant)(const struct track *track, uint64_t ts, const char *name,
			const struct traps_event *e);
	/* the rest may be NULL */
	void (*lost)(unsigned int cpu);
	void (*sched_switch)(const struct task_switch *s);
	void (*sched_waking)(const struct task_waking *w);
	void (*end)(void);
};

extern const struct export_format chrome, perfetto;

/* The fields of an event, for its slice. */
struct field_writer {
	void (*text)(const char *name, const char *value);
	void (*number)(const char *name, uint64_t value);
	void (*address)(const char *name, uint64_t value);
};

void export_fields(const struct traps_event *e, const struct field_writer *to);

#endif
