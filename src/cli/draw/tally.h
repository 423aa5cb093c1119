/* SPDX-License-Identifier: MIT */
/*
 * tally.h - how often and how long, from the JSON of an event's histograms
 *
 *     hist:keys=K:vals=ns:most=ns:onmax($most).save(...)     count, sum, longest
 *     hist:keys=K,ns.exp=3:pct=99.0                          the percentile
 *     hist:keys=K if ...                                     how many of them are special
 *
 * The event is one that tracefuse has defined itself (`tracefuse syscalls --show`). Its histograms
 * are in the order in which they were defined.
 */
#ifndef TRACEFUSE_CLI_DRAW_TALLY_H
#define TRACEFUSE_CLI_DRAW_TALLY_H

#include <jansson.h>
#include <stdbool.h>

struct access;

struct tally_row {
	const json_t	*keys;		/* of the JSON; tally_key_text() */
	char		*text;		/* of all keys */
	double		hits, sum, longest;
	double		p99;		/* at most `longest`; -1: not known */
	double		special;
};

struct tally {
	struct tally_row *v;
	size_t		nr;
	double		dropped;	/* hits that found no room */
};

/* The histograms of a file events/SYSTEM/EVENT/hist; NULL: an error was printed. */
json_t *tally_open(struct access *a, const char *file);
/*
 * `at`: the first of its histograms, then the one with percentiles, if the JSON has so many. With
 * `special` the one behind it. Free it in any case, before the JSON. 0, -ENOMEM
 */
int tally_read(const json_t *hists, size_t at, bool special, struct tally *out);
/* The same for one histogram alone. */
int tally_read_one(const json_t *hists, size_t at, struct tally *out);
/* How many hits found no room in a histogram. */
double tally_dropped(const json_t *hists, size_t at);
void tally_free(struct tally *t);
/* Prints that hits found no room, if so. */
void tally_say_dropped(double dropped, const char *what);
/* Key `i` as a text that the caller frees, of a stack a line each. NULL: out of memory. */
char *tally_key_text(const struct tally_row *r, unsigned int i);

#endif
