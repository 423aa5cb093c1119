/* SPDX-License-Identifier: MIT */
/* rust.c - see rust.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/demangle/rust.h"
#include "model/text.h"

/* ---- writing ---- */

void rust_put(struct rust_text *t, const char *s, size_t n)
{
	if (t->full || n >= t->size - t->len) {
		t->full = true;
		return;
	}
	memcpy(t->out + t->len, s, n);
	t->len += n;
}

/* Characters that control the terminal, the direction of a text or the width of a space. */
bool rust_is_visible(uint32_t c)
{
	return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && !(c >= 0xd800 && c < 0xe000) &&
	       !(c >= 0x200b && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e) &&
	       !(c >= 0x2060 && c <= 0x206f) && c != 0xad && c != 0xfeff && c <= 0x10ffff;
}

static void put_utf8(struct rust_text *t, uint32_t c)
{
	char s[4];
	const unsigned int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (unsigned int i = n; --i; c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(first[n] | c);
	rust_put(t, s, n);
}

void rust_put_char(struct rust_text *t, uint32_t c, char quote)
{
	static const char plain[] = "\t\r\n\\", names[] = "trn\\";
	const char *found = c && c < 0x80 ? strchr(plain, (int)c) : NULL;
	char s[16];

	if (quote && found)
		snprintf(s, sizeof(s), "\\%c", names[found - plain]);
	else if (quote && (c == (unsigned char)quote || !c))
		snprintf(s, sizeof(s), "\\%c", c ? quote : '0');
	else if (!rust_is_visible(c))
		snprintf(s, sizeof(s), "\\u{%x}", c);
	else
		s[0] = '\0';
	if (*s)
		rust_put(t, s, strlen(s));
	else
		put_utf8(t, c);
}

/* ---- the old form ---- */

enum { HASH = 16 };	/* digits behind the 'h' of the last word */

static const struct {
	char	name[3];
	char	c;
} escapes[] = {
	{ "SP", '@' }, { "BP", '*' }, { "RF", '&' }, { "LT", '<' },
	{ "GT", '>' }, { "LP", '(' }, { "RP", ')' }, { "C", ',' },
};

/* "$LT$" -> '<', "$u7b$" -> '{'. 0: it is no escape. */
static uint32_t escaped(const char *s, size_t n)
{
	char *end;
	uint32_t c;

	for (unsigned int i = 0; i < sizeof(escapes) / sizeof(*escapes); i++)
		if (strlen(escapes[i].name) == n && !strncmp(escapes[i].name, s, n))
			return (unsigned char)escapes[i].c;
	if (n < 2 || n > 7 || *s != 'u' || strspn(s + 1, "0123456789abcdef") != n - 1)
		return 0;
	c = (uint32_t)strtoul(s + 1, &end, 16);
	return rust_is_visible(c) ? c : 0;
}

/* Writes what the first characters stand for. -> how many they are */
static size_t put_old_part(struct rust_text *t, const char *s, size_t n)
{
	const char *end = *s == '$' ? memchr(s + 1, '$', n - 1) : NULL;
	const uint32_t c = end ? escaped(s + 1, (size_t)(end - s - 1)) : 0;
	size_t len = 1;

	if (c) {
		put_utf8(t, c);
		return (size_t)(end - s) + 1;
	}
	if (*s == '.') {
		len = n > 1 && s[1] == '.' ? 2 : 1;
		rust_put(t, len == 2 ? "::" : ".", len);
		return len;
	}
	while (len < n && s[len] != '$' && s[len] != '.')
		len++;
	rust_put(t, s, len);
	return len;
}

static void put_old_word(struct rust_text *t, const char *s, size_t n)
{
	if (n > 1 && s[0] == '_' && s[1] == '$') {
		s++;
		n--;
	}
	while (n) {
		const size_t len = put_old_part(t, s, n);

		s += len;
		n -= len;
	}
}

/* "3foo" -> "foo". NULL: no word is here. */
static const char *old_word(const char *s, size_t *len)
{
	size_t n = 0;

	if (!text_is_digit(*s) || *s == '0')
		return NULL;
	for (; text_is_digit(*s); s++) {
		n = n * 10 + (size_t)(*s - '0');
		if (n > 1 << 20)
			return NULL;
	}
	*len = n;
	return strnlen(s, n) == n ? s : NULL;
}

static bool is_hash(const char *s, size_t n)
{
	return n == 1 + HASH && *s == 'h' && strspn(s + 1, "0123456789abcdef") >= HASH;
}

/* `s` follows "_ZN". -> where the name ends, NULL: it is no Rust name */
static const char *demangle_old(struct rust_text *t, const char *s)
{
	const char *word;
	size_t n;

	while ((word = old_word(s, &n)) && !(is_hash(word, n) && word[n] == 'E')) {
		if (t->len)
			rust_put(t, "::", 2);
		put_old_word(t, word, n);
		s = word + n;
	}
	return word && t->len ? word + n + 1 : NULL;
}

/* ---- both ---- */

static bool is_symbol(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return true;
}

bool demangle_rust(const char *name, char *out, size_t size)
{
	struct rust_text t = { .out = out, .size = size };
	const size_t n = strlen(name);
	const char *end = NULL;

	if (!is_symbol(name, n))
		return false;
	if (!strncmp(name, "_ZN", 3))
		end = demangle_old(&t, name + 3);
	else if (!strncmp(name, "_R", 2))
		end = demangle_v0(&t, name + 2, n - 2);
	if (!end || (*end && *end != '.'))
		return false;
	/* LLVM adds ".llvm.<digits>" to tell copies apart; ".cold" is another function. */
	if (strncmp(end, ".llvm.", 6))
		rust_put(&t, end, strlen(end));
	if (t.full)
		return false;
	out[t.len] = '\0';
	return true;
}
