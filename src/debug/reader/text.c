/* SPDX-License-Identifier: MIT */
/*
 * text.c - types as C writes them: the declarator grows around the name, from the inside out
 *
 *     pointer -> array of 3 -> int     "p" -> "*p" -> "(*p)[3]" -> "int (*p)[3]"
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "debug/reader/reader.h"

const char *reader_name(Dwarf_Die *die)
{
	return dwarf_diename(die) ?: "";
}

bool reader_type(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, type);
}

static const char *qualifier(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_const_type:
		return "const";
	case DW_TAG_volatile_type:
		return "volatile";
	case DW_TAG_restrict_type:
		return "restrict";
	case DW_TAG_atomic_type:
		return "_Atomic";
	default:
		return NULL;
	}
}

bool reader_bare(Dwarf_Die *type, Dwarf_Die *out)
{
	*out = *type;
	for (unsigned int i = 0; i < READER_DEPTH; i++) {
		Dwarf_Die next;

		if (dwarf_tag(out) != DW_TAG_typedef && !qualifier(out))
			return true;
		if (!reader_type(out, &next))
			return false;
		*out = next;
	}
	return false;
}

/* Joins the parts, up to a NULL. A text that is too long ends in "...". */
static void join(char out[PROTOTYPE_TEXT], const char *const *parts)
{
	size_t at = 0;

	for (; *parts; parts++)
		for (const char *c = *parts; *c && at < PROTOTYPE_TEXT; c++)
			out[at++] = *c;
	if (at == PROTOTYPE_TEXT)
		memcpy(out + PROTOTYPE_TEXT - 4, "...", 4);
	else
		out[at] = '\0';
}

#define JOIN(out, ...) join(out, (const char *const[]){ __VA_ARGS__, NULL })

/* ---- Names of types ---- */

enum reader_language reader_language(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return READER_UNKNOWN;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return READER_C;
	default:
		return READER_OTHER;
	}
}

static const char *keyword_of(Dwarf_Die *type)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_class_type:
		return "class ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	default:
		return "";
	}
}

static void write_named(Dwarf_Die *type, const char *inner, char out[PROTOTYPE_TEXT])
{
	const char *name = reader_name(type), *word = keyword_of(type);

	if (!*name)
		name = *word ? "{...}" : "void";
	else if (*word && reader_language(type) == READER_OTHER)
		word = "";
	JOIN(out, word, name, *inner ? " " : "", inner);
}

/* ---- Types of types ---- */

static void declare(Dwarf_Die *type, const char *inner, char out[PROTOTYPE_TEXT],
		    unsigned int depth);

/* The type that a pointer, an array or a qualifier is of. */
static void declare_inner(Dwarf_Die *type, const char *inner, char out[PROTOTYPE_TEXT],
			  unsigned int depth)
{
	Dwarf_Die next;

	declare(reader_type(type, &next) ? &next : NULL, inner, out, depth + 1);
}

static bool is_array_or_function(Dwarf_Die *type)
{
	Dwarf_Die next;

	if (!reader_type(type, &next))
		return false;
	return dwarf_tag(&next) == DW_TAG_array_type ||
	       dwarf_tag(&next) == DW_TAG_subroutine_type;
}

static void declare_pointer(Dwarf_Die *type, const char *mark, const char *inner,
			    char out[PROTOTYPE_TEXT], unsigned int depth)
{
	const bool braces = is_array_or_function(type);
	char text[PROTOTYPE_TEXT];

	JOIN(text, braces ? "(" : "", mark, inner, braces ? ")" : "");
	declare_inner(type, text, out, depth);
}

/* A qualifier of a pointer stands behind its star, any other one in front. */
static void declare_qualified(Dwarf_Die *type, const char *word, const char *inner,
			      char out[PROTOTYPE_TEXT], unsigned int depth)
{
	char text[PROTOTYPE_TEXT];
	Dwarf_Die next;

	if (reader_type(type, &next) && dwarf_tag(&next) == DW_TAG_pointer_type) {
		JOIN(text, word, *inner ? " " : "", inner);
		declare(&next, text, out, depth + 1);
		return;
	}
	declare_inner(type, inner, text, depth);
	JOIN(out, word, " ", text);
}

static void declare_array(Dwarf_Die *type, const char *inner, char out[PROTOTYPE_TEXT],
			  unsigned int depth)
{
	char text[PROTOTYPE_TEXT];
	Dwarf_Die range;
	size_t at;

	JOIN(text, inner);
	for (int err = dwarf_child(type, &range); !err && reader_may();
	     err = dwarf_siblingof(&range, &range)) {
		Dwarf_Attribute attribute;
		Dwarf_Word n;

		at = strlen(text);
		if (dwarf_tag(&range) != DW_TAG_subrange_type)
			continue;
		if (!dwarf_formudata(dwarf_attr(&range, DW_AT_upper_bound, &attribute), &n))
			n++;
		else if (dwarf_formudata(dwarf_attr(&range, DW_AT_count, &attribute), &n))
			n = 0;
		if (n)
			snprintf(text + at, sizeof(text) - at, "[%" PRIu64 "]", (uint64_t)n);
		else
			snprintf(text + at, sizeof(text) - at, "[]");
	}
	declare_inner(type, text, out, depth);
}

static void add_parameter(char text[PROTOTYPE_TEXT], Dwarf_Die *die, bool first,
			  unsigned int depth)
{
	char parameter[PROTOTYPE_TEXT] = "...";
	size_t at = strlen(text);

	if (dwarf_tag(die) == DW_TAG_formal_parameter)
		declare_inner(die, "", parameter, depth);
	else if (dwarf_tag(die) != DW_TAG_unspecified_parameters)
		return;
	snprintf(text + at, PROTOTYPE_TEXT - at, "%s%s", first ? "" : ", ", parameter);
}

static void declare_function(Dwarf_Die *type, const char *inner, char out[PROTOTYPE_TEXT],
			     unsigned int depth)
{
	char text[PROTOTYPE_TEXT];
	Dwarf_Die die;
	bool first = true;
	size_t at;

	JOIN(text, inner, "(");
	for (int err = dwarf_child(type, &die); !err && reader_may();
	     err = dwarf_siblingof(&die, &die)) {
		add_parameter(text, &die, first, depth);
		first = false;
	}
	at = strlen(text);
	snprintf(text + at, sizeof(text) - at, "%s)", first ? "void" : "");
	declare_inner(type, text, out, depth);
}

static void declare(Dwarf_Die *type, const char *inner, char out[PROTOTYPE_TEXT],
		    unsigned int depth)
{
	if (depth == READER_DEPTH || !reader_may()) {
		JOIN(out, "... ", inner);
		return;
	}
	if (!type) {
		JOIN(out, "void", *inner ? " " : "", inner);
		return;
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
		declare_pointer(type, "*", inner, out, depth);
		break;
	case DW_TAG_reference_type:
		declare_pointer(type, "&", inner, out, depth);
		break;
	case DW_TAG_rvalue_reference_type:
		declare_pointer(type, "&&", inner, out, depth);
		break;
	case DW_TAG_ptr_to_member_type:
		declare_pointer(type, "::*", inner, out, depth);
		break;
	case DW_TAG_array_type:
		declare_array(type, inner, out, depth);
		break;
	case DW_TAG_subroutine_type:
		declare_function(type, inner, out, depth);
		break;
	default:
		if (qualifier(type))
			declare_qualified(type, qualifier(type), inner, out, depth);
		else
			write_named(type, inner, out);
	}
}

void reader_declare(Dwarf_Die *type, const char *name, char out[PROTOTYPE_TEXT])
{
	declare(type, name, out, 0);
}
