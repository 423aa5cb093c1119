/* SPDX-License-Identifier: MIT */
/*
 * probe.c - runs the code of an event probe: makes a record of fields of the hit's own record
 */
#include "plane/action/fold.h"
#include "plane/hex.h"

/*
 * The address of the bytes that lie `more` bytes from the begin of a text. False: it is outside the
 * record.
 */
static bool text_at(const struct hit *h, unsigned int kind, uint32_t field, int64_t more,
		    uint32_t *at)
{
	int64_t begin = field;

	if (kind != STRING_FIXED) {
		uint32_t loc = fold_loc(h, field);

		begin = (loc & 0xffff) + (kind == STRING_REL_LOC ? field + 4 : 0);
	}
	if (more < -begin || more >= (int64_t)h->size - begin)
		return false;
	*at = (uint32_t)(begin + more);
	return true;
}

static uint64_t load_text(const struct fold *f, const struct op *op)
{
	uint64_t v = 0;
	uint32_t at;

	if (!text_at(f->h, op->cmp, op->off, (int64_t)op->imm, &at))
		return 0;
	for (uint32_t i = 0; i < op->size && at + i < f->h->size; i++)
		v |= (uint64_t)((const unsigned char *)f->h->record)[at + i] << 8 * i;
	return v;
}

static uint64_t bits(const struct op *op, uint64_t v)
{
	v = op->off < 64 ? v >> op->off : 0;
	return op->len < 64 ? v & ((1ull << op->len) - 1) : v;
}

static void store(struct fold *f, const struct op *op, uint64_t v)
{
	unsigned char *to = (unsigned char *)f->synth_record + op->off;

	for (uint32_t i = 0; !f->synth_full && i < op->size && i < 8; i++)
		to[i] = (unsigned char)(v >> 8 * i);
}

/* Appends `len` bytes and a 0 to the record. text NULL: the text cannot be read. */
static void store_text(struct fold *f, const struct op *op, const char *text, uint32_t len)
{
	const struct op loc = { .off = op->off, .size = 4 };
	const uint32_t at = f->synth_size;
	char *to;

	if (f->synth_full)
		return;
	if (!text) {
		store(f, &loc, at);
		return;
	}
	to = fold_synth_grow(f, len + 1);
	if (!to)
		return;
	for (uint32_t i = 0; i < len; i++)
		to[i] = text[i];
	to[len] = 0;
	store(f, &loc, (uint64_t)(len + 1) << 16 | at);
}

static uint32_t length(const char *text, uint32_t limit)
{
	uint32_t len = 0;

	while (len < limit && text[len])
		len++;
	return len;
}

static void store_string(struct fold *f, const struct op *op)
{
	const struct hit *h = f->h;
	const char *text = NULL;
	uint32_t at, limit = 0;

	if (op->size == STRING_COMM) {
		text = h->comm;
		limit = LAYOUT_COMM_LEN - 1;
	} else if (op->size != STRING_POINTER &&
		   text_at(h, op->size, op->len, (int64_t)op->imm, &at)) {
		text = (const char *)h->record + at;
		limit = h->size - at;
	}
	store_text(f, op, text, text ? length(text, limit) : 0);
}

static void store_address(struct fold *f, const struct op *op, uint64_t v)
{
	char text[HEX_TEXT];
	const char *at = hex_put(text + HEX_TEXT, v);

	store_text(f, op, at, (uint32_t)(text + sizeof(text) - at));
}

const struct op *fold_probe(struct fold *f, const struct op *op)
{
	switch (op->kind) {
	case OP_LOAD_TEXT:
		fold_push(f, load_text(f, op));
		return op + 1;
	case OP_BITS:
		fold_push(f, bits(op, fold_pop(f)));
		return op + 1;
	case OP_PROBE_U64:
		store(f, op, fold_pop(f));
		return op + 1;
	case OP_PROBE_STRING:
		store_string(f, op);
		return op + 1;
	case OP_PROBE_TEXT:
		store_text(f, op, (const char *)f->code + op->imm, op->len - 1u);
		return op + 1;
	case OP_PROBE_ADDRESS:
		store_address(f, op, fold_pop(f));
		return op + 1;
	default:
		return NULL;
	}
}
