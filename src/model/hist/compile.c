/* SPDX-License-Identifier: MIT */
/*
 * compile.c - compiles fields to the flat code that runs at a hit
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "model/dynamic/synth.h"
#include "plane/code.h"

enum { OPS_MAX = 512, WORD = 8 };

struct compiler {
	struct op	ops[OPS_MAX];
	unsigned int	nr;
	unsigned int	flags;
	unsigned int	nr_events;	/* how many synthetic events it makes */
	uint16_t	place[OPS_MAX];	/* working memory of hist_join() */
};

static struct op *hist_compile_emit(struct compiler *c, enum op_kind kind)
{
	/* If there is no room, hist_compile() refuses */
	struct op *op = &c->ops[c->nr < OPS_MAX - 1 ? c->nr++ : OPS_MAX - 1];

	*op = (struct op){ .kind = kind };
	return op;
}

static enum op_kind load_code(const struct hist_field *f)
{
	unsigned int size = f->field->size;
	enum op_kind base = f->field->is_signed ? OP_LOAD_S8 : OP_LOAD_U8;

	return base + (size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3);
}

static void emit_value(struct compiler *c, const struct hist_field *f);

/*
 * Divides by a number as the kernel does: by a shift, by a multiplication that rounds up, or
 * plainly.
 */
static void emit_division(struct compiler *c, const struct hist_field *f)
{
	uint64_t d = f->constant;
	struct op *op;

	if (!f->divides_by_constant) {
		emit_value(c, f->operands[1]);
		hist_compile_emit(c, OP_DIV);
	} else if ((d & (d - 1)) && d > 1u << 20) {
		hist_compile_emit(c, OP_LOAD_IMM)->imm = d;
		hist_compile_emit(c, OP_DIV);
	} else if (!(d & (d - 1))) {
		hist_compile_emit(c, OP_DIV_SHIFT)->imm = (uint64_t)__builtin_ctzll(d);
	} else {
		op = hist_compile_emit(c, OP_DIV_MULT);
		op->imm = (1u << 20) / d;
		op->arg = (uint32_t)d;
	}
}

static void emit_expr(struct compiler *c, const struct hist_field *f)
{
	emit_value(c, f->operands[0]);
	if (f->operator == HIST_OP_UNARY_MINUS) {
		hist_compile_emit(c, OP_NEG);
	} else if (f->operator == HIST_OP_DIV) {
		emit_division(c, f);
	} else {
		emit_value(c, f->operands[1]);
		hist_compile_emit(c, f->operator == HIST_OP_PLUS ? OP_ADD :
				     f->operator == HIST_OP_MINUS ? OP_SUB : OP_MUL);
	}
}

/*
 * The kernel takes the logarithm of where a text is, and that is one of the highest addresses. More
 * is not known: buckets are of the text's first bytes.
 */
static void emit_operand(struct compiler *c, const struct hist_field *f)
{
	if (f->flags & HIST_LOG2 && f->operands[0]->flags & HIST_STRING)
		hist_compile_emit(c, OP_LOAD_IMM)->imm = UINT64_MAX;
	else
		emit_value(c, f->operands[0]);
}

/* Pushes the number of a field. */
static void emit_value(struct compiler *c, const struct hist_field *f)
{
	if (f->flags & (HIST_VAR_REF | HIST_ALIAS)) {
		hist_compile_emit(c, OP_LOAD_REF)->arg = f->var_ref_idx;
	} else if (f->flags & HIST_EXPR) {
		emit_expr(c, f);
	} else if (f->flags & HIST_HITCOUNT) {
		/* A modifier changes nothing: it has no operand. */
		hist_compile_emit(c, OP_LOAD_IMM)->imm = 1;
	} else if (f->flags & HIST_EXP) {
		emit_value(c, f->operands[0]);
		hist_compile_emit(c, OP_EXPONENTIAL)->imm = f->scale;
	} else if (f->flags & (HIST_LOG2 | HIST_BUCKET)) {
		emit_operand(c, f);
		hist_compile_emit(c, f->flags & HIST_LOG2 ? OP_LOG2 : OP_BUCKET)->imm = f->buckets;
	} else if (f->flags & HIST_CONST) {
		hist_compile_emit(c, OP_LOAD_IMM)->imm = f->constant;
	} else if (f->flags & HIST_TIMESTAMP) {
		hist_compile_emit(c, OP_LOAD_TIME);
		c->flags |= CODE_NEEDS_TIME;
		if (f->hist_data->attrs.ts_in_usecs)
			hist_compile_emit(c, OP_USECS);
	} else if (f->flags & HIST_CPU) {
		hist_compile_emit(c, OP_LOAD_CPU);
	} else if (f->field) {
		hist_compile_emit(c, load_code(f))->off = f->field->offset;
	} else {
		hist_compile_emit(c, OP_LOAD_IMM);
	}
}

