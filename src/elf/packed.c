/* SPDX-License-Identifier: MIT */
/* packed.c - sites and symbols as bytes, and the checks of such bytes */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"
#include "elf/packed.h"
#include "elf/sites.h"

struct packed_head {
	uint64_t	nr_sites, nr_symbols, names_len;
	uint8_t		is_program;
	uint8_t		pad[7];
};

struct packed_symbol {
	uint64_t	value, size;
	uint32_t	name;
	uint8_t		type, old, chooses, untyped;
};

/* ---- Sites ---- */

void packed_sites_make(const struct site *v, size_t nr, struct packed_site *out)
{
	for (size_t i = 0; i < nr; i++)
		out[i] = (struct packed_site){ .at = v[i].at, .kind = v[i].kind, .len = v[i].len,
					       .skip = v[i].skip, .unreturned = v[i].unreturned };
}

static bool packed_sites_good(const struct packed_site *v, size_t nr, bool moved)
{
	for (size_t i = 0; i < nr; i++)
		if (v[i].kind > SITE_MOVED || (v[i].kind == SITE_MOVED) != moved ||
		    v[i].skip >= SITE_NR_SKIPS || (i && v[i].at <= v[i - 1].at))
			return false;
	return nr <= UINT32_MAX;
}

bool packed_sites_take(const struct packed_site *v, size_t nr, bool moved, struct elf_sites *out)
{
	out->v = packed_sites_good(v, nr, moved) ? calloc(nr ? nr : 1, sizeof(*out->v)) : NULL;
	out->nr = out->v ? nr : 0;
	for (size_t i = 0; i < out->nr; i++)
		out->v[i] = (struct site){
			.at = v[i].at, .kind = v[i].kind, .len = v[i].len, .skip = v[i].skip,
			.unreturned = v[i].unreturned != 0, .number = (uint32_t)i,
		};
	return out->v;
}

/* ---- Writing ---- */

static bool packed_put(const void *bytes, size_t size, FILE *out)
{
	return !size || fwrite(bytes, size, 1, out) == 1;
}

static bool packed_put_site(const struct site *s, FILE *out)
{
	struct packed_site p;

	packed_sites_make(s, 1, &p);
	return packed_put(&p, sizeof(p), out);
}

static bool packed_put_symbol(const struct elf_symbol *y, FILE *out)
{
	const struct packed_symbol p = {
		.value = y->value, .size = y->size, .name = y->name, .type = (uint8_t)y->type,
		.old = y->old, .chooses = y->chooses, .untyped = y->untyped };

	return packed_put(&p, sizeof(p), out);
}

int packed_write(const struct elf_sites *s, FILE *out)
{
	const struct elf_symbols *y = &s->symbols;
	const struct packed_head h = { .nr_sites = s->nr, .nr_symbols = y->nr,
				       .names_len = y->names_len, .is_program = y->is_program };
	bool good = packed_put(&h, sizeof(h), out);

	for (size_t i = 0; good && i < s->nr; i++)
		good = packed_put_site(&s->v[i], out);
	for (size_t i = 0; good && i < y->nr; i++)
		good = packed_put_symbol(&y->v[i], out);
	return good && packed_put(y->names, y->names_len, out) ? 0 : -EIO;
}

/* ---- Reading ---- */

/* The bytes that are not read yet. */
struct packed_rest {
	const char	*at;
	size_t		size;
};

/* NULL: there are fewer. */
static const void *packed_next(struct packed_rest *r, uint64_t nr, size_t each)
{
	const char *at = r->at;

	if (nr > r->size / each)
		return NULL;
	r->at += nr * each;
	r->size -= nr * each;
	return at;
}

/* They have been lines of a text once: each ends, and none has a character that breaks a line. */
static bool packed_names_good(const char *names, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (names[i] && iscntrl((unsigned char)names[i]))
			return false;
	return !len || !names[len - 1];
}

static bool packed_symbols_good(const struct packed_symbol *v, size_t nr, size_t names_len)
{
	for (size_t i = 0; i < nr; i++)
		if (v[i].name >= names_len || !isgraph(v[i].type) ||
		    (i && v[i].value < v[i - 1].value))
			return false;
	return true;
}

static int packed_take_symbols(const struct packed_symbol *v, const struct packed_head *h,
			       const char *names, struct elf_symbols *out)
{
	if (!packed_names_good(names, h->names_len) ||
	    !packed_symbols_good(v, h->nr_symbols, h->names_len))
		return -EPROTO;
	out->v = calloc(h->nr_symbols + 1, sizeof(*out->v));
	out->names = malloc(h->names_len + 1);
	if (!out->v || !out->names)
		return -ENOMEM;
	memcpy(out->names, names, h->names_len);
	out->names_len = h->names_len;
	out->nr = h->nr_symbols;
	out->is_program = h->is_program;
	for (size_t i = 0; i < out->nr; i++)
		out->v[i] = (struct elf_symbol){
			.value = v[i].value, .size = v[i].size, .name = v[i].name,
			.type = (char)v[i].type, .old = v[i].old, .chooses = v[i].chooses,
			.untyped = v[i].untyped,
		};
	return 0;
}

int packed_read(const void *bytes, size_t size, bool moved, struct elf_sites *out)
{
	struct packed_rest rest = { bytes, size };
	const struct packed_head *h = packed_next(&rest, 1, sizeof(*h));
	const struct packed_site *sites =
		h ? packed_next(&rest, h->nr_sites, sizeof(*sites)) : NULL;
	const struct packed_symbol *symbols =
		sites ? packed_next(&rest, h->nr_symbols, sizeof(*symbols)) : NULL;
	const char *names = symbols ? packed_next(&rest, h->names_len, 1) : NULL;
	int err;

	*out = (struct elf_sites){ 0 };
	if (!names || rest.size || !packed_sites_good(sites, h->nr_sites, moved))
		return -EPROTO;
	err = packed_sites_take(sites, h->nr_sites, moved, out) ? 0 : -ENOMEM;
	if (!err)
		err = packed_take_symbols(symbols, h, names, &out->symbols);
	if (err)
		elf_sites_free(out);
	return err;
}
