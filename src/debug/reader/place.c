/* SPDX-License-Identifier: MIT */
/*
 * place.c - where the System V calling convention of x86-64 passes values (psABI, section 3.2.3)
 *
 * Each eight bytes of a value have a class. A value of one or two eight bytes goes to registers of
 * their classes, if there are enough left for the whole value. Any other value is on the stack. A
 * C++ object that cannot be copied by its bytes is passed by its address.
 */
#include <stdio.h>
#include <string.h>

#include "debug/reader/reader.h"

enum { EIGHT = 8, IN_REGISTERS = 16 };

enum place_class { CLASS_NONE, CLASS_SSE, CLASS_INTEGER, CLASS_MEMORY };

struct classes {
	enum place_class of[2];
	unsigned int	align;
	bool		in_memory, is_x87;
};

/* ---- Kinds ---- */

/* A method's pointer is two words. Any other one is an offset. Older compilers give no size. */
static uint32_t member_pointer_size(Dwarf_Die *bare)
{
	Dwarf_Die target, named;

	return reader_type(bare, &target) && reader_bare(&target, &named) &&
	       dwarf_tag(&named) == DW_TAG_subroutine_type ? 2 * EIGHT : EIGHT;
}

static uint32_t size_of(Dwarf_Die *type)
{
	Dwarf_Word size;
	Dwarf_Die bare;

	if (reader_bare(type, &bare) && dwarf_tag(&bare) == DW_TAG_ptr_to_member_type)
		return member_pointer_size(&bare);
	return dwarf_aggregate_size(type, &size) || size > UINT32_MAX ? 0 : (uint32_t)size;
}

static Dwarf_Word attribute_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word n;

	return dwarf_formudata(dwarf_attr_integrate(die, name, &attribute), &n) ? 0 : n;
}

static bool is_char(Dwarf_Die *bare)
{
	const Dwarf_Word encoding = attribute_number(bare, DW_AT_encoding);

	return dwarf_tag(bare) == DW_TAG_base_type && size_of(bare) == 1 &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char) &&
	       !strcmp(reader_name(bare), "char");
}

static bool points_to_char(Dwarf_Die *bare)
{
	Dwarf_Die target, named;

	return reader_type(bare, &target) && reader_bare(&target, &named) && is_char(&named);
}

static bool is_address(Dwarf_Die *bare)
{
	const int tag = dwarf_tag(bare);

	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type || tag == DW_TAG_unspecified_type;
}

static enum prototype_kind base_kind(Dwarf_Die *bare, uint32_t size)
{
	switch (attribute_number(bare, DW_AT_encoding)) {
	case DW_ATE_float:
	case DW_ATE_imaginary_float:
	case DW_ATE_decimal_float:
		return PROTOTYPE_FLOAT;
	case DW_ATE_complex_float:
		return PROTOTYPE_WIDE;
	case DW_ATE_signed_char:
	case DW_ATE_unsigned_char:
		if (is_char(bare))
			return PROTOTYPE_CHARACTER;
		return attribute_number(bare, DW_AT_encoding) == DW_ATE_signed_char ?
		       PROTOTYPE_SIGNED : PROTOTYPE_UNSIGNED;
	case DW_ATE_signed:
	case DW_ATE_signed_fixed:
		return size > EIGHT ? PROTOTYPE_WIDE : PROTOTYPE_SIGNED;
	default:
		return size > EIGHT ? PROTOTYPE_WIDE : PROTOTYPE_UNSIGNED;
	}
}

/* An enum without negative numbers is unsigned; it has a type that says so, or its constants. */
static enum prototype_kind enum_kind(Dwarf_Die *bare)
{
	Dwarf_Die type, named;

	if (reader_type(bare, &type) && reader_bare(&type, &named) &&
	    dwarf_tag(&named) == DW_TAG_base_type &&
	    base_kind(&named, size_of(&named)) == PROTOTYPE_UNSIGNED)
		return PROTOTYPE_UNSIGNED;
	return PROTOTYPE_ENUM;
}

enum prototype_kind reader_kind(Dwarf_Die *type, uint32_t *size)
{
	Dwarf_Die bare;

