/* SPDX-License-Identifier: MIT */
/*
 * shortcut.c - what a thread remembers of hits that one histogram counts, and the table of
 * shortcuts
 *
 * Such a hit goes from its plan to a trigger, its code, its map and an elt; the next hit of the
 * event goes there again. So the thread remembers all of these (struct agent_count), and count_way
 * of x86_64/short.h continues from there. What it cannot do, it leaves to emit_long() before it has
 * done anything: a key that is new, a thread on a CPU that has no column.
 *
 * W1 to W4 of way.c hold for it. What changes without a publication (W2) is loaded at each hit:
 * whether the event is soft disabled, whether the histogram is paused, and the CPU.
 *
 * A thread that is killed here leaves nothing that it could not leave on the long way: the key is
 * there before, and the last instruction of a restartable section adds to each sum.
 */
#include "agent/emit/emit.h"
#include "agent/emit/shortcut.h"
#include "agent/emit/way.h"
#include "agent/x86_64/emit.h"
#include "plane/arch/counter.h"
#include "plane/arch/ring_commit.h"
#include "plane/action/fold.h"
#include "plane/hit.h"
#include "plane/map/map.h"

#define AT(field, number) (offsetof(struct agent_count, field) == (number))

_Static_assert(offsetof(struct agent_thread, counts) == THREAD_COUNTS &&
		       sizeof(struct agent_count) == 1 << COUNT_BITS && AT(seen, COUNT_SEEN) &&
		       AT(event, COUNT_EVENT) && AT(key, COUNT_KEY) && AT(key2, COUNT_KEY2) &&
		       AT(value, COUNT_VAL) && AT(shift, COUNT_SHIFT) && AT(early, COUNT_EARLY) &&
		       AT(late, COUNT_LATE) && AT(key_off, COUNT_KEY_OFF) &&
		       AT(key2_off, COUNT_KEY2_OFF) && AT(value_off, COUNT_VAL_OFF) &&
		       AT(size, COUNT_SIZE) && AT(last, COUNT_LAST) && AT(soft, COUNT_SOFT) &&
		       AT(paused, COUNT_PAUSED) && AT(entries, COUNT_ENTRIES) &&
		       AT(elts, COUNT_ELTS),
	       "short.h knows the first line");
_Static_assert(AT(elt_size, COUNT_ELT_SIZE) && AT(sums, COUNT_SUMS) && AT(stride, COUNT_STRIDE) &&
		       AT(column_size, COUNT_COLUMN) && AT(rseq, COUNT_RSEQ) &&
		       AT(slot, COUNT_SLOT) && AT(nr_plain, COUNT_PLAIN) && AT(mask, COUNT_MASK) &&
		       AT(taken, COUNT_TAKEN),
	       "short.h knows the second line");
_Static_assert(AT(filter_low, COUNT_LOW) && AT(filter_span, COUNT_SPAN) &&
		       AT(filter_off, COUNT_IF_OFF) && AT(filter, COUNT_IF) &&
		       AT(usecs, COUNT_USECS) && AT(var, COUNT_VAR) && AT(clock, COUNT_CLOCK) &&
		       AT(clock_id, COUNT_CLOCK_ID) && AT(mult, COUNT_MULT) &&
		       AT(offset, COUNT_OFFSET) && AT(call, COUNT_FUNCTION) &&
		       offsetof(struct agent_thread, resume) == THREAD_RESUME,
	       "short.h knows the third line");
_Static_assert(AT(rest, COUNT_REST_FUNCTION) && AT(other, COUNT_OTHER_HIST) &&
		       offsetof(struct agent_other, cell) == OTHER_CELL &&
		       offsetof(struct agent_other, map) == OTHER_MAP &&
		       offsetof(struct agent_other, entries) == OTHER_ENTRIES &&
		       offsetof(struct agent_other, elts) == OTHER_ELTS &&
		       offsetof(struct agent_other, elt_size) == OTHER_ELT_SIZE &&
		       offsetof(struct agent_other, last) == OTHER_LAST &&
		       offsetof(struct agent_other, mask) == OTHER_MASK &&
		       offsetof(struct agent_other, var) == OTHER_VAR &&
		       offsetof(struct agent_other, shift) == OTHER_SHIFT,
	       "short.h knows the other histogram");
