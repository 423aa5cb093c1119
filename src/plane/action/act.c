/* SPDX-License-Identifier: MIT */
/*
 * act.c - the rarer operations of a histogram's code: references, texts and stacks in variables,
 * actions
 *
 * A text or a stack passes through the frame: it is read into the frame and then stored where it is
 * wanted. A text is at most STRING_ROOM - 1 bytes and ends in a 0. A stack is the number of its
 * addresses, the addresses, a 0.
 *
 * A1  The frame and the arena lie in the data region (R38). A number that leads to an address is
 *     loaded once, into a local. It is bounded by a constant, or by the code or a map's layout,
 *     which only the server writes.
 */
#include "plane/action/fold.h"
#include "plane/map/layout.h"

enum { STACK_WORDS = CODE_STACK_DEPTH + 2, TEXT_WORDS = STRING_ROOM / 8 };

static inline uint64_t load_once(const uint64_t *at)
{
	return *(const volatile uint64_t *)at;
}

static inline uint16_t half_once(const uint16_t *at)
{
	return *(const volatile uint16_t *)at;
}

/* ---- texts ---- */

/*
 * The length of a text in `words` words: the bytes before its first 0. If there is room, a 0 is
 * added.
 */
static uint32_t text_end(uint64_t *text, uint32_t words)
{
	/* A1. The highest bit of the last word is looked for. */
	uint64_t last = words ? load_once(&text[words - 1]) : 0;
	uint32_t len = words ? 8 * (words - 1) : 0;

	if (words < TEXT_WORDS)
		text[words] = 0;
	/* In the last word nothing but 0s follows the text. */
	return last ? len + (71 - (uint32_t)__builtin_clzll(last)) / 8 : len;
}

static uint32_t text_length(const uint64_t *text)
{
	const char *s = (const char *)text;
	uint32_t len = 0;

	while (len < STRING_ROOM - 1 && s[len])
		len++;
	return len;
}

static uint32_t text_of_name(uint64_t *to, const char *name)
{
	char *s = (char *)to;
	uint32_t len = 0;

	to[0] = to[1] = 0;
	for (; name && len < LAYOUT_COMM_LEN - 1 && name[len]; len++)
		s[len] = name[len];
	return len;
}

static const char *task_name(const struct hit *h)
{
	return ((const struct record_common *)h->record)->pid ? h->comm : "<idle>";
}

/* The task name that OP_ELT_COMM stored. */
static uint32_t text_of_elt(struct fold *f, uint32_t var, uint64_t *to)
{
	to[0] = to[1] = 0;
	map_var_read(f->map, f->elt, var, &to[0]);
	map_var_read(f->map, f->elt, var + 1, &to[1]);
	to[2] = 0;
	return text_length(to);
}

/*
 * A1: `found` is the op that found the elt. The layout is that of its cell; the numbers of the elt
 * and of the block are checked against it.
 */
static bool block_copy(const struct fold *f, const struct op *found, const struct hit_ref *ref,
		       uint64_t *to, uint32_t size)
{
	const struct hist_cell *cell = plane_config(f->run->p, found->imm);
	/* The cell may have another map by now. */
	const struct map_view m = { &cell->layout, plane_data(f->run->p, ref->map) };

	return map_block_copy(m, ref->elt, half_once(&ref->block) - 1u, to, size);
}

static uint32_t text_of_block(struct fold *f, const struct op *found, const struct hit_ref *ref,
			      uint64_t *to)
{
	if (!block_copy(f, found, ref, to, STRING_ROOM))
		to[0] = 0;
	to[TEXT_WORDS - 1] &= ~0ull >> 8;
	return text_length(to);
}

/*
 * The op that set or found the variable that `ref` stands for, if this code did. *behind is the
 * place of the op that asks. A source lies before the op that asks for it, so a search ends.
 */
static const struct op *ref_source(const struct fold *f, const struct hit_ref *ref,
				   uint32_t *behind)
{
	const uint32_t from = half_once(&ref->from);

	if (!from || from > *behind)	/* A1 */
		return NULL;
	*behind = from - 1;
	return &f->code->ops[*behind];
}

static bool is_found(const struct op *op)
{
	return op->kind == OP_REF_FIND || op->kind == OP_REF_TAKE;
}

