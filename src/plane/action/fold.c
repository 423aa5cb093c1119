/* SPDX-License-Identifier: MIT */
/*
 * fold.c - runs a histogram's code: keys, elt, sums, variables
 *
 * A field that lies outside the record reads as 0, a string as "". The stack of values is in the
 * slot's scratch. The server compiles only code that stays within the stack; masks enforce it here.
 * A function that carries out an op returns whether the code goes on.
 */
#include "plane/action/fold.h"
#include "plane/exponential.h"

/* The binary logarithm of `v`, rounded up to a power of two. */
static inline uint64_t log2_up(uint64_t v)
{
	return v <= 1 ? 0 : 64 - (unsigned int)__builtin_clzll(v - 1);
}

static void clear(char *to, uint32_t size)
{
	for (uint32_t i = 0; i < size; i += 8)
		*(uint64_t *)(to + i) = 0;
}

/* Where a string begins and how many bytes it may have. False: it is not inside the record. */
static inline bool find_string(const struct hit *h, const struct op *op, const char **s,
			       uint32_t *len)
{
	uint32_t off = (uint32_t)op->imm;

	*len = op->arg;
	if (op->size != STRING_FIXED) {
		uint32_t loc = fold_loc(h, off);

		*len = loc >> 16;
		off = (loc & 0xffff) + (op->size == STRING_REL_LOC ? off + 4 : 0);
	}
	if (off >= h->size)
		return *len = 0, false;
	*s = (const char *)h->record + off;
	if (*len > h->size - off)
		*len = h->size - off;
	return true;
}

/*
 * The last bytes of a string, at most 8. At least `room` bytes of the record follow, and `room` is
 * at least their number.
 */
static inline uint64_t string_end(const char *s, uint32_t len, uint32_t room)
{
	uint64_t v = 0;
	uint32_t i = 0;

	if (room >= 8)
		return ((const struct unaligned64 *)s)->v & (~0ull >> (64 - 8 * len));
	if (room >= 4) {
		v = ((const struct unaligned32 *)s)->v;
		i = 4;
	}
	for (; i < len; i++)
		v |= (uint64_t)(unsigned char)s[i] << 8 * i;
	return v & (~0ull >> (64 - 8 * len));
}

/* The bytes before the first 0. *ended: there is one. */
static inline uint64_t before_zero(uint64_t v, bool *ended)
{
	uint64_t zeros = (v - 0x0101010101010101ull) & ~v & 0x8080808080808080ull;

	*ended = zeros;
	return zeros ? v & (((zeros & -zeros) >> 7) - 1) : v;
}

static inline __attribute__((always_inline)) uint32_t
record_text(const struct hit *h, const struct op *op, uint64_t *to, uint32_t limit)
{
	const char *s, *end = (const char *)h->record + h->size;
	bool ended = false;
	uint32_t left, i = 0;

	if (!find_string(h, op, &s, &left))
		return 0;
	if (left > limit)
		left = limit;
	for (; left > 8 && !ended; left -= 8, s += 8)
		to[i++] = before_zero(((const struct unaligned64 *)s)->v, &ended);
	if (left && !ended)
		to[i++] = before_zero(string_end(s, left, (uint32_t)(end - s)), &ended);
	return i;
}

__attribute__((noinline)) uint32_t
fold_record_text(const struct hit *h, const struct op *op, uint64_t *to, uint32_t limit)
{
	return record_text(h, op, to, limit);
}

static inline bool elt_is(struct fold *f, uint32_t elt)
{
	f->elt = elt;
	if (!elt)
		return false;
	map_add(f->map, elt, 0, 1, f->h->writer);
	return true;
}

/* Fills with words of 0, up to `words`. */
static void clear_from(uint64_t *to, uint32_t nr, uint32_t words)
{
	for (; nr < words; nr++)
		to[nr] = 0;
}

