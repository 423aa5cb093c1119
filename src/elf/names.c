/* SPDX-License-Identifier: MIT */
/*
 * names.c - names for functions: the symbol that an address lies in, or one made of its address
 *
 * The tables for unwinding have the start and length of functions without a symbol. Stripping does
 * not remove these tables.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "elf/file.h"
#include "elf/sites.h"

enum {
	/* A site up to that far into a function without size belongs to it */
	PROLOGUE	= 512,
	MADE_NAME	= 24,
};

/* ---- symbols ---- */

static bool is_function(const struct elf_symbol *s)
{
	return s->type == 't' || s->type == 'T' || s->type == 'W';
}

const struct elf_symbol *elf_walk_to(struct elf_walk *w, uint64_t at)
{
	const struct elf_symbols *y = w->symbols;

	/* Of the symbols at one address the first has the best name. */
	for (; w->next < y->nr && y->v[w->next].value <= at; w->next++)
		if (is_function(&y->v[w->next]) &&
		    (!w->last || w->last->value != y->v[w->next].value))
			w->last = &y->v[w->next];
	if (!w->last)
		return NULL;
	return at - w->last->value < (w->last->size ? w->last->size : PROLOGUE) ? w->last : NULL;
}

/* ---- new names ---- */

/* The function that contains the address. If that is not known, a function that begins there. */
static struct elf_symbol function_at(const struct image *im, uint64_t at)
{
	struct elf_symbol s = { .value = at, .size = 1, .type = 't' };
	size_t number = image_function(im, at);

	if (number < im->nr_starts) {
		s.value = image_function_start(im, number);
		s.size = image_function_end(im, number) - s.value;
	}
	return s;
}

static size_t count_nameless(const struct site *sites, size_t nr, const struct elf_symbols *symbols)
{
	struct elf_walk w = { .symbols = symbols };
	size_t n = 0;

	for (size_t i = 0; i < nr; i++)
		n += !elf_walk_to(&w, sites[i].at);
	return n;
}

static int make_room(struct elf_symbols *s, size_t n)
{
	struct elf_symbol *v = realloc(s->v, (s->nr + n) * sizeof(*v));
	char *names = v ? realloc(s->names, s->names_len + n * MADE_NAME) : NULL;

	if (v)
		s->v = v;
	if (names)
		s->names = names;
	return names && s->names_len + n * MADE_NAME < UINT32_MAX ? 0 : -ENOMEM;
}

static void name_add(struct elf_symbols *s, struct elf_symbol y)
{
	y.name = (uint32_t)s->names_len;
	s->names_len += (size_t)snprintf(s->names + s->names_len, MADE_NAME, "sub_%" PRIx64,
					 y.value) + 1;
	s->v[s->nr++] = y;
}

int elf_names_make(const struct image *im, const struct site *sites, size_t nr,
		   struct elf_symbols *symbols)
{
	size_t n = count_nameless(sites, nr, symbols), had = symbols->nr;
	struct elf_symbols old = *symbols;
	struct elf_walk w;
	int err = n ? make_room(symbols, n) : 0;

	if (err || !n)
		return err;
	old.v = symbols->v;
	w = (struct elf_walk){ .symbols = &old };
	for (size_t i = 0; i < nr; i++) {
		struct elf_symbol y;

		if (elf_walk_to(&w, sites[i].at))
			continue;
		y = function_at(im, sites[i].at);
		if (symbols->nr == had || symbols->v[symbols->nr - 1].value != y.value)
			name_add(symbols, y);
	}
	elf_symbols_sort(symbols);
	return 0;
}