_Static_assert(COUNT_TWO == EARLY_TWO && COUNT_OTHER == EARLY_OTHER && COUNT_LOG2 == EARLY_LOG2 &&
		       COUNT_FILTER == EARLY_FILTER && COUNT_CALL == EARLY_CALL &&
		       COUNT_TIMED == EARLY_TIMED && COUNT_TIME == LATE_TIME &&
		       COUNT_SINCE == LATE_SINCE && COUNT_REST == LATE_REST &&
		       COUNT_PARENT == EARLY_PARENT && COUNT_IPS == EARLY_IPS,
	       "short.h knows what comes early and late");

/* The parts of a histogram that decide which shortcut fits. */
struct counted {
	const struct plan *plan;
	const struct op *op; /* the first one of its code */
	struct map_view map;
	const struct instance_state *inst;
	bool function; /* the entry is a group's: its records are struct function_record */
};

/* ---- Shortcuts in C. False: nothing was done, the hit has to go the long way ---- */

/* As in hit_enter(): there may be more CPUs than the session knows. */
static inline bool is_known(uint32_t cpu)
{
	return cpu < plane_header(&agent.plane)->nr_cpus;
}

static inline bool on_known_cpu(const struct agent_count *c)
{
	return is_known((uint32_t)*c->thread->cpu);
}

/*
 * The rest of hit(), for any code. A record that it makes may want a stack; only the long way takes
 * one.
 */
static bool call_any(struct agent_count *c, void *record, uint32_t size)
{
	const struct instance_state *inst =
		plane_instance(&agent.plane, plan_arms(c->plan)->instance);
	const uint32_t cpu = (uint32_t)*c->thread->cpu;
	struct hit *h = &c->thread->hit;

	/* Relaxed: H5 of hit.h. */
	if (!is_known(cpu) || (atomic_load_explicit(&inst->flags, memory_order_relaxed) &
				 (INSTANCE_STACKTRACE | INSTANCE_USERSTACKTRACE)))
		return false;
	emit_fill(c->thread, c->event, record);
	h->record = record;
	h->size = size;
	h->cpu = cpu;
	h->comm = c->thread->comm;
	hit_count(&agent.plane, c->slot, c->plan, h, c->early & COUNT_FILTER);
	return true;
}

/* What follows OP_TAKE_SINCE. The hit has been counted, so it cannot leave. */
static void rest_any(struct agent_count *c, void *record, uint32_t size, uint32_t elt,
		     uint64_t value, uint64_t now)
{
	const struct hit_since done = { .now = now, .value = value, .clock = c->clock_id,
					.elt = elt };
	const uint32_t cpu = (uint32_t)*c->thread->cpu;
	struct hit *h = &c->thread->hit;

	if (!is_known(cpu)) {
		hit_miss(c->slot);
		return;
	}
	emit_fill(c->thread, c->event, record);
	h->record = record;
	h->size = size;
	h->cpu = cpu;
	h->comm = c->thread->comm;
	hit_count_rest(&agent.plane, c->slot, c->plan, h, &done);
}

/* OP_REF_OWN, OP_TRACK_BEGIN ... OP_TRACK_END: most values are no new maximum. */
static void rest_track(struct agent_count *c, void *record, uint32_t size, uint32_t elt,
		       uint64_t value, uint64_t now)
{
	const struct op *op = &c->code->ops[2];
	const struct map_view map = map_view_of(&agent.plane, c->code->map, &c->code->layout);

	if (fold_track_takes(op->flags, value, map_block_value(map, elt, op->off)))
		rest_any(c, record, size, elt, value, now);
}

/* OP_HIST_TEXT */
static bool call_text(struct agent_count *c, void *record, uint32_t size)
{
	const struct plane *p = &agent.plane;
	const struct map_view map = map_view_of(p, c->code->map, &c->code->layout);
	struct hit h; /* only what fold_text_key() reads is set */
	uint32_t elt;

	if (!on_known_cpu(c))
		return false;
	h.record = record;
	h.size = size;
	elt = fold_text_key(&h, c->code->ops, map, c->slot,
			    plane_scratch(p, c->slot, 0)->frame[0].key);
	if (elt)
		map_add(map, elt, 0, 1, 0);
	return true;
}

/* ---- Fields ---- */

