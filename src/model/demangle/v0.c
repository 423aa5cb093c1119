/* SPDX-License-Identifier: MIT */
/* v0.c - reads Rust's v0 names (RFC 2603) and writes them as rustfilt does */
#include <stdio.h>
#include <string.h>

#include "model/demangle/v0.h"
#include "model/text.h"

enum {
	DEPTH = 200,		/* rules within rules */
	STEPS = 20000,		/* rules that are read */
};

static void v0_type(struct v0 *v);

/* ---- characters, numbers, identifiers ---- */

char v0_peek(const struct v0 *v)
{
	return v->bad || v->at >= v->n ? '\0' : v->s[v->at];
}

bool v0_eat(struct v0 *v, char c)
{
	const bool is = v0_peek(v) == c;

	v->at += is;
	return is;
}

char v0_next(struct v0 *v)
{
	const char c = v0_peek(v);

	v->bad |= !c;
	v->at += !!c;
	return c;
}

void v0_put(struct v0 *v, const char *s)
{
	if (!v->silent && !v->bad)
		rust_put(v->text, s, strlen(s));
	v->bad |= v->text->full;
}

void v0_put_char(struct v0 *v, uint32_t c, char quote)
{
	if (!v->silent && !v->bad)
		rust_put_char(v->text, c, quote);
	v->bad |= v->text->full;
}

void v0_put_number(struct v0 *v, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	v0_put(v, text);
}

bool v0_enter(struct v0 *v)
{
	v->bad |= ++v->depth > DEPTH || ++v->steps > STEPS;
	return !v->bad;
}

void v0_leave(struct v0 *v)
{
	v->depth--;
}

static int base62_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/* "_" is 0, "0_" is 1 ... */
static uint64_t read_base62(struct v0 *v)
{
	uint64_t number = 0;

	if (v0_eat(v, '_'))
		return 0;
	while (!v->bad && !v0_eat(v, '_')) {
		const int digit = base62_digit(v0_next(v));

		v->bad |= digit < 0 || number > (UINT64_MAX - 62) / 62;
		number = number * 62 + (uint64_t)(v->bad ? 0 : digit);
	}
	return number + 1;
}

/* The number behind a tag that may be there: "s" of identifiers, "G" of lifetimes. */
static uint64_t read_optional(struct v0 *v, char tag)
{
	return v0_eat(v, tag) ? read_base62(v) + 1 : 0;
}

static size_t read_length(struct v0 *v)
{
	size_t n = 0;

	v->bad |= !text_is_digit(v0_peek(v));
	if (v0_eat(v, '0'))
		return 0;
	while (text_is_digit(v0_peek(v)) && n <= v->n)
		n = n * 10 + (size_t)(v0_next(v) - '0');
	return n;
}

/* The last '_' parts what is ASCII from the rest. */
static void split_punycode(struct v0 *v, struct v0_ident *id)
{
	const char *const start = id->ascii, *line = memrchr(start, '_', id->ascii_len);

	id->punycode = line ? line + 1 : start;
	id->punycode_len = id->ascii_len - (size_t)(id->punycode - start);
	id->ascii_len = line ? (size_t)(line - start) : 0;
	v->bad |= !id->punycode_len;
}

static struct v0_ident v0_identifier(struct v0 *v)
{
	struct v0_ident id = { .ascii = "" };
	const bool punycode = v0_eat(v, 'u');

	id.ascii_len = read_length(v);
	v0_eat(v, '_');
	v->bad |= id.ascii_len > v->n - v->at;
	if (v->bad)
		return (struct v0_ident){ .ascii = "" };
	id.ascii = v->s + v->at;
	v->at += id.ascii_len;
	if (punycode)
		split_punycode(v, &id);
	return id;
}

/* ---- identifiers ---- */

void v0_put_bytes(struct v0 *v, const char *s, size_t n)
{
	if (!v->silent && !v->bad)
		rust_put(v->text, s, n);
	v->bad |= v->text->full;
}

static void put_identifier(struct v0 *v, const struct v0_ident *id)
{
	uint32_t letters[RUST_LETTERS];
	size_t nr;

	if (v->silent || v->bad)
		return;
	if (!id->punycode) {
		v0_put_bytes(v, id->ascii, id->ascii_len);
	} else if (rust_punycode(id->ascii, id->ascii_len, id->punycode, id->punycode_len, letters,
				 &nr)) {
		for (size_t i = 0; i < nr; i++)
			v0_put_char(v, letters[i], 0);
	} else {
		v0_put(v, "punycode{");
		v0_put_bytes(v, id->ascii, id->ascii_len);
		v0_put(v, id->ascii_len ? "-" : "");
		v0_put_bytes(v, id->punycode, id->punycode_len);
		v0_put(v, "}");
	}
}

/* ---- lists, references back, lifetimes ---- */

unsigned int v0_list(struct v0 *v, v0_fn fn, const char *between)
{
	unsigned int nr = 0;

	while (!v->bad && !v0_eat(v, 'E')) {
		if (nr++)
			v0_put(v, between);
		fn(v);
	}
	return nr;
}

