/* SPDX-License-Identifier: MIT */
/*
 * fold.c - runs a hist program: keys, elt, sums, variables
 *
 * A field that lies outside the record reads as 0, a string as "". The stack of
 * values is in the slot's scratch; the compiler of programs keeps within it,
 * and what a program does beyond it is masked off rather than trusted.
 */
#include "plane/map.h"
#include "plane/plane.h"
#include "plane/program.h"

struct fold {
	const struct plane *p;
	struct slot	*slot;
	const struct program *prog;
	const struct hit *h;
	struct map	*map;
	char		*key;
	uint64_t	*stack;
	unsigned int	depth;
	uint32_t	elt;
};

struct unaligned16 { uint16_t v; } __attribute__((packed, may_alias));
struct unaligned32 { uint32_t v; } __attribute__((packed, may_alias));
struct unaligned64 { uint64_t v; } __attribute__((packed, may_alias));

static inline const unsigned char *at(const struct hit *h, uint32_t off, uint32_t size)
{
	static const uint64_t nothing;

	return off <= h->size && size <= h->size - off ? (const unsigned char *)h->record + off :
							  (const unsigned char *)&nothing;
}

static inline uint64_t load(const struct hit *h, unsigned int code, uint32_t off)
{
	switch (code) {
	case OP_LOAD_U8:
		return *at(h, off, 1);
	case OP_LOAD_U16:
		return ((const struct unaligned16 *)at(h, off, 2))->v;
	case OP_LOAD_U32:
		return ((const struct unaligned32 *)at(h, off, 4))->v;
	case OP_LOAD_S8:
		return (uint64_t)(int64_t)(int8_t)*at(h, off, 1);
	case OP_LOAD_S16:
		return (uint64_t)(int64_t)(int16_t)((const struct unaligned16 *)at(h, off, 2))->v;
	case OP_LOAD_S32:
		return (uint64_t)(int64_t)(int32_t)((const struct unaligned32 *)at(h, off, 4))->v;
	default:
		return ((const struct unaligned64 *)at(h, off, 8))->v;
	}
}

static inline void push(struct fold *f, uint64_t v)
{
	f->stack[f->depth++ & (PROGRAM_STACK - 1)] = v;
}

static inline uint64_t pop(struct fold *f)
{
	return f->stack[--f->depth & (PROGRAM_STACK - 1)];
}

/* ilog2 of the next power of two. */
static inline uint64_t log2_up(uint64_t v)
{
	return v <= 1 ? 0 : 64 - (unsigned int)__builtin_clzll(v - 1);
}

static void clear(char *to, uint32_t size)
{
	for (uint32_t i = 0; i < size; i += 8)
		*(uint64_t *)(to + i) = 0;
}

