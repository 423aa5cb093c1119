/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - the symbol of a function that is named as in its source: "ns::Table::grow"
 *
 * Of C++ the types of the arguments may follow, "ns::f(int)"; without them all functions of that
 * name are meant. The same holds for types of templates and generics: demangle_is_called().
 */
#ifndef TRACEFUSE_CLI_ANSWER_SYMBOL_H
#define TRACEFUSE_CLI_ANSWER_SYMBOL_H

#include <stdbool.h>

/* Whether it can only be such a name, and no symbol: it has "::" in it, or more. */
bool symbol_is_readable(const char *name);
/*
 * How many functions of the file have the name; *symbol: the first one's, from malloc(). Two names
 * of one address are one function. -ENOMEM; a file that cannot be read has none.
 */
int symbol_find(const char *path, const char *name, char **symbol);
/*
 * Names of the file's functions that were perhaps meant: similar symbols, or the name with its
 * namespaces and classes before it. The caller frees it. NULL: there are none.
 */
char *symbol_near(const char *path, const char *name);
/* Says that the name has several functions, and names some of them. */
int symbol_say_several(const char *path, const char *name, int nr);

#endif
