/* SPDX-License-Identifier: MIT */
/*
 * compile.c - from fields to the flat program that runs at a hit
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/hist.h"
#include "plane/program.h"

enum { OPS_MAX = 96 };

struct code {
	struct op	ops[OPS_MAX];
	unsigned int	nr;
	unsigned int	flags;
};

static struct op *emit(struct code *c, enum op_code code)
{
	struct op *op = &c->ops[c->nr < OPS_MAX - 1 ? c->nr++ : OPS_MAX - 1];

	*op = (struct op){ .code = code };
	return op;
}

static enum op_code load_code(const struct hist_field *f)
{
	unsigned int size = f->field->size;
	enum op_code base = f->field->is_signed ? OP_LOAD_S8 : OP_LOAD_U8;

	return base + (size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3);
}

static void emit_value(struct code *c, const struct hist_field *f);

/* Division by a number as the kernel does it: a shift, a multiplication that rounds up, or plainly. */
static void emit_division(struct code *c, const struct hist_field *divisor)
{
	uint64_t d = divisor->constant;
	struct op *op;

	if (!(divisor->flags & HIST_CONST) || ((d & (d - 1)) && d > 1u << 20)) {
		emit_value(c, divisor);
		emit(c, OP_DIV);
	} else if (!(d & (d - 1))) {
		emit(c, OP_DIV_SHIFT)->imm = (uint64_t)__builtin_ctzll(d);
	} else {
		op = emit(c, OP_DIV_MULT);
		op->imm = (1u << 20) / d;
		op->arg = (uint32_t)d;
	}
}

static void emit_expr(struct code *c, const struct hist_field *f)
{
	emit_value(c, f->operands[0]);
	if (f->operator == HIST_OP_UNARY_MINUS) {
		emit(c, OP_NEG);
	} else if (f->operator == HIST_OP_DIV) {
		emit_division(c, f->operands[1]);
	} else {
		emit_value(c, f->operands[1]);
		emit(c, f->operator == HIST_OP_PLUS ? OP_ADD : f->operator == HIST_OP_MINUS ? OP_SUB : OP_MUL);
	}
}

