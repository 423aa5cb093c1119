/* SPDX-License-Identifier: MIT */
/*
 * entries.h - the entries that a hist has counted, for show.c and json.c
 */
#ifndef TRACEFUSE_MODEL_HIST_ENTRIES_H
#define TRACEFUSE_MODEL_HIST_ENTRIES_H

#include <string.h>

#include "model/hist/hist.h"

struct hist_entry {
	const struct hist_data *hd;
	uint32_t	elt;
	char		*key;		/* hd->key_size bytes, the key fields at their offsets */
	const char	*comm;		/* for the newest snapshot; NULL: the elt's name */
	uint64_t	*sums;		/* hist_nr_sums(): hitcount, then the values in order */
};

struct hist_entries {
	struct hist_data *hd;
	struct hist_entry *v;		/* in the order of sort=; equal ones by key */
	unsigned int	nr;
	uint64_t	hits, drops, cuts;	/* cuts: see map_cuts() */
};

enum {
	HIST_BLOCK_MAX = HIST_TRACK_VALUES + HIST_VARS_MAX * STRING_ROOM + LAYOUT_COMM_LEN +
			 HIST_KEY_ROOM
};

unsigned int hist_nr_sums(const struct hist_data *hd);
/* 0, -ENOMEM; the caller frees *out in both cases. */
int hist_entries_read(struct hist_data *hd, struct hist_entries *out);
/* The totals: what it counted, and what found no room. */
void hist_totals(const struct hist_data *hd, struct hist_entries *out);
void hist_entries_free(struct hist_entries *all);
/* The number in a key field. */
uint64_t hist_entry_u64(const struct hist_entry *e, const struct hist_field *f);
/* By the value of a key, as sort= has it. */
int hist_entries_compare_key(const struct hist_field *f, const struct hist_entry *a,
			     const struct hist_entry *b);
/* The smallest and the largest value of the event that are counted as this value of a key. */
void hist_key_range(const struct hist_field *f, uint64_t v, uint64_t *low, uint64_t *high);
/* The task's name that .execname shows. */
void hist_entry_comm(const struct hist_entry *e, char comm[LAYOUT_COMM_LEN + 1]);
/* Reads a block of an elt; elt 0: of the map. False: it is empty, and data is all 0. */
bool hist_block_read(const struct hist_data *hd, uint32_t elt, unsigned int block,
		     char data[HIST_BLOCK_MAX]);
/* Function number `i` of a key that is a stack. False: there are no more. */
bool hist_stack_at(const struct hist_entry *e, const struct hist_field *f, unsigned int i,
		   uint64_t *addr);
/*
 * An address as %pS (with_offset) and %ps print it: parts, of which some are "". They need no
 * memory, so that no text can lack a name.
 */
enum { HIST_SYMBOL_PARTS = 5 };

struct hist_symbol {
	const char	*parts[HIST_SYMBOL_PARTS];
	char		number[48];
};

void hist_symbol_find(struct model *m, uint64_t addr, bool with_offset, struct hist_symbol *out);
/* Prints it, with blanks behind it up to `width` letters. */
void hist_symbol_print(struct model *m, uint64_t addr, bool with_offset, size_t width, FILE *out);

/* show.c: "NAME: VALUE" of a key, as the file `hist` has it. */
void hist_show_key(const struct hist_entry *e, const struct hist_field *f, FILE *out);

/* A word of the data that hist_block_read() has read. */
static inline uint64_t hist_block_word(const char *data, unsigned int off)
{
	uint64_t v;

	memcpy(&v, data + off, sizeof(v));
	return v;
}

#endif
