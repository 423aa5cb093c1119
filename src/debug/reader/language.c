/* SPDX-License-Identifier: MIT */
/*
 * language.c - parameters and results in any language
 *
 *     C, C++, Objective-C ...      the calling convention (place.c)
 *     Fortran, Ada, Pascal ...,    the same; a parameter whose location has an address (entry.c) is
 *     all languages of gcc         passed by it, and without a location it is not known
 *     Rust                         what all its conventions have in common (rust.c), and locations
 *     others                       locations alone
 *
 * A location that names a register at the entry also says which ones the parameters before have.
 */
#include <stdio.h>
#include <string.h>

#include "debug/reader/reader.h"

enum { EIGHT = 8, IN_REGISTERS = 16 };

/* ---- The language ---- */

/* elfutils has no names for those in numbers. */
static const struct {
	int		language;
	enum reader_convention convention;
} conventions[] = {
	{ -1, READER_AS_C },	/* not said */
	{ DW_LANG_C, READER_AS_C },
	{ DW_LANG_C89, READER_AS_C },
	{ DW_LANG_C99, READER_AS_C },
	{ DW_LANG_C11, READER_AS_C },
	{ 0x2c, READER_AS_C },	/* C17 */
	{ 0x3e, READER_AS_C },	/* C23 */
	{ DW_LANG_C_plus_plus, READER_AS_C },
	{ DW_LANG_C_plus_plus_03, READER_AS_C },
	{ DW_LANG_C_plus_plus_11, READER_AS_C },
	{ DW_LANG_C_plus_plus_14, READER_AS_C },
	{ 0x2a, READER_AS_C },	/* C++17 */
	{ 0x2b, READER_AS_C },	/* C++20 */
	{ DW_LANG_ObjC, READER_AS_C },
	{ DW_LANG_ObjC_plus_plus, READER_AS_C },
	{ DW_LANG_UPC, READER_AS_C },
	{ DW_LANG_OpenCL, READER_AS_C },
	{ DW_LANG_Mips_Assembler, READER_AS_C },
	{ DW_LANG_Fortran77, READER_FORTRAN },
	{ DW_LANG_Fortran90, READER_FORTRAN },
	{ DW_LANG_Fortran95, READER_FORTRAN },
	{ DW_LANG_Fortran03, READER_FORTRAN },
	{ DW_LANG_Fortran08, READER_FORTRAN },
	{ 0x2d, READER_FORTRAN },	/* 2018 */
	{ 0x3f, READER_FORTRAN },	/* 2023 */
	{ DW_LANG_Ada83, READER_LOCATED },
	{ DW_LANG_Ada95, READER_LOCATED },
	{ 0x2e, READER_LOCATED },	/* Ada 2005 */
	{ 0x2f, READER_LOCATED },	/* Ada 2012 */
	{ DW_LANG_Pascal83, READER_LOCATED },
	{ DW_LANG_Modula2, READER_LOCATED },
	{ DW_LANG_Modula3, READER_LOCATED },
	{ DW_LANG_Cobol74, READER_LOCATED },
	{ DW_LANG_Cobol85, READER_LOCATED },
	{ DW_LANG_Rust, READER_RUST },
};

static enum reader_convention convention_of(int language)
{
	for (size_t i = 0; i < sizeof(conventions) / sizeof(conventions[0]); i++)
		if (conventions[i].language == language)
			return conventions[i].convention;
	return READER_OWN;
}

static bool is_made_by(Dwarf_Die *unit, const char *producer)
{
	Dwarf_Attribute attribute;
	const char *text = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attribute));

	return text && !strncmp(text, producer, strlen(producer));
}

/* zig says that its language is C. */
static enum reader_convention unit_convention(Dwarf_Die *unit)
{
	const enum reader_convention convention = convention_of(dwarf_srclang(unit));

	if (is_made_by(unit, "zig "))
		return READER_OWN;
	if (is_made_by(unit, "GNU ") && (convention == READER_OWN || convention == READER_RUST))
		return READER_LOCATED;
	return convention;
}

void reader_places_begin(struct reader_places *p, Dwarf_Die *function)
{
	Dwarf_Die unit;

	*p = (struct reader_places){ .convention = READER_AS_C };
	if (dwarf_diecu(function, &unit, NULL, NULL))
		p->convention = unit_convention(&unit);
	p->unknown = p->convention == READER_OWN;
	if (p->convention != READER_AS_C)
		reader_entry_begin(p, function);
}

void reader_places_distrust(struct reader_places *p)
{
	p->convention = READER_OWN;
	p->unknown = true;
}

/* ---- Types ---- */

static bool is_aggregate(Dwarf_Die *type)
{
	Dwarf_Die bare;

	if (!reader_bare(type, &bare))
		return true;
	switch (dwarf_tag(&bare)) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subrange_type:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_unspecified_type:
		return false;
	default:
		return true;
	}
}

static bool is_array_or_text(Dwarf_Die *type)
{
	Dwarf_Die bare;

	return reader_bare(type, &bare) && (dwarf_tag(&bare) == DW_TAG_array_type ||
					    dwarf_tag(&bare) == DW_TAG_string_type);
}

/* ---- Parameters ---- */

static bool is_next(const struct reader_places *p, unsigned int nr)
{
	if (p->unknown)
		return true;
	return nr < READER_INTEGERS ? nr == p->integers :
	       p->only_integers || nr == READER_INTEGERS + p->vectors;
}

