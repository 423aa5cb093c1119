/* SPDX-License-Identifier: MIT */
/*
 * copied.c - whether a C++ object is passed by its address: it cannot be copied byte by byte
 *
 * That is so if it has a copy constructor, a move constructor or a destructor of its own, or
 * anything virtual, or if a base or a member has. clang says it in the type's entry.
 */
#include <string.h>

#include "debug/reader/reader.h"

enum { CC_BY_REFERENCE = 4 };

static bool needs_address(Dwarf_Die *bare, unsigned int depth);

static bool attribute_is_set(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word n;

	return !dwarf_formudata(dwarf_attr(die, name, &attribute), &n) && n;
}

/* Constructors of templates have the name without the arguments. */
static bool is_constructor(Dwarf_Die *class, const char *name)
{
	const size_t len = strcspn(reader_name(class), "<");

	return len && strlen(name) == len && !strncmp(name, reader_name(class), len);
}

/* Whether the first parameter behind `this` is a reference to such an object. */
static bool takes_same(Dwarf_Die *class, Dwarf_Die *method)
{
	Dwarf_Die parameter, type, target, bare;

	for (int err = dwarf_child(method, &parameter); !err && reader_may();
	     err = dwarf_siblingof(&parameter, &parameter)) {
		if (dwarf_tag(&parameter) != DW_TAG_formal_parameter ||
		    dwarf_hasattr(&parameter, DW_AT_artificial))
			continue;
		return reader_type(&parameter, &type) &&
		       (dwarf_tag(&type) == DW_TAG_reference_type ||
			dwarf_tag(&type) == DW_TAG_rvalue_reference_type) &&
		       reader_type(&type, &target) && reader_bare(&target, &bare) &&
		       dwarf_dieoffset(&bare) == dwarf_dieoffset(class);
	}
	return false;
}

/* Methods that the compiler has made are trivial if those of the members are. */
static bool copies_itself(Dwarf_Die *class, Dwarf_Die *method)
{
	const char *name = reader_name(method);

	if (attribute_is_set(method, DW_AT_virtuality))
		return true;
	if (dwarf_hasattr(method, DW_AT_artificial) || attribute_is_set(method, DW_AT_defaulted))
		return false;
	return *name == '~' || (is_constructor(class, name) && takes_same(class, method));
}

static bool part_needs_address(Dwarf_Die *class, Dwarf_Die *part, unsigned int depth)
{
	Dwarf_Die type, bare;

	switch (dwarf_tag(part)) {
	case DW_TAG_subprogram:
		return copies_itself(class, part);
	case DW_TAG_inheritance:
		if (attribute_is_set(part, DW_AT_virtuality))
			return true;
		break;
	case DW_TAG_member:
		if (!strncmp(reader_name(part), "_vptr", 5))
			return true;
		if (dwarf_hasattr(part, DW_AT_external) || dwarf_hasattr(part, DW_AT_declaration))
			return false;
		break;
	default:
		return false;
	}
	return reader_type(part, &type) && reader_bare(&type, &bare) &&
	       needs_address(&bare, depth + 1);
}

static bool needs_address(Dwarf_Die *bare, unsigned int depth)
{
	const int tag = dwarf_tag(bare);
	Dwarf_Die part, type, named;

	if (depth == READER_DEPTH)
		return false;
	if (tag == DW_TAG_array_type)
		return reader_type(bare, &type) && reader_bare(&type, &named) &&
		       needs_address(&named, depth + 1);
	if (tag != DW_TAG_class_type && tag != DW_TAG_structure_type && tag != DW_TAG_union_type)
		return false;
	if (dwarf_hasattr(bare, DW_AT_calling_convention)) {
		Dwarf_Attribute attribute;
		Dwarf_Word how;

		return !dwarf_formudata(dwarf_attr(bare, DW_AT_calling_convention, &attribute),
					&how) && how == CC_BY_REFERENCE;
	}
	for (int err = dwarf_child(bare, &part); !err && reader_may();
	     err = dwarf_siblingof(&part, &part))
		if (part_needs_address(bare, &part, depth))
			return true;
	return false;
}

bool reader_by_address(Dwarf_Die *type)
{
	Dwarf_Die bare;

	return reader_bare(type, &bare) && needs_address(&bare, 0);
}
