/* SPDX-License-Identifier: MIT */
/*
 * fetch.c - runs the code of a probe at an instruction: makes a record of registers and memory
 */
#include "plane/fetch.h"
#include "plane/hex.h"

enum { FETCH_PAGE = 4096 };

struct fetch {
	const struct fetch_code *code;
	const struct fetch_hit *h;
	char		*record;
	uint32_t	room;		/* bytes of the record that may be written */
	uint32_t	end;		/* bytes that are used: texts begin here */
	uint64_t	value;
};

/* ---- memory of the program ---- */

/* Copies `size` bytes. Those from the first on that cannot be read become 0. */
static uint32_t fetch_load(const struct fetch *f, void *to, uint64_t from, uint32_t size)
{
	uint32_t got = f->h->load(f->h->arg, to, from, size);

	for (uint32_t i = got; i < size; i++)
		((char *)to)[i] = 0;
	return got;
}

/* The lowest `size` bytes of a value. */
static uint64_t fetch_cut(uint64_t value, unsigned int size, bool is_signed)
{
	const unsigned int unused = 64 - 8 * size;

	if (!size || size >= 8)
		return value;
	if (is_signed)
		return (uint64_t)((int64_t)(value << unused) >> unused);
	return value << unused >> unused;
}

static bool fetch_number(const struct fetch *f, const struct fetch_op *op, uint64_t *value)
{
	uint64_t v = 0;
	const uint32_t size = op->size <= sizeof(v) ? op->size : sizeof(v);

	if (fetch_load(f, &v, *value + (uint64_t)op->imm, size) < size)
		return false;
	*value = fetch_cut(v, size, op->is_signed);
	return true;
}

static uint64_t fetch_stack(const struct fetch *f, int64_t at)
{
	uint64_t v;

	return fetch_load(f, &v, f->h->regs->r[FETCH_RSP] + (uint64_t)at, sizeof(v)) == sizeof(v) ?
		v : 0;
}

static uint64_t fetch_thread(void)
{
	uint64_t v;

	/* The first word there is its own address. */
	__asm__("mov %%fs:0, %0" : "=r"(v));
	return v;
}

/* ---- numbers in the record ---- */

static uint64_t fetch_get(const char *from, unsigned int size)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < size && i < 8; i++)
		v |= (uint64_t)(unsigned char)from[i] << 8 * i;
	return v;
}

static void fetch_bits(const struct fetch *f, const struct fetch_op *op)
{
	char *at = f->record + op->off;

	for (unsigned int i = 0; i < op->len; i++, at += op->size) {
		const uint64_t v = fetch_get(at, op->size) >> (op->bit & 63);

		fetch_put(at, op->width < 64 ? v & ((1ull << op->width) - 1) : v, op->size);
	}
}

/* ---- texts ---- */

static void fetch_loc(const struct fetch *f, const struct fetch_op *op, uint32_t len)
{
	fetch_put(f->record + op->off, (uint64_t)len << 16 | f->end, 4);
}

/* The text of `len` bytes, its 0 included, lies at the record's end. A longer one was cut off. */
static void fetch_take_text(struct fetch *f, const struct fetch_op *op, uint32_t len)
{
	fetch_loc(f, op, len);
	if (!len)
		return;
	f->end += len;
	f->record[f->end - 1] = 0;
}

static uint32_t fetch_room(const struct fetch *f)
{
	const uint32_t left = f->room - f->end;

	return left < FETCH_TEXT_MAX ? left : FETCH_TEXT_MAX;
}

static void fetch_bytes(struct fetch *f, const struct fetch_op *op, const char *text,
			uint32_t most)
{
	const uint32_t room = fetch_room(f);
	char *to = f->record + f->end;
	uint32_t len = 0;

	while (len + 1 < room && len < most && text[len]) {
		to[len] = text[len];
		len++;
	}
	fetch_take_text(f, op, room ? len + 1 : 0);
}

/* Finds the 0 among the loaded bytes. Returns the bytes with it, or 0: it is not there. */
static uint32_t fetch_end(const char *text, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (!text[i])
			return i + 1;
	return 0;
}

/* Loads in pieces that end where a page may end: the rest of the text need not be there. */
static void fetch_text(struct fetch *f, const struct fetch_op *op)
{
	const uint64_t from = f->value + (uint64_t)op->imm;
	const uint32_t room = fetch_room(f);
	char *to = f->record + f->end;
	uint32_t len = 0, piece = 64, got, end;

	while (len < room) {
		const uint32_t page = FETCH_PAGE - (uint32_t)((from + len) % FETCH_PAGE);
		uint32_t want = piece < page ? piece : page;

		want = want < room - len ? want : room - len;
		got = f->h->load(f->h->arg, to + len, from + len, want);
		end = fetch_end(to + len, got);
		if (end || got < want) {
			fetch_take_text(f, op, end ? len + end : 0);
			return;
		}
		len += want;
		piece = 512;
	}
	fetch_take_text(f, op, len);
}