/* The registers before belong to the parameters before. */
static void registers_end_at(struct reader_places *p, unsigned int nr)
{
	if (nr >= READER_INTEGERS) {
		p->vectors = nr + 1 - READER_INTEGERS;
		return;
	}
	p->integers = nr + 1;
	if (p->unknown && p->convention != READER_OWN) {
		p->unknown = false;
		p->only_integers = true;
	}
}

static void place_in_registers(struct reader_places *p, const struct reader_entry *e, char out[32])
{
	*out = '\0';
	for (unsigned int i = 0; i < e->nr; i++) {
		sprintf(out + strlen(out), "%s%s", i ? "+" : "", reader_register(e->registers[i]));
		p->contradicts |= !is_next(p, e->registers[i]);
		registers_end_at(p, e->registers[i]);
	}
}

/* A number is fetched through its address. Of anything else the address is the value. */
static void place_by_address(struct reader_places *p, const struct reader_entry *e,
			     Dwarf_Die *type, struct reader_value *out)
{
	char place[32];

	if (e->nr)
		place_in_registers(p, e, place);
	else
		reader_place_address(p, place);
	if (is_aggregate(type) || out->kind == PROTOTYPE_WIDE) {
		out->kind = PROTOTYPE_POINTER;
		out->size = EIGHT;
		strcpy(out->place, place);
	} else {
		snprintf(out->place, sizeof(out->place), *place == '?' ? "?" : "+0(%.20s)", place);
	}
}

static bool is_as_c(const struct reader_places *p, const struct reader_entry *e, Dwarf_Die *type)
{
	switch (p->convention) {
	case READER_AS_C:
		return true;
	case READER_LOCATED:
		return e->located || !is_aggregate(type);
	case READER_FORTRAN:
		return e->located;
	case READER_RUST:
		return reader_rust(type) == RUST_AS_C &&
		       (reader_is_integer(type) || reader_fits(p, type));
	default:
		return false;
	}
}

/* Whether it has one word of integers, by value or by its address. */
static bool is_one_integer(const struct reader_places *p, Dwarf_Die *type)
{
	return p->convention == READER_FORTRAN && !is_aggregate(type) && reader_is_integer(type);
}

static void place_unknown(struct reader_places *p, Dwarf_Die *type, char out[32])
{
	if (is_one_integer(p, type))
		reader_place_address(p, out);
	else
		p->unknown = true;
	strcpy(out, "?");
}

/* The compiler leaves out what the function does not use, so the others are not known from it. */
static bool has_part(const struct reader_entry *e, Dwarf_Die *type)
{
	Dwarf_Word size;

	return e->nr && !e->has_address && !dwarf_aggregate_size(type, &size) && size > e->bytes;
}

void reader_place(struct reader_places *p, Dwarf_Die *parameter, Dwarf_Die *type,
		  struct reader_value *out)
{
	struct reader_entry e = { .located = false };

	*out = (struct reader_value){ .size = 0 };
	out->kind = reader_kind(type, &out->size);
	if (!type)
		return;
	if (p->convention != READER_AS_C)
		e = reader_entry(p, parameter);
	if (has_part(&e, type))
		e.nr = 0;
	if (e.has_address || (p->convention == READER_FORTRAN && is_array_or_text(type)))
		place_by_address(p, &e, type, out);
	else if (e.nr)
		place_in_registers(p, &e, out->place);
	else if (is_as_c(p, &e, type))
		reader_place_as_c(p, type, out->place);
	else
		place_unknown(p, type, out->place);
}

/* ---- Results ---- */

static bool has_methods(Dwarf_Die *type, unsigned int depth)
{
	Dwarf_Die bare, child, member;

	if (depth == READER_DEPTH || !reader_bare(type, &bare))
		return false;
	for (int err = dwarf_child(&bare, &child); !err && reader_may();
	     err = dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) == DW_TAG_subprogram)
			return true;
		if (dwarf_tag(&child) == DW_TAG_member && reader_type(&child, &member) &&
		    is_aggregate(&member) && has_methods(&member, depth + 1))
			return true;
	}
	return false;
}

static bool is_large(Dwarf_Die *type)
{
	Dwarf_Word size;

	return !dwarf_aggregate_size(type, &size) && size > IN_REGISTERS;
}

/* A structure with a destructor is returned in memory, and nothing says which methods are one. */
static enum reader_rust result_way(const struct reader_places *p, Dwarf_Die *type)
{
	switch (p->convention) {
	case READER_LOCATED:
		return is_aggregate(type) && !is_large(type) && has_methods(type, 0) ?
		       RUST_OPEN : RUST_AS_C;
	case READER_RUST:
		return is_large(type) ? RUST_AS_C : reader_rust(type);
	case READER_OWN:
		return RUST_OPEN;
	default:
		return RUST_AS_C;
	}
}

void reader_place_result(struct reader_places *p, Dwarf_Die *type, struct reader_value *out)
{
	enum reader_rust way;

	*out = (struct reader_value){ .size = 0 };
	out->kind = reader_kind(type, &out->size);
	if (!type)
		return;
	way = result_way(p, type);
	if (way == RUST_AS_C) {
		reader_place_result_as_c(p, type, out->place);
		return;
	}
	/* Parts are in registers, so the parameters are not behind an address. */
	p->unknown |= way == RUST_OPEN;
	strcpy(out->place, "?");
}
