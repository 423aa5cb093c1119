/* SPDX-License-Identifier: MIT */
/*
 * expansion.c - about how long the text of a C++ name can be, before it is made
 *
 * A name refers to its parts by numbers: S_, S0_ ..., in the order in which they end. Each
 * reference has the part's text once more, so 200 characters can stand for gigabytes. The parts are
 * not parsed. A part refers to earlier parts only. So its text is at most what comes before the
 * reference to it, without references to later parts. A parameter of a template (T_) is at most
 * what comes before it, without other parameters. A pack expansion (Dp, sp) repeats its pattern for
 * each element of a pack; expansions may lie in each other.
 *
 * Identifiers are not told apart from the rest, because a hostile name could hide the rest in them.
 */
#include <stdint.h>

#include "model/demangle/expansion.h"

enum {
	/* What a letter becomes, about: identifiers stay as they are, "x" is "long long". */
	LETTER	= 2,
	/* No name that a compiler made for people has more references. */
	REFERENCES = 1024,
};

#define PARAMETER UINT64_MAX	/* the part of T_ */
/*
 * The estimate is far above the text. 3 of 263,000 names in Debian's libraries and programs come to
 * this; the longest text that was found of hostile names below it has 12 MB.
 */
#define EXPANSION_MOST (16ull << 30)

struct expansion {
	uint64_t	plain;		/* bytes of text that no reference makes */
	uint64_t	parts, parameters;	/* bytes of text that references make */
	uint64_t	repeated;	/* how often, by pack expansions */
	const char	*packs;		/* where the first pack may begin; NULL: there is none */
	unsigned int	nr;
	struct reference {
		uint64_t part, size;
	} *refs;		/* REFERENCES */
};

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t product(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* The digits of base 36 behind S or T: none is 0, and "0" is 1. False: it is no reference. */
static bool number_read(const char *s, uint64_t *out)
{
	const char *begin = s;
	uint64_t n = 0;

	for (; (*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z'); s++)
		n = sum(product(n, 36), (uint64_t)(*s <= '9' ? *s - '0' : *s - 'A' + 10));
	*out = s == begin ? 0 : sum(n, 1);
	return *s == '_';
}

static uint64_t part_size(const struct expansion *e, uint64_t part)
{
	uint64_t size = e->plain;

	for (unsigned int i = 0; i < e->nr; i++)
		if (e->refs[i].part < part || e->refs[i].part == PARAMETER)
			size = sum(size, e->refs[i].size);
	return size;
}

static void reference_add(struct expansion *e, uint64_t part, uint64_t size)
{
	uint64_t *total = part == PARAMETER ? &e->parameters : &e->parts;

	*total = e->nr == REFERENCES ? UINT64_MAX : sum(*total, size);
	if (e->nr < REFERENCES)
		e->refs[e->nr++] = (struct reference){ part, size };
}

static void letter(struct expansion *e, const char *s)
{
	uint64_t part;

	if (*s == 'S' && number_read(s + 1, &part))
		reference_add(e, part, part_size(e, part));
	else if (*s == 'T' && number_read(s + 1, &part))
		reference_add(e, PARAMETER, sum(e->plain, e->parts));
	else if ((*s == 'D' || *s == 's') && s[1] == 'p' && e->packs)
		e->repeated = product(e->repeated, (uint64_t)(s - e->packs));
	else if ((*s == 'I' || *s == 'J') && !e->packs)
		e->packs = s;
	e->plain += LETTER;
}

bool demangle_is_too_long(const char *name)
{
	struct reference refs[REFERENCES];
	struct expansion e = { .repeated = 1, .refs = refs };

	for (; *name; name++)
		letter(&e, name);
	return product(sum(e.plain, sum(e.parts, e.parameters)), e.repeated) > EXPANSION_MOST;
}
