/* SPDX-License-Identifier: MIT */
/*
 * shortcut.c - what a thread remembers of hits that one histogram counts, and the table of shortcuts
 *
 * Such a hit goes from its plan to a trigger, its program, its map and an elt; the next one of the
 * event goes there again. So the thread keeps what all of that was (struct agent_count), and
 * count_way of x86_64/short.h goes on from there. What that cannot do, it leaves to emit_long()
 * before it has done anything: a key that is new, a thread that is on no CPU that has a column.
 *
 * W1 to W4 of way.c hold for it. What changes without a publication (W2) is loaded at each hit:
 * whether the event is soft disabled, whether the histogram is paused, on which CPU it is.
 *
 * A thread that is killed leaves what one that goes the long way may leave: the key is there
 * before, and each sum is added to by the last instruction of a restartable section.
 */
#include "agent/shortcut.h"
#include "agent/way.h"
#include "agent/x86_64/emit.h"
#include "plane/arch/ring_commit.h"
#include "plane/hit.h"
#include "plane/map.h"

#define AT(field, number) (offsetof(struct agent_count, field) == (number))

_Static_assert(offsetof(struct agent_thread, counts) == THREAD_COUNTS &&
	       sizeof(struct agent_count) == 1 << COUNT_BITS && AT(epoch, COUNT_EPOCH) &&
	       AT(event, COUNT_EVENT) && AT(key, COUNT_KEY) && AT(key2, COUNT_KEY2) &&
	       AT(value, COUNT_VAL) && AT(shift, COUNT_SHIFT) && AT(early, COUNT_EARLY) &&
	       AT(late, COUNT_LATE) && AT(key_off, COUNT_KEY_OFF) && AT(key2_off, COUNT_KEY2_OFF) &&
	       AT(value_off, COUNT_VAL_OFF) && AT(size, COUNT_SIZE) && AT(last, COUNT_LAST) &&
	       AT(soft, COUNT_SOFT) && AT(paused, COUNT_PAUSED) && AT(entries, COUNT_ENTRIES) &&
	       AT(elts, COUNT_ELTS), "short.h knows the first line");
_Static_assert(AT(elt_size, COUNT_ELT_SIZE) && AT(sums, COUNT_SUMS) && AT(stride, COUNT_STRIDE) &&
	       AT(column_size, COUNT_COLUMN) && AT(rseq, COUNT_RSEQ) && AT(slot, COUNT_SLOT) &&
	       AT(nr_plain, COUNT_PLAIN) && AT(mask, COUNT_MASK) && AT(taken, COUNT_TAKEN),
	       "short.h knows the second line");
_Static_assert(COUNT_TWO == EARLY_TWO && COUNT_OTHER == EARLY_OTHER, "short.h knows what comes early");

/* What a shortcut is made of. */
struct counted {
	const struct plan *plan;
	const struct op	*op;		/* of its program */
	struct map_view	map;
};

/* ---- Fields ---- */

static uint8_t load_of(unsigned int op)
{
	static const uint8_t loads[] = {
		[OP_LOAD_U8 - OP_LOAD_U8] = COUNT_U8, [OP_LOAD_U16 - OP_LOAD_U8] = COUNT_U16,
		[OP_LOAD_U32 - OP_LOAD_U8] = COUNT_U32, [OP_LOAD_U64 - OP_LOAD_U8] = COUNT_64,
		[OP_LOAD_S8 - OP_LOAD_U8] = COUNT_S8, [OP_LOAD_S16 - OP_LOAD_U8] = COUNT_S16,
		[OP_LOAD_S32 - OP_LOAD_U8] = COUNT_S32, [OP_LOAD_S64 - OP_LOAD_U8] = COUNT_64,
	};

	return op - OP_LOAD_U8 < sizeof(loads) ? loads[op - OP_LOAD_U8] : COUNT_NONE;
}

static uint32_t load_size(uint8_t load)
{
	return load == COUNT_64 ? 8 : load == COUNT_U32 || load == COUNT_S32 ? 4 :
	       load == COUNT_U16 || load == COUNT_S16 ? 2 : 1;
}

/*
 * A field that is looked at. False: it has no quick load, or is one of the common fields, which are
 * filled in by those who go the long way.
 */
static bool field_of(struct agent_count *c, unsigned int op, uint32_t off, uint8_t *load, uint16_t *at)
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