static uint8_t load_of(unsigned int op)
{
	static const uint8_t loads[] = {
		[OP_LOAD_U8 - OP_LOAD_U8] = COUNT_U8,	[OP_LOAD_U16 - OP_LOAD_U8] = COUNT_U16,
		[OP_LOAD_U32 - OP_LOAD_U8] = COUNT_U32, [OP_LOAD_U64 - OP_LOAD_U8] = COUNT_64,
		[OP_LOAD_S8 - OP_LOAD_U8] = COUNT_S8,	[OP_LOAD_S16 - OP_LOAD_U8] = COUNT_S16,
		[OP_LOAD_S32 - OP_LOAD_U8] = COUNT_S32, [OP_LOAD_S64 - OP_LOAD_U8] = COUNT_64,
	};

	return op - OP_LOAD_U8 < sizeof(loads) ? loads[op - OP_LOAD_U8] : COUNT_NONE;
}

static uint32_t load_size(uint8_t load)
{
	return load == COUNT_64				? 8
	       : load == COUNT_U32 || load == COUNT_S32 ? 4
	       : load == COUNT_U16 || load == COUNT_S16 ? 2
							: 1;
}

/*
 * Notes a field that is loaded. False: it has no quick load, or is a common field, which only the
 * long way fills in.
 */
static bool field_of(struct agent_count *c, unsigned int op, uint32_t off, uint8_t *load,
		     uint16_t *at)
{
	uint32_t end;

	*load = load_of(op);
	*at = (uint16_t)off;
	if (*load == COUNT_NONE || off < sizeof(struct record_common) || off > UINT16_MAX)
		return false;
	end = off + load_size(*load);
	c->size = end > c->size ? end : c->size;
	return true;
}

static uint8_t other_load(uint8_t load)
{
	return load > COUNT_64 ? COUNT_OTHER : 0;
}

/* ---- `if` with one comparison ---- */

static enum cmp_op opposite(enum cmp_op cmp)
{
	static const uint8_t of[] = {
		[CMP_EQ] = CMP_NE, [CMP_NE] = CMP_EQ, [CMP_LT] = CMP_GE,  [CMP_GE] = CMP_LT,
		[CMP_GT] = CMP_LE, [CMP_LE] = CMP_GT, [CMP_AND] = CMP_AND};

	return of[cmp];
}

/* The operand, with the width of the field and its sign. */
static uint64_t operand_of(const struct op *op)
{
	switch (op->kind) {
	case OP_CMP_U8:
		return (uint8_t)op->imm;
	case OP_CMP_U16:
		return (uint16_t)op->imm;
	case OP_CMP_U32:
		return (uint32_t)op->imm;
	case OP_CMP_S8:
		return (uint64_t)(int64_t)(int8_t)op->imm;
	case OP_CMP_S16:
		return (uint64_t)(int64_t)(int16_t)op->imm;
	case OP_CMP_S32:
		return (uint64_t)(int64_t)(int32_t)op->imm;
	default:
		return op->imm;
	}
}

/*
 * Makes a range of a comparison: it is true for low <= v <= high, where the numbers wrap around.
 * False: it is no range, or an empty one.
 */
static bool range_of(struct agent_count *c, enum cmp_op cmp, uint64_t v, bool is_signed)
{
	const uint64_t least = is_signed ? 1ull << 63 : 0, most = least - 1;
	uint64_t low = least, high = most;

	if (cmp == CMP_AND || (cmp == CMP_LT && v == least) || (cmp == CMP_GT && v == most))
		return false;
	if (cmp == CMP_EQ || cmp == CMP_GE || cmp == CMP_LE)
		low = high = v;
	if (cmp == CMP_NE || cmp == CMP_GT)
		low = v + 1;
	if (cmp == CMP_NE || cmp == CMP_LT)
		high = v - 1;
	if (cmp == CMP_GE)
		high = most;
	if (cmp == CMP_LE)
		low = least;
	c->filter_low = low;
	c->filter_span = high - low;
	return true;
}

static bool one_comparison(struct agent_count *c, const struct code *code)
{
	const struct op *op = code->ops;
	const struct op *yes = &op[op->on_true], *no = &op[op->on_false];
	bool inverted;

	if (op->kind < OP_CMP_U8 || op->kind > OP_CMP_S64 || op->on_true >= code->nr_ops ||
	    op->on_false >= code->nr_ops)
		return false;
	inverted = yes->kind == OP_REJECT;
	return (inverted ? no->kind == OP_ACCEPT
			 : yes->kind == OP_ACCEPT && no->kind == OP_REJECT) &&
	       field_of(c, OP_LOAD_U8 + (op->kind - OP_CMP_U8), op->off, &c->filter,
			&c->filter_off) &&
	       range_of(c, inverted ? opposite(op->cmp) : op->cmp, operand_of(op),
			op->kind >= OP_CMP_S8);
}

