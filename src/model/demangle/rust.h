/* SPDX-License-Identifier: MIT */
/*
 * rust.h - names of Rust functions, as rustfilt prints them
 *
 * Rust has two forms. The old one is a C++ name that ends with a hash, "_ZN3foo3bar17h<hash>E".
 * "v0" begins with "_R" and has a grammar of its own (RFC 2603).
 *
 *   rust.c     chooses the form, writes characters, reads the old form
 *   v0.c       reads v0; the reader is in v0.h
 *
 * The names come from files and from traced programs. So a name may be hostile: the length of the
 * result, the depth of the recursion and the number of steps are bounded. A name beyond that is
 * no Rust name.
 */
#ifndef TRACEFUSE_MODEL_DEMANGLE_RUST_H
#define TRACEFUSE_MODEL_DEMANGLE_RUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUST_LETTERS = 128 };

struct rust_text {
	char	*out;
	size_t	len, size;
	bool	full;		/* it had no room for all */
};

/* Writes "foo::bar" into out[size]. False: it is no such name; `out` is undefined. */
bool demangle_rust(const char *name, char *out, size_t size);

/* ---- for v0.c ---- */

void rust_put(struct rust_text *t, const char *s, size_t n);
/* A character in UTF-8. In a quoted text (`quote` is ' or "), it is escaped as in Rust's source. */
void rust_put_char(struct rust_text *t, uint32_t c, char quote);
/* False: it is no character that a name may have. */
bool rust_is_visible(uint32_t c);
/* `s` is what follows "_R". Returns where the path ends, NULL: it is no v0 name. */
const char *demangle_v0(struct rust_text *t, const char *s, size_t n);
/*
 * The letters of an identifier: `ascii` are those of ASCII, `s` says where the others stand. False:
 * `s` is malformed, or there are more than RUST_LETTERS.
 */
bool rust_punycode(const char *ascii, size_t nr, const char *s, size_t len, uint32_t *letters,
		   size_t *nr_letters);

#endif