__attribute__((noinline)) uint32_t fold_text_key(const struct hit *h, const struct op *op,
						 struct map_view m, const struct slot *slot,
						 uint64_t *to)
{
	const uint32_t words = m.layout->key_size / 8;
	uint32_t nr = record_text(h, op, to, op->len - 1u), elt;

	clear_from(to, nr, MAP_SHORT_KEY);
	if (words <= MAP_SHORT_KEY)
		return words == 1 ? map_insert_word(m, slot, to[0])
				  : map_insert_pair(m, slot, to[0], to[1]);
	if (nr <= MAP_SHORT_KEY) {
		if (map_find_short(m, to[0], to[1], &elt))
			return elt;
		nr = MAP_SHORT_KEY;
	}
	while (nr > MAP_SHORT_KEY && !to[nr - 1])
		nr--;
	elt = map_find_text(m, to, nr);
	if (elt)
		return elt;
	clear_from(to, nr, words);
	return map_insert_any(m, slot, to);
}

static inline __attribute__((always_inline)) bool key_string(struct fold *f, const struct op *op)
{
	uint64_t *to = (uint64_t *)((char *)f->frame->key + op->off);

	if (__builtin_expect(op->flags & KEY_FIND, 0))
		return elt_is(f, fold_text_key(f->h, op, f->map, f->slot, to));
	clear_from(to, fold_record_text(f->h, op, to, op->len - 1u), op->len / 8u);
	return true;
}

/* The stack is longer than the key: only the first `nr` functions fit. */
static void stack_cut(struct fold *f, const struct op *op, uint64_t *to, uint32_t nr)
{
	if (op->flags & KEY_MARKS)
		to[nr] = LAYOUT_STACK_CUT;
	else
		map_count_cut(f->map);
}

static bool key_stack(struct fold *f, const struct op *op)
{
	const uint32_t words = op->len / 8u, limit = op->flags & KEY_MARKS ? words - 1 : words;
	uint64_t *to = (uint64_t *)((char *)f->frame->key + op->off);
	uint32_t nr = f->h->stack ? f->h->nr_stack : 0;

	clear((char *)to, op->len);
	if (nr > limit) {
		nr = limit;
		stack_cut(f, op, to, nr);
	}
	for (uint32_t i = 0; i < nr; i++)
		to[i] = ((const struct unaligned64 *)f->h->stack)[i].v;
	return true;
}

static bool key_stack_field(struct fold *f, const struct op *op)
{
	uint32_t loc = fold_loc(f->h, (uint32_t)op->imm), off = loc & 0xffff, len = loc >> 16;
	uint64_t *to = (uint64_t *)((char *)f->frame->key + op->off);

	clear((char *)to, op->len);
	/* The first word is the number of addresses. */
	for (uint32_t i = 8, k = 0; i + 8 <= len && k < op->len / 8u; i += 8, k++)
		to[k] = fold_load(f->h, OP_LOAD_U64, off + i);
	return true;
}

/* Not inline: otherwise each op that finds an elt would make hist_fold() a third longer. */
static __attribute__((noinline)) bool find_elt(struct fold *f)
{
	const uint64_t *key = f->frame->key;

	return elt_is(f, f->map.layout->key_size == 16 ?
				 map_insert_pair(f->map, f->slot, key[0], key[1]) :
				 map_insert(f->map, f->slot, key));
}

/*
 * Adds a word to the key. KEY_FIND marks the last part of a key; a key of one word has only this
 * part.
 */
static inline __attribute__((always_inline)) bool key_word(struct fold *f, const struct op *op,
							   uint64_t v)
{
	*(uint64_t *)((char *)f->frame->key + op->off) = v;
	if (!(op->flags & KEY_FIND))
		return true;
	return f->map.layout->key_size == 8 ? elt_is(f, map_insert_word(f->map, f->slot, v))
					    : find_elt(f);
}

