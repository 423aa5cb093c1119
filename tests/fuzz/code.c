/* SPDX-License-Identifier: MIT */
/*
 * code.c - random code, as a compiler may write it, on records of any bytes
 *
 * Input: how to make the code, a 0xff, then the record. The input chooses ops, their order and
 * their operands, within the rules of plane/code.h: keys inside the key, variables, blocks and
 * references that exist and have been set, jumps forward. Fields may be anywhere. The record is run
 * at several lengths, in memory of exactly that size.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plane/map/map.h"
#include "plane/code.h"
#include "plane/ring/ring.h"
#include "plane/run.h"
#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	OPS_MAX = 160,
	KEY_SIZE = 320,
	NR_VARS = 8,
	NR_BLOCKS = 5,
	TRACK_BLOCK = 4,
	SYNTH = 302,
	SYNTH_SIZE = 600,
	RECORD_MAX = 4096,
	/* variables and references of each kind */
	NUMBERS = 0,
	TEXTS = 4,
	STACKS = 6,
	REF_TEXTS = 6,
	REF_STACKS = 11,
};

struct fixture {
	struct session	*session;
	struct plane	*p;
	struct slot	*slot;
	data_ref	maps[2];
	config_ref	cells[2];
};

static struct fixture w;

/* -> its cell */
static config_ref map_made(data_ref *out)
{
	struct map_shape shape = { .max_elts = 128,
				  .key_size = KEY_SIZE,
				  .nr_sums = 3,
				  .nr_vars = NR_VARS + 2,
				  .nr_cpus = 4,
				  .nr_slots = 8,
				  .nr_blocks = NR_BLOCKS };
	config_ref ref = session_config_alloc(w.session, sizeof(struct hist_cell));
	struct hist_cell *cell = session_config(w.session, ref, sizeof(*cell));

	for (int i = 0; i < NR_BLOCKS; i++)
		shape.block_size[i] = i == TRACK_BLOCK ? 900 / 8 * 8 : STRING_ROOM;
	*out = session_data_alloc(w.session, map_size(&shape));
	if (!*out)
		abort();
	map_lay_out(&cell->layout, &shape);
	cell->map = *out;
	return ref;
}

static struct map_layout layout_of(size_t i)
{
	return ((struct hist_cell *)session_config(w.session, w.cells[i], sizeof(struct hist_cell)))
		->layout;
}

/* Records the synthetic event, and gives it a hist whose key may be anywhere in the record. */
static void arm_synth(void)
{
	const struct op ops[] = {
		{ .kind = OP_KEY_STRING, .off = 0, .imm = 16, .len = 256, .size = STRING_DATA_LOC },
		{ .kind = OP_KEY_FIELD, .off = 256, .size = OP_LOAD_U64, .arg = 8 },
		{ .kind = OP_FIND }, { .kind = OP_END },
	};
	size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	config_ref plan = session_config_alloc(w.session, size);
	config_ref ref = session_config_alloc(w.session, sizeof(struct code) + sizeof(ops));
	struct code *code = session_config(w.session, ref, sizeof(*code) + sizeof(ops));
	struct plan *made = session_config(w.session, plan, size);
	struct arm *arm = (struct arm *)(made + 1);

	*code = (struct code){ .size = (uint32_t)(sizeof(*code) + sizeof(ops)), .nr_ops = 4,
		.map = w.maps[1],
				  .layout = layout_of(1), .key_size = KEY_SIZE };
	memcpy(code->ops, ops, sizeof(ops));
	*made = (struct plan){ .event_id = SYNTH, .nr_arms = 1, .nr_triggers = 1,
		.size = (uint32_t)size };
	*arm = (struct arm){ .flags = ARM_RECORD | ARM_NEED_RECORD, .nr_triggers = 1 };
	*(struct trigger_arm *)(arm + 1) = (struct trigger_arm){ .kind = TRIGGER_HIST,
		.code = ref,
		.state = session_data_alloc(w.session, sizeof(struct trigger_state)) };
	session_publish(w.session, (_Atomic uint64_t *)&plane_event(w.p, SYNTH)->plan, plan);
}

