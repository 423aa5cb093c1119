/* SPDX-License-Identifier: MIT */
/*
 * moved.c - chooses the functions whose first instructions can be moved
 *
 * Only the plans WHOLE and SEVERAL are taken: no thread can be led to the inside of the jump.
 *
 * A site's stub uses the flags and the stack below the stack pointer. That is right at a function's
 * start, and a symbol says that a function begins there. Without a symbol a part of a function
 * (.cold) may look the same, and may be entered while the stack below the stack pointer is in use.
 * Another function jumps to such a part, and none calls it. So what is only jumped to has a site
 * only if a part would be as right there:
 *
 * M1  Neither it nor a function that jumps to it uses memory below the stack pointer; nor do those
 *     that jump to these, as far as they may be parts.
 * M2  It jumps to starts of functions only. A part that goes back to its function may be entered
 *     often in one call, each time without a return.
 * M3  It returns, or ends in a jump to a function. Most parts that do not go back end in a call of
 *     abort() or its kin, so they are not listed as functions.
 * M4  It writes the flags, calls or returns before it reads them or jumps.
 *
 * A function may jump to its own start, too: a loop that begins there. It may have data below the
 * stack pointer then, and what begins again is no call. Such a function is skipped. Flags are dead
 * at the start of what a compiler has made; assembly may look at those of its caller.
 */
#include "elf/code/insn.h"
#include "elf/moved.h"

enum {
	/* Beside enum code_has: another function jumps to its start, or something calls it. */
	HAS_JUMPER = 64,
	HAS_CALLER = 128,
	HAS_INSIDE = 256,	/* it jumps to the inside of another function */
	HAS_BELOW = 512,	/* it uses memory below the stack pointer, or its jumpers may */
	HAS_TOLD = 1024,	/* those that it jumps to have HAS_BELOW, too */
	HAS_END = 2048,		/* it returns, or ends in a jump to a function */
	LONGEST	= 30,		/* bytes that a site may displace */
	FLAGS_SEARCH = 16,	/* instructions, at most, in front of one that uses flags */
	/* All that is not CODE_WHOLE or CODE_SEVERAL. */
	AVOIDED = 1 << CODE_GUARDED | 1 << CODE_BEFORE | CODE_NO_TRAP,
};

/* ---- Functions without a symbol ---- */

static bool any_nameless(const struct code_file *f)
{
	for (size_t i = 0; i < f->nr_functions; i++)
		if (!(f->functions[i].has & CODE_HAS_SYMBOL))
			return true;
	return false;
}

/* The function that begins there. NULL: none. */
static struct code_function *beginning_at(struct code_file *f, uint64_t at)
{
	const struct code_segment *s = code_segment_at(f, at);
	const struct code_function *fn =
		s && (s->marks[at - s->low] & CODE_ENTRY) ? code_function_at(f, at) : NULL;

	return fn && fn->start == at ? &f->functions[fn - f->functions] : NULL;
}

/* A stub of the PLT without an FDE. */
static bool is_linkage(const struct code_file *f, uint64_t at)
{
	const struct code_segment *s = code_segment_at(f, at);
	const uint8_t *b = s ? s->bytes + (at - s->low) : NULL;
	struct insn in;

	if (!s)
		return false;
	for (; insn_read(b, s->high - at, &in) && insn_is_mark(&in); at += in.len)
		b += in.len;
	return in.flow == INSN_JUMP_INDIRECT && insn_rip_relative(&in);
}

static bool is_only_jumped_to(const struct code_function *fn)
{
	return !(fn->has & CODE_HAS_SYMBOL) &&
	       (fn->has & (HAS_JUMPER | HAS_CALLER)) == HAS_JUMPER;
}

/* M2. A function may go to any place of its own part. */
static bool leads_inside(const struct code_file *f, const struct code_function *from, uint64_t to)
{
	const struct code_function *fn = code_function_at(f, to);

	if (!fn)
		return !is_linkage(f, to);
	return fn != from && fn->start != to && fn->why != CODE_PART;
}