/* OP_KEY_FIELD, OP_KEY_LOG2 */
static inline bool key_field(struct fold *f, const struct op *op)
{
	const uint64_t v = fold_load(f->h, op->size, op->arg);

	return key_word(f, op, op->kind == OP_KEY_LOG2 ? log2_up(v) : v);
}

/* Stores the name of the task that made the elt, for .execname. */
static bool elt_comm(struct fold *f, const struct op *op)
{
	const struct record_common *common = f->h->record;
	union { char name[LAYOUT_COMM_LEN]; uint64_t word[2]; } u = { .word = { 0, 0 } };
	const char *name = common->pid ? f->h->comm : "<idle>";
	uint64_t old;

	if (map_var_read(f->map, f->elt, op->off, &old))
		return true;
	for (int i = 0; name && i < LAYOUT_COMM_LEN - 1 && name[i]; i++)
		u.name[i] = name[i];
	map_var_set(f->map, f->elt, op->off + 1, u.word[1]);
	map_var_set(f->map, f->elt, op->off, u.word[0]);
	return true;
}

static inline bool var_set(struct fold *f, uint32_t var, uint64_t v)
{
	f->frame->own[var % HIT_VARS] = v;
	map_var_set(f->map, f->elt, var, v);
	return true;
}

static inline uint32_t find_other(struct map_view m, const uint64_t *key)
{
	return m.layout->key_size == 8 ? map_find_word(m, key[0]) : map_find(m, key);
}

static inline bool ref_find(struct fold *f, const struct op *op, uint32_t key_size)
{
	const struct hist_cell *cell = plane_config(f->run->p, op->imm);
	/* Acquire: the map as it was made; pairs with the release in point_cell(). */
	data_ref ref = atomic_load_explicit(&cell->map, memory_order_acquire);

	if (!ref)
		return false;
	f->other = map_view_of(f->run->p, ref, &cell->layout);
	f->other_find = op;
	for (uint32_t i = key_size / 8; i < f->other.layout->key_size / 8; i++)
		f->frame->key[i] = 0;
	f->other_elt = find_other(f->other, f->frame->key);
	return f->other_elt;
}

/* Reads a variable of the other hist's elt for `ref`. False: it is unset. */
static inline bool var_take(struct fold *f, const struct op *op, uint32_t var, struct hit_ref *ref)
{
	if (op->flags & REF_ONCE ? !map_var_read_once(f->other, f->other_elt, var, &ref->value) :
				   !map_var_read(f->other, f->other_elt, var, &ref->value))
		return false;
	return true;
}

/* Notes where a text or a stack lies. */
static void ref_place(struct fold *f, const struct op *op, struct hit_ref *ref)
{
	ref->map = (data_ref)((char *)f->other.data - f->run->p->data);
	ref->elt = f->other_elt;
	ref->block = op->len;
	ref->from = (uint16_t)(1 + (f->other_find - f->code->ops));
}

static inline bool ref_read(struct fold *f, const struct op *op)
{
	struct hit_ref *ref = fold_ref(f, op);

	if (!var_take(f, op, op->off, ref))
		return false;
	if (op->len)
		ref_place(f, op, ref);
	return true;
}

static inline bool ref_own(struct fold *f, const struct op *op)
{
	struct hit_ref *ref = fold_ref(f, op);

	ref->value = f->frame->own[op->off % HIT_VARS];
	ref->from = op->len ? (uint16_t)ref->value : 0;
	return true;
}

static inline uint64_t time_of(const struct fold *f, const struct op *op)
{
	return op->size ? (f->run->time + 500) / 1000 : f->run->time;
}

static inline bool take_since(struct fold *f, const struct op *op)
{
	uint64_t key = fold_load(f->h, op->size, op->off), v = f->run->time;
	struct hit_ref *ref = fold_ref(f, op);

	f->frame->key[0] = key;
	if (!ref_find(f, op, 8) || !var_take(f, op, op->on_true, ref))
		return false;
	f->elt = map_insert_word(f->map, f->slot, key);
	if (!f->elt)
		return false;
	map_add(f->map, f->elt, 0, 1, f->h->writer);
	return var_set(f, op->on_false, (op->len ? (v + 500) / 1000 : v) - ref->value);
}