static bool is_set(const struct op *op)
{
	return op->kind == OP_VAR_SET_STRING || op->kind == OP_VAR_SET_STACK;
}

/*
 * Reads the text that `op` names into the frame and returns its length. A text that this code set
 * is read again from its own source, because another hit may have replaced the block.
 */
static uint32_t text_read(struct fold *f, const struct op *op)
{
	uint32_t behind = f->code->nr_ops;
	uint64_t *to = f->frame->text;
	const struct hit_ref *ref;

	while (op->size == STRING_REF) {
		ref = fold_ref(f, op);
		op = ref_source(f, ref, &behind);
		if (op && is_found(op))
			return text_of_block(f, op, ref, to);
		if (!op || !is_set(op))
			return text_end(to, 0);
	}
	switch (op->size) {
	case STRING_FAULT:
		*to = 0x0029746c75616628;	/* "(fault)" */
		return text_end(to, 7);
	case STRING_ELT_COMM:
		return text_of_elt(f, op->arg, to);
	case STRING_COMM:
		return text_of_name(to, task_name(f->h));
	case STRING_FIXED:
		return text_end(to, fold_record_text(f->h, op, to,
						     op->arg < STRING_ROOM ? op->arg - 1
									   : STRING_ROOM - 1));
	case STRING_DATA_LOC:
	case STRING_REL_LOC:
		return text_end(to, fold_record_text(f->h, op, to, STRING_ROOM - 1));
	default:
		return text_end(to, 0);
	}
}

/* ---- stacks ---- */

static uint32_t stack_of_hit(struct fold *f, uint64_t *to)
{
	uint32_t nr = f->h->stack ? f->h->nr_stack : 0;

	if (nr > CODE_STACK_DEPTH)
		nr = CODE_STACK_DEPTH;
	for (uint32_t i = 0; i < nr; i++)
		to[1 + i] = ((const struct unaligned64 *)f->h->stack)[i].v;
	return nr;
}

/* The first word of the field is the number of addresses. */
static uint32_t stack_of_field(struct fold *f, uint32_t at, uint64_t *to)
{
	uint32_t loc = fold_loc(f->h, at), off = loc & 0xffff, words = (loc >> 16) / 8;
	uint64_t nr = words ? fold_load(f->h, OP_LOAD_U64, off) : 0;

	if (nr > CODE_STACK_DEPTH)
		nr = CODE_STACK_DEPTH;
	if (nr && nr > words - 1)
		nr = words - 1;
	for (uint32_t i = 1; i <= nr; i++)
		to[i] = fold_load(f->h, OP_LOAD_U64, off + 8 * i);
	return (uint32_t)nr;
}

static uint32_t stack_of_block(struct fold *f, const struct op *found, const struct hit_ref *ref,
			       uint64_t *to)
{
	uint64_t nr = 0;

	if (block_copy(f, found, ref, to, STACK_WORDS * 8))
		nr = load_once(to);	/* A1 */
	return nr < CODE_STACK_DEPTH ? (uint32_t)nr : CODE_STACK_DEPTH;
}

/*
 * Reads a stack into the frame: that of a reference (`of_ref`) or that of the op. Returns the
 * number of addresses.
 */
static uint32_t stack_read(struct fold *f, const struct op *op, bool of_ref)
{
	uint32_t nr = 0, behind = f->code->nr_ops;
	uint64_t *to = f->frame->text;
	const struct hit_ref *ref;

	for (; op && (of_ref || op->size == STACK_REF); of_ref = false) {
		ref = fold_ref(f, op);
		op = ref_source(f, ref, &behind);
		if (op && is_found(op))
			nr = stack_of_block(f, op, ref, to);
		if (op && !is_set(op))
			op = NULL;
	}
	if (op)
		nr = op->size == STACK_FIELD ? stack_of_field(f, (uint32_t)op->imm, to)
					     : stack_of_hit(f, to);
	to[0] = nr;
	to[nr + 1] = 0;
	return nr;
}

/* ---- variables that are larger than a word ---- */