/* ---- Which hits have a shortcut ---- */

/* OP_HIST_KEY1, OP_HIST_KEYS */
static bool fits_keys(struct agent_count *c, const struct counted *from)
{
	const struct op *op = from->op;
	const struct map_layout *l = from->map.layout;
	bool more = op->kind == OP_HIST_KEYS;

	if ((op->kind != OP_HIST_KEY1 && !more) || op->flags)
		return false;
	if (!field_of(c, op->len, op->off, &c->key, &c->key_off) ||
	    (more && op->size && !field_of(c, op->size, op->on_true, &c->key2, &c->key2_off)) ||
	    (more && op->cmp && !field_of(c, op->cmp, op->arg, &c->value, &c->value_off)))
		return false;
	c->early |= (more && op->size ? COUNT_TWO : 0) | other_load(c->key);
	c->late = more && op->cmp ? COUNT_VALUE : 0;
	return l->key_size == (c->early & COUNT_TWO ? 16 : 8) && l->nr_sums > (c->late ? 1u : 0u);
}

static bool is_ip(uint8_t load, uint16_t off)
{
	return load == COUNT_64 && (off == offsetof(struct function_record, ip) ||
				    off == offsetof(struct function_record, parent_ip));
}

/* Keys ip, parent_ip or both, which entry.S has in registers. */
static bool fits_function(struct agent_count *c, const struct counted *from)
{
	if (!from->function || (c->early & COUNT_FILTER) || !fits_keys(c, from) || c->late ||
	    !is_ip(c->key, c->key_off))
		return false;
	if ((c->early & COUNT_TWO) &&
	    (!is_ip(c->key2, c->key2_off) || c->key2_off == c->key_off))
		return false;
	c->early |= COUNT_IPS;
	if (c->key_off == offsetof(struct function_record, parent_ip))
		c->early |= COUNT_PARENT;
	return true;
}

/* OP_HIST_LOG2 */
static bool fits_log2(struct agent_count *c, const struct counted *from)
{
	const struct op *op = from->op;

	if (op->kind != OP_HIST_LOG2 || from->map.layout->key_size != 8 ||
	    !field_of(c, op->len, op->off, &c->key, &c->key_off))
		return false;
	c->early |= COUNT_LOG2;
	return true;
}

/* Whether the clock is the counter now. Each hit looks again. */
static bool time_of(struct agent_count *c, const struct counted *from)
{
	const struct clock_scale *scale = &plane_header(&agent.plane)->tsc;

	c->clock = &from->inst->clock;
	/* Relaxed: H5 of hit.h. */
	c->clock_id = atomic_load_explicit(&from->inst->clock, memory_order_relaxed);
	c->mult = scale->mult;
	c->offset = (uint64_t)scale->offset;
	return scale->valid && scale->shift == 64 && clock_is_counter(c->clock_id);
}

/* OP_HIST_TIME */
static bool fits_time(struct agent_count *c, const struct counted *from)
{
	const struct op *op = from->op;
	const struct map_layout *l = from->map.layout;

	if (op->kind != OP_HIST_TIME || l->key_size != 8 || op->arg >= l->nr_vars ||
	    !time_of(c, from) || !field_of(c, op->len, op->off, &c->key, &c->key_off))
		return false;
	c->early |= COUNT_TIMED | other_load(c->key);
	c->late = COUNT_TIME;
	c->var = l->var_base + op->arg * MAP_VAR_BYTES;
	c->usecs = op->size;
	return true;
}

static bool call_for(struct agent_count *c, bool (*call)(struct agent_count *, void *, uint32_t))
{
	c->early |= COUNT_CALL;
	c->call = call;
	return true;
}

/*
 * The other histogram of an OP_TAKE_SINCE. False: it has no map yet, or other keys, or its variable
 * stays.
 */