/* Where a string begins and how many bytes of it there may be; false: not inside the record. */
static inline bool find_string(const struct hit *h, const struct op *op, const char **s, uint32_t *len)
{
	uint32_t off = (uint32_t)op->imm;

	*len = op->arg;
	if (op->size != STRING_FIXED) {
		uint32_t loc = (uint32_t)load(h, OP_LOAD_U32, off);

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

/* Up to 8 bytes of a string of which `len` are left and `room` bytes of the record follow. */
static inline uint64_t string_word(const char *s, uint32_t len, uint32_t room)
{
	uint64_t v = 0;

	if (room >= 8)
		v = ((const struct unaligned64 *)s)->v;
	else
		for (uint32_t i = 0; i < room; i++)
			v |= (uint64_t)(unsigned char)s[i] << 8 * i;
	return len >= 8 ? v : v & ((1ull << 8 * len) - 1);
}

/* The bytes before the first 0. *ended: there is one. */
static inline uint64_t before_zero(uint64_t v, bool *ended)
{
	uint64_t zeros = (v - 0x0101010101010101ull) & ~v & 0x8080808080808080ull;

	*ended = zeros;
	return zeros ? v & (((zeros & -zeros) >> 7) - 1) : v;
}

static void key_string(struct fold *f, const struct op *op)
{
	uint64_t *to = (uint64_t *)(f->key + op->off);
	uint32_t words = op->len / 8u, left = 0, room = 0, i = 0;
	const char *s = NULL;
	bool ended = false;

	if (find_string(f->h, op, &s, &left))
		room = f->h->size - (uint32_t)(s - (const char *)f->h->record);
	if (left > op->len - 1u)
		left = op->len - 1u;
	for (; left && !ended && i < words; i++) {
		to[i] = before_zero(string_word(s, left, room), &ended);
		s += 8;
		room -= room < 8 ? room : 8;
		left -= left < 8 ? left : 8;
	}
	for (; i < words; i++)
		to[i] = 0;
}

static void key_stack(struct fold *f, const struct op *op)
{
	uint64_t *to = (uint64_t *)(f->key + op->off);
	uint32_t nr = f->h->stack ? f->h->nr_stack : 0;

	clear((char *)to, op->len);
	if (nr > op->len / 8u)
		nr = op->len / 8u;
	for (uint32_t i = 0; i < nr; i++)
		to[i] = ((const struct unaligned64 *)f->h->stack)[i].v;
}

static void key_stack_field(struct fold *f, const struct op *op)
{
	uint32_t loc = (uint32_t)load(f->h, OP_LOAD_U32, (uint32_t)op->imm), off = loc & 0xffff, len = loc >> 16;
	uint64_t *to = (uint64_t *)(f->key + op->off);

	clear((char *)to, op->len);
	/* The first word says how many follow. */
	for (uint32_t i = 8, k = 0; i + 8 <= len && k < op->len / 8u; i += 8, k++)
		to[k] = load(f->h, OP_LOAD_U64, off + i);
}

/* The common case of a key of two words inline, as map_insert() does it for one. */
static inline uint32_t insert(struct map *map, const struct slot *slot, const uint64_t *key)
{
	const uint64_t *at;
	uint32_t elt;

	if (map->key_size == 16) {
		elt = map_first_place(map, map_hash_word(map_hash_word(0, key[0]), key[1]));
		at = (const uint64_t *)map_elt(map, elt);
		if (__builtin_expect(elt && at[0] == key[0] && at[1] == key[1], 1))
			return elt;
	}
	return map_insert(map, slot, key);
}

static inline bool find_elt(struct fold *f)
{
	f->elt = insert(f->map, f->slot, (const uint64_t *)f->key);
	if (!f->elt)
		return false;
	map_add(f->map, f->elt, 0, 1, f->h->cpu, f->h->writer);
	return true;
}

/* The name of the task that made the elt, for .execname. */
static void elt_comm(struct fold *f, const struct op *op)
{
	const struct record_common *common = f->h->record;
	union { char name[LAYOUT_COMM_LEN]; uint64_t word[2]; } u = { .word = { 0, 0 } };
	const char *name = common->pid ? f->h->comm : "<idle>";
	uint64_t old;

	if (map_var_read(f->map, f->elt, op->off, &old))
		return;
	for (int i = 0; name && i < LAYOUT_COMM_LEN - 1 && name[i]; i++)
		u.name[i] = name[i];
	map_var_set(f->map, f->elt, op->off + 1, u.word[1]);
	map_var_set(f->map, f->elt, op->off, u.word[0]);
}

static uint64_t divide(const struct op *op, uint64_t v)
{
	if (op->code == OP_DIV_SHIFT)
		return v >> op->imm;
	if (v < 1u << 20)
		return (v * op->imm + (1u << 20) - 1) >> 20;
	return v / op->arg;
}

static uint64_t two(struct fold *f, unsigned int code)
{
	uint64_t b = pop(f), a = pop(f);

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

/* One op; false ends the program. */
static inline __attribute__((always_inline)) bool step(struct fold *f, const struct op *op)
{
	switch (op->code) {
	case OP_LOAD_U8: case OP_LOAD_U16: case OP_LOAD_U32: case OP_LOAD_U64:
	case OP_LOAD_S8: case OP_LOAD_S16: case OP_LOAD_S32: case OP_LOAD_S64:
		push(f, load(f->h, op->code, op->off));
		return true;
	case OP_LOAD_IMM:
		push(f, op->imm);
		return true;
	case OP_LOAD_TIME:
		push(f, f->h->time);
		return true;
	case OP_LOAD_CPU:
		push(f, f->h->cpu);
		return true;
	case OP_LOG2:
		push(f, log2_up(pop(f)));
		return true;
	case OP_BUCKET: {
		uint64_t v = pop(f);

		push(f, op->imm ? v - v % op->imm : v);
		return true;
	}
	case OP_USECS:
		push(f, (pop(f) + 500) / 1000);
		return true;
	case OP_NEG:
		push(f, 0 - pop(f));
		return true;
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV:
		push(f, two(f, op->code));
		return true;
	case OP_DIV_SHIFT: case OP_DIV_MULT:
		push(f, divide(op, pop(f)));
		return true;
	case OP_KEY_FIELD:
		*(uint64_t *)(f->key + op->off) = load(f->h, op->size, op->arg);
		return true;
	case OP_KEY_U64:
		*(uint64_t *)(f->key + op->off) = pop(f);
		return true;
	case OP_KEY_STRING:
		key_string(f, op);
		return true;
	case OP_KEY_STACK:
		key_stack(f, op);
		return true;
	case OP_KEY_STACK_FIELD:
		key_stack_field(f, op);
		return true;
	case OP_FIND:
		return find_elt(f);
	case OP_SUM_FIELD:
		map_add(f->map, f->elt, op->off, load(f->h, op->size, op->arg), f->h->cpu, f->h->writer);
		return true;
	case OP_SUM:
		map_add(f->map, f->elt, op->off, pop(f), f->h->cpu, f->h->writer);
		return true;
	case OP_VAR_SET:
		map_var_set(f->map, f->elt, op->off, pop(f));
		return true;
	case OP_ELT_COMM:
		elt_comm(f, op);
		return true;
	default:
		return false;
	}
}

/* OP_HIST_KEY1 */
static inline void fold_key(struct map *map, struct slot *slot, const struct op *op, const struct hit *h)
{
	uint64_t key = load(h, op->len, op->off);
	uint32_t elt = map_insert(map, slot, &key);

	if (elt)
		map_add(map, elt, 0, 1, h->cpu, h->writer);
}

/* OP_HIST_KEYS: all of it in registers. */
static inline void fold_keys(struct map *map, struct slot *slot, const struct op *op, const struct hit *h)
{
	const uint64_t key[2] = { load(h, op->len, op->off), op->size ? load(h, op->size, op->on_true) : 0 };
	uint32_t elt = insert(map, slot, key);

	if (!elt)
		return;
	map_add(map, elt, 0, 1, h->cpu, h->writer);
	if (op->cmp)
		map_add(map, elt, 1, load(h, op->cmp, op->arg), h->cpu, h->writer);
}

void hist_fold(const struct plane *p, struct slot *slot, unsigned int level,
	       const struct program *prog, const struct hit *h)
{
	struct hit_scratch *scratch;
	const struct op *op = prog->ops;
	struct map *map = plane_data(p, prog->map);
	struct fold f;

	if (op->code == OP_HIST_KEY1) {
		fold_key(map, slot, op, h);
		return;
	}
	if (op->code == OP_HIST_KEYS) {
		fold_keys(map, slot, op, h);
		return;
	}
	scratch = plane_scratch(p, slot, level);
	f = (struct fold){
		.p = p, .slot = slot, .prog = prog, .h = h, .map = map,
		.key = (char *)scratch->key, .stack = scratch->value,
	};
	while (step(&f, op))
		op++;
}
