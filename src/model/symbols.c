/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - a sorted table of addresses and names
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/symbols.h"

enum { LAST_SYMBOL_REACH = 4 << 20 };

struct symbol {
	uint64_t	addr;
	uint32_t	order;		/* of adding: aliases keep it */
	char		type;
	char		*name;
	char		*module;
};

struct symbols {
	struct symbol	*table;
	uint32_t	nr, cap;
	bool		sorted;
};

struct symbols *symbols_create(void)
{
	return calloc(1, sizeof(struct symbols));
}

void symbols_destroy(struct symbols *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nr; i++) {
		free(s->table[i].name);
		free(s->table[i].module);
	}
	free(s->table);
	free(s);
}

static int grow(struct symbols *s)
{
	uint32_t cap = s->cap ? s->cap * 2 : 1024;
	struct symbol *t = realloc(s->table, cap * sizeof(*t));

	if (!t)
		return -ENOMEM;
	s->table = t;
	s->cap = cap;
	return 0;
}

int symbols_add(struct symbols *s, uint64_t addr, char type, const char *name, const char *module)
{
	struct symbol sym = { .addr = addr, .order = s->nr, .type = type };

	if (s->nr == s->cap && grow(s))
		return -ENOMEM;
	sym.name = strdup(name);
	sym.module = module ? strdup(module) : NULL;
	if (!sym.name || (module && !sym.module)) {
		free(sym.name);
		free(sym.module);
		return -ENOMEM;
	}
	s->table[s->nr++] = sym;
	s->sorted = false;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort(struct symbols *s)
{
	if (!s->sorted && s->nr)
		qsort(s->table, s->nr, sizeof(*s->table), compare);
	s->sorted = true;
}

/* Index of the last symbol at or below addr, of several aliases the first; -1: none. */
static long find_index(struct symbols *s, uint64_t addr)
{
	uint32_t lo = 0, hi = s->nr;

	sort(s);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->table[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -1;
	lo--;
	while (lo && s->table[lo - 1].addr == s->table[lo].addr)
		lo--;
	return lo;
}

static uint64_t size_of(const struct symbols *s, uint32_t i)
{
	for (uint32_t k = i + 1; k < s->nr; k++)
		if (s->table[k].addr != s->table[i].addr)
			return s->table[k].addr - s->table[i].addr;
	return 0;
}

/* A place in each CPU's own memory: a number, no address. */
static bool is_per_cpu(const struct symbol *sym)
{
	return sym->type == 'A' || sym->type == 'a';
}

const char *symbols_find(struct symbols *s, uint64_t addr, uint64_t *offset, uint64_t *size,
			 const char **module)
{
	long i = find_index(s, addr);
	uint64_t bytes;

	if (i < 0 || is_per_cpu(&s->table[i]))
		return NULL;
	bytes = size_of(s, (uint32_t)i);
	if (!bytes && addr - s->table[i].addr >= LAST_SYMBOL_REACH)
		return NULL;
	if (offset)
		*offset = addr - s->table[i].addr;
	if (size)
		*size = bytes;
	if (module)
		*module = s->table[i].module;
	return s->table[i].name;
}

bool symbols_range(struct symbols *s, const char *name, uint64_t *lo, uint64_t *hi)
{
	sort(s);
	for (uint32_t i = 0; i < s->nr; i++) {
		if (strcmp(s->table[i].name, name))
			continue;
		*lo = s->table[i].addr;
		*hi = *lo + size_of(s, i);
		return true;
	}
	return false;
}

void symbols_print(struct symbols *s, FILE *out)
{
	sort(s);
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct symbol *y = &s->table[i];

		fprintf(out, "%016llx %c %s", (unsigned long long)y->addr, y->type, y->name);
		if (y->module)
			fprintf(out, "\t[%s]", y->module);
		fputc('\n', out);
	}
}
