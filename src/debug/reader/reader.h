/* SPDX-License-Identifier: MIT */
/*
 * reader.h - the program that answers questions about functions of one file
 *
 *     main.c     its limits, the file, the questions
 *     find.c     address -> the function's entry in the debug information
 *     text.c     types as C writes them
 *     copied.c   whether an object is passed by its address
 *     place.c    types -> kinds, sizes, and registers by the calling convention
 *
 * The debug information may contain anything: each walk has a depth, and all together have a
 * budget. libdw is trusted with nothing but this process.
 */
#ifndef TRACEFUSE_DEBUG_READER_READER_H
#define TRACEFUSE_DEBUG_READER_READER_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

#include "debug/prototype.h"

enum {
	READER_DEPTH	= 48,		/* of types in types, and of entries in entries */
	READER_BUDGET	= 50 << 20,	/* entries that are looked at, for one question */
};

/* ---- main.c ---- */

/* Counts an entry that is looked at. False: there were too many for one question. */
bool reader_may(void);

/* ---- find.c ---- */

bool reader_find(Dwarf *dw, Dwarf_Addr at, Dwarf_Die *out);

/* ---- text.c ---- */

/* Of the file in which an entry was compiled. */
enum reader_language { READER_UNKNOWN, READER_C, READER_OTHER };
enum reader_language reader_language(Dwarf_Die *die);
/* The name of an entry; "": it has none. */
const char *reader_name(Dwarf_Die *die);
/* The entry's type. False: void, or none that can be read. */
bool reader_type(Dwarf_Die *die, Dwarf_Die *type);
/* The type without typedefs and qualifiers. False: void. */
bool reader_bare(Dwarf_Die *type, Dwarf_Die *out);
/* Writes the type (NULL: void) with a name, as C declares it: "int (*name)(char)". */
void reader_declare(Dwarf_Die *type, const char *name, char out[PROTOTYPE_TEXT]);

/* ---- copied.c ---- */

/* Whether an object of the type is passed and returned by its address. */
bool reader_by_address(Dwarf_Die *type);

/* ---- place.c ---- */

/* The registers and words of the stack that are given away so far. */
struct reader_places {
	unsigned int	integers, vectors, words;
	bool		unknown;	/* a type before is not known */
};

/* type NULL: void. */
enum prototype_kind reader_kind(Dwarf_Die *type, uint32_t *size);
/* Where the next parameter is at the function's entry. */
void reader_place(struct reader_places *p, Dwarf_Die *type, char out[32]);
/* Where a result is. It may need a register for its address, which no parameter has. */
void reader_place_result(struct reader_places *p, Dwarf_Die *type, char out[32]);

#endif
