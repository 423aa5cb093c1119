/* SPDX-License-Identifier: MIT */
/* packed_code.c - the code of a file as bytes, and the checks of such bytes */
#include <errno.h>
#include <stdlib.h>

#include "sources/program/scan/packed_code.h"

struct packed_code_head {
	uint64_t	nr_functions, nr_sites, nr_segments;
	struct {
		uint64_t	low, high;
	} segments[CODE_SEGMENTS];
};

/* ---- Writing ---- */

static bool code_put(const void *v, size_t each, size_t nr, FILE *out)
{
	return !nr || fwrite(v, each, nr, out) == nr;
}

static bool code_put_segment(const struct code_segment *s, FILE *out)
{
	return code_put(s->bytes, 1, s->high - s->low, out) &&
	       code_put(s->marks, 1, s->high - s->low, out);
}

int packed_code_write(const struct code_file *f, const struct site *sites, size_t nr, FILE *out)
{
	struct packed_code_head h = { .nr_functions = f->nr_functions, .nr_sites = nr,
				      .nr_segments = f->nr_segments };
	bool good;

	for (unsigned int i = 0; i < f->nr_segments; i++) {
		h.segments[i].low = f->segments[i].low;
		h.segments[i].high = f->segments[i].high;
	}
	good = code_put(&h, sizeof(h), 1, out) &&
	       code_put(f->functions, sizeof(*f->functions), f->nr_functions, out) &&
	       code_put(sites, sizeof(*sites), nr, out);
	for (unsigned int i = 0; good && i < f->nr_segments; i++)
		good = code_put_segment(&f->segments[i], out);
	return good ? 0 : -EIO;
}

/* ---- Reading ---- */

/* The bytes that are not taken yet. */
struct code_rest {
	char		*at;
	size_t		size;
};

/* NULL: there are fewer. */
static void *code_next(struct code_rest *r, uint64_t nr, size_t each)
{
	char *at = r->at;

	if (nr > r->size / each)
		return NULL;
	r->at += nr * each;
	r->size -= nr * each;
	return at;
}

static bool code_take_segments(const struct packed_code_head *h, struct code_rest *r,
			       struct code_file *f)
{
	if (h->nr_segments > CODE_SEGMENTS)
		return false;
	for (unsigned int i = 0; i < h->nr_segments; i++) {
		struct code_segment *s = &f->segments[i];

		s->low = h->segments[i].low;
		s->high = h->segments[i].high;
		if (s->high <= s->low)
			return false;
		s->bytes = code_next(r, s->high - s->low, 1);
		s->marks = code_next(r, s->high - s->low, 1);
		if (!s->bytes || !s->marks)
			return false;
	}
	f->nr_segments = (unsigned int)h->nr_segments;
	return !r->size;
}

/* It lies in a segment, behind the one in front of it. */
static bool code_function_good(const struct code_file *f, size_t i)
{
	const struct code_function *fn = &f->functions[i];
	const struct code_segment *s = code_segment_at(f, fn->start);

	if (!s || fn->size > s->high - fn->start || fn->why >= CODE_NR_WHYS ||
	    fn->returns >= CODE_NR_RETURNS)
		return false;
	return !i || (fn[-1].start < fn->start && fn[-1].size <= fn->start - fn[-1].start);
}

static bool code_functions_good(const struct code_file *f)
{
	for (size_t i = 0; i < f->nr_functions; i++)
		if (!code_function_good(f, i))
			return false;
	return true;
}

static int code_take_sites(const struct site *v, size_t nr, struct site **out)
{
	*out = nr ? malloc(nr * sizeof(*v)) : NULL;
	if (*out)
		memcpy(*out, v, nr * sizeof(*v));
	return nr && !*out ? -ENOMEM : 0;
}

int packed_code_read(void *bytes, size_t size, struct code_file *f, struct site **sites, size_t *nr)
{
	struct code_rest rest = { bytes, size };
	const struct packed_code_head *h = code_next(&rest, 1, sizeof(*h));
	const struct site *v;

	*f = (struct code_file){ .nr_segments = 0 };
	*sites = NULL;
	*nr = 0;
	if (!h)
		return -EPROTO;
	f->functions = code_next(&rest, h->nr_functions, sizeof(*f->functions));
	f->nr_functions = f->functions ? h->nr_functions : 0;
	v = f->functions ? code_next(&rest, h->nr_sites, sizeof(*v)) : NULL;
	if (!v || !code_take_segments(h, &rest, f) || !code_functions_good(f))
		return -EPROTO;
	*nr = h->nr_sites;
	return code_take_sites(v, *nr, sites);
}