static uint64_t divide(const struct op *op, uint64_t v)
{
	if (op->kind == OP_DIV_SHIFT)
		return v >> op->imm;
	if (v < 1u << 20)
		return (v * op->imm + (1u << 20) - 1) >> 20;
	return v / op->arg;
}

static uint64_t two(struct fold *f, unsigned int code)
{
	uint64_t b = fold_pop(f), a = fold_pop(f);

	switch (code) {
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	default:
		return b ? a / b : ~0ull;
	}
}

static inline uint64_t bucket(const struct op *op, uint64_t v)
{
	return op->imm ? v - v % op->imm : v;
}

/* ---- one op ---- */

static inline bool push(struct fold *f, uint64_t v)
{
	fold_push(f, v);
	return true;
}

static inline bool sum(struct fold *f, const struct op *op, uint64_t v)
{
	map_add(f->map, f->elt, op->off, v, f->h->writer);
	return true;
}

/* An op that pushes a value. False: the op is another one, of fold_act(), or the code ends. */
static inline __attribute__((always_inline)) bool step_value(struct fold *f, const struct op *op)
{
	switch (op->kind) {
	case OP_LOAD_U8: case OP_LOAD_U16: case OP_LOAD_U32: case OP_LOAD_U64:
	case OP_LOAD_S8: case OP_LOAD_S16: case OP_LOAD_S32: case OP_LOAD_S64:
		return push(f, fold_load(f->h, op->kind, op->off));
	case OP_LOAD_IMM:
		return push(f, op->imm);
	case OP_LOAD_TIME:
		return push(f, f->run->time);
	case OP_LOAD_CPU:
		return push(f, f->h->cpu);
	case OP_LOG2:
		return push(f, log2_up(fold_pop(f)));
	case OP_BUCKET:
		return push(f, bucket(op, fold_pop(f)));
	case OP_EXPONENTIAL:
		return push(f, exponential_bucket((unsigned int)op->imm, fold_pop(f)));
	case OP_USECS:
		return push(f, (fold_pop(f) + 500) / 1000);
	case OP_NEG:
		return push(f, 0 - fold_pop(f));
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV:
		return push(f, two(f, op->kind));
	case OP_DIV_SHIFT: case OP_DIV_MULT:
		return push(f, divide(op, fold_pop(f)));
	default:
		return false;
	}
}

/*
 * The ops that push values come last: they need another switch, which is another jump, and join.c
 * leaves few of them. False: as above.
 */
static inline __attribute__((always_inline)) bool step(struct fold *f, const struct op *op)
{
	switch (op->kind) {
	case OP_KEY_FIELD:
	case OP_KEY_LOG2:
		return key_field(f, op);
	case OP_KEY_U64:
		return key_word(f, op, fold_pop(f));
	case OP_KEY_STRING:
		return key_string(f, op);
	case OP_KEY_STACK:
		return key_stack(f, op);
	case OP_KEY_STACK_FIELD:
		return key_stack_field(f, op);
	case OP_FIND:
		return find_elt(f);
	case OP_SUM_FIELD:
		return sum(f, op, fold_load(f->h, op->size, op->arg));
	case OP_SUM:
		return sum(f, op, fold_pop(f));
	case OP_ELT_COMM:
		return elt_comm(f, op);
	case OP_VAR_SET:
		return var_set(f, op->off, fold_pop(f));
	case OP_VAR_TIME:
		return var_set(f, op->off, time_of(f, op));
	case OP_VAR_SINCE:
		return var_set(f, op->off, time_of(f, op) - fold_ref(f, op)->value);
	case OP_LOAD_REF:
		return push(f, fold_ref(f, op)->value);
	case OP_REF_OWN:
		return ref_own(f, op);
	case OP_REF_FIND:
		return ref_find(f, op, op->arg);
	case OP_REF_READ:
		return ref_read(f, op);
	case OP_REF_TAKE:
		return ref_find(f, op, op->on_true) && ref_read(f, op);
	case OP_TAKE_SINCE:
		return take_since(f, op);
	case OP_VAR_FIELD:
		return var_set(f, op->off, fold_load(f->h, op->size, op->arg));
	default:
		return step_value(f, op);
	}
}