static void block_set(struct fold *f, const struct op *op, uint32_t words)
{
	struct map_block b;

	f->frame->own[op->off % HIT_VARS] = 1 + (uint64_t)(op - f->code->ops);
	if (!map_block_begin(f->map, f->slot, f->elt, op->len, &b))
		return;
	for (uint32_t i = 0; i < words; i++)
		map_block_put(&b, 8 * i, f->frame->text[i]);
	do
		map_block_look(&b);
	while (!map_block_publish(&b));
	map_block_end(&b);
	map_var_set(f->map, f->elt, op->off, 0);
}

/* ---- onmax, onchange, save ---- */

static bool track_takes(const struct fold *f, uint64_t current)
{
	return fold_track_takes(f->track_flags, f->track_value, current);
}

static const struct op *track_begin(struct fold *f, const struct op *op)
{
	const struct op *not_taken = f->code->ops + op->on_false;
	uint32_t elt = op->flags & TRACK_GLOBAL ? 0 : f->elt;

	f->track_flags = op->flags;
	f->track_value = fold_ref(f, op)->value;
	if ((op->flags & TRACK_GLOBAL) && !hit_snapshot_is_possible(f->run, op->len))
		return not_taken;
	if (!track_takes(f, map_block_value(f->map, elt, op->off)) ||
	    !map_block_begin(f->map, f->slot, elt, op->off, &f->block))
		return not_taken;
	if (!track_takes(f, map_block_look(&f->block))) {
		map_block_end(&f->block);
		return not_taken;
	}
	map_block_put(&f->block, 0, f->track_value);
	return op + 1;
}

/*
 * The first writer to publish wins. A writer that loses the race tries again if its value is still
 * better.
 */
static const struct op *track_end(struct fold *f, const struct op *op)
{
	bool published;

	do
		published = map_block_publish(&f->block);
	while (!published && track_takes(f, map_block_look(&f->block)));
	map_block_end(&f->block);
	return published ? op + 1 : f->code->ops + op->on_false;
}

static void track_words(struct fold *f, uint32_t off, const uint64_t *from, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		map_block_put(&f->block, off + 8 * i, from[i]);
}

static void track_string(struct fold *f, const struct op *op)
{
	uint32_t len = text_read(f, op),
		 room = f->block.size > op->off ? f->block.size - op->off : 0;

	if (len >= room) {
		len = room ? room - 1 : 0;
		((char *)f->frame->text)[len] = 0;
	}
	track_words(f, op->off, f->frame->text, len / 8 + 1);
}

static void track_comm(struct fold *f, const struct op *op)
{
	if (op->arg)
		text_of_elt(f, op->arg - 1, f->frame->text);
	else
		text_of_name(f->frame->text, task_name(f->h));
	track_words(f, op->off, f->frame->text, LAYOUT_COMM_LEN / 8);
}

/* ---- synthetic events ---- */

char *fold_synth_grow(struct fold *f, uint32_t bytes)
{
	char *at = f->run->synth->arena + f->synth_at + f->synth_size;

	if (f->synth_full || f->synth_at + f->synth_size + bytes + STRING_ROOM > HIT_ARENA) {
		f->synth_full = true;
		return NULL;
	}
	f->synth_size += bytes;
	f->run->synth->used = f->synth_at + f->synth_size;
	return at;
}

/* The preempt depth is in the lower four bits. */
static uint8_t deeper(uint8_t preempt_count, uint32_t by)
{
	uint32_t depth = (preempt_count & 0xfu) + by;

	return (uint8_t)((preempt_count & 0xf0u) | (depth < 0xf ? depth : 0xf));
}

/*
 * The common fields, made from those of the cause. They are stored as one word, because the ring
 * loads them as one word: it need not wait for smaller stores.
 */
static uint64_t synth_common(const struct record_common *cause, uint16_t type, uint32_t by)
{
	union { struct record_common common; uint64_t word; } u = { .common = *cause };

	u.common.type = type;
	u.common.preempt_count = deeper(cause->preempt_count, by);
	return u.word;
}

/*
 * The first synthetic event of this hit. No record is pending; a hit that longjmp() left may have
 * left some here.
 */
static inline void synth_reset(struct run *run)
{
	run->synth = &plane_scratch(run->p, run->slot, run->level)->synth;
	run->synth->used = 0;
	run->synth->nr_pending = 0;
}