static void fetch_symbol(struct fetch *f, const struct fetch_op *op)
{
	char text[HEX_TEXT + 1] = "";
	const char *at = hex_put(text + HEX_TEXT, f->value);

	fetch_bytes(f, op, at, (uint32_t)(text + sizeof(text) - at));
}

/* ---- the whole ---- */

static uint64_t fetch_place(const struct fetch *f, uint64_t address)
{
	return f->code->flags & FETCH_SESSION_PLACE ? f->h->session(f->h->arg, address) : address;
}

static void fetch_head(const struct fetch *f)
{
	const uint64_t ip = f->h->regs->r[FETCH_RIP];

	if (!(f->code->flags & FETCH_OF_RETURN)) {
		fetch_put(f->record + 8, fetch_place(f, ip), 8);
		return;
	}
	fetch_put(f->record + 8, fetch_place(f, f->h->function), 8);
	fetch_put(f->record + 16, fetch_place(f, ip), 8);
}

static uint64_t fetch_part(const struct fetch_op *op, uint64_t value)
{
	return fetch_cut(value >> (op->bit & 63), op->size, op->is_signed);
}

/* An op that sets or changes the value. False: what it loads cannot be read. */
static bool fetch_value(struct fetch *f, const struct fetch_op *op)
{
	const struct fetch_hit *h = f->h;
	uint64_t base;

	switch (op->kind) {
	case FETCH_REGISTER:
		f->value = h->regs->r[op->reg % FETCH_REGISTERS];
		break;
	case FETCH_NUMBER:
		f->value = (uint64_t)op->imm;
		break;
	case FETCH_IN_FILE:
		f->value = h->bias + (uint64_t)op->imm;
		break;
	case FETCH_STACK:
		f->value = fetch_stack(f, op->imm);
		break;
	case FETCH_ENTRY_WORD:
		f->value = h->entry ? h->entry->r[op->reg % FETCH_REGISTERS] : 0;
		break;
	case FETCH_VECTOR:
		f->value = h->vector(h->arg, op->reg);
		break;
	case FETCH_ADD:
		f->value += h->regs->r[op->reg % FETCH_REGISTERS] * (uint64_t)op->imm;
		break;
	case FETCH_THREAD:
		f->value += fetch_thread();
		break;
	case FETCH_SEGMENT:
		if (!h->segment(h->arg, &base))
			return false;
		f->value += base;
		break;
	case FETCH_PART:
		f->value = fetch_part(op, f->value);
		break;
	case FETCH_LOAD:
		return fetch_number(f, op, &f->value);
	case FETCH_SESSION:
		f->value = h->session(h->arg, f->value);
		break;
	default:
		break;
	}
	return true;
}

static void fetch_store(struct fetch *f, const struct fetch_op *op)
{
	switch (op->kind) {
	case FETCH_STORE:
		fetch_put(f->record + op->off, f->value, op->size);
		break;
	case FETCH_COPY:
		fetch_load(f, f->record + op->off, f->value + (uint64_t)op->imm, op->len);
		break;
	case FETCH_BITS:
		fetch_bits(f, op);
		break;
	case FETCH_FAULT:
		fetch_loc(f, op, 0);
		break;
	case FETCH_TEXT:
		fetch_text(f, op);
		break;
	case FETCH_COMM:
		fetch_bytes(f, op, f->h->comm, LAYOUT_COMM_LEN - 1);
		break;
	case FETCH_CONSTANT:
		fetch_bytes(f, op, (const char *)f->code + op->imm, op->len);
		break;
	case FETCH_SYMBOL:
		fetch_symbol(f, op);
		break;
	default:
		break;
	}
}

uint32_t fetch_run(const struct fetch_code *code, const struct fetch_hit *h, void *record,
		   uint32_t room)
{
	struct fetch f = { .code = code, .h = h, .record = record, .end = code->size,
			   .room = room < UINT16_MAX ? room : UINT16_MAX };
	const struct fetch_op *op = code->ops;

	if (code->size > f.room)
		return 0;
	fetch_head(&f);
	if (code->flags & FETCH_CLEARS)
		for (uint32_t i = code->head; i < code->size; i++)
			f.record[i] = 0;
	while (op->kind != FETCH_END) {
		if (op->kind == FETCH_STORE_REGISTER)
			fetch_put(f.record + op->off, h->regs->r[op->reg % FETCH_REGISTERS],
				  op->size);
		else if (op->kind >= FETCH_STORE)
			fetch_store(&f, op);
		else if (!fetch_value(&f, op)) {
			op = code->ops + op->next;
			continue;
		}
		op++;
	}
	return f.end;
}
