/* SPDX-License-Identifier: MIT */
/* value.c - fields of a record as numbers and texts, and names of addresses */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/form.h"
#include "model/demangle/demangle.h"
#include "model/symbols.h"

/* ---- fields ---- */

static uint64_t value_number(const uint8_t *p, unsigned int size)
{
	uint64_t v = 0;

	memcpy(&v, p, size <= sizeof(v) ? size : sizeof(v));
	return v;
}

/* Fields that have an address of code, in formats of the kernel and of providers. */
static bool is_code(const struct field *f)
{
	static const char *const names[] = {
		"ip", "parent_ip", "func", "function", "caller", "call_site", "callsite", NULL,
	};

	if (f->is_signed || (f->size != 8 && f->kind != FIELD_STACKTRACE && !f->len))
		return false;
	for (const char *const *n = names; *n; n++)
		if (!strcmp(f->name, *n))
			return true;
	return f->kind == FIELD_STACKTRACE;
}

/* The size of an element, by the type's name: "__data_loc unsigned long[]". */
static unsigned int element_size(const struct field *f)
{
	static const struct {
		const char	*name;
		unsigned int	size;
	} types[] = {
		{ "long", 8 }, { "64", 8 }, { "*", 8 }, { "32", 4 }, { "int", 4 }, { "short", 2 },
		{ "16", 2 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strstr(f->type, types[i].name))
			return types[i].size;
	return f->kind == FIELD_STACKTRACE || f->kind == FIELD_CPUMASK ? 8 : 1;
}

static struct export_value array_of(const struct field *f, const uint8_t *bytes, size_t len)
{
	struct export_value v = {
		.kind = VALUE_ARRAY, .bytes = bytes, .len = len, .is_signed = f->is_signed,
		.is_code = is_code(f), .width = f->len ? f->size / f->len : element_size(f),
	};

	if (!v.width || v.width > 8)
		v.width = 1;
	return v;
}

static struct export_value value_text_of(const uint8_t *bytes, size_t room)
{
	return (struct export_value){ .kind = VALUE_TEXT, .bytes = bytes,
				      .len = strnlen((const char *)bytes, room) };
}

/* A word has the size of what is elsewhere in the record, and where it begins. */
static struct export_value dynamic_of(const struct field *f, const struct source_record *r)
{
	const uint8_t *data = r->data;
	const uint32_t word = (uint32_t)value_number(data + f->offset, 4);
	const uint32_t base = f->kind == FIELD_RDYN_STRING || !strncmp(f->type, "__rel_loc", 9)
				      ? f->offset + 4u
				      : 0;
	const uint32_t at = base + (word & 0xffff), len = word >> 16;

	if (at > r->size || len > r->size - at)
		return (struct export_value){ .kind = VALUE_NONE };
	if (f->kind == FIELD_DYN_STRING || f->kind == FIELD_RDYN_STRING)
		return value_text_of(data + at, len);
	return array_of(f, data + at, len);
}

static bool is_dynamic(const struct field *f)
{
	return f->kind == FIELD_DYN_STRING || f->kind == FIELD_RDYN_STRING ||
	       f->kind == FIELD_CPUMASK || f->kind == FIELD_STACKTRACE ||
	       !strncmp(f->type, "__data_loc", 10) || !strncmp(f->type, "__rel_loc", 9);
}

/* Up to the record's end: "char buf[]", and arrays of system ftrace that are longer than said. */
static bool is_open(const struct field *f)
{
	return !f->size || !strcmp(f->name, "caller");
}

struct export_value export_value_read(const struct field *f, const struct source_record *r)
{
	const uint8_t *data = r->data;
	const size_t left = r->size > f->offset ? r->size - f->offset : 0;
	size_t size = is_open(f) ? left : f->size;

	if (size > left || (is_dynamic(f) && size < 4))
		return (struct export_value){ .kind = VALUE_NONE };
	data += f->offset;
	if (is_dynamic(f))
		return dynamic_of(f, r);
	if (f->kind == FIELD_STATIC_STRING || (!f->size && strstr(f->type, "char")))
		return value_text_of(data, size);
	if (f->len || is_open(f) || size > 8)
		return array_of(f, data, size);
	return (struct export_value){
		.kind = is_code(f) ? VALUE_ADDRESS : f->is_signed ? VALUE_SIGNED : VALUE_UNSIGNED,
		.number = f->is_signed ? export_value_at(&(struct export_value){
			.bytes = data, .width = (unsigned int)size, .is_signed = true }, 0)
				       : value_number(data, (unsigned int)size),
	};
}

uint64_t export_value_at(const struct export_value *v, size_t i)
{
	const uint64_t n = value_number(v->bytes + i * v->width, v->width);
	const unsigned int spare = 64 - 8 * (v->width < 8 ? v->width : 8);

	return v->is_signed ? (uint64_t)((int64_t)(n << spare) >> spare) : n;
}

bool export_tells(const struct field *f, const struct export_value *v)
{
	static const char *const told[] = {
		"func", "depth", "overrun", "calltime", "rettime", NULL,
	};

	for (const char *const *name = told; *name; name++)
		if (!strcmp(f->name, *name))
			return false;
	/* A tracer that keeps no results has a 0 there. */
	if (!strcmp(f->name, "retval") && !v->number)
		return false;
	return !f->common && v->kind != VALUE_NONE && (v->kind != VALUE_ARRAY || v->len);
}

uint64_t export_number(const struct field *f, const struct source_record *r)
{
	const unsigned int size = f && f->size < 8 ? f->size : 8;

	if (!f || f->offset > r->size || size > r->size - f->offset)
		return 0;
	return value_number((const uint8_t *)r->data + f->offset, size);
}

struct export_value export_stack(const struct export_record *r)
{
	const struct field *f = r->event->caller;
	struct export_value v = export_value_read(f, r->r);
	uint64_t nr = 0;

	/* kernel_stack says how many there are; user_stack ends with a 0. */
	if (v.kind != VALUE_ARRAY)
		return (struct export_value){ .kind = VALUE_ARRAY, .width = 8 };
	v.width = 8;
	v.is_signed = false;
	while (8 * (nr + 1) <= v.len && export_value_at(&v, nr) &&
	       export_value_at(&v, nr) != UINT64_MAX)
		nr++;
	v.len = 8 * nr;
	return v;
}

/* ---- names ---- */

enum { NAMES = 4096, NAME_ROOM = 512 };

struct export_name {
	uint64_t	address;
	const char	*name;		/* the model's; NULL: none, or nothing is known yet */
	char		*readable;	/* as in the source; NULL: it is the same */
	uint64_t	offset;
	bool		asked;
};

/* Without memory it stays the symbol. */
static void name_demangle(struct export_run *x, struct export_name *n)
{
	const char *readable;

	if (!x->demangler)
		x->demangler = demangler_create();
	readable = n->name ? demangle(x->demangler, n->name) : NULL;
	free(n->readable);
	n->readable = readable ? strdup(readable) : NULL;
}

static const struct export_name *name_find(struct export_run *x, uint64_t address)
{
	struct export_name *n;

	if (!x->names)
		x->names = calloc(NAMES, sizeof(*x->names));
	if (!x->names)
		return NULL;
	n = &x->names[(address ^ address >> 12) % NAMES];
	if (n->asked && n->address == address)
		return n;
	n->asked = true;
	n->address = address;
	n->offset = 0;
	n->name = symbols_find(x->what->model->symbols, address, &n->offset, NULL, NULL);
	name_demangle(x, n);
	return n;
}

void export_names_free(struct export_run *x)
{
	for (size_t i = 0; x->names && i < NAMES; i++)
		free(x->names[i].readable);
	free(x->names);
	demangler_destroy(x->demangler);
}

static const char *name_text(struct export_run *x, uint64_t address, bool with_offset)
{
	static char text[NAME_ROOM];
	const struct export_name *n = name_find(x, address);

	if (!n || !n->name)
		snprintf(text, sizeof(text), "0x%" PRIx64, address);
	else if (!with_offset)
		return n->readable ? n->readable : n->name;
	else
		snprintf(text, sizeof(text), "%s+0x%" PRIx64, n->readable ? n->readable : n->name,
			 n->offset);
	return text;
}

uint64_t export_function(struct export_run *x, uint64_t address)
{
	const struct export_name *n = name_find(x, address);

	return n && n->name ? address - n->offset : address;
}

const char *export_function_name(struct export_run *x, uint64_t address)
{
	return name_text(x, address, false);
}

const char *export_address_name(struct export_run *x, uint64_t address)
{
	return name_text(x, address, true);
}
