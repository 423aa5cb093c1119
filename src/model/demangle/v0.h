/* SPDX-License-Identifier: MIT */
/*
 * v0.h - the reader of a v0 name, for v0.c and v0_const.c
 *
 * One function reads one rule of the grammar. After an error `bad` is set; then nothing moves on
 * any more, and each loop ends. A reference back ("B") is read again from there. So a short name
 * can stand for a very long one: `steps` bounds the work.
 */
#ifndef TRACEFUSE_MODEL_DEMANGLE_V0_H
#define TRACEFUSE_MODEL_DEMANGLE_V0_H

#include "model/demangle/rust.h"

struct v0 {
	struct rust_text *text;
	const char	*s;
	size_t		at, n;
	uint32_t	depth, steps;
	uint64_t	lifetimes;	/* that the "for<...>" around have named */
	bool		silent;		/* it is read, but not shown */
	bool		bad;
};

struct v0_ident {
	const char	*ascii, *punycode;
	size_t		ascii_len, punycode_len;
};

/* 0: nothing is left, or there was an error. */
char v0_peek(const struct v0 *v);
/* Nothing left is an error. */
char v0_next(struct v0 *v);
bool v0_eat(struct v0 *v, char c);
void v0_put(struct v0 *v, const char *s);
void v0_put_bytes(struct v0 *v, const char *s, size_t n);
void v0_put_char(struct v0 *v, uint32_t c, char quote);
void v0_put_number(struct v0 *v, uint64_t number);

/* Each rule that may contain itself begins and ends with these. False: too deep, or too long. */
bool v0_enter(struct v0 *v);
void v0_leave(struct v0 *v);

typedef void (*v0_fn)(struct v0 *v);

/* Up to the "E" behind the last one. -> how many there were */
unsigned int v0_list(struct v0 *v, v0_fn fn, const char *between);
/* "(a, b)", and "(a,)" for one. */
void v0_tuple(struct v0 *v, v0_fn fn);
/*
 * Goes to an earlier place, and says in *later where to go on then. False: there is nothing to
 * read, because the name is not shown. The place is before the "B" itself, so a chain of them ends.
 */
bool v0_go_back(struct v0 *v, size_t *later);

void v0_path(struct v0 *v, bool in_value);
/* "name: ", a field of a struct. */
void v0_field_name(struct v0 *v);

/* ---- v0_const.c ---- */

/* `in_value`: it stands where a value stands; elsewhere a compound has braces around it. */
void v0_const(struct v0 *v, bool in_value);
/* The values that a type is limited to: "1..=9". */
void v0_pattern(struct v0 *v);

#endif
