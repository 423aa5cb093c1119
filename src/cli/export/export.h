/* SPDX-License-Identifier: MIT */
/*
 * export.h - records and histograms for other tools
 *
 *     records.c     a recording, or the records of a session, as chrome, perfetto or folded
 *     hist.c        a histogram as csv, json or folded stacks
 *
 * cmd/export.c has the command line. run, live and replay have --as for histograms.
 */
#ifndef TRACEFUSE_CLI_EXPORT_EXPORT_H
#define TRACEFUSE_CLI_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/asked.h"

struct access;

struct export_asked {
	const char	*form;		/* "chrome" */
	const char	*hist;		/* "events/SYSTEM/EVENT/hist"; NULL: the records */
	const char	*file;		/* -o; NULL: stdout */
	bool		partial;
	struct words	counters, buffers, setups;
	struct words	recordings;	/* none: a session */
	const char	*session;	/* NULL: $TRACEFUSE_SESSION, or the only one */
};

/* ---- records.c ---- */

/* Whether there is such a form of records. */
bool export_form_known(const char *form);
/* Writes the records to `out`. Prints what is wrong. An exit status. */
int export_records(const struct export_asked *e, FILE *out);

/* ---- hist.c ---- */

bool hist_form_known(const char *form);
/*
 * Prints all histograms of a file "events/SYSTEM/EVENT/hist" in that form. Prints what is wrong.
 * An exit status.
 */
int hist_form_file(struct access *a, const char *file, const char *form);

#endif
