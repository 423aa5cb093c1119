/* SPDX-License-Identifier: MIT */
/*
 * plan.c - how a probe can stand at an address: which instructions are displaced
 *
 *     at                        at + 5            at + len
 *     | instruction | instruction ...|              |
 *     | JMP to the moved code        | never executed
 *
 * P1  No thread arrives inside the JMP's bytes from elsewhere: none of them but the first is a
 *     target, and no call ends inside them, since its function returns there.
 * P2  In a function with unresolved jumps each inner start could be a target (CODE_GUARDED).
 * P3  The moved instructions do the same at another address, or the agent can write others that do.
 * P4  Bytes belong to one probe.
 */
#include "elf/code/insn.h"
#include "elf/code/state.h"

enum {
	PREDECESSORS = 3,	/* instructions in front that are tried */
};

/* ---- Instructions ---- */

static bool is_stack_based(const struct insn *in, const uint8_t *b)
{
	if (in->modrm >> 6 == 3)
		return (in->modrm & 7) == 4 && !(in->rex & 1);
	return (in->modrm & 7) == 4 && (b[in->modrm_at + 1] & 7) == 4 && !(in->rex & 1);
}

/* P3 */
static bool is_movable(const struct insn *in, const uint8_t *b)
{
	switch (in->flow) {
	case INSN_TRAP: case INSN_STOP: case INSN_FAR: case INSN_BEGIN:
		return false;
	case INSN_JUMP: case INSN_BRANCH: case INSN_LOOP: case INSN_CALL:
		/* Processors do not agree on what 66 means here. */
		return !(in->prefix & INSN_66);
	case INSN_CALL_INDIRECT:
		/* The return address is pushed first, which moves the stack pointer. */
		return !is_stack_based(in, b) && !(in->prefix & INSN_66);
	}
	return !(insn_rip_relative(in) && (in->prefix & INSN_67));
}

/* ---- Displacing ---- */

/* What one plan is made of. */
struct planning {
	const struct code_segment *s;
	const struct code_function *fn;
	uint64_t	end;		/* of the function */
	struct code_plan *plan;
	bool		is_owned;	/* a tactic failed because of another probe */
};

static uint8_t marks_at(const struct planning *w, uint64_t at)
{
	return w->s->marks[at - w->s->low];
}

/*
 * Whether `need` bytes of the JMP at `jump` may cover this instruction: P1, P4. Its first byte is
 * the caller's matter.
 */
static bool may_cover(struct planning *w, uint64_t at, unsigned int len, uint64_t jump,
		      unsigned int need)
{
	for (unsigned int i = 0; i < len; i++) {
		if (at + i - jump < need && (marks_at(w, at + i) & CODE_TAKEN)) {
			w->is_owned = true;
			return false;
		}
		if (i && (marks_at(w, at + i) & CODE_TARGET))
			return false;
	}
	return true;
}

/* -> the length of the padding at an address that control does not reach; 0: something else */
static unsigned int padding_at(const struct planning *w, uint64_t at)
{
	const uint8_t *b = w->s->bytes + (at - w->s->low);
	struct insn in;

	if (at >= w->s->high || (marks_at(w, at) & (CODE_TARGET | CODE_ENTRY | CODE_LOCKED)))
		return 0;
	if (at >= w->end)
		return marks_at(w, at) & CODE_PADDING ? 1 : 0;
	return insn_read(b, w->end - at, &in) && insn_is_padding(&in) ? in.len : 0;
}

/* Adds one instruction at `at` to the plan. -> its length; 0: it cannot be displaced */
static unsigned int displace_one(struct planning *w, uint64_t at, unsigned int need, bool *ended)
{
	const uint8_t *b = w->s->bytes + (at - w->s->low);
	/* The function may end where its segment does. */
	const uint8_t marks = at < w->end ? marks_at(w, at) : 0;
	struct code_plan *p = w->plan;
	struct insn in;

	if (!(marks & CODE_START) || (marks & CODE_LOCKED) || p->nr == CODE_MOVED_MAX ||
	    (at > p->at && (marks & CODE_TARGET)))
		return 0;
	if (!insn_read(b, w->end - at, &in) || !is_movable(&in, b) ||
	    !may_cover(w, at, in.len, p->at, need))
		return 0;
	/* P1; and what comes back from a call in front of the address would not pass the probe. */
	if (insn_is_call(&in) && (at + in.len - p->at < need || at < p->address))
		return 0;
	if (at == p->address)
		p->before = p->nr;
	p->offsets[p->nr++] = (uint8_t)(at - p->at);
	*ended = insn_ends_flow(&in);
	return *ended && at < p->address ? 0 : in.len;
}

/* Displaces instructions from `at` on until they have `need` bytes and include the address. */
static bool displace(struct planning *w, uint64_t at, unsigned int need)
{
	struct code_plan *p = w->plan;
	bool ended = false;
	unsigned int len;
	uint64_t next;

	p->at = at;
	p->nr = p->before = 0;
	for (next = at; next - at < need || next <= p->address; next += len) {
		if (!ended)
			len = displace_one(w, next, need, &ended);
		else if ((len = padding_at(w, next)) && !may_cover(w, next, len, at, need))
			len = 0;
		if (!len)
			return false;
	}
	p->len = (uint8_t)(next - at);
	return true;
}