/* A1: where the next record begins. The arena's end has no room for any record. */
static uint32_t arena_used(const struct hit_synth *synth)
{
	const uint32_t used = *(const volatile uint32_t *)&synth->used;

	return used < HIT_ARENA ? (used + 7) & ~7u : HIT_ARENA;
}

/* OP_SYNTH_BEGIN: how much deeper the event's preempt depth is than the cause's. */
static inline uint32_t synth_deeper(const struct hit *cause, const struct op *begin)
{
	/* An event probe adds 1 where a synthetic event adds anything. */
	return begin->imm ? cause->synth_preempt != 0 : cause->synth_preempt;
}

static void synth_begin(struct fold *f, const struct op *op)
{
	char *at;

	if (!f->run->synth)
		synth_reset(f->run);
	f->synth_at = arena_used(f->run->synth);
	f->synth_size = 0;
	f->synth_full = false;
	f->synth_only = (uint32_t)op->imm;
	f->synth_record = f->run->synth->arena + f->synth_at;
	at = fold_synth_grow(f, op->len);
	if (!at)
		return;
	*(uint64_t *)at = synth_common(f->h->record, (uint16_t)op->arg, synth_deeper(f->h, op));
	for (uint32_t i = 8; i < op->len; i += 8)
		*(uint64_t *)(at + i) = 0;
}

/* Stores the numbers, which mostly come in a row. Returns the op behind them. */
static const struct op *synth_numbers(const struct fold *f, const struct op *op)
{
	uint64_t v;

	for (;; op++) {
		if (op->kind == OP_SYNTH_OWN)
			v = f->frame->own[op->arg % HIT_VARS];
		else if (op->kind == OP_SYNTH_U64)
			v = f->frame->ref[op->arg % CODE_REFS].value;
		else
			return op;
		if (op->size < 8)
			v &= (1ull << 8 * op->size) - 1;
		if (!f->synth_full)
			*(uint64_t *)(f->synth_record + op->off) = v;
	}
}

static void words_store(char *to, const uint64_t *from, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		((struct unaligned64 *)to)[i].v = from[i];
}

static void synth_data_loc(struct fold *f, const struct op *op, uint32_t at, uint32_t len)
{
	*(uint64_t *)(f->synth_record + op->off) = len << 16 | at;
}

static void synth_string(struct fold *f, const struct op *op)
{
	const struct op source = {
		.size = op->flags & SYNTH_FAULT ? STRING_FAULT : STRING_REF, .arg = op->arg,
	};
	uint32_t len, at = f->synth_size;
	char *to;

	if (f->synth_full)
		return;
	len = text_read(f, &source);
	if (op->len) {
		if (len >= op->len) {
			len = op->len - 1u;
			((char *)f->frame->text)[len] = 0;
		}
		words_store(f->synth_record + op->off, f->frame->text, len / 8 + 1);
		return;
	}
	to = fold_synth_grow(f, len + 1);
	if (!to)
		return;
	words_store(to, f->frame->text, len / 8 + 1);
	synth_data_loc(f, op, at, len + 1);
}

/*
 * Stores the number of addresses, then the addresses. The field's length counts at most
 * CODE_STACK_DEPTH words: it leaves out the last address of a full stack, but the record has
 * room for it.
 */
static void synth_stack(struct fold *f, const struct op *op)
{
	uint32_t nr, words = 0, at = f->synth_size;
	char *to;

	if (f->synth_full)
		return;
	nr = stack_read(f, op, true);
	to = fold_synth_grow(f, 8 * (nr + 1));
	if (!to)
		return;
	while (words < CODE_STACK_DEPTH && f->frame->text[words])
		words++;
	words_store(to, f->frame->text, nr + 1);
	synth_data_loc(f, op, at, words * 8);
}

/* H4 of synth.c */
static inline bool synth_at_once(const struct run *run, const struct code *code)
{
	return run->not_recorded && (code->flags & CODE_ONE_EVENT);
}

static void synth_end(struct fold *f)
{
	if (f->synth_full)
		hit_miss(f->slot);
	else if (hit_synth(f->run, f->synth_record, f->synth_size, f->synth_only,
			   synth_at_once(f->run, f->code)))
		return;
	f->run->synth->used = f->synth_at;
}

