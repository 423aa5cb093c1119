/* SPDX-License-Identifier: MIT */
/*
 * symbols.h - the session's kallsyms: addresses to names and back
 *
 *   add, add ... -> find (sorts once when something was added since)
 *
 * A loader adds symbols when they are needed: of a running program only those DSOs are read in
 * which an address lies.
 */
#ifndef TRACEFUSE_MODEL_SYMBOLS_H
#define TRACEFUSE_MODEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct symbols;

/* The memory of a symbol, besides the letters of its name. */
enum { SYMBOL_COST = 136 };

struct symbols *symbols_create(void);
void symbols_destroy(struct symbols *s);

/* module NULL: none. type: nm's letter. Names are copied. 0, -ENOMEM */
int symbols_add(struct symbols *s, uint64_t addr, char type, const char *name, const char *module);

/*
 * From addr up to the next symbol there are no symbols: an address there is NAME + its offset from
 * base, of `size` bytes in all. NAME NULL: nothing is there.
 */
int symbols_add_gap(struct symbols *s, uint64_t addr, const char *name, uint64_t base,
		    uint64_t size);

/*
 * `load` is called before a symbol is looked for: with the address, or with 0 if all symbols are
 * needed. It may only call symbols_add() and symbols_add_gap().
 */
void symbols_set_loader(struct symbols *s, void (*load)(void *arg, uint64_t addr), void *arg);

/*
 * The symbol in which addr lies: its name, the offset in it, its size (up to the next symbol; 0 for
 * the last one) and its module. NULL: addr is below the first symbol, more than 4 MiB behind the
 * last one, behind `_end`, or in code that the kernel makes for itself ([__builtin__ftrace]).
 * offset, size, module may be NULL.
 */
const char *symbols_find(struct symbols *s, uint64_t addr, uint64_t *offset, uint64_t *size,
			 const char **module);

/* The addresses [*lo, *hi) of the function of that name. */
bool symbols_range(struct symbols *s, const char *name, uint64_t *lo, uint64_t *hi);
/* The same for a function of that module; module NULL: of whatever module. */
bool symbols_range_of(struct symbols *s, const char *name, const char *module, uint64_t *lo,
		      uint64_t *hi);

/* How many symbols have that name; module NULL: of whatever module. */
unsigned int symbols_count(struct symbols *s, const char *name, const char *module);
/* Whether there are symbols of that module. */
bool symbols_have_module(struct symbols *s, const char *module);

/* A symbol as symbols_each() shows it. */
struct symbol_seen {
	uint64_t	addr;
	char		type;
	const char	*name, *module;	/* module NULL: none */
	uint32_t	order;		/* in which it was added */
};

/*
 * The first symbol of that name among those that were loaded so far. False: there is none. Nothing
 * is loaded, so this takes no time.
 */
bool symbols_find_loaded(struct symbols *s, const char *name, struct symbol_seen *out);
/* Calls fn for each of these. */
void symbols_each_loaded(struct symbols *s, const char *name,
			 void (*fn)(void *arg, const struct symbol_seen *y), void *arg);

/* Calls fn for each symbol, by address. Symbols of one address keep the order of the list. */
void symbols_each(struct symbols *s, void (*fn)(void *arg, const struct symbol_seen *y), void *arg);

/* Prints the format of kallsyms. */
void symbols_print(struct symbols *s, FILE *out);

#endif