static void displace_only(struct planning *w, const struct insn *in)
{
	struct code_plan *p = w->plan;

	p->at = p->address;
	p->nr = 1;
	p->before = p->offsets[0] = 0;
	p->len = in->len;
}

/* ---- Tactics ---- */

static bool is_unresolved(const struct planning *w)
{
	return w->fn->has & CODE_HAS_UNRESOLVED;
}

static bool plan_in_place(struct planning *w, enum code_tactic tactic, const struct insn *in)
{
	enum code_tactic is = CODE_SEVERAL;

	if (!displace(w, w->plan->address, CODE_JUMP))
		return false;
	if (in->len >= CODE_JUMP)
		is = CODE_WHOLE;
	else if (w->plan->nr > 1 && is_unresolved(w))
		is = CODE_GUARDED;
	return tactic == is;
}

static bool plan_before(struct planning *w)
{
	const struct code_plan *p = w->plan;
	uint64_t at = p->address;

	if (is_unresolved(w) || (marks_at(w, at) & (CODE_TARGET | CODE_ENTRY)))
		return false;
	for (unsigned int i = 0; i < PREDECESSORS && at > w->fn->start; i++) {
		do
			at--;
		while (at > w->fn->start && !(marks_at(w, at) & CODE_START));
		if (displace(w, at, CODE_JUMP) && p->before)
			return true;
		if (marks_at(w, at) & (CODE_TARGET | CODE_TAKEN))
			return false;
	}
	return false;
}

static bool plan_by(struct planning *w, enum code_tactic tactic, const struct insn *in)
{
	switch (tactic) {
	case CODE_WHOLE: case CODE_SEVERAL: case CODE_GUARDED:
		return plan_in_place(w, tactic, in);
	case CODE_BEFORE:
		return plan_before(w);
	default:
		displace_only(w, in);
		return tactic == CODE_TRAP;
	}
}

/* ---- A plan ---- */

/* Why there cannot be a probe, whatever the tactic. */
static enum code_why refuse(const struct code_file *f, struct planning *w, struct insn *in)
{
	const uint64_t at = w->plan->address;
	const uint8_t *b;

	w->s = code_segment_at(f, at);
	if (!w->s)
		return CODE_NOT_CODE;
	w->fn = code_function_at(f, at);
	if (!w->fn)
		return marks_at(w, at) & CODE_PADDING ? CODE_NOT_START : CODE_NO_FDE;
	if (!(w->fn->has & CODE_HAS_FDE))
		return CODE_NO_FDE;
	if (w->fn->why == CODE_SIGNAL_FRAME)
		return CODE_SIGNAL_FRAME;
	w->end = w->fn->start + w->fn->size;
	/* There may be data in the function, so no instruction behind it is known for certain. */
	if (w->fn->has & CODE_HAS_UNKNOWN)
		return CODE_UNKNOWN;
	if (!(marks_at(w, at) & CODE_START))
		return CODE_NOT_START;
	b = w->s->bytes + (at - w->s->low);
	if (!insn_read(b, w->end - at, in))
		return CODE_UNKNOWN;
	if (marks_at(w, at) & CODE_LOCKED)
		return CODE_SEQUENCE;
	if (marks_at(w, at) & CODE_TAKEN)
		return CODE_OWNED;
	return is_movable(in, b) ? CODE_GOOD : CODE_FIXED;
}

bool code_plan(const struct code_file *f, uint64_t at, unsigned int avoid, struct code_plan *plan)
{
	struct planning w = { .plan = plan };
	struct insn in;

	*plan = (struct code_plan){ .tactic = CODE_REFUSED, .at = at, .address = at };
	plan->why = (uint8_t)refuse(f, &w, &in);
	if (plan->why)
		return false;
	for (unsigned int tactic = CODE_WHOLE; tactic < CODE_NR_TACTICS; tactic++) {
		if ((avoid & 1u << tactic) || !plan_by(&w, (enum code_tactic)tactic, &in))
			continue;
		plan->tactic = (uint8_t)tactic;
		return true;
	}
	displace_only(&w, &in);
	plan->why = w.is_owned ? CODE_OWNED : CODE_TRAP_ONLY;
	return false;
}

/* ---- Owners ---- */

static void own_range(struct code_file *f, uint64_t at, unsigned int len, bool owned)
{
	for (unsigned int i = 0; i < len; i++) {
		uint8_t *marks = code_marks(f, at + i);

		if (marks)
			*marks = owned ? *marks | CODE_TAKEN : *marks & (uint8_t)~CODE_TAKEN;
	}
}

void code_own(struct code_file *f, const struct code_plan *plan, bool owned)
{
	if (plan->tactic != CODE_REFUSED)
		own_range(f, plan->at, plan->len, owned);
}