static void fixture_open(void)
{
	struct session_params params = { .nr_cpus = 4, .nr_slots = 8, .memory = 64 << 20 };
	uint64_t bytes[4] = { 65536, 65536, 65536, 65536 };
	struct instance_state *inst;
	data_ref ref;

	if (session_create(NULL, &params, &w.session))
		abort();
	w.p = session_plane(w.session);
	w.slot = session_slot_get(w.session);
	w.slot->depth = 1;
	inst = plane_instance(w.p, 0);
	for (int i = 0; i < 2; i++) {
		if (buffer_create(w.session, 0, 4, 4096, bytes, 2, true, &ref))
			abort();
		buffer_publish(w.session, 0, (uint32_t)i, ref);
	}
	memset(inst->cpumask, 0xff, sizeof(inst->cpumask));
	inst->tracing_on = 1;
	for (int i = 0; i < 2; i++)
		w.cells[i] = map_made(&w.maps[i]);
	arm_synth();
}

/* ---- code out of the input ---- */

struct source {
	const uint8_t	*at, *end;
	struct code	*code;
	bool		var_set[NR_VARS], ref_set[CODE_REFS];
};

static unsigned int next(struct source *s, unsigned int below)
{
	unsigned int v = 0;

	if (s->at < s->end && *s->at != 0xff)
		v = *s->at++;
	if (below > 256 && s->at < s->end && *s->at != 0xff)
		v = v << 8 | *s->at++;
	return v % below;
}

static struct op *emit(struct source *s, enum op_kind code)
{
	struct op *op = &s->code->ops[s->code->nr_ops];

	if (s->code->nr_ops < OPS_MAX - 1)
		s->code->nr_ops++;
	*op = (struct op){ .kind = (uint8_t)code };
	return op;
}

static uint16_t field(struct source *s)
{
	return (uint16_t)next(s, RECORD_MAX + 100);
}

static unsigned int load(struct source *s)
{
	return OP_LOAD_U8 + next(s, 8);
}

static unsigned int ref_begin(unsigned int kind)
{
	return kind == NUMBERS ? 0 : kind == TEXTS ? REF_TEXTS : REF_STACKS;
}

static unsigned int ref_count(unsigned int kind)
{
	return kind == NUMBERS ? REF_TEXTS
	       : kind == TEXTS ? REF_STACKS - REF_TEXTS
			       : CODE_REFS - REF_STACKS;
}

/* Finds a reference of that kind that has been read. False: there is none yet. */
static bool ref_known(struct source *s, unsigned int kind, uint32_t *ref)
{
	*ref = ref_begin(kind) + next(s, ref_count(kind));
	return s->ref_set[*ref];
}

static void make_value(struct source *s)
{
	static const uint8_t twos[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV },
			     ones[] = { OP_LOG2, OP_BUCKET, OP_EXPONENTIAL, OP_USECS, OP_NEG };
	uint32_t ref;

	emit(s, load(s))->off = field(s);
	switch (next(s, 6)) {
	case 0:
		emit(s, OP_LOAD_TIME);
		emit(s, twos[next(s, 4)]);
		break;
	case 1:
		emit(s, ones[next(s, 5)])->imm = next(s, 256);
		break;
	case 2:
		if (ref_known(s, NUMBERS, &ref)) {
			emit(s, OP_LOAD_REF)->arg = ref;
			emit(s, twos[next(s, 4)]);
		}
		break;
	default:
		break;
	}
}

static void text_source(struct source *s, struct op *op)
{
	static const uint8_t kinds[] = { STRING_FIXED, STRING_DATA_LOC, STRING_REL_LOC,
					STRING_COMM, STRING_POINTER, STRING_REF,
					STRING_ELT_COMM };

	op->size = kinds[next(s, sizeof(kinds))];
	op->imm = field(s);
	op->arg = op->size == STRING_FIXED ? next(s, 600) : NR_VARS;
	if (op->size == STRING_REF && !ref_known(s, TEXTS, &op->arg))
		op->size = STRING_COMM;
}