static bool other_of(struct agent_count *c, const struct op *op)
{
	const struct hist_cell *cell = plane_config(&agent.plane, op->imm);
	const struct map_layout *l = &cell->layout;
	/* Acquire: the map is complete. Pairs with the release in point_cell(). */
	data_ref ref = atomic_load_explicit(&cell->map, memory_order_acquire);
	const struct map_view m = map_view_of(&agent.plane, ref, l);
	struct agent_other *o = &c->thread->others[c - c->thread->counts];

	if (!ref || l->key_size != 8 || op->on_true >= l->nr_vars || !(op->flags & REF_ONCE))
		return false;
	c->other = o;
	*o = (struct agent_other){.cell = &cell->map,
				  .map = ref,
				  .entries = (char *)map_entry(m, 0),
				  .elts = map_elt(m, 0),
				  .elt_size = l->elt_size,
				  .last = l->last_elt,
				  .mask = l->entry_mask,
				  .var = l->var_base + op->on_true * MAP_VAR_BYTES,
				  .shift = (uint8_t)l->hash_shift};
	return true;
}

static bool begins_with_since(struct agent_count *c, const struct counted *from)
{
	const struct op *op = from->op;
	const struct map_layout *l = from->map.layout;

	if (op->kind != OP_TAKE_SINCE || l->key_size != 8 || op->on_false >= l->nr_vars ||
	    !other_of(c, op) || !time_of(c, from) ||
	    !field_of(c, op->size, op->off, &c->key, &c->key_off))
		return false;
	c->early |= COUNT_TIMED;
	c->late = COUNT_SINCE;
	c->var = l->var_base + op->on_false * MAP_VAR_BYTES;
	c->usecs = op->len != 0;
	return true;
}

/* OP_TAKE_SINCE and nothing else */
static bool fits_since(struct agent_count *c, const struct counted *from)
{
	return from->op->kind == OP_TAKE_SINCE && from->op[1].kind == OP_END &&
	       begins_with_since(c, from);
}

/* Whether the code behind OP_TAKE_SINCE is that of one onmax() or onchange(). */
static bool only_tracks(const struct code *code)
{
	const struct op *op = code->ops;

	return code->nr_ops > 3 && op[1].kind == OP_REF_OWN && !op[1].len &&
	       op[1].off == op[0].on_false && op[2].kind == OP_TRACK_BEGIN &&
	       op[2].arg == op[1].arg && !(op[2].flags & TRACK_GLOBAL) &&
	       op[2].on_false == code->nr_ops - 1 && op[op[2].on_false].kind == OP_END;
}

/* OP_TAKE_SINCE, and actions that need nothing else of the other histogram */
static bool fits_actions(struct agent_count *c, const struct counted *from)
{
	const struct code *code = c->code;

	/* Relaxed: H5 of hit.h. Only the long way takes the stack of a record. */
	if (atomic_load_explicit(&from->inst->flags, memory_order_relaxed) &
	    (INSTANCE_STACKTRACE | INSTANCE_USERSTACKTRACE))
		return false;
	for (uint32_t i = 1; i < code->nr_ops; i++)
		if (code->ops[i].kind == OP_REF_READ)
			return false;
	if (!begins_with_since(c, from))
		return false;
	c->late |= COUNT_REST;
	c->rest = only_tracks(code) ? rest_track : rest_any;
	return true;
}

/* OP_HIST_TEXT */
static bool fits_text(struct agent_count *c, const struct counted *from)
{
	return from->op->kind == OP_HIST_TEXT && call_for(c, call_text);
}

static bool fits_any(struct agent_count *c, const struct counted *from)
{
	return call_for(c, call_any);
}

/*
 * All shortcuts of threads, each with the reason for it (R36). The first one that fits is taken. A
 * plan's `kind` decides what hit() and hit_plain() do on the long way (session/limbo.c); an
 * agent_way goes into a ring (way.c).
 */
static const struct {
	const char *name;
	/* Fills in what the shortcut needs. False: this shortcut does not fit. */
	bool (*fits)(struct agent_count *c, const struct counted *from);
} table[SHORTCUTS] = {
	/* A traced program calls functions more often than anything else that is counted. */
	[SHORTCUT_FUNCTION] = {"functions by ip and parent_ip", fits_function},
	/* Most histograms are like this. In assembly: its parts take less than a call. */
	[SHORTCUT_KEYS] = {"one or two integer keys, a value", fits_keys},
	/* For sizes and times. It differs from the last one in three instructions. */
	[SHORTCUT_LOG2] = {"a .log2 key", fits_log2},
	/* The first half of a latency. In assembly: the counter hides the rest. */
	[SHORTCUT_TIME] = {"a variable with the time", fits_time},
	/*
	 * The second half. In assembly: it takes half of the instructions that it takes in C, and
	 * not every processor hides them behind the counter.
	 */
	[SHORTCUT_SINCE] = {"the time since a variable", fits_since},
	/* The same, then a call: actions are long, but most values are no new maximum. */
	[SHORTCUT_ACTIONS] = {"the time since a variable, and actions", fits_actions},
	/* In C: it has loops. */
	[SHORTCUT_TEXT] = {"a text key", fits_text},
	/* The way from the event to the code is longer than most code. */
	[SHORTCUT_ANY] = {"any other histogram", fits_any},
};

