/* SPDX-License-Identifier: MIT */
/*
 * demangle.h - names of C++ and Rust functions, as their programmers write them
 *
 * Patterns of functions use it (ftrace/sites.c), one name at a time and only when such a pattern is
 * written: 500,000 names would take a second and twice their memory.
 */
#ifndef TRACEFUSE_MODEL_DEMANGLE_H
#define TRACEFUSE_MODEL_DEMANGLE_H

#include <stdbool.h>

struct demangler;

/* NULL: out of memory. Without a C++ library on this machine it knows only Rust's names. */
struct demangler *demangler_create(void);
void demangler_destroy(struct demangler *d);
/*
 * The names that libraries give std::string by templates become std::string, and the blank of `> >`
 * goes, also in a pattern: so a name is as in most sources.
 */
void demangle_shorten(char *text);
/*
 * "foo::bar(int)" for "_ZN3foo3barEi", "foo::bar" for "_RNvCs1_3foo3bar", valid until the next
 * call. NULL: it is no such name, or its text would be too long.
 */
const char *demangle(struct demangler *d, const char *name);
/*
 * The same for a name that may have blanks before it, and "+0x1c" or " [lib.so]" behind it. Any
 * other text: NULL. The caller frees it.
 */
char *demangle_text(struct demangler *d, const char *text);
/*
 * Whether a symbol's function has that name. It may leave out the types of arguments, those of
 * templates and generics, also within it, and what a template returns: "Store::put" is
 * "void Store<int>::put<long>(long)". demangle_shorten() has seen the name.
 */
bool demangle_is_called(struct demangler *d, const char *symbol, const char *name);
/* The same for what demangle() returns. `full` may be NULL. */
bool demangled_is_called(const char *full, const char *name);
/*
 * The name of the source of the first function that is called so; stars at the end of the name do
 * not count. `functions`: a line each, which a blank may end. NULL: there is none, or no memory.
 * The caller frees it.
 */
char *demangle_find_called(const char *functions, const char *name);

#endif
