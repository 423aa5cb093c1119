/* SPDX-License-Identifier: MIT */
/* symbol.c - prints addresses as symbols, flags of allocations, lists of bits */
#include "model/symbols.h"
#include "printfmt/format.h"

static const struct print_memo *memo_find(struct print_env *env, uint64_t address)
{
	struct print_memo *m = &env->memo[(address ^ address >> 8 ^ address >> 16) & 255];

	if (m->used && m->address == address)
		return m;
	m->used = true;
	m->address = address;
	m->name = env->symbols
			  ? symbols_find(env->symbols, address, &m->offset, &m->size, &m->module)
			  : NULL;
	return m;
}

bool print_symbol(struct print_env *env, uint64_t address, unsigned int flags,
		  struct show_text *out)
{
	const struct print_memo *m = memo_find(env, address);

	if (!m->name)
		return false;
	text_puts(out, m->name);
	if (flags & PRINT_SYMBOL_OFFSET) {
		text_put(out, "+0x", 3);
		text_hex(out, m->offset, 1);
		text_put(out, "/0x", 3);
		text_hex(out, m->size, 1);
	}
	if (flags & PRINT_SYMBOL_MODULE && m->module) {
		text_put(out, " [", 2);
		text_puts(out, m->module);
		text_putc(out, ']');
	}
	return true;
}

const char *print_string_at(struct print_env *env, uint64_t address)
{
	uint64_t offset;
	const char *s =
		env->strings ? symbols_find(env->strings, address, &offset, NULL, NULL) : NULL;

	return s && !offset ? s : NULL;
}

static const struct {
	uint32_t	mask;
	const char	*name;
} gfp_flags[] = {
	{ 0x1c24ca, "GFP_TRANSHUGE" }, { 0x1c20ca, "GFP_TRANSHUGE_LIGHT" },
	{ 0x100cca, "GFP_HIGHUSER_MOVABLE" }, { 0x100cc2, "GFP_HIGHUSER" },
	{ 0x100cc0, "GFP_USER" }, { 0x400cc0, "GFP_KERNEL_ACCOUNT" }, { 0xcc0, "GFP_KERNEL" },
	{ 0xc40, "GFP_NOFS" }, { 0x820, "GFP_ATOMIC" }, { 0xc00, "GFP_NOIO" },
	{ 0x2800, "GFP_NOWAIT" }, { 0x1, "GFP_DMA" }, { 0x2, "__GFP_HIGHMEM" },
	{ 0x4, "GFP_DMA32" }, { 0x20, "__GFP_HIGH" }, { 0x40, "__GFP_IO" }, { 0x80, "__GFP_FS" },
	{ 0x2000, "__GFP_NOWARN" }, { 0x4000, "__GFP_RETRY_MAYFAIL" }, { 0x8000, "__GFP_NOFAIL" },
	{ 0x10000, "__GFP_NORETRY" }, { 0x40000, "__GFP_COMP" }, { 0x100, "__GFP_ZERO" },
	{ 0x80000, "__GFP_NOMEMALLOC" }, { 0x20000, "__GFP_MEMALLOC" },
	{ 0x100000, "__GFP_HARDWALL" }, { 0x200000, "__GFP_THISNODE" },
	{ 0x10, "__GFP_RECLAIMABLE" }, { 0x8, "__GFP_MOVABLE" }, { 0x400000, "__GFP_ACCOUNT" },
	{ 0x1000, "__GFP_WRITE" }, { 0xc00, "__GFP_RECLAIM" }, { 0x400, "__GFP_DIRECT_RECLAIM" },
	{ 0x800, "__GFP_KSWAPD_RECLAIM" }, { 0x800000, "__GFP_ZEROTAGS" },
};

void print_gfp_flags(uint64_t flags, struct show_text *out)
{
	bool first = true;
	size_t i;

	for (i = 0; i < sizeof(gfp_flags) / sizeof(gfp_flags[0]) && flags; i++) {
		if ((flags & gfp_flags[i].mask) != gfp_flags[i].mask)
			continue;
		flags &= ~(uint64_t)gfp_flags[i].mask;
		if (!first)
			text_putc(out, '|');
		first = false;
		text_puts(out, gfp_flags[i].name);
	}
	if (!flags)
		return;
	text_puts(out, first ? "0x" : "|0x");
	text_hex(out, flags, 1);
}

static bool bit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> (i % 8) & 1;
}

void print_bit_list(const uint8_t *bits, uint32_t nr, struct show_text *out)
{
	uint32_t i, from;
	bool first = true;

	for (i = 0; i < nr; i++) {
		if (!bit(bits, i))
			continue;
		from = i;
		while (i + 1 < nr && bit(bits, i + 1))
			i++;
		if (!first)
			text_putc(out, ',');
		first = false;
		text_decimal(out, from, 0, ' ');
		if (i == from)
			continue;
		text_putc(out, '-');
		text_decimal(out, i, 0, ' ');
	}
}

void print_bit_mask(const uint8_t *bits, uint32_t nr, struct show_text *out)
{
	uint32_t chunk = nr % 32 ? nr % 32 : 32, at, i, v;

	for (at = nr; at; at -= chunk, chunk = 32) {
		for (v = 0, i = at; i > at - chunk; i--)
			v = v << 1 | bit(bits, i - 1);
		if (at != nr)
			text_putc(out, ',');
		text_hex(out, v, (int)(chunk + 3) / 4);
	}
}