static enum string_kind string_kind(const struct field *field)
{
	switch (field->kind) {
	case FIELD_DYN_STRING:
		return STRING_DATA_LOC;
	case FIELD_RDYN_STRING:
		return STRING_REL_LOC;
	default:
		return STRING_FIXED;
	}
}

/* Whether it is a field of the record without a modifier: one op loads and uses it. */
static bool is_plain(const struct hist_field *f)
{
	return f->field &&
	       !(f->flags & (HIST_CPU | HIST_STRING | HIST_STACKTRACE | HIST_RANGES | HIST_EXPR |
			      HIST_VAR_REF | HIST_CONST | HIST_TIMESTAMP));
}

static struct op *emit_plain(struct compiler *c, enum op_kind kind, const struct hist_field *f)
{
	struct op *op = hist_compile_emit(c, kind);

	op->size = load_code(f);
	op->arg = f->field->offset;
	return op;
}

/* A number that is made of a text has the text's room in the key: the rest of it is 0. */
static struct op *emit_number_key(struct compiler *c, const struct hist_field *f)
{
	for (uint32_t at = WORD; at < f->size; at += WORD) {
		struct op *op;

		hist_compile_emit(c, OP_LOAD_IMM)->imm = 0;
		op = hist_compile_emit(c, OP_KEY_U64);
		op->off = (uint16_t)(f->offset + at);
		op->len = WORD;
	}
	emit_value(c, f);
	return hist_compile_emit(c, OP_KEY_U64);
}

static void emit_key(struct compiler *c, const struct hist_field *f)
{
	struct op *op;

	if (f->flags & HIST_STACKTRACE) {
		op = hist_compile_emit(c, f->field ? OP_KEY_STACK_FIELD : OP_KEY_STACK);
		op->imm = f->field ? f->field->offset : 0;
		op->flags = f->flags & HIST_DEPTH ? KEY_MARKS : 0;
		c->flags |= f->field ? 0 : CODE_NEEDS_STACK;
	} else if (f->flags & HIST_STRING) {
		op = hist_compile_emit(c, OP_KEY_STRING);
		op->imm = f->field->offset;
		op->size = string_kind(f->field);
		op->arg = f->field->kind == FIELD_STATIC_STRING ? f->field->size : 0;
	} else if (is_plain(f)) {
		op = emit_plain(c, OP_KEY_FIELD, f);
	} else {
		op = emit_number_key(c, f);
	}
	op->off = (uint16_t)f->offset;
	op->len = (uint16_t)f->size;
}

static void emit_sum(struct compiler *c, const struct hist_field *f, unsigned int sum)
{
	struct op *op;

	if (f->flags & HIST_EXTREME) {
		emit_value(c, f);
		op = hist_compile_emit(c, OP_RAISE);
		op->imm = hist_extreme_mask(f);
	} else if (is_plain(f)) {
		op = emit_plain(c, OP_SUM_FIELD, f);
	} else {
		emit_value(c, f);
		op = hist_compile_emit(c, OP_SUM);
	}
	op->off = (uint16_t)sum;
}

