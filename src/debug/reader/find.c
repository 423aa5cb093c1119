/* SPDX-License-Identifier: MIT */
/*
 * find.c - the function that begins at an address
 *
 * The units that have the address come first. A unit that does not say which addresses it has is
 * looked through, too. Of -gsplit-dwarf the file has skeletons of units:
 *
 *     skeleton: addresses, the name of a .dwo file -> split unit: functions and types
 */
#include <stdlib.h>

#include "debug/reader/reader.h"

/* A function whose code is in several parts begins with the first one. */
static bool begins_at(Dwarf_Die *die, Dwarf_Addr at)
{
	Dwarf_Addr base, start, end;

	if (dwarf_tag(die) != DW_TAG_subprogram)
		return false;
	if (!dwarf_entrypc(die, &start) && start == at)
		return true;
	return dwarf_ranges(die, 0, &base, &start, &end) > 0 && start == at;
}

static bool may_contain(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_module:
		return dwarf_haschildren(die) > 0;
	default:
		return false;
	}
}

static bool find_below(Dwarf_Die *parent, Dwarf_Addr at, Dwarf_Die *out, unsigned int depth)
{
	Dwarf_Die die;

	if (depth == READER_DEPTH || dwarf_child(parent, &die))
		return false;
	do {
		if (!reader_may())
			return false;
		if (begins_at(&die, at)) {
			*out = die;
			return true;
		}
		if (may_contain(&die) && find_below(&die, at, out, depth + 1))
			return true;
	} while (!dwarf_siblingof(&die, &die));
	return false;
}

/* An assembler notes where a function is, but not its parameters: it has no prototype. */
static bool is_assembly(Dwarf_Die *unit)
{
	return dwarf_srclang(unit) == DW_LANG_Mips_Assembler;
}

/* Whether the unit says which addresses it has. */
static bool has_addresses(Dwarf_Die *unit)
{
	return dwarf_hasattr(unit, DW_AT_low_pc) || dwarf_hasattr(unit, DW_AT_ranges);
}

/* ---- Split units ---- */

static const char *unit_text(Dwarf_Die *unit, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(unit, name, &attribute));
}

static const char *split_name(Dwarf_Die *unit)
{
	return unit_text(unit, DW_AT_dwo_name) ?: unit_text(unit, DW_AT_GNU_dwo_name);
}

/* libdw looks for the file beside the program, then where the compiler ran. */
static bool split_may_open(const struct reader_file *f, Dwarf_Die *unit)
{
	const char *name = split_name(unit), *dir = unit_text(unit, DW_AT_comp_dir);

	return name && reader_may_open(f, "", name) && reader_may_open(f, dir ?: "", name);
}

/* Replaces a skeleton by its split unit. False: there is none that can be read. */
static bool unit_whole(const struct reader_file *f, Dwarf_Die *unit)
{
	Dwarf_Die split = { 0 };
	uint8_t type;

	if (dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    type != DW_UT_skeleton)
		return true;
	if (!split_may_open(f, unit) ||
	    dwarf_cu_info(unit->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) || !split.addr)
		return false;
	*unit = split;
	return true;
}

/* ---- Any unit ---- */

struct find {
	const struct reader_file *file;
	Dwarf_Addr	at;
	Dwarf_Die	*out;
	const char	*elsewhere;
};

static bool find_in_unit(struct find *f, Dwarf_Die *unit)
{
	Dwarf_Die whole = *unit;

	if (unit_whole(f->file, &whole))
		return !is_assembly(&whole) && find_below(&whole, f->at, f->out, 0);
	if (dwarf_haspc(unit, f->at) > 0)
		f->elsewhere = split_name(unit);
	return false;
}

static bool find_in_units(struct find *f)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (reader_may() && !dwarf_get_units(f->file->dw, cu, &cu, NULL, NULL, &unit, NULL))
		if ((dwarf_haspc(&unit, f->at) > 0 || !has_addresses(&unit)) &&
		    find_in_unit(f, &unit))
			return true;
	return false;
}

bool reader_find(const struct reader_file *file, Dwarf_Addr at, Dwarf_Die *out,
		 const char **elsewhere)
{
	struct find f = { .file = file, .at = at, .out = out };
	Dwarf_Die unit;
	const bool found = (dwarf_addrdie(file->dw, at, &unit) && find_in_unit(&f, &unit)) ||
			   (!f.elsewhere && find_in_units(&f));

	*elsewhere = f.elsewhere;
	return found;
}
