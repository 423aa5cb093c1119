/* SPDX-License-Identifier: MIT */
/*
 * find.c - the function that begins at an address
 *
 * The units that have the address come first. A unit that does not say which addresses it has is
 * looked through, too.
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

static bool find_in_units(Dwarf *dw, Dwarf_Addr at, Dwarf_Die *out)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (reader_may() && !dwarf_get_units(dw, cu, &cu, NULL, NULL, &unit, NULL))
		if ((dwarf_haspc(&unit, at) > 0 || !has_addresses(&unit)) && !is_assembly(&unit) &&
		    find_below(&unit, at, out, 0))
			return true;
	return false;
}

bool reader_find(Dwarf *dw, Dwarf_Addr at, Dwarf_Die *out)
{
	Dwarf_Die unit;

	if (dwarf_addrdie(dw, at, &unit)) {
		if (is_assembly(&unit))
			return false;
		if (find_below(&unit, at, out, 0))
			return true;
	}
	return find_in_units(dw, at, out);
}