	*size = 0;
	if (!type || !reader_bare(type, &bare))
		return PROTOTYPE_VOID;
	*size = size_of(&bare);
	if (is_address(&bare)) {
		*size = EIGHT;
		return dwarf_tag(&bare) == DW_TAG_pointer_type && points_to_char(&bare) ?
		       PROTOTYPE_STRING : PROTOTYPE_POINTER;
	}
	switch (dwarf_tag(&bare)) {
	case DW_TAG_base_type:
		return base_kind(&bare, *size);
	case DW_TAG_enumeration_type:
		return enum_kind(&bare);
	case DW_TAG_array_type:
		return PROTOTYPE_WIDE;		/* a vector */
	case DW_TAG_ptr_to_member_type:
		return *size > EIGHT ? PROTOTYPE_WIDE : PROTOTYPE_SIGNED;
	default:
		break;
	}
	if (!reader_by_address(type))
		return PROTOTYPE_STRUCT;
	*size = EIGHT;
	return PROTOTYPE_POINTER;
}

/* ---- Classes ---- */

static void classify(struct classes *c, Dwarf_Die *type, Dwarf_Word at, unsigned int depth);

static void class_add(struct classes *c, Dwarf_Word at, Dwarf_Word size, enum place_class class)
{
	if (size && at % (size < IN_REGISTERS ? size : IN_REGISTERS))
		c->in_memory = true;	/* packed */
	if (c->align < size)
		c->align = size < IN_REGISTERS ? (unsigned int)size : IN_REGISTERS;
	for (Dwarf_Word i = at / EIGHT; i < 2 && i * EIGHT < at + size; i++)
		if (c->of[i] < class)
			c->of[i] = class;
}

/* The last two are Ada's and D's. */
static bool is_x87(Dwarf_Die *bare)
{
	const char *name = reader_name(bare);

	return strstr(name, "long double") || strstr(name, "_Float64x") ||
	       !strcmp(name, "long_long_float") || !strcmp(name, "real");
}

static void classify_base(struct classes *c, Dwarf_Die *bare, Dwarf_Word at)
{
	const Dwarf_Word encoding = attribute_number(bare, DW_AT_encoding), size = size_of(bare);

	if (encoding == DW_ATE_complex_float) {
		/* Two numbers, which need the alignment of one. */
		class_add(c, at, size / 2, CLASS_SSE);
		class_add(c, at + size / 2, size / 2, CLASS_SSE);
	} else {
		class_add(c, at, size, base_kind(bare, (uint32_t)size) == PROTOTYPE_FLOAT ?
				       CLASS_SSE : CLASS_INTEGER);
	}
	if (is_x87(bare))
		c->in_memory = c->is_x87 = true;
}

bool reader_member_offset(Dwarf_Die *member, Dwarf_Word *at)
{
	Dwarf_Attribute attribute;

	*at = 0;
	if (dwarf_attr(member, DW_AT_data_bit_offset, &attribute)) {
		Dwarf_Word bit;

		if (dwarf_formudata(&attribute, &bit))
			return false;
		*at = bit / 8;
		return true;
	}
	return !dwarf_attr(member, DW_AT_data_member_location, &attribute) ||
	       !dwarf_formudata(&attribute, at);
}

static bool is_static(Dwarf_Die *member)
{
	return dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration);
}

static void classify_member(struct classes *c, Dwarf_Die *member, Dwarf_Word at,
			    unsigned int depth)
{
	Dwarf_Word inner;
	Dwarf_Die type;

	if (!reader_member_offset(member, &inner) || inner > IN_REGISTERS ||
	    !reader_type(member, &type)) {
		c->in_memory = true;
	} else if (dwarf_hasattr(member, DW_AT_bit_size)) {
		/* A bit field need not be aligned. */
		class_add(c, at + inner, 1, CLASS_INTEGER);
	} else {
		classify(c, &type, at + inner, depth + 1);
	}
}