void v0_tuple(struct v0 *v, v0_fn fn)
{
	v0_put(v, "(");
	v0_put(v, v0_list(v, fn, ", ") == 1 ? ",)" : ")");
}

bool v0_go_back(struct v0 *v, size_t *later)
{
	const size_t start = v->at - 1;
	const uint64_t place = read_base62(v);

	v->bad |= place >= start;
	*later = v->at;
	if (v->bad || v->silent)
		return false;
	v->at = (size_t)place;
	return true;
}

/* 0 is an unnamed one, 1 the innermost that a "for<...>" has named. */
static void put_lifetime(struct v0 *v, uint64_t lifetime)
{
	const uint64_t depth = v->lifetimes - lifetime;
	const char name[2] = { depth < 26 ? (char)('a' + depth) : '_', '\0' };

	if (v->silent)
		return;
	v0_put(v, "'");
	if (!lifetime) {
		v0_put(v, "_");
		return;
	}
	v->bad |= lifetime > v->lifetimes;
	v0_put(v, name);
	if (depth >= 26)
		v0_put_number(v, depth);
}

/* Reads "G<number>", and what `fn` reads has so many more lifetimes. */
static void in_binder(struct v0 *v, v0_fn fn)
{
	const uint64_t named = read_optional(v, 'G');

	if (v->silent) {
		fn(v);
		return;
	}
	for (uint64_t i = 0; i < named && !v->bad; i++) {
		v0_put(v, i ? ", " : "for<");
		v->lifetimes++;
		put_lifetime(v, 1);
	}
	v0_put(v, named ? "> " : "");
	fn(v);
	v->lifetimes -= v->bad ? 0 : named;
}

/* ---- paths ---- */

static void read_generic(struct v0 *v)
{
	if (v0_eat(v, 'L'))
		put_lifetime(v, read_base62(v));
	else if (v0_eat(v, 'K'))
		v0_const(v, false);
	else
		v0_type(v);
}

/* A name in its parent: "::name", "::{closure#0}". */
static void read_nested(struct v0 *v, bool in_value)
{
	const char space = v0_next(v);
	const bool special = space >= 'A' && space <= 'Z';
	const char other[2] = { space, '\0' };
	struct v0_ident id;
	uint64_t number;

	v->bad |= !special && !(space >= 'a' && space <= 'z');
	v0_path(v, in_value);
	number = read_optional(v, 's');
	id = v0_identifier(v);
	if (special) {
		v0_put(v, "::{");
		v0_put(v, space == 'C' ? "closure" : space == 'S' ? "shim" : other);
		v0_put(v, id.ascii_len || id.punycode ? ":" : "");
		put_identifier(v, &id);
		v0_put(v, "#");
		v0_put_number(v, number);
		v0_put(v, "}");
	} else if (id.ascii_len || id.punycode) {
		v0_put(v, "::");
		put_identifier(v, &id);
	}
}

/* Where an impl stands is not shown: "M" and "X" have its path, "Y" has none. */
static void read_impl(struct v0 *v, char tag)
{
	const bool silent = v->silent;

	if (tag != 'Y') {
		read_optional(v, 's');
		v->silent = true;
		v0_path(v, false);
		v->silent = silent;
	}
	v0_put(v, "<");
	v0_type(v);
	if (tag != 'M') {
		v0_put(v, " as ");
		v0_path(v, false);
	}
	v0_put(v, ">");
}

/* Of a crate or of a field; the number that tells it from others is not shown. */
static void v0_name(struct v0 *v)
{
	struct v0_ident id;

	read_optional(v, 's');
	id = v0_identifier(v);
	put_identifier(v, &id);
}

static void v0_path_tag(struct v0 *v, char tag, bool in_value)
{
	size_t later;

	if (tag == 'C') {
		v0_name(v);
	} else if (tag == 'N') {
		read_nested(v, in_value);
	} else if (tag == 'M' || tag == 'X' || tag == 'Y') {
		read_impl(v, tag);
	} else if (tag == 'I') {
		v0_path(v, in_value);
		v0_put(v, in_value ? "::<" : "<");
		v0_list(v, read_generic, ", ");
		v0_put(v, ">");
	} else if (tag == 'B') {
		if (v0_go_back(v, &later))
			v0_path(v, in_value);
		v->at = later;
	} else {
		v->bad = true;
	}
}

void v0_path(struct v0 *v, bool in_value)
{
	if (v0_enter(v))
		v0_path_tag(v, v0_next(v), in_value);
	v0_leave(v);
}

/* ---- types ---- */