/* An instruction of the function leads to `to`. */
static void branch_note(struct code_file *f, struct code_function *from, const struct insn *in,
			uint64_t to)
{
	struct code_function *fn = beginning_at(f, to);

	if (in->flow != INSN_CALL && leads_inside(f, from, to))
		from->has |= HAS_INSIDE;
	if (!fn || (fn == from && in->flow != INSN_CALL))
		return;
	from->has |= in->flow == INSN_CALL ? 0 : HAS_END;
	fn->has |= in->flow == INSN_CALL ? HAS_CALLER : HAS_JUMPER;
}

/* M1. What a part jumps to may be of the same function. */
static void below_tell(struct code_file *f, struct code_function *from, const struct insn *in,
		       uint64_t to)
{
	struct code_function *fn = in->flow == INSN_CALL ? NULL : beginning_at(f, to);

	if (fn)
		fn->has |= HAS_BELOW;
}

typedef void each_branch(struct code_file *f, struct code_function *from, const struct insn *in,
			 uint64_t to);

static void branches_each(struct code_file *f, struct code_function *fn, each_branch *each)
{
	const struct code_segment *s = code_segment_at(f, fn->start);
	const uint64_t wanted = fn->start + fn->size;
	const uint64_t end = s && wanted > s->high ? s->high : wanted;
	struct insn in;

	for (uint64_t at = fn->start; s && at < end; at += in.len) {
		const uint8_t *b = s->bytes + (at - s->low);

		if (!(s->marks[at - s->low] & CODE_START) || !insn_read(b, end - at, &in)) {
			in.len = 1;
			continue;
		}
		fn->has |= insn_is_below_stack(&in, b) ? HAS_BELOW : 0;
		fn->has |= in.flow == INSN_RETURN || in.flow == INSN_JUMP_INDIRECT ? HAS_END : 0;
		if (insn_has_target(&in))
			each(f, fn, &in, insn_target(&in, b, at + in.len));
	}
}

/* Whether its stack below the stack pointer may be in use when it jumps. */
static bool is_to_tell(const struct code_function *fn)
{
	return (fn->has & (HAS_BELOW | HAS_TOLD)) == HAS_BELOW;
}

/* M1. It ends: HAS_TOLD lets each function tell those that it jumps to only once. */
static void below_spread(struct code_file *f)
{
	bool more;

	do {
		more = false;
		for (size_t i = 0; i < f->nr_functions; i++) {
			if (!is_to_tell(&f->functions[i]))
				continue;
			f->functions[i].has |= HAS_TOLD;
			branches_each(f, &f->functions[i], below_tell);
			more = true;
		}
	} while (more);
}

static bool is_perhaps_part(const struct code_function *fn)
{
	const uint16_t part = HAS_BELOW | HAS_INSIDE | CODE_HAS_UNRESOLVED;

	return is_only_jumped_to(fn) && (fn->has & (part | HAS_END)) != HAS_END;
}

static bool is_of_unwinder(const char *name)
{
	return !strcmp(name, "_Unwind_Resume") || !strcmp(name, "_Unwind_RaiseException") ||
	       !strcmp(name, "__cxa_begin_catch");
}

/*
 * Whether the file handles exceptions and calls no other file for that. So it contains the
 * unwinder, whose returns must not be caught. Without symbols nobody knows which functions are the
 * unwinder's.
 */
static bool has_unwinder(const struct image *im)
{
	struct targets t;

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];

		if (strcmp(image_string(im, im->names, s->sh_name), ".gcc_except_table"))
			continue;
		image_targets(im, is_of_unwinder, &t);
		return !t.nr_got;
	}
	return false;
}

/* ---- How functions begin ---- */

/* Whether it jumps to its own start, or behind its endbr64, where `at` is. */
static bool begins_again(const struct code_file *f, const struct code_function *fn, uint64_t at)
{
	const struct code_segment *s = code_segment_at(f, fn->start);

	if (at != fn->start && (s->marks[at - s->low] & CODE_TARGET))
		return true;
	return s->marks[fn->start - s->low] & CODE_AGAIN;
}

