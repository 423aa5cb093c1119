/* SPDX-License-Identifier: MIT */
/*
 * reader.h - the program that answers questions about functions of one file
 *
 *     main.c     its limits, the file, the questions
 *     find.c     address -> the function's entry in the debug information
 *     text.c     types as C writes them
 *     copied.c   whether an object is passed by its address
 *     place.c    types -> kinds, sizes, and registers by the calling convention
 *     entry.c    where a parameter is at the entry, if the debug information says so
 *     rust.c     types that all conventions of Rust pass alike
 *     language.c parameters and results in any language
 *
 * The debug information may contain anything: each walk has a depth, and all together have a
 * budget. libdw is trusted with nothing but this process.
 */
#ifndef TRACEFUSE_DEBUG_READER_READER_H
#define TRACEFUSE_DEBUG_READER_READER_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <limits.h>
#include <stdbool.h>

#include "debug/prototype.h"

enum {
	READER_DEPTH	= 48,		/* of types in types, and of entries in entries */
	READER_BUDGET	= 50 << 20,	/* entries that are looked at, for one question */
};

/* ---- main.c ---- */

/* Counts an entry that is looked at. False: there were too many for one question. */
bool reader_may(void);

/* The file that has the debug information. */
struct reader_file {
	Dwarf		*dw;
	char		dir[PATH_MAX];
	bool		has_dir;	/* it is known */
};

/*
 * Whether libdw may open the path that the debug information names: to open a device may do
 * something. dir: to which it is relative, itself to the directory of the file; "": to that.
 */
bool reader_may_open(const struct reader_file *f, const char *dir, const char *name);

/* ---- find.c ---- */

/*
 * The entry of the function. False: there is none; *elsewhere: the name of the file that has it and
 * cannot be read, or NULL.
 */
bool reader_find(const struct reader_file *f, Dwarf_Addr at, Dwarf_Die *out,
		 const char **elsewhere);

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

/* How the language of a function passes values. */
enum reader_convention {
	READER_AS_C,
	READER_LOCATED,		/* as C, or by the address if the location says so */
	READER_FORTRAN,		/* the same, and arrays and texts always have one */
	READER_RUST,		/* as C if rust.c says so */
	READER_OWN,		/* nothing is known but what a location says */
};

/* The registers and words of the stack that are given away so far. */
struct reader_places {
	unsigned int	integers, vectors, words;
	bool		unknown;	/* a type before is not known */
	bool		only_integers;	/* vectors and words are not known */
	bool		contradicts;	/* a location has another register than the convention */
	enum reader_convention convention;
	Dwarf_Addr	entry, body;	/* the function's code, and that behind its prologue */
};

enum { READER_INTEGERS = 6, READER_VECTORS = 8 };

/* The registers in the order in which they are given away: integers, then vectors. */
const char *reader_register(unsigned int nr);
/* type NULL: void. */
enum prototype_kind reader_kind(Dwarf_Die *type, uint32_t *size);
/* Where C has the next parameter at the function's entry. */
void reader_place_as_c(struct reader_places *p, Dwarf_Die *type, char out[32]);
/* The same for an address. */
void reader_place_address(struct reader_places *p, char out[32]);
/* Where a result is. It may need a register for its address, which no parameter has. */
void reader_place_result_as_c(struct reader_places *p, Dwarf_Die *type, char out[32]);
/* Whether there are registers left for the whole value. */
bool reader_fits(const struct reader_places *p, Dwarf_Die *type);
/* Whether C passes the value as one integer. */
bool reader_is_integer(Dwarf_Die *type);
/* The offset of a member. False: it has none that can be read. */
bool reader_member_offset(Dwarf_Die *member, Dwarf_Word *at);

/* ---- entry.c ---- */

/* What DW_AT_location says of the function's entry. */
struct reader_entry {
	bool		located;	/* there is a location */
	bool		has_address;	/* the value is in memory, and its address is passed */
	unsigned int	nr;		/* registers that have the value or its address */
	unsigned int	registers[2];	/* as reader_register() counts them */
	uint64_t	bytes;		/* of the value that they have */
};

struct reader_entry reader_entry(const struct reader_places *p, Dwarf_Die *parameter);
/* Where the code of the function begins, and its body. */
void reader_entry_begin(struct reader_places *p, Dwarf_Die *function);

/* ---- rust.c ---- */

/* Rust's own convention is not fixed, and nothing says which functions have C's. */
enum reader_rust {
	RUST_OPEN,		/* they differ, or it is not known */
	RUST_AS_C,		/* all pass it as C, if there are registers for the whole value */
	RUST_AS_C_OR_PARTS,	/* some use a register for each of two parts */
};

enum reader_rust reader_rust(Dwarf_Die *type);

/* ---- language.c ---- */

struct reader_value {
	enum prototype_kind kind;
	uint32_t	size;
	char		place[32];
};

void reader_places_begin(struct reader_places *p, Dwarf_Die *function);
/*
 * For a function whose parameters, walked over once, contradict the convention: an optimizer has
 * changed them. Only locations count then.
 */
void reader_places_distrust(struct reader_places *p);
/* What the next parameter is, and where. type NULL: void. */
void reader_place(struct reader_places *p, Dwarf_Die *parameter, Dwarf_Die *type,
		  struct reader_value *out);
/* The same for the result, before the parameters. */
void reader_place_result(struct reader_places *p, Dwarf_Die *type, struct reader_value *out);

#endif