/* Sets where an op takes a text from. */
static void text_source(struct op *op, const struct hist_data *hd, const struct hist_field *f)
{
	if (f->flags & (HIST_VAR_REF | HIST_ALIAS)) {
		op->size = STRING_REF;
		op->arg = f->var_ref_idx;
	} else if (f->flags & HIST_EXECNAME) {
		op->size = STRING_ELT_COMM;
		op->arg = hd->n_map_vars;
	} else {
		op->size = string_kind(f->field);
		op->imm = f->field->offset;
		op->arg = f->field->kind == FIELD_STATIC_STRING ? f->field->size : 0;
	}
}

/* As in the kernel: a stack is the hit's, whatever field the command names. */
static void stack_source(struct compiler *c, struct op *op, const struct hist_field *f)
{
	if (f->flags & (HIST_VAR_REF | HIST_ALIAS)) {
		op->size = STACK_REF;
		op->arg = f->var_ref_idx;
	} else {
		op->size = STACK_HIT;
		c->flags |= CODE_NEEDS_STACK;
	}
}

/*
 * Sets `var` to the value of `val`. The two are the same field unless an action made the variable.
 */
static void emit_var(const struct hist_data *hd, struct compiler *c, const struct hist_field *var,
		     const struct hist_field *val)
{
	struct op *op;

	if (val->content == HIST_TEXT) {
		op = hist_compile_emit(c, OP_VAR_SET_STRING);
		text_source(op, hd, val);
		op->len = (uint16_t)var->block;
	} else if (val->content == HIST_STACK) {
		op = hist_compile_emit(c, OP_VAR_SET_STACK);
		stack_source(c, op, val);
		op->len = (uint16_t)var->block;
	} else {
		emit_value(c, val);
		op = hist_compile_emit(c, OP_VAR_SET);
	}
	op->off = (uint16_t)var->var.idx;
}

/* ---- References ---- */

/* Reads the variables of other hists, in the order of their numbers, before the elt is made. */
static void emit_foreign_refs(const struct hist_data *hd, struct compiler *c)
{
	const struct hist_data *found = NULL;

	for (unsigned int i = 0; i < hd->n_var_refs; i++) {
		const struct hist_field *ref = hd->var_refs[i];
		const struct hist_data *target = ref->var.hist_data;
		struct op *op;

		if (target == hd)
			continue;
		if (target != found) {
			op = hist_compile_emit(c, OP_REF_FIND);
			op->imm = target->cell;
			op->arg = hd->key_size;
			found = target;
		}
		op = hist_compile_emit(c, OP_REF_READ);
		op->off = (uint16_t)ref->var.idx;
		op->len = ref->content != HIST_NUMBER ? (uint16_t)(ref->block + 1) : 0;
		op->arg = i;
		op->flags = ref->read_once ? REF_ONCE : 0;
	}
}

static void emit_own_refs(const struct hist_data *hd, struct compiler *c)
{
	for (unsigned int i = 0; i < hd->n_var_refs; i++) {
		const struct hist_field *ref = hd->var_refs[i];
		struct op *op;

		if (ref->var.hist_data != hd)
			continue;
		op = hist_compile_emit(c, OP_REF_OWN);
		op->off = (uint16_t)ref->var.idx;
		op->len = ref->content != HIST_NUMBER ? (uint16_t)(ref->block + 1) : 0;
		op->arg = i;
	}
}

/* ---- Actions ---- */

static void emit_argument(struct compiler *c, const struct synth_field *field,
			  const struct hist_field *ref)
{
	struct op *op = hist_compile_emit(c, field->is_stack ? OP_SYNTH_STACK :
					     field->is_string ? OP_SYNTH_STRING : OP_SYNTH_U64);
	const bool faults = !field->is_dynamic && ref->content == HIST_NUMBER;

	op->off = (uint16_t)field->offset;
	op->arg = ref->var_ref_idx;
	if (field->is_string && faults)
		op->flags = SYNTH_FAULT;
	if (field->is_string && !field->is_dynamic)
		op->len = STRING_ROOM;
	else if (!field->is_string && !field->is_stack)
		op->size = (uint8_t)field->size;
}

