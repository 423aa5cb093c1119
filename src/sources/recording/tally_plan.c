/* SPDX-License-Identifier: MIT */
/*
 * tally_plan.c - whether the order in which the records of a recording pass can be seen afterwards
 *
 * Only this file decides that, by the parts of the plans. For an op, a flag or a kind of trigger
 * that is not listed here, the order can be seen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/recording/tally.h"

enum {
	/* Alignment of the parts of a worker's memory. */
	PART_ALIGN	= 64,
	/*
	 * A hist needs a record. tally_plan_soft_disabled() finds out whether it is also recorded.
	 */
	ARM_ORDERLESS	= ARM_RECORD | ARM_NEED_RECORD | ARM_SOFT_MODE,
};

/* The ops that code may have: they add values of the record to sums, or keep the greatest. */
static const bool orderless[OP_COUNT] = {
	[OP_END] = true,
	[OP_LOAD_U8] = true, [OP_LOAD_U16] = true, [OP_LOAD_U32] = true, [OP_LOAD_U64] = true,
	[OP_LOAD_S8] = true, [OP_LOAD_S16] = true, [OP_LOAD_S32] = true, [OP_LOAD_S64] = true,
	[OP_LOAD_IMM] = true, [OP_LOAD_TIME] = true, [OP_LOAD_CPU] = true,
	[OP_LOG2] = true, [OP_BUCKET] = true, [OP_EXPONENTIAL] = true,
	[OP_USECS] = true, [OP_NEG] = true,
	[OP_ADD] = true, [OP_SUB] = true, [OP_MUL] = true, [OP_DIV] = true,
	[OP_DIV_SHIFT] = true, [OP_DIV_MULT] = true,
	[OP_KEY_U64] = true, [OP_KEY_FIELD] = true, [OP_KEY_LOG2] = true, [OP_KEY_STRING] = true,
	[OP_KEY_STACK_FIELD] = true,
	[OP_FIND] = true, [OP_HITCOUNT] = true, [OP_SUM] = true, [OP_SUM_FIELD] = true,
	[OP_RAISE] = true,
	[OP_HIST_KEY1] = true, [OP_HIST_KEYS] = true, [OP_HIST_LOG2] = true,
	[OP_HIST_TEXT] = true,
	/* Ops of filters. */
	[OP_ACCEPT] = true, [OP_REJECT] = true, [OP_NEVER] = true,
	[OP_CMP_U8] = true, [OP_CMP_U16] = true, [OP_CMP_U32] = true, [OP_CMP_U64] = true,
	[OP_CMP_S8] = true, [OP_CMP_S16] = true, [OP_CMP_S32] = true, [OP_CMP_S64] = true,
	[OP_CMP_CPU] = true, [OP_MATCH] = true, [OP_MASK_FIELD] = true, [OP_MASK_SCALAR] = true,
	[OP_MASK_CPU] = true, [OP_RANGE] = true,
};

/*
 * Whether a text is part of the record. A task's name depends on the time, and a reference on an
 * earlier record.
 */
static bool text_is_of_record(unsigned int kind)
{
	return kind != STRING_COMM && kind != STRING_REF && kind != STRING_ELT_COMM;
}

static bool op_is_orderless(const struct op *op)
{
	if (op->kind >= OP_COUNT || !orderless[op->kind])
		return false;
	if (op->kind == OP_MATCH)
		return text_is_of_record(op->size >> 4);
	return (op->kind != OP_KEY_STRING && op->kind != OP_HIST_TEXT) ||
	       text_is_of_record(op->size);
}

static bool code_is_orderless(const struct code *code)
{
	const struct op *op;

	for (op = code->ops; op < code->ops + code->nr_ops; op++)
		if (!op_is_orderless(op))
			return false;
	return !(code->flags & CODE_NEEDS_STACK);
}

/* ---- the maps of a worker ---- */

