/* SPDX-License-Identifier: MIT */
/*
 * fold.h - the state of a histogram's code that runs; for fold.c, act.c and probe.c
 */
#ifndef TRACEFUSE_PLANE_ACTION_FOLD_H
#define TRACEFUSE_PLANE_ACTION_FOLD_H

#include "plane/map/map.h"
#include "plane/plane.h"
#include "plane/code.h"
#include "plane/run.h"

struct fold {
	struct slot	*slot;
	const struct code *code;
	const struct hit *h;
	struct map_view	map;
	struct run	*run;
	struct hit_frame *frame;
	unsigned int	depth;		/* how many values the stack has */
	uint32_t	elt;

	/* The elt of another hist that was found last */
	struct map_view	other;
	const struct op	*other_find;	/* the op that found it; its imm is the cell */
	uint32_t	other_elt;

	/* Between OP_TRACK_BEGIN and OP_TRACK_END */
	uint32_t	track_flags;
	uint64_t	track_value;
	struct map_block block;

	/* Between OP_SYNTH_BEGIN and OP_SYNTH_END */
	char		*synth_record;
	uint32_t	synth_at, synth_size;	/* in the arena */
	uint32_t	synth_only;		/* 1 + index of the only instance, 0: all */
	bool		synth_full;
};

struct unaligned16 { uint16_t v; } __attribute__((packed, may_alias));
struct unaligned32 { uint32_t v; } __attribute__((packed, may_alias));
struct unaligned64 { uint64_t v; } __attribute__((packed, may_alias));

static inline const unsigned char *fold_at(const struct hit *h, uint32_t off, uint32_t size)
{
	static const uint64_t nothing;

	return off <= h->size && size <= h->size - off ? (const unsigned char *)h->record + off :
							  (const unsigned char *)&nothing;
}

/* A field of the record, 0 where it lies outside. */
static inline uint64_t fold_load(const struct hit *h, unsigned int code, uint32_t off)
{
	switch (code) {
	case OP_LOAD_U8:
		return *fold_at(h, off, 1);
	case OP_LOAD_U16:
		return ((const struct unaligned16 *)fold_at(h, off, 2))->v;
	case OP_LOAD_U32:
		return ((const struct unaligned32 *)fold_at(h, off, 4))->v;
	case OP_LOAD_S8:
		return (uint64_t)(int64_t)(int8_t)*fold_at(h, off, 1);
	case OP_LOAD_S16:
		return (uint64_t)(int64_t)(int16_t)((const struct unaligned16 *)fold_at(h, off, 2))
			->v;
	case OP_LOAD_S32:
		return (uint64_t)(int64_t)(int32_t)((const struct unaligned32 *)fold_at(h, off, 4))
			->v;
	default:
		return ((const struct unaligned64 *)fold_at(h, off, 8))->v;
	}
}

/*
 * The word of a __data_loc or __rel_loc: it leads somewhere, so it is loaded
 * once. A synthetic record lies in the data region (R38).
 */
static inline uint32_t fold_loc(const struct hit *h, uint32_t off)
{
	return ((const volatile struct unaligned32 *)fold_at(h, off, 4))->v;
}

static inline void fold_push(struct fold *f, uint64_t v)
{
	f->frame->value[f->depth++ & (CODE_STACK - 1)] = v;
}

static inline uint64_t fold_pop(struct fold *f)
{
	return *(const volatile uint64_t *)&f->frame->value[--f->depth & (CODE_STACK - 1)];
}

static inline struct hit_ref *fold_ref(struct fold *f, const struct op *op)
{
	return &f->frame->ref[op->arg % CODE_REFS];
}

/* Whether a value replaces the current one; flags: those of OP_TRACK_BEGIN. */
static inline bool fold_track_takes(uint32_t flags, uint64_t value, uint64_t current)
{
	return flags & TRACK_CHANGE ? value != current : value > current;
}

/*
 * Copies the text of a record that `op` names to `to`: up to its 0, at most `limit` bytes. Writes
 * whole words and returns their number.
 */
uint32_t fold_record_text(const struct hit *h, const struct op *op, uint64_t *to, uint32_t limit);

/*
 * OP_KEY_STRING with KEY_FIND, OP_HIST_TEXT: finds or makes the elt of the text that `op` names.
 * Returns 0 when the map is full. The key is made at `to`.
 */
uint32_t fold_text_key(const struct hit *h, const struct op *op, struct map_view m,
		       const struct slot *slot, uint64_t *to);

/*
 * References, texts and stacks in variables, actions. Returns the next op, or NULL where the code
 * ends.
 */
const struct op *fold_act(struct fold *f, const struct op *op);

/*
 * Adds `bytes` to the synthetic record and leaves room for a whole text behind them. NULL: the
 * arena is full, and f->synth_full is set.
 */
char *fold_synth_grow(struct fold *f, uint32_t bytes);

/* Records of event probes. fold_act() calls it and returns what it returns. */
const struct op *fold_probe(struct fold *f, const struct op *op);

#endif
