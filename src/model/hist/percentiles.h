/* SPDX-License-Identifier: MIT */
/*
 * percentiles.h - the parameter pct=50,99,99.9 of a hist: what the file `hist` says of percentiles
 *
 *     keys=comm,lat.exp=3:pct=50,99     for each comm, the lat that 50 and 99 of 100 hits do not
 *                                       exceed
 *
 * It is not in Linux 6.12, where `pct=50` sets a variable. So a list is one of percentiles if Linux
 * refuses it: it has two numbers at least, or a point.
 */
#ifndef TRACEFUSE_MODEL_HIST_PERCENTILES_H
#define TRACEFUSE_MODEL_HIST_PERCENTILES_H

#include "model/hist/entries.h"

enum {
	PERCENTILES_MAX	= 16,
	/* A percentile is counted in this part of a percent. */
	PERCENTILE_UNIT	= 10000,
};

/* Whether the text behind "pct=" is a list of percentiles. */
bool percentiles_is_list(const char *text);
/* Checks the list, once the keys are known. 0, -EINVAL: an error was logged */
int percentiles_check(const struct hist_data *hd, const struct hist_command_text *cmd);

/* The entries that differ only in the key of the percentiles. */
struct percentiles_group {
	const struct hist_entry *const *entries;	/* in the order of that key */
	unsigned int	nr;
	const struct hist_field *key;
};

typedef void (*percentiles_fn)(const struct percentiles_group *g, void *arg);

/* Calls fn for each group, in the order of their other keys. 0, -ENOMEM */
int percentiles_each(const struct hist_entries *all, percentiles_fn fn, void *arg);
/* The i-th percentile of the list, in PERCENTILE_UNITs. False: the list is not as long. */
bool percentiles_get(const struct hist_data *hd, unsigned int i, uint32_t *out);
/* The entry in which that percentile of the group's hits lies. */
const struct hist_entry *percentiles_entry(const struct percentiles_group *g, uint32_t percentile);

/* Prints the lines of the file `hist`. 0, -ENOMEM */
int percentiles_print(const struct hist_entries *all, FILE *out);

#endif
