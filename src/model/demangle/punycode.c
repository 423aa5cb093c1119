/* SPDX-License-Identifier: MIT */
/* punycode.c - letters that are not ASCII in a v0 name (RFC 3492) */
#include <string.h>

#include "model/demangle/rust.h"
#include "model/text.h"

static uint32_t punycode_bias(uint32_t delta, size_t nr, bool first)
{
	uint32_t k = 0;

	delta /= first ? 700 : 2;
	delta += delta / (uint32_t)nr;
	for (; delta > 35 * 26 / 2; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

static int punycode_digit(char c)
{
	return c >= 'a' && c <= 'z' ? c - 'a' : text_is_digit(c) ? c - '0' + 26 : -1;
}

/* One number of variable length. -> where it ends, NULL: it is none */
static const char *punycode_delta(const char *s, const char *end, uint32_t bias, uint32_t *delta)
{
	uint64_t weight = 1, sum = 0;

	for (uint32_t k = 36; s < end; k += 36) {
		const uint32_t least = k <= bias + 1 ? 1 : k >= bias + 26 ? 26 : k - bias;
		const int digit = punycode_digit(*s++);

		if (digit < 0)
			return NULL;
		sum += (uint64_t)digit * weight;
		weight *= 36 - least;
		if (sum > UINT32_MAX || weight > UINT32_MAX)
			return NULL;
		*delta = (uint32_t)sum;
		if ((uint32_t)digit < least)
			return s;
	}
	return NULL;
}

bool rust_punycode(const char *ascii, size_t nr, const char *s, size_t len, uint32_t *letters,
		   size_t *nr_letters)
{
	const char *const end = s + len;
	uint64_t place = 0;
	uint32_t bias = 72, delta, c = 0x80;

	if (nr >= RUST_LETTERS)
		return false;
	for (size_t i = 0; i < nr; i++)
		letters[i] = (unsigned char)ascii[i];
	for (bool first = true; s < end; first = false) {
		s = punycode_delta(s, end, bias, &delta);
		if (!s || nr == RUST_LETTERS)
			return false;
		place += delta;
		if (place / (nr + 1) > 0x10ffff - c)
			return false;
		c += (uint32_t)(place / (nr + 1));
		place %= nr + 1;
		if (!rust_is_visible(c))
			return false;
		memmove(letters + place + 1, letters + place, (nr - place) * sizeof(*letters));
		letters[place++] = c;
		bias = punycode_bias(delta, ++nr, first);
	}
	*nr_letters = nr;
	return true;
}
