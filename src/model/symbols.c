/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - a sorted table of addresses and names
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "model/symbols.h"
#include "session/array.h"

enum { LAST_SYMBOL_REACH = 4 << 20 };

struct symbol {
	uint64_t	addr;
	uint64_t	base, size;	/* for a gap */
	uint32_t	order;		/* in which it was added: aliases keep their order */
	char		type;		/* 0: a gap */
	char		*name;
	const char	*module;	/* one of `modules` */
};

struct symbols {
	struct symbol	*table;
	uint32_t	nr;
	bool		sorted;
	/* All of the table by name, gaps last. NULL: not made since something was added. */
	uint32_t	*by_name;
	void		*modules;	/* tsearch: names */
	const char	*last_module;	/* a module's symbols come one after the other */
	void		(*load)(void *arg, uint64_t addr);
	void		*load_arg;
};

/* The table doubles when it grows; the memory of a name has a header and is rounded up. */
_Static_assert(SYMBOL_COST >= 2 * sizeof(struct symbol) + 32 + sizeof(uint32_t),
	       "a symbol costs more");

struct symbols *symbols_create(void)
{
	return calloc(1, sizeof(struct symbols));
}

void symbols_destroy(struct symbols *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nr; i++)
		free(s->table[i].name);
	tdestroy(s->modules, free);
	free(s->by_name);
	free(s->table);
	free(s);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* NULL: out of memory. */
static const char *module_name(struct symbols *s, const char *name)
{
	char *copy, **found;

	if (s->last_module && !strcmp(s->last_module, name))
		return s->last_module;
	found = tfind(name, &s->modules, compare_names);
	if (found)
		return s->last_module = *found;
	copy = strdup(name);
	found = copy ? tsearch(copy, &s->modules, compare_names) : NULL;
	if (!found)
		free(copy);
	return found ? s->last_module = copy : NULL;
}

static int symbols_append(struct symbols *s, const struct symbol *like, const char *name,
			  const char *module)
{
	struct symbol sym = *like;

	if (array_room(&s->table, s->nr, sizeof(*s->table)))
		return -ENOMEM;
	sym.order = s->nr;
	sym.module = module ? module_name(s, module) : NULL;
	sym.name = name ? strdup(name) : NULL;
	if ((name && !sym.name) || (module && !sym.module)) {
		free(sym.name);
		return -ENOMEM;
	}
	s->table[s->nr++] = sym;
	s->sorted = false;
	free(s->by_name);
	s->by_name = NULL;
	return 0;
}

int symbols_add(struct symbols *s, uint64_t addr, char type, const char *name, const char *module)
{
	return symbols_append(s, &(struct symbol){ .addr = addr, .type = type }, name, module);
}

int symbols_add_gap(struct symbols *s, uint64_t addr, const char *name, uint64_t base,
		    uint64_t size)
{
	return symbols_append(s, &(struct symbol){ .addr = addr, .base = base, .size = size }, name,
			      NULL);
}

void symbols_set_loader(struct symbols *s, void (*load)(void *arg, uint64_t addr), void *arg)
{
	s->load = load;
	s->load_arg = arg;
}

static void symbols_load(struct symbols *s, uint64_t addr)
{
	if (s->load)
		s->load(s->load_arg, addr);
}

static int symbols_compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void sort(struct symbols *s)
{
	if (!s->sorted && s->nr)
		qsort(s->table, s->nr, sizeof(*s->table), symbols_compare);
	s->sorted = true;
}

/* The index of the last symbol at or below addr, the first one of several aliases; -1: none. */
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

static uint64_t symbols_size_of(const struct symbols *s, uint32_t i)
{
	if (!s->table[i].type)
		return s->table[i].size;
	for (uint32_t k = i + 1; k < s->nr; k++) {
		const uint64_t bytes = s->table[k].addr - s->table[i].addr;

		/* Modules may lie far from the kernel's image. */
		if (bytes)
			return !s->table[i].module && s->table[k].module &&
			       bytes >= LAST_SYMBOL_REACH ? 0 : bytes;
	}
	return 0;
}

/* How far a symbol reaches that is the last one. */
static uint64_t last_reach(const struct symbol *sym)
{
	return sym->type && strchr("tTwW", sym->type) ? LAST_SYMBOL_REACH : 1;
}

/* The symbol is a place in each CPU's own memory: its value is a number, not an address. */
static bool is_per_cpu(const struct symbol *sym)
{
	return sym->type == 'A' || sym->type == 'a';
}

/*
 * The kernel lists these symbols but names no address after them: the code that it makes for itself
 * ([__builtin__ftrace]), and what lies behind its image.
 */
static bool is_listed_only(const struct symbol *sym)
{
	static const char own[] = "__builtin__";

	if (!sym->module)
		return sym->name && !strcmp(sym->name, "_end");
	return !strncmp(sym->module, own, sizeof(own) - 1);
}

const char *symbols_find(struct symbols *s, uint64_t addr, uint64_t *offset, uint64_t *size,
			 const char **module)
{
	const struct symbol *sym;
	uint64_t bytes;
	long i;

	symbols_load(s, addr);
	i = find_index(s, addr);
	if (i < 0 || is_per_cpu(&s->table[i]) || is_listed_only(&s->table[i]))
		return NULL;
	sym = &s->table[i];
	bytes = symbols_size_of(s, (uint32_t)i);
	if (!bytes && addr - sym->addr >= last_reach(sym))
		return NULL;
	if (offset)
		*offset = addr - (sym->type ? sym->addr : sym->base);
	if (size)
		*size = bytes;
	if (module)
		*module = sym->module;
	return sym->name;
}