/* ---- Which hits have one ---- */

/* OP_HIST_KEY1, OP_HIST_KEYS */
static bool fits_keys(struct agent_count *c, const struct counted *from)
{
	const struct op *op = from->op;
	const struct map_layout *l = from->map.layout;
	bool more = op->code == OP_HIST_KEYS;

	if (op->code != OP_HIST_KEY1 && !more)
		return false;
	if (!field_of(c, op->len, op->off, &c->key, &c->key_off) ||
	    (more && op->size && !field_of(c, op->size, op->on_true, &c->key2, &c->key2_off)) ||
	    (more && op->cmp && !field_of(c, op->cmp, op->arg, &c->value, &c->value_off)))
		return false;
	c->early = (more && op->size ? COUNT_TWO : 0) |
		   (c->key > COUNT_64 ? COUNT_OTHER : 0);
	c->late = more && op->cmp ? COUNT_VALUE : 0;
	return l->key_size == (c->early & COUNT_TWO ? 16 : 8) && l->nr_sums > (c->late ? 1u : 0u);
}

/*
 * All shortcuts of threads, each with the reason for it (R36). The first that fits is taken. A
 * plan's `shape` says what hit() and hit_plain() do on the long way (session/limbo.c), an agent_way
 * what goes into a ring (way.c).
 */
static const struct {
	const char *name;
	/* Fills in what the shortcut needs to know. False: this is not one for it. */
	bool (*fits)(struct agent_count *c, const struct counted *from);
} table[SHORTCUTS] = {
	/* What most histograms are. In assembly: each of its parts takes less than a call of it would. */
	[SHORTCUT_KEYS] = { "one or two integer keys, a value", fits_keys },
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

/* A plan that counts and does nothing else, or may do nothing else for a while. */
static bool only_counting(const struct plan *plan)
{
	return (plan->shape == PLAN_COUNT_KEY1 || plan->shape == PLAN_COUNT) && !plan->wants &&
	       ((plan->arm_flags & ARM_SOFT_MODE) || !(plan->arm_flags & ARM_RECORD));
}

static bool count_find(struct agent_count *c, uint32_t id)
{
	const struct plane *p = &agent.plane;
	const struct plan *plan = plan_of(p, (uint16_t)id);
	const struct trigger_arm *t;
	const struct program *prog;
	struct counted from;

	if (!plan || !only_counting(plan))
		return false;
	t = plan_hist(plan);
	prog = plane_config(p, t->program);
	from = (struct counted){ .plan = plan, .op = prog->ops,
				 .map = map_view_of(p, prog->map, &prog->layout) };
	if (t->filter || prog->layout.single_writer || !prog->layout.nr_plain)
		return false;
	map_to(c, from.map);
	c->soft = plan->arm_flags & ARM_SOFT_MODE ? (const char *)plane_given(p, plan->arm_state) +
			offsetof(struct event_state, soft_disabled) : (const char *)&c->asked;
	c->paused = (const char *)plane_given(p, plan->trigger_state) +
		    offsetof(struct trigger_state, paused);
	for (c->shortcut = 0; c->shortcut < SHORTCUTS; c->shortcut++) {
		c->size = c->early = c->late = 0;
		if (table[c->shortcut].fits(c, &from))
			return true;
	}
	return false;
}

/* ---- */

void count_make(struct agent_thread *t, struct slot *slot, uint32_t id)
{
	const struct config_header *h = plane_header(&agent.plane);
	/* Acquire: H1, pairs with the raise in session_publish(). */
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);
	struct agent_count *c = &t->counts[id % AGENT_WAYS];

	if (!way_may(slot, id) || *t->cpu < 0 || (c->asked == id && c->epoch == epoch))
		return;
	epoch = way_enter(slot);
	c->event = 0;
	atomic_signal_fence(memory_order_seq_cst);	/* W3 */
	if (c->shortcut < SHORTCUTS)
		t->taken[c->shortcut] += c->taken;
	c->taken = 0;
	c->epoch = epoch;
	c->asked = id;
	c->rseq = rseq_area();
	c->slot = slot;
	if (count_find(c, id)) {
		atomic_signal_fence(memory_order_seq_cst);	/* W3 */
		c->event = id;
	}
	way_leave(slot);
}
