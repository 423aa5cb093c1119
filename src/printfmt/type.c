/* SPDX-License-Identifier: MIT */
/*
 * type.c - names of C types inside a print fmt
 */
#include "printfmt/type.h"

enum { OF_LONG = 0xff };	/* as large as a long */

static const struct {
	const char	*name;
	uint8_t		size;
	bool		is_signed;
} types[] = {
	{ "u8", 1, false }, { "s8", 1, true }, { "u16", 2, false }, { "s16", 2, true },
	{ "u32", 4, false }, { "s32", 4, true }, { "u64", 8, false }, { "s64", 8, true },
	{ "__u8", 1, false }, { "__s8", 1, true }, { "__u16", 2, false }, { "__s16", 2, true },
	{ "__u32", 4, false }, { "__s32", 4, true }, { "__u64", 8, false }, { "__s64", 8, true },
	{ "uint8_t", 1, false }, { "int8_t", 1, true }, { "uint16_t", 2, false },
	{ "int16_t", 2, true }, { "uint32_t", 4, false }, { "int32_t", 4, true },
	{ "uint64_t", 8, false }, { "int64_t", 8, true }, { "__be16", 2, false },
	{ "__be32", 4, false }, { "__be64", 8, false }, { "__le16", 2, false },
	{ "__le32", 4, false }, { "__le64", 8, false }, { "size_t", OF_LONG, false },
	{ "ssize_t", OF_LONG, true }, { "loff_t", 8, true }, { "off_t", 8, true },
	{ "bool", 1, false }, { "_Bool", 1, false }, { "gfp_t", 4, false }, { "pid_t", 4, true },
	{ "dev_t", 4, false },
	{ "umode_t", 2, false }, { "uintptr_t", OF_LONG, false }, { "sector_t", 8, false },
	{ "blkcnt_t", 8, false }, { "ino_t", 8, false }, { "phys_addr_t", 8, false },
	{ "dma_addr_t", 8, false }, { "resource_size_t", 8, false }, { "ktime_t", 8, true },
	{ "uid_t", 4, false }, { "gid_t", 4, false }, { "xfs_ino_t", 8, false },
	{ "blk_opf_t", 4, false }, { "blk_status_t", 1, false }, { "fmode_t", 4, false },
	{ "vm_fault_t", 4, false }, { "cycles_t", 8, false }, { "time64_t", 8, true },
};

/* The words of C's own types, in any order. */
struct words {
	bool	any, is_unsigned, is_char, is_short, is_void, is_int;
	unsigned int longs;	/* 2: long long */
	bool	tagged;		/* struct X */
	bool	page;		/* struct page: the only struct with pointer arithmetic */
};

static bool print_type_take_word(struct print_parser *p, struct words *w)
{
	if (token_is(p, "unsigned"))
		w->is_unsigned = true;
	else if (token_is(p, "char"))
		w->is_char = true;
	else if (token_is(p, "short"))
		w->is_short = true;
	else if (token_is(p, "long"))
		w->longs++;
	else if (token_is(p, "void"))
		w->is_void = true;
	else if (token_is(p, "int"))
		w->is_int = true;
	else if (!token_is(p, "const") && !token_is(p, "volatile") && !token_is(p, "signed") &&
		 !token_is(p, "__force"))
		return false;
	w->any = true;
	token_next(p);
	return true;
}

static bool take_tag(struct print_parser *p, struct words *w)
{
	if (!token_is(p, "struct") && !token_is(p, "union") && !token_is(p, "enum"))
		return false;
	w->is_int = token_is(p, "enum");
	w->any = w->tagged = true;
	token_next(p);
	w->page = token_is(p, "page");
	if (p->token == TOKEN_NAME)
		token_next(p);
	return true;
}

static struct node_type print_type_of(const struct print_parser *p, const struct words *w)
{
	struct node_type t = { .is_signed = !w->is_unsigned };

	t.size = w->is_char ? 1 : w->is_short ? 2 : w->longs ? parser_long(p, w->longs) :
		 w->is_void || (w->tagged && !w->is_int) ? 0 : 4;
	t.stride = w->page ? 64 : t.size ? t.size : 1;
	return t;
}

static bool take_named(struct print_parser *p, struct node_type *out)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (token_is(p, types[i].name)) {
			const uint8_t size = types[i].size == OF_LONG ? parser_long(p, 1)
								      : types[i].size;

			*out = (struct node_type){ .size = size, .stride = size,
						   .is_signed = types[i].is_signed };
			token_next(p);
			return true;
		}
	return false;
}

/* Takes an unknown typedef: a single name that is neither REC nor a function. */
static bool take_unknown(struct print_parser *p, struct node_type *out)
{
	const char *after = p->at;

	if (p->token != TOKEN_NAME || token_is(p, "REC"))
		return false;
	while (*after == ' ' || *after == '*')
		after++;
	if (*after != ')')
		return false;
	after++;
	while (*after == ' ')
		after++;
	if ((!*after || !strchr("(_\"~0123456789", *after)) && strncmp(after, "REC", 3))
		return false;
	*out = (struct node_type){ .stride = 1 };
	token_next(p);
	return true;
}

bool print_parse_type(struct print_parser *p, struct node_type *out)
{
	struct words w = { 0 };

	while (print_type_take_word(p, &w) || take_tag(p, &w))
		;
	if (w.any && !w.tagged && !w.is_char && !w.is_short && !w.longs && !w.is_void &&
	    !w.is_int && !w.is_unsigned && take_named(p, out))
		;
	else if (w.any)
		*out = print_type_of(p, &w);
	else if (!take_named(p, out) && !take_unknown(p, out))
		return false;
	while (p->token == '*' || token_is(p, "const")) {
		if (out->pointer && p->token == '*')
			*out = (struct node_type){ .size = 8, .stride = 8 };
		out->pointer = true;
		token_next(p);
	}
	return true;
}
