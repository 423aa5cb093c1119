/* SPDX-License-Identifier: MIT */
/*
 * names.c - names for functions: the symbol that an address lies in, and what there is of stripped files
 *
 * Where a function without symbol begins and how long it is, is in the tables
 * for unwinding, which stripping leaves alone:
 *
 *     .eh_frame_hdr    form, ..., number, { start, entry }...       sorted; both from the header on
 *     entry            length, CIE, start (from here on), length of the function
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/sites.h"
#include "elf/elf.h"

enum {
	PROLOGUE	= 512,		/* a site that far into a function without size is its own */
	MADE_NAME	= 24,
	HEAD		= 12,
};

/* ---- symbols ---- */

static bool is_function(const struct elf_symbol *s)
{
	return s->type == 't' || s->type == 'T' || s->type == 'W';
}

const struct elf_symbol *elf_walk_to(struct elf_walk *w, uint64_t at)
{
	const struct elf_symbols *y = w->symbols;

	/* Of those at one address the first has the best name. */
	for (; w->next < y->nr && y->v[w->next].value <= at; w->next++)
		if (is_function(&y->v[w->next]) && (!w->last || w->last->value != y->v[w->next].value))
			w->last = &y->v[w->next];
	return w->last && at - w->last->value < (w->last->size ? w->last->size : PROLOGUE) ? w->last : NULL;
}

/* ---- the tables for unwinding ---- */

struct frames {
	const char	*bytes;		/* from the header on, up to the end of its segment */
	size_t		size;
	uint64_t	at;		/* its address */
	uint32_t	nr;
};

static int32_t word(const struct frames *f, uint64_t off)
{
	int32_t v = 0;

	if (off <= f->size && f->size - off >= sizeof(v))
		memcpy(&v, f->bytes + off, sizeof(v));
	return v;
}

/* Only the form that all linkers write; .eh_frame follows it in the same segment. */
static bool frames_open(struct frames *f, const char *file, size_t size)
{
	static const char form[4] = { 1, 0x1b, 0x03, 0x3b };
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)file;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(file + h->e_phoff), *head = NULL;

	for (unsigned int i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME)
			head = &p[i];
	for (unsigned int i = 0; head && i < h->e_phnum; i++) {
		if (p[i].p_type != PT_LOAD || head->p_vaddr - p[i].p_vaddr >= p[i].p_filesz ||
		    p[i].p_offset > size || p[i].p_filesz > size - p[i].p_offset)
			continue;
		f->at = head->p_vaddr;
		f->bytes = file + p[i].p_offset + (head->p_vaddr - p[i].p_vaddr);
		f->size = p[i].p_filesz - (head->p_vaddr - p[i].p_vaddr);
		f->nr = (uint32_t)word(f, 8);
		return f->size > HEAD && !memcmp(f->bytes, form, 4) && f->nr <= (f->size - HEAD) / 8;
	}
	return false;
}

static uint64_t start_of(const struct frames *f, uint32_t i)
{
	return f->at + (uint64_t)(int64_t)word(f, HEAD + 8ull * i);
}

/* Of the function that is number i; 0: another form than most. */
static uint64_t length_of(const struct frames *f, uint32_t i)
{
	uint64_t entry = (uint64_t)(int64_t)word(f, HEAD + 8ull * i + 4);

	if (f->at + entry + 8 + (uint64_t)(int64_t)word(f, entry + 8) != start_of(f, i))
		return 0;
	return (uint32_t)word(f, entry + 12);
}

/* The function that the address lies in; where that is not known it begins there. */
static struct elf_symbol function_at(const struct frames *f, uint64_t at)
{
	struct elf_symbol s = { .value = at, .size = 1, .type = 't' };
	uint32_t low = 0, high = f->nr;
	uint64_t length;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (start_of(f, middle) <= at)
			low = middle + 1;
		else
			high = middle;
	}
	length = low ? length_of(f, low - 1) : 0;
	if (low && at - start_of(f, low - 1) < length) {
		s.value = start_of(f, low - 1);
		s.size = length;
	}
	return s;
}

/* ---- new names ---- */

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
	s->names_len += (size_t)snprintf(s->names + s->names_len, MADE_NAME, "sub_%" PRIx64, y.value) + 1;
	s->v[s->nr++] = y;
}

int elf_names_make(const void *file, size_t size, const struct site *sites, size_t nr, struct elf_symbols *symbols)
{
	size_t n = count_nameless(sites, nr, symbols), had = symbols->nr;
	struct elf_symbols old = *symbols;
	struct frames f = { 0 };
	struct elf_walk w;
	int err = n ? make_room(symbols, n) : 0;

	if (err || !n)
		return err;
	if (!frames_open(&f, file, size))
		f.nr = 0;
	old.v = symbols->v;
	w = (struct elf_walk){ .symbols = &old };
	for (size_t i = 0; i < nr; i++) {
		struct elf_symbol y;

		if (elf_walk_to(&w, sites[i].at))
			continue;
		y = function_at(&f, sites[i].at);
		if (symbols->nr == had || symbols->v[symbols->nr - 1].value != y.value)
			name_add(symbols, y);
	}
	elf_symbols_sort(symbols);
	return 0;
}
