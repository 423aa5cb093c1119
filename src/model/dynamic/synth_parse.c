/* SPDX-License-Identifier: MIT */
/*
 * synth_parse.c - the fields of a synthetic event: "u64 lat; char comm[16]; unsigned long[] stack"
 *
 * The semicolon between fields of two words each may be left out. The brackets of an array may
 * follow the type or the name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/synth.h"
#include "model/text.h"

enum { RECORD_HEAD = 8, WORD_SIZE = 8, TEXT_SIZE = 256, OF_LONG = 0 };

struct number_type {
	const char	*name;
	unsigned int	size;
	const char	*conversion;
};

static const struct number_type *find_number(const char *type)
{
	static const struct number_type types[] = {
		{ "s64", 8, "%lld" }, { "u64", 8, "%llu" }, { "s32", 4, "%d" }, { "u32", 4, "%u" },
		{ "s16", 2, "%d" }, { "u16", 2, "%u" }, { "s8", 1, "%d" }, { "u8", 1, "%u" },
		{ "char", 1, "%d" }, { "unsigned char", 1, "%u" }, { "int", 4, "%d" },
		{ "unsigned int", 4, "%u" }, { "long", OF_LONG, "%ld" },
		{ "unsigned long", OF_LONG, "%lu" }, { "bool", 1, "%d" },
		{ "pid_t", 4, "%d" }, { "gfp_t", 4, "%x" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, type))
			return &types[i];
	return NULL;
}

/* As in the kernel, any type that contains these is a string. */
static bool synth_parse_is_string(const char *type)
{
	return strstr(type, "char[");
}

static bool is_stack(const char *type)
{
	return strstr(type, "long[");
}

const char *synth_conversion(const char *type)
{
	const struct number_type *number = find_number(type);

	if (number)
		return number->conversion;
	return synth_parse_is_string(type) || is_stack(type) ? "%s" : "%llu";
}

/* The number N of "char[N]", 0 if there is none. -EINVAL, -ERANGE */
static int string_size(const char *type)
{
	const char *start = strstr(type, "char[") + 5, *end = strchr(type, ']');
	char digits[4] = "";
	uint64_t size;
	size_t len;
	int err;

	if (!end || end < start || end[1])
		return -EINVAL;
	len = (size_t)(end - start);
	if (len >= sizeof(digits))
		return -EINVAL;
	if (!len)
		return 0;
	memcpy(digits, start, len);
	err = text_to_u64(digits, 0, &size);
	if (err)
		return err;
	return size > TEXT_SIZE ? -EINVAL : (int)size;
}

/* 0: the length varies, or there is no such type. */
static int type_size(const char *type, unsigned int long_size)
{
	const struct number_type *number = find_number(type);

	if (number)
		return (int)(number->size == OF_LONG ? long_size : number->size);
	return synth_parse_is_string(type) ? string_size(type) : 0;
}

struct parser {
	struct synth_field	*fields;	/* SYNTH_FIELDS_MAX */
	unsigned int		nr;
	unsigned int		offset;		/* where the next field will be */
	unsigned int		long_size;
	struct synth_error	*error;
};

static int synth_parse_wrong(struct parser *p, const char *text, const char *at)
{
	p->error->text = text;
	p->error->at = at ? strdup(at) : NULL;
	return at && !p->error->at ? -ENOMEM : -EINVAL;
}

/* The parts of a field's declaration. */
struct declaration {
	const char	*prefix;	/* "unsigned " or "" */
	const char	*type, *name;
	const char	*array;		/* points into name; "" if there is no array */
};

static int set_size(struct parser *p, const struct declaration *d, struct synth_field *f)
{
	int size = type_size(f->type, p->long_size);

	if (size < 0)
		return *d->array ? synth_parse_wrong(p, "Invalid array specification", d->name) :
		       synth_parse_wrong(p, "Invalid type", d->type);
	f->is_string = synth_parse_is_string(f->type);
	f->is_stack = !f->is_string && is_stack(f->type);
	f->is_dynamic = !size;
	if (!size && !f->is_string && !f->is_stack)
		return synth_parse_wrong(p, "Invalid type", d->type);
	f->size = (unsigned int)size;
	/*
	 * A value behind a __data_loc counts as signed, because its type then does not begin with a
	 * u.
	 */
	f->is_signed = f->is_dynamic || (*f->type != 'u' && strcmp(f->type, "gfp_t"));
	return 0;
}

static int synth_parse_add_field(struct parser *p, const struct declaration *d)
{
	struct synth_field f = { .offset = p->offset };
	int err;

	f.name = strndup(d->name, (size_t)(d->array - d->name));
	if (!f.name || asprintf(&f.type, "%s%s%s", d->prefix, d->type, d->array) < 0) {
		free(f.name);
		return -ENOMEM;
	}
	err = dynamic_name_is_good(f.name) ? set_size(p, d, &f) :
	      synth_parse_wrong(p, "Illegal name", d->name);
	if (!err && p->nr == SYNTH_FIELDS_MAX)
		err = synth_parse_wrong(p, "Too many fields", NULL);
	if (err) {
		free(f.name);
		free(f.type);
		return err;
	}
	p->offset += f.is_string && !f.is_dynamic ? TEXT_SIZE : WORD_SIZE;
	p->fields[p->nr++] = f;
	return 0;
}

/* Parses the next field; *used gets the number of its words. */
static int synth_parse_field(struct parser *p, char *const *words, unsigned int nr,
			     unsigned int *used)
{
	const bool prefixed = !strcmp(words[0], "unsigned");
	struct declaration d = { .prefix = prefixed ? "unsigned " : "", .type = words[prefixed] };

	if (prefixed && nr < 3)
		return synth_parse_wrong(p, "Incomplete type", words[0]);
	if (nr < 2)
		return synth_parse_wrong(p, "Invalid field", d.type);
	d.name = words[prefixed + 1];
	d.array = d.name + strcspn(d.name, "[");
	*used += 2 + prefixed;
	return synth_parse_add_field(p, &d);
}

static int parse_piece(struct parser *p, const char *piece)
{
	unsigned int nr, used = 0;
	char **words = words_split(piece, &nr);
	int err = words ? 0 : -ENOMEM;

	while (!err && used < nr)
		err = synth_parse_field(p, words + used, nr - used, &used);
	words_free(words);
	return err;
}

void synth_fields_free(struct synth_field *fields, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		free(fields[i].type);
		free(fields[i].name);
	}
	free(fields);
}

int synth_parse_fields(const char *text, unsigned int long_size, struct synth_field **fields,
		       unsigned int *nr, struct synth_error *error)
{
	struct parser p = { .offset = RECORD_HEAD, .long_size = long_size, .error = error };
	char *copy = strdup(text), *rest = copy, *piece;
	int err = 0;

	p.fields = calloc(SYNTH_FIELDS_MAX, sizeof(*p.fields));
	if (!copy || !p.fields)
		err = -ENOMEM;
	while (!err && (piece = strsep(&rest, ";")))
		err = parse_piece(&p, piece);
	if (!err && !p.nr)
		err = synth_parse_wrong(&p, "Command must be of the form: <name> field[;field] ...",
					NULL);
	free(copy);
	if (err) {
		synth_fields_free(p.fields, p.nr);
		return err;
	}
	*fields = p.fields;
	*nr = p.nr;
	return 0;
}