static data_ref tally_plan_take(struct tally_plan *plan, uint64_t bytes)
{
	const data_ref at = plan->bytes;

	plan->bytes += (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
	return at;
}

/* Which sums are not added up. */
static uint64_t raised_by(const struct code *code)
{
	const struct op *op;
	uint64_t raised = 0;

	for (op = code->ops; op < code->ops + code->nr_ops; op++)
		if (op->kind == OP_RAISE)
			raised |= 1ull << (op->off & 63);
	return raised;
}

/*
 * The worker's map with the same keys and sums, for one writer. Triggers with the same name share
 * one.
 */
static struct tally_map *map_for(struct tally_plan *plan, const struct code *code)
{
	const struct map_layout *l = &code->layout;
	const struct map_shape shape = {
		.max_elts = l->max_elts, .key_size = l->key_size, .nr_sums = l->nr_sums,
		.nr_cpus = 1, .nr_slots = 1, .single_writer = true,
	};
	struct tally_map *m;

	for (m = plan->maps; m < plan->maps + plan->nr_maps; m++)
		if (m->real == code->map)
			return m;
	plan->nr_maps++;
	m->real = code->map;
	m->layout = l;
	m->raised = raised_by(code);
	map_lay_out(&m->own_layout, &shape);
	m->own = tally_plan_take(plan, m->own_layout.size);
	return m;
}

/* ---- plans ---- */

static int add_hist(struct tally_plan *plan, const struct plane *p, const struct trigger_arm *t)
{
	const struct code *code = plane_config(p, t->code);
	struct tally_hist *h = &plan->hists[plan->nr_hists];
	struct tally_map *m;

	if (!code_is_orderless(code) || code->layout.nr_vars || code->layout.nr_blocks ||
	    (t->filter && !code_is_orderless(plane_config(p, t->filter))) ||
	    plan->nr_hists == TALLY_HISTS_MAX)
		return 1;
	h->code = malloc(code->size);
	if (!h->code)
		return -ENOMEM;
	plan->nr_hists++;
	memcpy(h->code, code, code->size);
	m = map_for(plan, code);
	h->map = (unsigned int)(m - plan->maps);
	h->code->map = m->own;
	h->code->layout = m->own_layout;
	h->filter = t->filter ? plane_config(p, t->filter) : NULL;
	return 0;
}

static bool tally_plan_soft_disabled(const struct plane *p, const struct arm *arm)
{
	const struct event_state *state = plane_given(p, arm->state);

	if (!(arm->flags & ARM_SOFT_MODE))
		return !(arm->flags & ARM_RECORD);
	/* Relaxed: nobody stores it meanwhile, because no trigger that is allowed here does. */
	return atomic_load_explicit(&state->soft_disabled, memory_order_relaxed);
}

static bool is_paused(const struct plane *p, const struct trigger_arm *t)
{
	const struct trigger_state *state = plane_given(p, t->state);

	/* Relaxed: as above. */
	return atomic_load_explicit(&state->paused, memory_order_relaxed);
}

static int add_triggers(struct tally_plan *plan, const struct plane *p, const struct arm *arm,
			const struct trigger_arm *t)
{
	uint32_t i;
	int ret = 0;

	if (arm->flags & ~(uint32_t)ARM_ORDERLESS || !tally_plan_soft_disabled(p, arm))
		return 1;
	for (i = 0; i < arm->nr_triggers && !ret; i++) {
		if (t[i].kind != TRIGGER_HIST)
			return 1;
		ret = is_paused(p, &t[i]) ? 0 : add_hist(plan, p, &t[i]);
	}
	return ret;
}

static int tally_plan_add_event(struct tally_plan *plan, const struct plane *p,
				const struct plan *of)
{
	const struct arm *arms = (const struct arm *)(of + 1);
	const struct trigger_arm *triggers = (const struct trigger_arm *)(arms + of->nr_arms);
	struct tally_event *e = &plan->events[plan->nr_events];
	uint32_t i;
	int ret = 0;

	if (plan->nr_events == TALLY_HISTS_MAX)
		return 1;
	e->first = plan->nr_hists;
	for (i = 0; i < of->nr_arms && !ret; i++)
		ret = add_triggers(plan, p, &arms[i], triggers + arms[i].first_trigger);
	e->nr = plan->nr_hists - e->first;
	return ret;
}

/*
 * Events that are recorded without being enabled always have a plan, so they need the order only if
 * a record comes. A stack is part of a record that is recorded.
 */
static int add_type(struct tally_plan *plan, const struct source *src, unsigned int type)
{
	const struct plane *p = src->plane;
	const unsigned int kind = src->kinds[type];
	/* Relaxed: the control lock is held, nobody publishes meanwhile. */
	const config_ref ref =
		atomic_load_explicit(&plane_event(p, type)->plan, memory_order_relaxed);
	int ret;

	if (!ref || kind == RECORD_STACK || kind == RECORD_USER_STACK)
		return 0;
	if (kind != RECORD_PLAIN && kind != RECORD_NAMES) {
		plan->of_type[type] = TALLY_ORDERED;
		return 0;
	}
	ret = tally_plan_add_event(plan, p, plane_config(p, ref));
	if (!ret)
		plan->of_type[type] = (uint16_t)(TALLY_FIRST + plan->nr_events++);
	return ret;
}

/* Whether anything looks at the session while records pass, or at single records. */
static bool somebody_looks(const struct source *src)
{
	const struct model *m = src->model;

	/* Relaxed: the control lock is held. */
	return src->server || src->progress || src->stop_event ||
	       atomic_load_explicit(&m->observe, memory_order_relaxed) ||
	       atomic_load_explicit(&m->stack_commands, memory_order_relaxed) ||
	       atomic_load_explicit(&src->calls, memory_order_relaxed);
}

int tally_plan_make(const struct source *src, struct tally_plan **out)
{
	struct tally_plan *plan;
	unsigned int type;
	int ret = 0;

	*out = NULL;
	if (somebody_looks(src))
		return 1;
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return -ENOMEM;
	*out = plan;
	plan->slot = tally_plan_take(plan, sizeof(struct slot));
	plan->scratch = tally_plan_take(plan, sizeof(struct hit_scratch));
	for (type = 0; type < LAYOUT_MAX_EVENTS && !ret; type++)
		ret = add_type(plan, src, type);
	return ret;
}

void tally_plan_free(struct tally_plan *plan)
{
	unsigned int i;

	for (i = 0; plan && i < plan->nr_hists; i++)
		free(plan->hists[i].code);
	free(plan);
}