/* In the order of the letters; NULL: the letter is none of them. */
static const char *basic_type(char tag)
{
	static const char *const names[] = {
		"i8", "bool", "char", "f64", "str", "f32", NULL, "u8", "isize", "usize", NULL,
		"i32", "u32", "i128", "u128", "_", NULL, NULL, "i16", "u16", "()", "...", NULL,
		"i64", "u64", "!",
	};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void read_reference(struct v0 *v, bool mutable)
{
	const uint64_t lifetime = v0_eat(v, 'L') ? read_base62(v) : 0;

	v0_put(v, "&");
	if (lifetime) {
		put_lifetime(v, lifetime);
		v0_put(v, " ");
	}
	v0_put(v, mutable ? "mut " : "");
	v0_type(v);
}

static void v0_array(struct v0 *v, bool sized)
{
	v0_put(v, "[");
	v0_type(v);
	if (sized) {
		v0_put(v, "; ");
		v0_const(v, true);
	}
	v0_put(v, "]");
}

/* "extern "C" "; a '-' in the name of the convention is a '_' here. */
static void read_convention(struct v0 *v)
{
	struct v0_ident id = { .ascii = "C", .ascii_len = 1 };

	if (!v0_eat(v, 'C'))
		id = v0_identifier(v);
	v->bad |= !id.ascii_len || id.punycode;
	v0_put(v, "extern \"");
	for (size_t i = 0; i < id.ascii_len && !v->bad; i++)
		v0_put_char(v, id.ascii[i] == '_' ? '-' : (unsigned char)id.ascii[i], 0);
	v0_put(v, "\" ");
}

static void v0_function(struct v0 *v)
{
	if (v0_eat(v, 'U'))
		v0_put(v, "unsafe ");
	if (v0_eat(v, 'K'))
		read_convention(v);
	v0_put(v, "fn(");
	v0_list(v, v0_type, ", ");
	v0_put(v, ")");
	if (v0_eat(v, 'u'))
		return;
	v0_put(v, " -> ");
	v0_type(v);
}

/* A path whose "<...>" stays open for names of types that follow. -> whether it is open */
static bool read_open_path(struct v0 *v)
{
	bool open = false;
	size_t later;

	if (!v0_enter(v)) {
		v0_leave(v);
		return false;
	}
	if (v0_eat(v, 'B')) {
		if (v0_go_back(v, &later))
			open = read_open_path(v);
		v->at = later;
	} else if (v0_eat(v, 'I')) {
		v0_path(v, false);
		v0_put(v, "<");
		v0_list(v, read_generic, ", ");
		open = true;
	} else {
		v0_path(v, false);
	}
	v0_leave(v);
	return open;
}

static void read_trait(struct v0 *v)
{
	bool open = read_open_path(v);
	struct v0_ident id;

	while (v0_eat(v, 'p')) {
		v0_put(v, open ? ", " : "<");
		open = true;
		id = v0_identifier(v);
		put_identifier(v, &id);
		v0_put(v, " = ");
		v0_type(v);
	}
	v0_put(v, open ? ">" : "");
}

static void read_traits(struct v0 *v)
{
	v0_list(v, read_trait, " + ");
}

static void read_dynamic(struct v0 *v)
{
	uint64_t lifetime;

	v0_put(v, "dyn ");
	in_binder(v, read_traits);
	v->bad |= !v0_eat(v, 'L');
	lifetime = read_base62(v);
	if (lifetime) {
		v0_put(v, " + ");
		put_lifetime(v, lifetime);
	}
}

static void v0_pointer(struct v0 *v, const char *text)
{
	v0_put(v, text);
	v0_type(v);
}

static void v0_type_tag(struct v0 *v, char tag)
{
	size_t later;

	if (tag == 'R' || tag == 'Q') {
		read_reference(v, tag == 'Q');
	} else if (tag == 'P' || tag == 'O') {
		v0_pointer(v, tag == 'P' ? "*const " : "*mut ");
	} else if (tag == 'A' || tag == 'S') {
		v0_array(v, tag == 'A');
	} else if (tag == 'T') {
		v0_tuple(v, v0_type);
	} else if (tag == 'F') {
		in_binder(v, v0_function);
	} else if (tag == 'D') {
		read_dynamic(v);
	} else if (tag == 'W') {
		v0_type(v);
		v0_put(v, " is ");
		v0_pattern(v);
	} else if (tag == 'B') {
		if (v0_go_back(v, &later))
			v0_type(v);
		v->at = later;
	} else {
		v0_path_tag(v, tag, false);
	}
}

static void v0_type(struct v0 *v)
{
	if (v0_enter(v)) {
		const char tag = v0_next(v), *basic = basic_type(tag);

		if (basic)
			v0_put(v, basic);
		else
			v0_type_tag(v, tag);
	}
	v0_leave(v);
}

void v0_field_name(struct v0 *v)
{
	v0_name(v);
	v0_put(v, ": ");
}

/* ---- the whole name ---- */

const char *demangle_v0(struct rust_text *t, const char *s, size_t n)
{
	struct v0 v = { .text = t, .s = s, .n = n };

	/* A digit here is the number of a later version of the grammar. */
	v.bad = !(v0_peek(&v) >= 'A' && v0_peek(&v) <= 'Z');
	v0_path(&v, true);
	if (v0_peek(&v) >= 'A' && v0_peek(&v) <= 'Z') {
		v.silent = true;	/* the crate that has made the instance */
		v0_path(&v, false);
	}
	return v.bad || t->full ? NULL : s + v.at;
}