/* OP_HIST_TIME */
void hist_fold_time(const struct plane *p, const struct code *code, struct slot *slot,
		    const struct hit *h, uint64_t now)
{
	const struct map_view map = map_view_of(p, code->map, &code->layout);
	const struct op *op = code->ops;
	uint64_t key = fold_load(h, op->len, op->off);
	uint32_t elt = map_insert_word(map, slot, key);

	if (!elt)
		return;
	map_add(map, elt, 0, 1, h->writer);
	map_var_set(map, elt, op->arg, op->size ? (now + 500) / 1000 : now);
}

static inline void profile_add(struct map_view map, uint32_t elt, uint32_t sum, uint64_t v,
			       const struct hit *h)
{
	if (v)
		map_add(map, elt, sum, v, h->writer);
}

/* The first writer to publish wins; one whose time is still longer tries again. */
static void profile_longest(struct map_view map, const struct slot *slot, uint32_t elt, uint64_t ns)
{
	struct map_block b;

	if (ns <= map_block_value(map, elt, 0) || !map_block_begin(map, slot, elt, 0, &b))
		return;
	map_block_put(&b, 0, ns);
	while (map_block_look(&b) < ns && !map_block_publish(&b))
		;
	map_block_end(&b);
}

/* OP_PROFILE */
static void fold_profile(struct map_view map, struct slot *slot, const struct hit *h)
{
	const struct profile_record *r = h->record;
	uint32_t elt = h->size >= sizeof(*r) ? map_insert_pair(map, slot, r->func, h->cpu) : 0;

	if (!elt)
		return;
	profile_add(map, elt, PROFILE_CALLS, r->calls, h);
	profile_add(map, elt, PROFILE_TIME, r->time, h);
	profile_add(map, elt, PROFILE_SQUARED, r->squared, h);
	if (map.layout->nr_sums == PROFILE_DETAILED_SUMS) {
		profile_add(map, elt, PROFILE_SELF, r->self, h);
		profile_longest(map, slot, elt, r->time);
	}
}

/* OP_PROFILE_SPREAD */
static void fold_spread(struct map_view map, struct slot *slot, const struct hit *h)
{
	const struct profile_record *r = h->record;
	uint32_t elt;

	if (h->size < sizeof(*r) || r->calls)
		return;
	elt = map_insert_pair(map, slot, r->func, exponential_bucket(PROFILE_SCALE, r->time));
	if (elt)
		map_add(map, elt, 0, 1, h->writer);
}

/* OP_HIST_TEXT */
static void fold_text(struct map_view map, const struct run *run, const struct op *op,
		      const struct hit *h)
{
	struct hit_frame *frame = &plane_scratch(run->p, run->slot, run->level)->frame[run->nest];
	uint32_t elt = fold_text_key(h, op, map, run->slot, frame->key);

	if (elt)
		map_add(map, elt, 0, 1, h->writer);
}

