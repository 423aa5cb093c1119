/* SPDX-License-Identifier: MIT */
/*
 * demangle.h - names of C++ functions as their programmers write them
 *
 * Used by the patterns of functions (ftrace/sites.c), a name at a time and only
 * when somebody writes such a pattern: 500,000 names would take a second and
 * twice their memory.
 */
#ifndef TRACEFUSE_MODEL_DEMANGLE_H
#define TRACEFUSE_MODEL_DEMANGLE_H

struct demangler;

/* NULL: out of memory. Without a C++ library here it knows no name. */
struct demangler *demangler_create(void);
void demangler_destroy(struct demangler *d);
/* "foo::bar(int)" of "_ZN3foo3barEi", valid until the next call; NULL: it is no such name. */
const char *demangle(struct demangler *d, const char *name);

#endif
