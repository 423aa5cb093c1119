/* SPDX-License-Identifier: MIT */
/*
 * pointer.c - %p and what may follow it
 *
 * The kernel hashes plain pointers with a secret that is not in the recording. So each prints as
 * the kernel prints a pointer before it has that secret. The bytes that a pointer leads to can be
 * printed if they are in the record.
 */
#include <arpa/inet.h>
#include <ctype.h>

#include "printfmt/node.h"

enum { ERRNO_MAX = 4095 };

static void print_address(uint64_t address, const struct show_spec *spec,
			  const struct print_env *env, struct show_text *out)
{
	struct show_spec s = *spec;

	s.base = 16;
	if (s.width < 0) {
		s.width = 2 * (int)env->long_size;
		s.zero = true;
	}
	text_number(out, address, &s);
}

static void print_hashed(uint64_t address, const struct show_spec *spec, struct print_env *env,
			 struct show_text *out)
{
	const uint64_t last = env->long_size == 4 ? UINT32_MAX : UINT64_MAX;

	if (!address || address > last - ERRNO_MAX || !env->hash_ptr)
		print_address(address, spec, env, out);
	else
		text_puts(out, "(____ptrval____)");
}

static void pointer_symbol(uint64_t address, char kind, const struct show_spec *spec,
			   struct print_env *env, struct show_text *out)
{
	size_t start = env->scratch.len;
	unsigned int flags =
		PRINT_SYMBOL_MODULE | (kind == 's' || kind == 'f' ? 0 : PRINT_SYMBOL_OFFSET);

	if (!print_symbol(env, kind == 'B' ? address - 1 : address, flags, &env->scratch)) {
		text_put(&env->scratch, "0x", 2);
		text_hex(&env->scratch, address, 1);
	}
	if (!env->scratch.failed)
		text_padded(out, env->scratch.bytes + start, env->scratch.len - start, spec);
	env->scratch.len = start;
}

/*
 * %ph prints bytes with blanks between them; C: colons, D: dashes, N: nothing. The width is the
 * number of bytes, at most 64.
 */
static void pointer_hex(const struct print_value *v, char sep, const struct show_spec *spec,
			struct show_text *out)
{
	uint32_t n = spec->width < 1 ? 1 : spec->width > 64 ? 64 : (uint32_t)spec->width, i;

	for (i = 0; i < n && i < v->len; i++) {
		if (i && sep != 'N')
			text_putc(out, sep == 'C' ? ':' : sep == 'D' ? '-' : ' ');
		text_hex(out, v->data[i], 2);
	}
}

static void pointer_mac(const struct print_value *v, const char *kind, struct show_text *out)
{
	char sep = kind[1] == 'F' ? '-' : ':';
	uint32_t i, at;

	for (i = 0; i < 6 && v->len >= 6; i++) {
		if (i && kind[0] == 'M')
			text_putc(out, sep);
		at = kind[1] == 'R' ? 5 - i : i;
		text_hex(out, v->data[at], 2);
	}
}

static void pointer_ip4(const uint8_t *a, bool zeros, struct show_text *out)
{
	int i;

	for (i = 0; i < 4; i++) {
		if (i)
			text_putc(out, '.');
		text_decimal(out, a[i], zeros ? 3 : 0, '0');
	}
}

static void pointer_ip6(const uint8_t *a, bool colons, bool compressed, struct show_text *out)
{
	char text[INET6_ADDRSTRLEN];
	int i;

	if (compressed && inet_ntop(AF_INET6, a, text, sizeof(text))) {
		text_puts(out, text);
		return;
	}
	for (i = 0; i < 16; i += 2) {
		if (i && colons)
			text_putc(out, ':');
		text_hex(out, (uint64_t)a[i] << 8 | a[i + 1], 4);
	}
}

/* %pIS: a sockaddr; %pISp: with its port. */
static void pointer_socket(const struct print_value *v, const char *options, struct show_text *out)
{
	bool port = strchr(options, 'p'), short6 = strchr(options, 'c');
	uint16_t family;

	if (v->len < 8)
		return;
	memcpy(&family, v->data, 2);
	if (family == AF_INET) {
		pointer_ip4(v->data + 4, false, out);
	} else if (family == AF_INET6 && v->len >= 24) {
		if (port)
			text_putc(out, '[');
		pointer_ip6(v->data + 8, true, short6, out);
		if (port)
			text_putc(out, ']');
	} else {
		text_puts(out, "(einval)");
		return;
	}
	if (port) {
		text_putc(out, ':');
		text_decimal(out, (uint64_t)v->data[2] << 8 | v->data[3], 0, ' ');
	}
}

static void pointer_ip(const struct print_value *v, const char *kind, struct show_text *out)
{
	if (kind[1] == '4' && v->len >= 4)
		pointer_ip4(v->data, kind[0] == 'i', out);
	else if (kind[1] == '6' && v->len >= 16)
		pointer_ip6(v->data, kind[0] == 'I', kind[2] == 'c', out);
	else if (kind[1] == 'S')
		pointer_socket(v, kind + 2, out);
}

static void pointer_uuid(const struct print_value *v, char kind, struct show_text *out)
{
	static const uint8_t big[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const uint8_t little[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	const uint8_t *order = kind == 'L' || kind == 'l' ? little : big;
	size_t start = out->len;
	int i;

	for (i = 0; i < 16 && v->len >= 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text_putc(out, '-');
		text_hex(out, v->data[order[i]], 2);
	}
	for (; (kind == 'L' || kind == 'B') && start < out->len; start++)
		out->bytes[start] = (char)toupper((unsigned char)out->bytes[start]);
}

static void pointer_bits(const struct print_value *v, const char *kind,
			 const struct show_spec *spec, struct show_text *out)
{
	uint32_t nr = spec->width < 0 ? 0 : (uint32_t)spec->width;

	if (nr > v->len * 8)
		nr = v->len * 8;
	if (kind[1] == 'l')
		print_bit_list(v->data, nr, out);
	else
		print_bit_mask(v->data, nr, out);
}

void print_pointer(const struct print_piece *p, const struct show_spec *spec,
		   const struct print_value *v, struct print_env *env, struct show_text *out)
{
	static const uint8_t nothing[1];
	struct print_value at = *v;
	uint64_t address = v->data || v->in_scratch ? 0 : v->number;

	if (!at.data) {
		at.data = nothing;
		at.len = 0;
	}
	switch (p->pointer[0]) {
	case 'S': case 's': case 'B': case 'F': case 'f':
		pointer_symbol(address, p->pointer[0], spec, env, out);
		return;
	case 'x':
		print_address(address, spec, env, out);
		return;
	case 'h':
		pointer_hex(&at, p->pointer[1], spec, out);
		return;
	case 'M': case 'm':
		pointer_mac(&at, p->pointer, out);
		return;
	case 'I': case 'i':
		pointer_ip(&at, p->pointer, out);
		return;
	case 'U':
		pointer_uuid(&at, p->pointer[1], out);
		return;
	case 'b':
		pointer_bits(&at, p->pointer, spec, out);
		return;
	default:
		/* The record has no address now, but had one that was not NULL. */
		print_hashed(v->data ? 1 : address, spec, env, out);
	}
}