void hist_fold_keys(const struct plane *p, const struct code *code, struct slot *slot,
		    const struct hit *h)
{
	const struct map_view map = map_view_of(p, code->map, &code->layout);
	const struct op *op = code->ops;
	const bool more = op->kind == OP_HIST_KEYS;
	uint64_t key = fold_load(h, op->len, op->off), second;
	uint32_t elt;

	if (op->flags & KEYS_LOG2)
		key = log2_up(key);
	if (more && op->size) {
		second = fold_load(h, op->size, op->on_true);
		if (op->flags & KEYS_LOG2_SECOND)
			second = log2_up(second);
		elt = map_insert_pair(map, slot, key, second);
	} else {
		elt = map_insert_word(map, slot, key);
	}
	if (!elt)
		return;
	map_add(map, elt, 0, 1, h->writer);
	if (more && op->cmp)
		map_add(map, elt, 1, fold_load(h, op->cmp, op->arg), h->writer);
}

/* Code that is one op. Not inline: it saves no registers for the other ops. */
static __attribute__((noinline)) void fold_whole(const struct code *code, const struct run *run)
{
	const struct map_view map = map_view_of(run->p, code->map, &code->layout);
	const struct op *op = code->ops;

	if (op->kind <= OP_HIST_LOG2)
		hist_fold_keys(run->p, code, run->slot, run->seen);
	else if (op->kind == OP_HIST_TIME)
		hist_fold_time(run->p, code, run->slot, run->seen, run->time);
	else if (op->kind == OP_HIST_TEXT)
		fold_text(map, run, op, run->seen);
	else if (op->kind == OP_PROFILE)
		fold_profile(map, run->slot, run->seen);
	else
		fold_spread(map, run->slot, run->seen);
}

/* Sets only what the ops need. */
static inline void fold_begin(struct fold *f, const struct code *code, struct run *run)
{
	f->map = map_view_of(run->p, code->map, &code->layout);
	f->slot = run->slot;
	f->code = code;
	f->h = run->seen;
	f->run = run;
	f->frame = &plane_scratch(run->p, run->slot, run->level)->frame[run->nest];
	f->depth = 0;
}

static __attribute__((noinline)) void fold_run(struct fold *f, const struct op *op)
{
	do {
		while (step(f, op))
			op++;
		if (!op_is_act(op))
			return;
		op = fold_act(f, op);
	} while (op);
}

bool hist_fold_since(const struct plane *p, const struct code *code, struct slot *slot,
		     const struct hit *h, struct hit_since *done)
{
	const struct op *op = code->ops;
	const struct map_view map = map_view_of(p, code->map, &code->layout);
	const struct hist_cell *cell = plane_config(p, op->imm);
	/* Acquire: as in ref_find(). */
	const data_ref ref = atomic_load_explicit(&cell->map, memory_order_acquire);
	const struct map_view other = map_view_of(p, ref, &cell->layout);
	const uint64_t key = fold_load(h, op->size, op->off);
	uint64_t since;
	uint32_t elt;

	if (!ref)
		return false;
	elt = map_find_word(other, key);
	if (!elt || !(op->flags & REF_ONCE ? map_var_read_once(other, elt, op->on_true, &since)
					   : map_var_read(other, elt, op->on_true, &since)))
		return false;
	done->elt = map_insert_word(map, slot, key);
	if (!done->elt)
		return false;
	map_add(map, done->elt, 0, 1, h->writer);
	done->value = (op->len ? (done->now + 500) / 1000 : done->now) - since;
	map_var_set(map, done->elt, op->on_false, done->value);
	return true;
}

void hist_fold(const struct code *code, struct run *run)
{
	struct fold f;

	if (code->ops[0].kind >= OP_HIST_KEY1) {
		fold_whole(code, run);
		return;
	}
	fold_begin(&f, code, run);
	fold_run(&f, code->ops);
}

void hist_fold_rest(const struct code *code, struct run *run, uint32_t elt, uint64_t value)
{
	const struct op *op = code->ops;
	struct fold f;

	fold_begin(&f, code, run);
	f.elt = elt;
	f.frame->key[0] = fold_load(f.h, op->size, op->off);
	f.frame->own[op->on_false % HIT_VARS] = value;
	fold_ref(&f, op)->value = (op->len ? (run->time + 500) / 1000 : run->time) - value;
	fold_run(&f, op + 1);
}