static void make_key(struct source *s)
{
	struct op *op;

	switch (next(s, 5)) {
	case 0:
		op = emit(s, next(s, 2) ? OP_KEY_FIELD : OP_KEY_LOG2);
		op->size = (uint8_t)load(s);
		op->arg = field(s);
		op->off = (uint16_t)(8 * next(s, KEY_SIZE / 8));
		break;
	case 1:
		make_value(s);
		emit(s, OP_KEY_U64)->off = (uint16_t)(8 * next(s, KEY_SIZE / 8));
		break;
	case 2:
		op = emit(s, OP_KEY_STRING);
		op->size = (uint8_t)next(s, 3);
		op->arg = next(s, 600);
		op->imm = field(s);
		op->len = STRING_ROOM;
		op->off = (uint16_t)(8 * next(s, 8));
		break;
	default:
		op = emit(s, next(s, 2) ? OP_KEY_STACK : OP_KEY_STACK_FIELD);
		op->imm = field(s);
		op->len = (uint16_t)(8 * (1 + next(s, CODE_STACK_DEEPEST + 1)));
		op->flags = next(s, 2) ? KEY_MARKS : 0;
		op->off = (uint16_t)(8 * next(s, 24));
		break;
	}
}

static void make_foreign_ref(struct source *s)
{
	static const uint8_t kinds[] = { NUMBERS, TEXTS, STACKS };
	unsigned int kind = kinds[next(s, 3)], var = kind + next(s, kind == NUMBERS ? 4 : 2);
	struct op *op;

	if (next(s, 2)) {
		op = emit(s, OP_REF_FIND);
		op->imm = w.cells[0];
		op->arg = KEY_SIZE;
		op = emit(s, OP_REF_READ);
	} else {
		op = emit(s, OP_REF_TAKE);
		op->imm = w.cells[0];
		op->on_true = KEY_SIZE;
	}
	op->off = (uint16_t)var;
	op->len = kind == NUMBERS ? 0 : (uint16_t)(1 + var - TEXTS);
	op->flags = (uint8_t)next(s, 2);
	op->arg = ref_begin(kind) + next(s, ref_count(kind));
	s->ref_set[op->arg] = true;
}

static void make_variable(struct source *s)
{
	unsigned int var = next(s, NR_VARS);
	struct op *op;

	s->var_set[var] = true;
	if (var < TEXTS && next(s, 3) == 0) {
		op = emit(s, OP_VAR_TIME);
		op->size = (uint8_t)next(s, 2);
	} else if (var < TEXTS) {
		make_value(s);
		op = emit(s, OP_VAR_SET);
	} else if (var < STACKS) {
		op = emit(s, OP_VAR_SET_STRING);
		text_source(s, op);
		op->len = (uint16_t)(var - TEXTS);
	} else {
		op = emit(s, OP_VAR_SET_STACK);
		op->size = (uint8_t)next(s, 3);
		op->imm = field(s);
		op->len = (uint16_t)(var - TEXTS);
		if (op->size == STACK_REF && !ref_known(s, STACKS, &op->arg))
			op->size = STACK_HIT;
	}
	op->off = (uint16_t)var;
}

static void make_own_ref(struct source *s)
{
	unsigned int var = next(s, NR_VARS), kind = var < TEXTS	   ? NUMBERS
						    : var < STACKS ? TEXTS
								   : STACKS;
	struct op *op;

	if (!s->var_set[var])
		return;
	op = emit(s, OP_REF_OWN);
	op->off = (uint16_t)var;
	op->len = kind == NUMBERS ? 0 : (uint16_t)(1 + var - TEXTS);
	op->arg = ref_begin(kind) + next(s, ref_count(kind));
	s->ref_set[op->arg] = true;
}

static void make_save(struct source *s)
{
	struct op *op;

	switch (next(s, 4)) {
	case 0:
		make_value(s);
		op = emit(s, OP_TRACK_U64);
		break;
	case 1:
		op = emit(s, OP_TRACK_STRING);
		text_source(s, op);
		break;
	case 2:
		op = emit(s, OP_TRACK_KEY);
		op->len = KEY_SIZE;
		break;
	default:
		op = emit(s, OP_TRACK_COMM);
		op->arg = next(s, 2) ? NR_VARS + 1 : 0;
		break;
	}
	op->off = (uint16_t)(8 + 8 * next(s, 130));
}