/* Pushes the number that a field stands for. */
static void emit_value(struct code *c, const struct hist_field *f)
{
	if (f->flags & HIST_EXPR) {
		emit_expr(c, f);
	} else if (f->flags & (HIST_LOG2 | HIST_BUCKET)) {
		emit_value(c, f->operands[0]);
		emit(c, f->flags & HIST_LOG2 ? OP_LOG2 : OP_BUCKET)->imm = f->buckets;
	} else if (f->flags & HIST_CONST) {
		emit(c, OP_LOAD_IMM)->imm = f->constant;
	} else if (f->flags & HIST_TIMESTAMP) {
		emit(c, OP_LOAD_TIME);
		c->flags |= PROGRAM_NEEDS_TIME;
		if (f->hist_data->attrs.ts_in_usecs)
			emit(c, OP_USECS);
	} else if (f->flags & HIST_CPU) {
		emit(c, OP_LOAD_CPU);
	} else if (f->flags & HIST_HITCOUNT) {
		emit(c, OP_LOAD_IMM)->imm = 1;
	} else if (f->field) {
		emit(c, load_code(f))->off = f->field->offset;
	} else {
		emit(c, OP_LOAD_IMM);
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

/* A field of the record as it is: loaded and used by one op. */
static bool is_plain(const struct hist_field *f)
{
	return f->field && !(f->flags & (HIST_CPU | HIST_STRING | HIST_STACKTRACE | HIST_LOG2 | HIST_BUCKET |
					 HIST_EXPR | HIST_VAR_REF | HIST_CONST | HIST_TIMESTAMP));
}

static struct op *emit_plain(struct code *c, enum op_code code, const struct hist_field *f)
{
	struct op *op = emit(c, code);

	op->size = load_code(f);
	op->arg = f->field->offset;
	return op;
}

static void emit_key(struct code *c, const struct hist_field *f)
{
	struct op *op;

	if (f->flags & HIST_STACKTRACE) {
		op = emit(c, f->field ? OP_KEY_STACK_FIELD : OP_KEY_STACK);
		op->imm = f->field ? f->field->offset : 0;
		c->flags |= f->field ? 0 : PROGRAM_NEEDS_STACK;
	} else if (f->flags & HIST_STRING) {
		op = emit(c, OP_KEY_STRING);
		op->imm = f->field->offset;
		op->size = string_kind(f->field);
		op->arg = f->field->kind == FIELD_STATIC_STRING ? f->field->size : 0;
	} else if (is_plain(f)) {
		op = emit_plain(c, OP_KEY_FIELD, f);
	} else {
		emit_value(c, f);
		op = emit(c, OP_KEY_U64);
	}
	op->off = (uint16_t)f->offset;
	op->len = (uint16_t)f->size;
}

static void emit_sum(struct code *c, const struct hist_field *f, unsigned int sum)
{
	struct op *op;

	if (is_plain(f)) {
		op = emit_plain(c, OP_SUM_FIELD, f);
	} else {
		emit_value(c, f);
		op = emit(c, OP_SUM);
	}
	op->off = (uint16_t)sum;
}

static void emit_var(struct code *c, const struct hist_field *f)
{
	emit_value(c, f);
	emit(c, OP_VAR_SET)->off = (uint16_t)f->var.idx;
}

/* One or two keys and at most one value that are fields as they are: one op does it all. */
static bool fits_one_op(const struct hist_data *hd)
{
	if (hd->n_vals > 2 || hd->n_keys > 2)
		return false;
	for (unsigned int i = 1; i < hd->n_fields; i++)
		if (!is_plain(hd->fields[i]) || (hd->fields[i]->flags & (HIST_EXECNAME | HIST_VAR)))
			return false;
	return true;
}

static bool emit_fused(const struct hist_data *hd, struct code *c)
{
	const struct hist_field *const *keys = (const struct hist_field *const *)&hd->fields[hd->n_vals];
	struct op *op;

	if (!fits_one_op(hd))
		return false;
	op = emit(c, hd->n_fields == 2 ? OP_HIST_KEY1 : OP_HIST_KEYS);
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

static bool has_execname(const struct hist_data *hd)
{
	for (unsigned int i = hd->n_vals; i < hd->n_fields; i++)
		if (hd->fields[i]->flags & HIST_EXECNAME)
			return true;
	return false;
}

static void emit_all(const struct hist_data *hd, struct code *c)
{
	unsigned int sum = 1;

	if (!emit_fused(hd, c)) {
		for (unsigned int i = hd->n_vals; i < hd->n_fields; i++)
			emit_key(c, hd->fields[i]);
		emit(c, OP_FIND);
		for (unsigned int i = 1; i < hd->n_vals; i++) {
			if (hd->fields[i]->flags & HIST_VAR)
				emit_var(c, hd->fields[i]);
			else
				emit_sum(c, hd->fields[i], sum++);
		}
		if (has_execname(hd))
			emit(c, OP_ELT_COMM)->off = (uint16_t)hd->n_vars;
	}
	emit(c, OP_END);
}

static void shape_of(struct hist_data *hd, struct map_shape *out)
{
	const struct config_header *h = session_header(hd->event->model->session);

	*out = (struct map_shape){
		.max_elts = 1u << hd->map_bits, .key_size = hd->key_size,
		.nr_sums = hd->n_vals - hd->n_vars,
		.nr_vars = hd->n_vars + (has_execname(hd) ? HIST_COMM_VARS : 0),
		.nr_cpus = h->nr_cpus, .nr_slots = h->nr_slots,
	};
}

static int make_map(struct hist_data *hd)
{
	struct session *s = hd->event->model->session;
	struct map *m;

	hd->map_ref = session_data_alloc(s, hd->map_size);
	m = hd->map_ref ? session_data(s, hd->map_ref, hd->map_size) : NULL;
	if (!m)
		return -ENOMEM;
	map_init(m, &hd->shape);
	return 0;
}

static struct hist_cell *cell_of(const struct hist_data *hd)
{
	return session_config(hd->event->model->session, hd->cell, sizeof(struct hist_cell));
}

static void point_cell(const struct hist_data *hd)
{
	/* Release: who reads the cell after this server died finds a whole map. */
	atomic_store_explicit(&cell_of(hd)->map, hd->map_ref, memory_order_release);
}

static int make_cell(struct hist_data *hd)
{
	hd->cell = session_config_alloc(hd->event->model->session, sizeof(struct hist_cell));
	if (!hd->cell)
		return -ENOMEM;
	point_cell(hd);
	return 0;
}

static int adopt_map(struct hist_data *hd, config_ref cell)
{
	struct session *s = hd->event->model->session;
	struct hist_cell *c = session_config(s, cell, sizeof(*c));
	data_ref map;

	if (!c || session_config_adopt(s, cell, sizeof(*c)))
		return -EPROTO;
	/* Acquire: pairs with the release in point_cell(). */
	map = atomic_load_explicit(&c->map, memory_order_acquire);
	if (!session_data(s, map, hd->map_size) || session_data_adopt(s, map, hd->map_size))
		return -EPROTO;
	hd->cell = cell;
	hd->map_ref = map;
	return 0;
}

static int write_program(struct hist_data *hd)
{
	struct session *s = hd->event->model->session;
	struct code *c = calloc(1, sizeof(*c));
	struct program *prog = NULL;
	size_t size;

	if (!c)
		return -ENOMEM;
	emit_all(hd, c);
	size = sizeof(*prog) + c->nr * sizeof(struct op);
	hd->program = session_config_alloc(s, size);
	hd->program_size = size;
	if (hd->program)
		prog = session_config(s, hd->program, size);
	if (prog) {
		prog->size = (uint32_t)size;
		prog->nr_ops = c->nr;
		prog->map = hd->map_ref;
		prog->key_size = hd->key_size;
		prog->flags = c->flags;
		memcpy(prog->ops, c->ops, c->nr * sizeof(struct op));
	}
	free(c);
	return prog ? 0 : -ENOMEM;
}

int hist_compile(struct hist_data *hd, config_ref adopted_cell)
{
	int err;

	shape_of(hd, &hd->shape);
	hd->map_size = map_size(&hd->shape);
	err = adopted_cell ? adopt_map(hd, adopted_cell) : make_map(hd);
	if (!err && !adopted_cell)
		err = make_cell(hd);
	return err ? err : write_program(hd);
}

int hist_renew_map(struct hist_data *hd)
{
	struct session *s = hd->event->model->session;
	data_ref old_map = hd->map_ref;
	config_ref old_program = hd->program;
	int err = make_map(hd);

	if (!err)
		err = write_program(hd);
	if (err) {
		if (hd->map_ref && hd->map_ref != old_map)
			session_data_free(s, hd->map_ref, hd->map_size);
		hd->map_ref = old_map;
		hd->program = old_program;
		return err;
	}
	point_cell(hd);
	session_config_retire(s, old_program, hd->program_size);
	session_data_retire(s, old_map, hd->map_size);
	return 0;
}