static void classify_members(struct classes *c, Dwarf_Die *of, Dwarf_Word at, unsigned int depth)
{
	Dwarf_Die member;

	for (int err = dwarf_child(of, &member); !err && reader_may();
	     err = dwarf_siblingof(&member, &member)) {
		const int tag = dwarf_tag(&member);

		if ((tag == DW_TAG_member && !is_static(&member)) || tag == DW_TAG_inheritance)
			classify_member(c, &member, at, depth);
		else if (tag == DW_TAG_variant_part && depth < READER_DEPTH)
			/* Its discriminant is a member of its own. */
			classify_members(c, &member, at, depth + 1);
	}
}

static void classify_struct(struct classes *c, Dwarf_Die *bare, Dwarf_Word at, unsigned int depth)
{
	classify_members(c, bare, at, depth);
	if (attribute_number(bare, DW_AT_alignment) > EIGHT)
		c->align = IN_REGISTERS;
}

static void classify_array(struct classes *c, Dwarf_Die *bare, Dwarf_Word at, unsigned int depth)
{
	const Dwarf_Word size = size_of(bare);
	Dwarf_Word step;
	Dwarf_Die type;

	if (dwarf_hasattr(bare, DW_AT_GNU_vector)) {
		/* A vector of any length has one register. */
		class_add(c, at, size < EIGHT ? size : EIGHT, CLASS_SSE);
		c->align = size < IN_REGISTERS ? (unsigned int)size : IN_REGISTERS;
		return;
	}
	step = reader_type(bare, &type) ? size_of(&type) : 0;
	for (Dwarf_Word i = 0; step && i + step <= size && i < 2 * IN_REGISTERS; i += step)
		classify(c, &type, at + i, depth + 1);
}

static void classify(struct classes *c, Dwarf_Die *type, Dwarf_Word at, unsigned int depth)
{
	Dwarf_Die bare;

	if (depth == READER_DEPTH || !reader_may() || !reader_bare(type, &bare)) {
		c->in_memory = true;
		return;
	}
	switch (dwarf_tag(&bare)) {
	case DW_TAG_base_type:
		classify_base(c, &bare, at);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		classify_struct(c, &bare, at, depth);
		break;
	case DW_TAG_array_type:
		classify_array(c, &bare, at, depth);
		break;
	case DW_TAG_ptr_to_member_type:
		class_add(c, at, size_of(&bare), CLASS_INTEGER);
		break;
	case DW_TAG_enumeration_type:
		class_add(c, at, size_of(&bare), CLASS_INTEGER);
		break;
	default:
		class_add(c, at, EIGHT, CLASS_INTEGER);
	}
}

static bool is_vector(Dwarf_Die *type)
{
	Dwarf_Die bare;

	return reader_bare(type, &bare) && dwarf_hasattr(&bare, DW_AT_GNU_vector);
}

static struct classes classes_of(Dwarf_Die *type, uint32_t *size)
{
	struct classes c = { .align = 1 };
	Dwarf_Die bare;

	*size = EIGHT;
	if (reader_by_address(type)) {
		c.of[0] = CLASS_INTEGER;
		return c;
	}
	if (reader_bare(type, &bare) && !is_address(&bare))
		*size = size_of(&bare);
	classify(&c, type, 0, 0);
	if (*size > IN_REGISTERS && !is_vector(type))
		c.in_memory = true;
	return c;
}

/* ---- Registers ---- */

const char *reader_register(unsigned int nr)
{
	static const char *const names[READER_INTEGERS + READER_VECTORS] = {
		"%di", "%si", "%dx", "%cx", "%r8", "%r9",
		"%xmm0", "%xmm1", "%xmm2", "%xmm3", "%xmm4", "%xmm5", "%xmm6", "%xmm7",
	};

	return names[nr];
}

static unsigned int count(const struct classes *c, enum place_class class)
{
	return (c->of[0] == class) + (c->of[1] == class);
}

static bool fits(const struct reader_places *p, const struct classes *c)
{
	return p->integers + count(c, CLASS_INTEGER) <= READER_INTEGERS &&
	       p->vectors + count(c, CLASS_SSE) <= READER_VECTORS;
}