/* The numbers from here on, and OP_SYNTH_END if it follows them. */
static const struct op *synth_more(struct fold *f, const struct op *op)
{
	op = synth_numbers(f, op);
	if (op->kind != OP_SYNTH_END)
		return op;
	synth_end(f);
	return op + 1;
}

/* ---- the rest of common code ---- */

/* Bytes of a record that the arena has room for in any case. */
enum { EVENT_ROOM = 256 };

bool hist_rest_is_event(const struct code *code)
{
	const struct op *op = code->ops;
	uint32_t set = 1u << op->on_false % HIT_VARS, used = 0;

	for (op++; op->kind == OP_VAR_FIELD; op++)
		set |= 1u << op->off % HIT_VARS;
	if (op->kind != OP_SYNTH_BEGIN || op->len > EVENT_ROOM)
		return false;
	for (op++; op->kind == OP_SYNTH_OWN; op++)
		used |= 1u << op->arg % HIT_VARS;
	return op->kind == OP_SYNTH_END && op[1].kind == OP_END && !(used & ~set);
}

void hist_event_rest(const struct code *code, struct run *run, uint32_t elt, uint64_t value)
{
	const struct map_view map = map_view_of(run->p, code->map, &code->layout);
	const struct op *op = code->ops, *begin;
	uint64_t own[HIT_VARS], v;	/* hist_rest_is_event(): what is read was set */
	char *record;

	own[op->on_false % HIT_VARS] = value;
	for (op++; op->kind == OP_VAR_FIELD; op++) {
		v = own[op->off % HIT_VARS] = fold_load(run->seen, op->size, op->arg);
		map_var_set(map, elt, op->off, v);
	}
	synth_reset(run);
	begin = op++;
	record = run->synth->arena;
	run->synth->used = begin->len;
	*(uint64_t *)record = synth_common(run->h->record, (uint16_t)begin->arg,
					   synth_deeper(run->h, begin));
	for (uint32_t i = 8; i < begin->len; i += 8)
		*(uint64_t *)(record + i) = 0;
	for (; op->kind == OP_SYNTH_OWN; op++) {
		v = own[op->arg % HIT_VARS];
		*(uint64_t *)(record + op->off) =
			op->size < 8 ? v & ((1ull << 8 * op->size) - 1) : v;
	}
	if (!hit_synth(run, record, begin->len, (uint32_t)begin->imm, synth_at_once(run, code)))
		run->synth->used = 0;
}

const struct op *fold_act(struct fold *f, const struct op *op)
{
	switch (op->kind) {
	case OP_RAISE:
		map_raise(f->map, f->elt, op->off, fold_pop(f) ^ op->imm);
		return op + 1;
	case OP_VAR_SET_STRING:
		block_set(f, op, text_read(f, op) / 8 + 1);
		return op + 1;
	case OP_VAR_SET_STACK:
		block_set(f, op, stack_read(f, op, false) + 2);
		return op + 1;
	case OP_TRACK_BEGIN:
		return track_begin(f, op);
	case OP_TRACK_U64:
		map_block_put(&f->block, op->off, fold_pop(f));
		return op + 1;
	case OP_TRACK_STRING:
		track_string(f, op);
		return op + 1;
	case OP_TRACK_KEY:
		track_words(f, op->off, f->frame->key, op->len / 8u);
		return op + 1;
	case OP_TRACK_COMM:
		track_comm(f, op);
		return op + 1;
	case OP_TRACK_END:
		return track_end(f, op);
	case OP_SYNTH_BEGIN:
		synth_begin(f, op);
		return synth_more(f, op + 1);
	case OP_SYNTH_U64:
	case OP_SYNTH_OWN:
		return synth_more(f, op);
	case OP_SYNTH_STRING:
		synth_string(f, op);
		return op + 1;
	case OP_SYNTH_STACK:
		synth_stack(f, op);
		return op + 1;
	case OP_SYNTH_END:
		synth_end(f);
		return op + 1;
	case OP_SNAPSHOT:
		hit_snapshot(f->run, op->arg);
		return op + 1;
	default:
		return fold_probe(f, op);
	}
}
