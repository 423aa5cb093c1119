/* SPDX-License-Identifier: MIT */
/*
 * text.h - characters and numbers as the kernel reads them in its control files
 *
 * The kernel's isspace() and isalnum() use Latin-1 and no locale, so they differ from libc's. Every
 * parser of src/model and the tree use these.
 */
#ifndef TRACEFUSE_MODEL_TEXT_H
#define TRACEFUSE_MODEL_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

static inline bool text_is_space(char c)
{
	unsigned char u = (unsigned char)c;

	return u == ' ' || (u >= '\t' && u <= '\r') || u == 0xa0;
}

static inline bool text_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool text_is_alnum(char c)
{
	unsigned char u = (unsigned char)c;

	return text_is_digit(c) || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') ||
	       (u >= 0xc0 && u != 0xd7 && u != 0xf7);
}

/* Whether they are equal, or both NULL. */
bool text_same(const char *a, const char *b);
/* Replaces *where by a copy of `text`; NULL: by nothing. 0, -ENOMEM (*where is unchanged) */
int text_set(char **where, const char *text);

/* The first character that is not a space. */
char *text_skip_spaces(const char *s);
/* Cuts off the spaces at the end, in place; returns text_skip_spaces(s). */
char *text_strip(char *s);

/* The start of the next line; the end of the text if there is none. */
const char *text_next_line(const char *s);

/*
 * Reads a whole text as a number. base 0: 0x and a leading 0 count. One newline may follow. 0,
 * -EINVAL (not a number), -ERANGE (does not fit).
 */
int text_to_u64(const char *s, unsigned int base, uint64_t *out);
int text_to_s64(const char *s, unsigned int base, int64_t *out);
/* The same for a text that was written to a file, which does not end in a 0. */
int text_to_u64_len(const char *s, size_t len, unsigned int base, uint64_t *out);

/*
 * Reads one word of a write(2) into word[size], without white space around it; "" if there were
 * only spaces. Returns how much of the text was read, with the space behind the word. -EINVAL: it
 * does not fit.
 */
ssize_t text_word(const char *s, size_t len, char *word, size_t size);

/*
 * Parses a list of bits like "0-3,8,N" or "0-31:1/4". `mask` has nr_bits bits in 64-bit words. 0,
 * -EINVAL ...
 */
int text_to_mask(const char *s, uint64_t *mask, unsigned int nr_bits);

#endif