static bool is_of(const struct symbol *sym, const char *module)
{
	return !module || (sym->module && !strcmp(sym->module, module));
}

/* ---- Names ---- */

/* Gaps come last; symbols of one name keep the order of their addresses. */
static int compare_by_name(const void *a, const void *b, void *table)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct symbol *x = (struct symbol *)table + i, *y = (struct symbol *)table + k;
	int order = !x->type - !y->type;

	if (!order && x->type)
		order = strcmp(x->name, y->name);
	return order ? order : i < k ? -1 : i > k;
}

/* Without memory for it, names are looked for one by one. */
static void index_names(struct symbols *s)
{
	sort(s);
	if (s->by_name || !s->nr)
		return;
	s->by_name = malloc(s->nr * sizeof(*s->by_name));
	for (uint32_t i = 0; s->by_name && i < s->nr; i++)
		s->by_name[i] = i;
	if (s->by_name)
		qsort_r(s->by_name, s->nr, sizeof(*s->by_name), compare_by_name, s->table);
}

static uint32_t nth_index(const struct symbols *s, uint32_t nth)
{
	return s->by_name ? s->by_name[nth] : nth;
}

static bool has_name(const struct symbol *y, const char *name)
{
	return y->type && !strcmp(y->name, name);
}

/* No symbol of that name is before this one. */
static uint32_t first_named(const struct symbols *s, const char *name)
{
	uint32_t lo = 0, hi = s->by_name ? s->nr : 0;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		const struct symbol *y = &s->table[s->by_name[mid]];

		if (y->type && strcmp(y->name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* From the *i-th on. False: there is none. */
static bool next_named(const struct symbols *s, const char *name, uint32_t *i)
{
	while (*i < s->nr && !has_name(&s->table[nth_index(s, *i)], name)) {
		if (s->by_name)
			return false;
		++*i;
	}
	return *i < s->nr;
}

/*
 * Counts the symbols of that name and module. *found: the index of the first one; -1: there is
 * none.
 */
static unsigned int count_named(struct symbols *s, const char *name, const char *module,
				long *found)
{
	unsigned int nr = 0;

	*found = -1;
	index_names(s);
	for (uint32_t i = first_named(s, name); next_named(s, name, &i); i++)
		if (is_of(&s->table[nth_index(s, i)], module) && !nr++)
			*found = nth_index(s, i);
	return nr;
}

static struct symbol_seen seen_of(const struct symbol *y)
{
	return (struct symbol_seen){ y->addr, y->type, y->name, y->module, y->order };
}

void symbols_each_loaded(struct symbols *s, const char *name,
			 void (*fn)(void *arg, const struct symbol_seen *y), void *arg)
{
	index_names(s);
	for (uint32_t i = first_named(s, name); next_named(s, name, &i); i++) {
		const struct symbol_seen seen = seen_of(&s->table[nth_index(s, i)]);

		fn(arg, &seen);
	}
}

bool symbols_find_loaded(struct symbols *s, const char *name, struct symbol_seen *out)
{
	long i;

	if (!count_named(s, name, NULL, &i))
		return false;
	*out = seen_of(&s->table[i]);
	return true;
}

static bool find_name(struct symbols *s, const char *name, const char *module, uint64_t *lo,
		      uint64_t *hi)
{
	long i;

	if (!count_named(s, name, module, &i))
		return false;
	*lo = s->table[i].addr;
	*hi = *lo + symbols_size_of(s, (uint32_t)i);
	return true;
}

bool symbols_range_of(struct symbols *s, const char *name, const char *module, uint64_t *lo,
		      uint64_t *hi)
{
	if (find_name(s, name, module, lo, hi))
		return true;
	symbols_load(s, 0);
	return s->load && find_name(s, name, module, lo, hi);
}

bool symbols_range(struct symbols *s, const char *name, uint64_t *lo, uint64_t *hi)
{
	return symbols_range_of(s, name, NULL, lo, hi);
}

unsigned int symbols_count(struct symbols *s, const char *name, const char *module)
{
	long first;

	symbols_load(s, 0);
	return count_named(s, name, module, &first);
}

bool symbols_have_module(struct symbols *s, const char *module)
{
	symbols_load(s, 0);
	return tfind(module, &s->modules, compare_names);
}

void symbols_each(struct symbols *s, void (*fn)(void *arg, const struct symbol_seen *y), void *arg)
{
	symbols_load(s, 0);
	sort(s);
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct symbol *y = &s->table[i];

		struct symbol_seen seen = seen_of(y);

		if (y->type)
			fn(arg, &seen);
	}
}

/*
 * A reader elsewhere (trace-cmd) takes the symbol below an address, however far below it is. So the
 * end of a symbol before a gap is listed, too.
 */
static void print_gap(const struct symbol *y, FILE *out)
{
	if (!y->name)
		return;
	fprintf(out, "%016llx t %s", (unsigned long long)y->addr, y->name);
	if (y->addr != y->base)
		fprintf(out, "+0x%llx", (unsigned long long)(y->addr - y->base));
	fputc('\n', out);
}

void symbols_print(struct symbols *s, FILE *out)
{
	symbols_load(s, 0);
	sort(s);
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct symbol *y = &s->table[i];

		if (!y->type) {
			print_gap(y, out);
			continue;
		}
		fprintf(out, "%016llx %c %s", (unsigned long long)y->addr, y->type, y->name);
		if (y->module)
			fprintf(out, "\t[%s]", y->module);
		fputc('\n', out);
	}
}