const char *agent_shortcut_name(unsigned int shortcut)
{
	return shortcut < SHORTCUTS ? table[shortcut].name : NULL;
}

uint64_t agent_shortcut_taken(const struct agent_thread *t, unsigned int shortcut)
{
	uint64_t nr = shortcut < SHORTCUTS ? t->taken[shortcut] : 0;

	for (unsigned int i = 0; i < AGENT_WAYS; i++)
		nr += t->counts[i].shortcut == shortcut ? t->counts[i].taken : 0;
	return nr;
}

static void map_to(struct agent_count *c, struct map_view m)
{
	const struct map_layout *l = m.layout;

	c->entries = (char *)map_entry(m, 0);
	c->shift = (uint8_t)(32 + l->hash_shift);
	c->mask = l->entry_mask;
	c->last = l->last_elt;
	c->elts = map_elt(m, 0);
	c->elt_size = l->elt_size;
	c->sums = (char *)map_sum(m, 0, 0, 0);
	c->stride = 8ull * l->nr_sums;
	c->column_size = l->column_size;
	c->nr_plain = l->nr_plain;
}

/* Assembly handles maps with columns for CPUs, and an `if` of one comparison only. */
static bool shortcut_find(struct agent_count *c, const struct counted *from,
			  const struct code *filter, bool filtered)
{
	uint32_t size;
	uint8_t early;

	c->size = sizeof(struct record_common);
	early = filtered && one_comparison(c, filter) ? COUNT_FILTER : 0;
	size = c->size;
	c->shortcut = (filtered && !early) || !from->map.layout->nr_plain ? SHORTCUT_ANY : 0;
	for (; c->shortcut < SHORTCUTS; c->shortcut++) {
		c->size = size;
		c->early = early;
		c->late = 0;
		if (table[c->shortcut].fits(c, from))
			return true;
	}
	return false;
}

static bool count_find(struct agent_count *c, uint32_t id)
{
	const struct plane *p = &agent.plane;
	const struct plan *plan = plan_of(p, (uint16_t)id);
	const struct trigger_arm *t;
	const struct code *code;
	struct counted from;

	if (!plan || !plan_may_only_count(plan))
		return false;
	t = plan_hist(plan);
	code = plane_config(p, t->code);
	from = (struct counted){.plan = plan,
				.op = code->ops,
				.map = map_view_of(p, code->map, &code->layout),
				.inst = plane_instance(p, plan_arms(plan)->instance),
				.function = emit_is_function(id)};
	c->plan = plan;
	c->code = code;
	map_to(c, from.map);
	c->soft = plan->arm_flags & ARM_SOFT_MODE
			  ? (const char *)plane_given(p, plan->arm_state) +
				    offsetof(struct event_state, soft_disabled)
			  : (const char *)&c->asked;
	c->paused = (const char *)plane_given(p, plan->trigger_state) +
		    offsetof(struct trigger_state, paused);
	return shortcut_find(c, &from, plane_config(p, t->filter), t->filter);
}

/* ---- Remembering ---- */

void count_make(struct agent_thread *t, struct slot *slot, uint32_t id)
{
	const struct config_header *h = plane_header(&agent.plane);
	/* Acquire: H1, pairs with the raise in session_publish(). */
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);
	struct agent_count *c = &t->counts[id % AGENT_WAYS];

	if (!way_may(slot, id) || *t->cpu < 0 || (c->asked == id && c->epoch == epoch))
		return;
	epoch = way_enter(slot);
	c->seen = c->event = 0;
	atomic_signal_fence(memory_order_seq_cst); /* W3 */
	if (c->shortcut < SHORTCUTS)
		t->taken[c->shortcut] += c->taken;
	c->taken = 0;
	c->epoch = epoch;
	c->asked = id;
	c->rseq = rseq_area();
	c->slot = slot;
	c->thread = t;
	if (count_find(c, id)) {
		way_forget(t, id);
		atomic_signal_fence(memory_order_seq_cst); /* W3 */
		c->seen = way_seen(epoch, id);
		c->event = id;
	}
	way_leave(slot);
}
