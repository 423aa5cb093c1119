/* SPDX-License-Identifier: MIT */
/*
 * rust.c - types of Rust that a function gets in the same way, whatever its convention is
 *
 * The debug information does not say whether a function is `extern "C"`. rustc's own convention is
 * not fixed. What its versions have in common:
 *
 *     one number or pointer, also if structures are around it    as in C
 *     two of them                                                a register for each
 *     up to 8 bytes of more parts                                one integer
 *     others                                                     an address
 */
#include "debug/reader/reader.h"

enum { PARTS = 3, EIGHT = 8 };

struct rust_parts {
	Dwarf_Word	at[PARTS], size[PARTS];
	unsigned int	nr;
	bool		has_array, is_open;
};

static void part_add(struct rust_parts *p, Dwarf_Word at, Dwarf_Word size)
{
	if (!size || p->nr == PARTS)
		return;
	p->at[p->nr] = at;
	p->size[p->nr++] = size;
}

static void parts_collect(struct rust_parts *p, Dwarf_Die *type, Dwarf_Word at, unsigned int depth);

static void collect_member(struct rust_parts *p, Dwarf_Die *member, Dwarf_Word at,
			   unsigned int depth)
{
	Dwarf_Word inner;
	Dwarf_Die type;

	if (reader_member_offset(member, &inner) && reader_type(member, &type))
		parts_collect(p, &type, at + inner, depth + 1);
	else
		p->is_open = true;
}

/* An enum is one number if the number that tells its variants is all of it: Option<&T>. */
static void collect_variants(struct rust_parts *p, Dwarf_Die *type, Dwarf_Die *variants,
			     Dwarf_Word at, unsigned int depth)
{
	Dwarf_Word whole, size;
	Dwarf_Die member, number;

	p->is_open = p->is_open || dwarf_child(variants, &member) ||
		     dwarf_tag(&member) != DW_TAG_member || !reader_type(&member, &number) ||
		     dwarf_aggregate_size(type, &whole) || dwarf_aggregate_size(&number, &size) ||
		     whole != size || size > EIGHT;
	if (!p->is_open)
		collect_member(p, &member, at, depth);
}

static void collect_struct(struct rust_parts *p, Dwarf_Die *type, Dwarf_Word at,
			   unsigned int depth)
{
	Dwarf_Die child;

	for (int err = dwarf_child(type, &child); !err && !p->is_open && reader_may();
	     err = dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) == DW_TAG_member)
			collect_member(p, &child, at, depth);
		else if (dwarf_tag(&child) == DW_TAG_variant_part)
			collect_variants(p, type, &child, at, depth);
	}
}

static void parts_collect(struct rust_parts *p, Dwarf_Die *type, Dwarf_Word at, unsigned int depth)
{
	Dwarf_Word size;
	Dwarf_Die bare;

	if (depth == READER_DEPTH || !reader_bare(type, &bare) ||
	    dwarf_aggregate_size(&bare, &size)) {
		p->is_open = true;
		return;
	}
	switch (dwarf_tag(&bare)) {
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_pointer_type:
		part_add(p, at, size);
		break;
	case DW_TAG_structure_type:
		collect_struct(p, &bare, at, depth);
		break;
	case DW_TAG_array_type:
		p->has_array |= size > 0;
		break;
	default:
		p->is_open = true;
	}
}

static bool is_larger_aligned(Dwarf_Die *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Word align;
	Dwarf_Die bare;

	return reader_bare(type, &bare) &&
	       !dwarf_formudata(dwarf_attr(&bare, DW_AT_alignment, &attribute), &align) &&
	       align > EIGHT;
}

static bool is_two_words(const struct rust_parts *p, Dwarf_Word size)
{
	return size == 2 * EIGHT && p->at[0] + p->at[1] == EIGHT && p->at[0] % EIGHT == 0;
}

static bool is_wide_float(Dwarf_Die *type, Dwarf_Word size)
{
	uint32_t bytes;

	return size > EIGHT && reader_kind(type, &bytes) == PROTOTYPE_FLOAT;
}

static enum reader_rust pair_way(const struct rust_parts *p, Dwarf_Die *type, Dwarf_Word size)
{
	if (is_two_words(p, size) && !is_larger_aligned(type))
		return RUST_AS_C;
	return size <= EIGHT ? RUST_AS_C_OR_PARTS : RUST_OPEN;
}

enum reader_rust reader_rust(Dwarf_Die *type)
{
	struct rust_parts p = { .nr = 0 };
	Dwarf_Word size;
	Dwarf_Die bare;

	if (!reader_bare(type, &bare) || dwarf_aggregate_size(&bare, &size))
		return RUST_OPEN;
	if (!size)
		return RUST_AS_C;
	parts_collect(&p, type, 0, 0);
	if (p.is_open || is_wide_float(type, size))
		return RUST_OPEN;
	if (p.nr == 1 && !p.has_array && p.size[0] == size)
		return RUST_AS_C;
	if (p.nr == 2 && !p.has_array)
		return pair_way(&p, type, size);
	return size <= EIGHT && reader_is_integer(type) ? RUST_AS_C : RUST_OPEN;
}