/* Whether its first instructions use flags that its caller has left. M4: or nothing shows it. */
static bool takes_flags(const struct code_file *f, const struct code_function *fn, uint64_t at)
{
	const struct code_segment *s = code_segment_at(f, fn->start);
	const uint64_t end = fn->start + fn->size;
	const bool perhaps = is_only_jumped_to(fn);
	enum insn_flags flags;
	struct insn in;

	for (unsigned int i = 0; i < FLAGS_SEARCH && at < end; i++, at += in.len) {
		if (!insn_read(s->bytes + (at - s->low), end - at, &in))
			return false;
		flags = insn_flags(&in);
		if (flags != INSN_FLAGS_KEPT)
			return flags == INSN_FLAGS_READ;
		if (in.flow != INSN_NEXT)
			return perhaps && insn_has_target(&in) && in.flow != INSN_CALL;
	}
	return perhaps;
}

/* ---- Sites ---- */

/* Why its first instructions stay where they are. *plan: how they could move. */
static enum site_skip skip_of(const struct code_file *f, const struct code_function *fn,
			      struct code_plan *plan)
{
	const uint64_t at = code_entry(fn);

	if (fn->why)
		return fn->why == CODE_NO_FDE ? SITE_NO_FDE : SITE_FIRST;
	if (is_perhaps_part(fn))
		return SITE_PERHAPS_PART;
	if (!code_plan(f, at, AVOIDED, plan))
		return plan->why == CODE_TRAP_ONLY ? SITE_ENTERED : SITE_UNMOVED;
	if (begins_again(f, fn, at))
		return SITE_AGAIN;
	if (takes_flags(f, fn, at))
		return is_only_jumped_to(fn) ? SITE_PERHAPS_PART : SITE_FLAGS;
	return (plan->tactic == CODE_WHOLE || plan->tactic == CODE_SEVERAL) && plan->at == at &&
	       plan->len >= CODE_JUMP && plan->len <= LONGEST ? SITE_GOOD : SITE_UNMOVED;
}

static struct site moved_site(struct code_file *f, const struct code_function *fn, bool unwinder)
{
	struct site s = { .at = code_entry(fn), .kind = SITE_MOVED };
	struct code_plan plan;

	s.unreturned = fn->returns != CODE_RETURN_GOOD ||
		       (unwinder && !(fn->has & CODE_HAS_SYMBOL));
	s.skip = skip_of(f, fn, &plan);
	if (s.skip)
		return s;
	s.len = plan.len;
	code_own(f, &plan, true);
	return s;
}

/* Nobody misses parts of functions and stubs of the PLT. */
static bool is_missed(const struct code_function *fn)
{
	return fn->why != CODE_PART;
}

/* Whether the linker writes into its code, perhaps after a jump has been stored there. */
static bool is_relocated(const struct image *im)
{
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];
		const unsigned char *b;
		size_t size;
		Elf64_Dyn d;

		b = s->sh_type == SHT_DYNAMIC ? image_section(im, s, &size) : NULL;
		for (size_t at = 0; b && at + sizeof(d) <= size; at += sizeof(d)) {
			memcpy(&d, b + at, sizeof(d));
			if (d.d_tag == DT_TEXTREL ||
			    (d.d_tag == DT_FLAGS && (d.d_un.d_val & DF_TEXTREL)))
				return true;
		}
	}
	return false;
}

/* The plans are made: others may plan with the file. */
static void sites_disown(struct code_file *f, const struct site *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct code_plan plan = {
			.tactic = CODE_WHOLE, .at = s[i].at, .len = s[i].len,
		};

		if (s[i].len)
			code_own(f, &plan, false);
	}
}

size_t moved_sites(struct code_file *f, struct site *out)
{
	const bool nameless = any_nameless(f), unwinder = nameless && has_unwinder(f->image);
	const bool relocated = is_relocated(f->image);
	size_t nr = 0;

	for (size_t i = 0; nameless && i < f->nr_functions; i++)
		branches_each(f, &f->functions[i], branch_note);
	if (nameless)
		below_spread(f);
	for (size_t i = 0; i < f->nr_functions; i++) {
		const struct code_function *fn = &f->functions[i];

		if (!is_missed(fn))
			continue;
		out[nr] = moved_site(f, fn, unwinder);
		if (relocated)
			out[nr].skip = SITE_RELOCATED;
		out[nr].number = (uint32_t)nr;
		nr++;
	}
	sites_disown(f, out, nr);
	return nr;
}
