/* SPDX-License-Identifier: GPL-2.0 */
/*
 * export.h - recordings as slices in tracks, in Perfetto's format
 */
#ifndef TRAPSTAT_EXPORT_H
#define TRAPSTAT_EXPORT_H

#include "recording.h"

struct track {
	bool		of_task;	/* otherwise: of @cpu */
	pid_t		pid;		/* 0: the idle task of @cpu */
	unsigned int	cpu;
};

/* perfetto.c. All times are those of the recording. */
/* @zero: the time in this file that is the same moment in all files */
void perfetto_file(int nr, const struct recording *recording, uint64_t zero);
void perfetto_track(const struct track *track, const char *name);
/* @e: the exit, or the entry if it has not ended there */
void perfetto_slice(const struct track *track, uint64_t from, uint64_t to, const char *name,
		    const struct traps_event *e);
/* @e may be NULL */
void perfetto_instant(const struct track *track, uint64_t ts, const char *name,
		      const struct traps_event *e);
void perfetto_lost(unsigned int cpu);
void perfetto_switch(const struct task_switch *s);
void perfetto_waking(const struct task_waking *w);

#endif