static void emit_trace(struct compiler *c, const struct hist_data *hd,
		       const struct hist_action *a)
{
	struct op *op = hist_compile_emit(c, OP_SYNTH_BEGIN);

	c->nr_events++;
	op->arg = a->synth->event->id;
	op->len = (uint16_t)a->synth->record_size;
	for (unsigned int i = 0; i < a->synth->nr_fields; i++)
		emit_argument(c, &a->synth->fields[i], hd->var_refs[a->var_ref_idx[i]]);
	hist_compile_emit(c, OP_SYNTH_END);
}

static void emit_save(const struct hist_data *hd, struct compiler *c)
{
	for (unsigned int i = 0; i < hd->n_save_vars; i++) {
		const struct hist_field *val = hd->save_vars[i]->val;
		struct op *op;

		if (val->content == HIST_TEXT) {
			op = hist_compile_emit(c, OP_TRACK_STRING);
			text_source(op, hd, val);
		} else {
			emit_value(c, val);
			op = hist_compile_emit(c, OP_TRACK_U64);
		}
		op->off = (uint16_t)hist_save_offset(hd, i);
	}
}

static struct op *emit_track_begin(struct compiler *c, const struct hist_action *a,
				   unsigned int block, unsigned int flags)
{
	struct op *op = hist_compile_emit(c, OP_TRACK_BEGIN);

	op->off = (uint16_t)block;
	op->arg = a->track.var_ref->var_ref_idx;
	op->flags = (uint8_t)((a->handler == HIST_ONCHANGE ? TRACK_CHANGE : 0) | flags);
	return op;
}

/* The buffers are swapped if the value exceeds that of the newest snapshot, whatever its key. */
static void emit_snapshot(const struct hist_data *hd, struct compiler *c,
			  const struct hist_action *a)
{
	struct op *begin, *end, *op;

	begin = emit_track_begin(c, a, a->track.snapshot_block, TRACK_GLOBAL);
	begin->len = (uint16_t)hd->instance->index;
	op = hist_compile_emit(c, OP_TRACK_COMM);
	op->off = HIST_TRACK_VALUES;
	op->arg = hist_has_execname(hd) ? hd->n_map_vars + 1 : 0;
	op = hist_compile_emit(c, OP_TRACK_KEY);
	op->off = HIST_TRACK_VALUES + LAYOUT_COMM_LEN;
	op->len = (uint16_t)hd->key_size;
	end = hist_compile_emit(c, OP_TRACK_END);
	hist_compile_emit(c, OP_SNAPSHOT)->arg = hd->instance->index;
	begin->on_false = end->on_false = (uint16_t)c->nr;
}

static void emit_track(const struct hist_data *hd, struct compiler *c, const struct hist_action *a)
{
	struct op *begin = emit_track_begin(c, a, a->track.block, 0), *end;

	if (a->kind == HIST_SAVE)
		emit_save(hd, c);
	end = hist_compile_emit(c, OP_TRACK_END);
	if (a->kind == HIST_TRACE)
		emit_trace(c, hd, a);
	else if (a->kind == HIST_SNAPSHOT)
		emit_snapshot(hd, c, a);
	begin->on_false = end->on_false = (uint16_t)c->nr;
}

static void emit_actions(const struct hist_data *hd, struct compiler *c)
{
	emit_own_refs(hd, c);
	for (unsigned int i = 0; i < hd->n_actions; i++) {
		const struct hist_action *a = hd->actions[i];

		if (a->handler == HIST_ONMATCH)
			emit_trace(c, hd, a);
		else
			emit_track(hd, c, a);
	}
}

/* One or two keys and at most one value, all fields without modifiers: one op does it all. */
static bool fits_one_op(const struct hist_data *hd)
{
	if (hd->n_vals > 2 || hd->n_keys > 2 || hd->n_actions || hd->n_var_refs)
		return false;
	for (unsigned int i = 1; i < hd->n_fields; i++)
		if (!is_plain(hd->fields[i]) ||
		    (hd->fields[i]->flags & (HIST_EXECNAME | HIST_VAR | HIST_EXTREME)))
			return false;
	return true;
}