static void add_register(struct reader_places *p, enum place_class class, char out[32])
{
	const size_t at = strlen(out);
	const char *plus = at ? "+" : "";

	if (class == CLASS_INTEGER)
		snprintf(out + at, 32 - at, "%s%s", plus, reader_register(p->integers++));
	else if (class == CLASS_SSE)
		snprintf(out + at, 32 - at, "%s%s", plus,
			 reader_register(READER_INTEGERS + p->vectors++));
}

/* Word 0 of the stack is the return address, so values that are aligned to 16 have odd words. */
static void place_on_stack(struct reader_places *p, const struct classes *c, uint32_t size,
			   char out[32])
{
	if (c->align == IN_REGISTERS)
		p->words += p->words & 1;
	snprintf(out, 32, "$stack%u", p->words + 1);
	p->words += size / EIGHT + (size % EIGHT != 0);
}

/*
 * A class that the file only declares may be passed in anything, unless a method tells: gcc
 * declares a class with those that the file calls.
 */
static bool is_incomplete(Dwarf_Die *type)
{
	Dwarf_Die bare;

	return reader_bare(type, &bare) && !is_address(&bare) && !size_of(&bare) &&
	       dwarf_hasattr(&bare, DW_AT_declaration) && !reader_by_address(type);
}

static bool is_in_nothing(const struct classes *c, uint32_t size)
{
	return !size || (!c->in_memory && c->of[0] == CLASS_NONE && c->of[1] == CLASS_NONE);
}

static void place(struct reader_places *p, const struct classes *c, uint32_t size, char out[32])
{
	const bool on_stack = c->in_memory || !fits(p, c);

	strcpy(out, p->unknown ? "?" : "");
	if (p->unknown || is_in_nothing(c, size))
		return;
	if (p->only_integers && (on_stack || count(c, CLASS_SSE))) {
		strcpy(out, "?");
	} else if (on_stack) {
		place_on_stack(p, c, size, out);
	} else {
		add_register(p, c->of[0], out);
		add_register(p, c->of[1], out);
	}
}

void reader_place_as_c(struct reader_places *p, Dwarf_Die *type, char out[32])
{
	uint32_t size;
	const struct classes c = classes_of(type, &size);

	p->unknown |= is_incomplete(type);
	place(p, &c, size, out);
}

void reader_place_address(struct reader_places *p, char out[32])
{
	const struct classes c = { .of = { CLASS_INTEGER }, .align = EIGHT };

	place(p, &c, EIGHT, out);
}

bool reader_fits(const struct reader_places *p, Dwarf_Die *type)
{
	uint32_t size;
	const struct classes c = classes_of(type, &size);

	return !c.in_memory && fits(p, &c);
}

bool reader_is_integer(Dwarf_Die *type)
{
	uint32_t size;
	const struct classes c = classes_of(type, &size);

	return !c.in_memory && c.of[0] == CLASS_INTEGER && c.of[1] == CLASS_NONE;
}

void reader_place_result_as_c(struct reader_places *p, Dwarf_Die *type, char out[32])
{
	static const char *const registers[][2] = {
		[CLASS_SSE] = { "%xmm0", "%xmm1" }, [CLASS_INTEGER] = { "%ax", "%dx" },
	};
	unsigned int used[CLASS_MEMORY] = { 0 };
	uint32_t size;
	const struct classes c = classes_of(type, &size);
	Dwarf_Die bare;

	p->unknown = is_incomplete(type);
	snprintf(out, 32, "%s", p->unknown ? "?" : "");
	if (p->unknown)
		return;
	if (c.is_x87 && reader_bare(type, &bare) && dwarf_tag(&bare) == DW_TAG_base_type) {
		strcpy(out, "%st");
		return;
	}
	if (c.in_memory || reader_by_address(type)) {
		p->integers++;		/* the address of its memory */
		strcpy(out, "%ax");
		return;
	}
	for (unsigned int i = 0; i < 2; i++)
		if (c.of[i] == CLASS_SSE || c.of[i] == CLASS_INTEGER)
			sprintf(out + strlen(out), "%s%s", *out ? "+" : "",
				registers[c.of[i]][used[c.of[i]]++]);
}