static void make_track(struct source *s)
{
	unsigned int begin = s->code->nr_ops, end;
	uint32_t ref;
	struct op *op;

	if (!ref_known(s, NUMBERS, &ref) || begin > OPS_MAX - 20)
		return;
	op = emit(s, OP_TRACK_BEGIN);
	op->off = TRACK_BLOCK;
	op->arg = ref;
	op->flags = (uint8_t)next(s, 4);
	for (unsigned int n = next(s, 4); n; n--)
		make_save(s);
	end = s->code->nr_ops;
	emit(s, OP_TRACK_END);
	if (next(s, 4) == 0)
		emit(s, OP_SNAPSHOT);
	s->code->ops[begin].on_false = s->code->ops[end].on_false = (uint16_t)s->code->nr_ops;
}

static void make_synth(struct source *s)
{
	struct op *op;
	uint32_t ref;

	if (s->code->nr_ops > OPS_MAX - 20)
		return;
	op = emit(s, OP_SYNTH_BEGIN);
	op->arg = SYNTH;
	op->len = SYNTH_SIZE;
	for (unsigned int n = next(s, 8); n; n--) {
		unsigned int kind = next(s, 3) * 2 + 2;

		kind = kind == 2 ? NUMBERS : kind;
		if (!ref_known(s, kind, &ref))
			continue;
		op = emit(s, kind == NUMBERS ? OP_SYNTH_U64
			     : kind == TEXTS ? OP_SYNTH_STRING
					     : OP_SYNTH_STACK);
		op->arg = ref;
		op->off = (uint16_t)(8 + 8 * next(s, 40));
		op->size = (uint8_t)(1 << next(s, 4));
		op->len = kind == TEXTS && next(s, 2) ? STRING_ROOM : 0;
	}
	emit(s, OP_SYNTH_END);
}

static void make_code(struct source *s)
{
	struct op *op;

	for (unsigned int n = 1 + next(s, 4); n; n--)
		make_key(s);
	for (unsigned int n = next(s, 4); n; n--)
		make_foreign_ref(s);
	emit(s, OP_FIND);
	if (next(s, 2))
		emit(s, OP_ELT_COMM)->off = NR_VARS;
	if (next(s, 4) == 0) {
		make_value(s);
		op = emit(s, OP_RAISE);
		op->off = 1;
		op->imm = next(s, 2) ? ~0ull : 0;
	}
	for (unsigned int n = next(s, 10); n && s->code->nr_ops < OPS_MAX - 60; n--)
		make_variable(s);
	for (unsigned int n = next(s, 8); n; n--)
		make_own_ref(s);
	for (unsigned int n = next(s, 5); n; n--) {
		if (next(s, 2))
			make_track(s);
		else
			make_synth(s);
	}
	emit(s, OP_END);
}

static void run_code(const struct code *code, const uint8_t *record, uint32_t size)
{
	static const uint64_t stack[20] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
					   11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
	uint8_t *copy = malloc(size);
	struct hit h = { .record = copy,
			.size = size,
			.cpu = size % 4,
			.time = 1000 + size,
			.comm = "somebody",
			.stack = stack,
			.nr_stack = size % 21,
			.writer = 1 };
	struct run r = { .p = w.p, .slot = w.slot, .h = &h, .seen = &h, .time = h.time };

	memcpy(copy, record, size);
	hist_fold(code, &r);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *split = memchr(data, 0xff, size);
	struct source s = { .at = data, .end = split ? split : data + size };
	uint8_t record[RECORD_MAX] = { 0 };
	uint32_t len = 0;

	if (!w.session)
		fixture_open();
	s.code = calloc(1, sizeof(struct code) + OPS_MAX * sizeof(struct op));
	s.code->map = w.maps[size % 2];
	s.code->layout = layout_of(size % 2);
	s.code->key_size = KEY_SIZE;
	make_code(&s);
	if (split)
		len = (uint32_t)(data + size - split - 1);
	if (len > RECORD_MAX)
		len = RECORD_MAX;
	if (len)
		memcpy(record, split + 1, len);
	if (len < sizeof(struct record_common))
		len = sizeof(struct record_common);
	for (uint32_t i = 0; i < 4; i++)
		run_code(s.code, record,
			    len - (len - (uint32_t)sizeof(struct record_common)) * i / 4);
	free(s.code);
	return 0;
}