static bool emit_joined(const struct hist_data *hd, struct compiler *c)
{
	const struct hist_field *const *keys =
		(const struct hist_field *const *)&hd->fields[hd->n_vals];
	struct op *op;

	if (!fits_one_op(hd))
		return false;
	op = hist_compile_emit(c, hd->n_fields == 2 ? OP_HIST_KEY1 : OP_HIST_KEYS);
	op->len = load_code(keys[0]);
	op->off = keys[0]->field->offset;
	if (hd->n_keys == 2) {
		op->size = load_code(keys[1]);
		op->on_true = keys[1]->field->offset;
	}
	if (hd->n_vals == 2) {
		op->cmp = load_code(hd->fields[1]);
		op->arg = hd->fields[1]->field->offset;
	}
	return true;
}

/* Whether each elt has a task's name. */
bool hist_has_execname(const struct hist_data *hd)
{
	for (unsigned int i = 0; i < hd->n_fields; i++)
		if (hd->fields[i]->flags & HIST_EXECNAME)
			return true;
	return false;
}

static void emit_update(const struct hist_data *hd, struct compiler *c)
{
	unsigned int sum = 1;

	if (hist_has_execname(hd))
		hist_compile_emit(c, OP_ELT_COMM)->off = (uint16_t)hd->n_map_vars;
	for (unsigned int i = 1; i < hd->n_vals; i++) {
		if (hd->fields[i]->flags & HIST_VAR)
			emit_var(hd, c, hd->fields[i], hd->fields[i]);
		else
			emit_sum(c, hd->fields[i], sum++);
	}
	for (unsigned int i = 0; i < hd->n_field_vars; i++)
		emit_var(hd, c, hd->field_vars[i]->var, hd->field_vars[i]->val);
}

static void emit_all(const struct hist_data *hd, struct compiler *c, bool joins)
{
	if (!joins || !emit_joined(hd, c)) {
		for (unsigned int i = hd->n_vals; i < hd->n_fields; i++)
			emit_key(c, hd->fields[i]);
		emit_foreign_refs(hd, c);
		hist_compile_emit(c, OP_FIND);
		emit_update(hd, c);
		emit_actions(hd, c);
	}
	hist_compile_emit(c, OP_END);
}

static bool is_latency(struct session *s, const struct code *code)
{
	const struct op *op = code->ops;
	const struct hist_cell *other;

	if (op->kind != OP_TAKE_SINCE || !hist_rest_is_event(code))
		return false;
	other = session_config(s, op->imm, sizeof(*other));
	return other->layout.key_size == 8;
}

int hist_compile(struct hist_data *hd)
{
	struct session *s = hd->event->model->session;
	bool joins = !session_shortcuts_off(s, SHORTCUTS_OFF_OPS);
	struct compiler *c = calloc(1, sizeof(*c));
	struct code *code = NULL;
	size_t size;

	if (!c)
		return -ENOMEM;
	emit_all(hd, c, joins);
	if (c->nr == OPS_MAX - 1) {
		free(c);
		return -E2BIG;
	}
	if (joins)
		c->nr = hist_join(c->ops, c->nr, hd->key_size, c->place);
	size = sizeof(*code) + c->nr * sizeof(struct op);
	hd->code = session_config_alloc(s, size);
	hd->code_size = size;
	if (hd->code)
		code = session_config(s, hd->code, size);
	if (code) {
		code->size = (uint32_t)size;
		code->nr_ops = c->nr;
		code->map = hd->map_ref;
		map_lay_out(&code->layout, &hd->shape);
		code->key_size = hd->key_size;
		code->flags = c->flags | (c->nr_events == 1 ? CODE_ONE_EVENT : 0);
		memcpy(code->ops, c->ops, c->nr * sizeof(struct op));
		if (is_latency(s, code))
			code->flags |= CODE_LATENCY;
	}
	free(c);
	return code ? 0 : -ENOMEM;
}
