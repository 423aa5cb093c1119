/* SPDX-License-Identifier: MIT */
/*
 * sweep.c - reads the instructions of a file: where they begin, where they lead, jump tables
 *
 * Each function with an FDE is read from its start to its end. The first pass marks all starts, and
 * the targets of jumps and of lea. The second pass reads the functions that jump to an address that
 * they may have computed (computed.c), since it can check now that a table leads to starts of
 * instructions:
 *
 *     lea table(%rip), B; movslq (B,I,4), R; add B, R; jmp *R      a table of distances
 *
 * The words of the table say where it leads. A function with more such jumps than tables is not
 * resolved.
 *
 * What lies between functions is padding if it is nops alone. Else it is read, but only for where
 * it leads.
 */
#include "elf/code/insn.h"
#include "elf/code/state.h"

enum {
	TABLES = 64,		/* tables of one function; more are not resolved */
	WORDS = 64,		/* of a table, that are read at once */
};

/* ---- First pass ---- */

/* Without PIE, an immediate or a displacement may be an address. */
static void numbers_mark(struct code_file *f, const struct insn *in, const uint8_t *b)
{
	uint32_t word;
	uint64_t wide;

	if (in->imm_size == 8) {
		memcpy(&wide, b + in->imm_at, 8);
		code_target(f, wide);
	} else if (in->imm_size == 4 && !insn_has_target(in)) {
		memcpy(&word, b + in->imm_at, 4);
		code_target(f, word);
	}
	if (in->disp_size == 4 && !insn_rip_relative(in)) {
		memcpy(&word, b + in->disp_at, 4);
		code_target(f, word);
	}
}

static bool is_lea(const struct insn *in)
{
	return in->map == INSN_BYTE && in->opcode == 0x8d && insn_rip_relative(in);
}

/* The function, or the part of one, jumps to that address. */
static void again_mark(struct code_file *f, const struct code_function *fn, uint64_t to)
{
	uint8_t *marks = to - fn->start < fn->size || fn->why == CODE_PART ? code_marks(f, to)
									   : NULL;

	if (marks)
		*marks |= CODE_AGAIN;
}

/* Marks what the instruction leads to. end: the address behind it. fn NULL: of no function. */
static void insn_mark(struct code_file *f, const struct code_function *fn, const struct insn *in,
		      const uint8_t *b, uint64_t end)
{
	const bool leads = insn_has_target(in);

	if (leads)
		code_target(f, insn_target(in, b, end));
	else if (is_lea(in))
		code_target(f, insn_rip_operand(in, b, end));
	if (leads && fn && in->flow != INSN_CALL)
		again_mark(f, fn, insn_target(in, b, end));
	if (f->is_fixed)
		numbers_mark(f, in, b);
}

/* The function of the last call, while no instruction behind it has changed the flags. 0: none. */
static uint64_t called_after(struct code_file *f, uint64_t called, const struct insn *in,
			     const uint8_t *b, uint64_t at)
{
	const struct code_function *fn;
	const uint8_t *marks = code_marks(f, at);

	/* What is behind a call may be reached by a jump only: not each function returns. */
	if (called && marks && !(*marks & CODE_TARGET) && insn_flags(in) == INSN_FLAGS_READ) {
		fn = code_function_at(f, called);
		if (fn && fn->start == called && fn->returns == CODE_RETURN_GOOD)
			f->functions[fn - f->functions].returns = CODE_RETURN_FLAGS;
	}
	if (in->flow == INSN_CALL)
		return insn_target(in, b, at + in->len);
	if (in->flow != INSN_NEXT || insn_flags(in) != INSN_FLAGS_KEPT ||
	    (marks && (*marks & CODE_TARGET)))
		return 0;
	return called;
}

/*
 * Reads what lies from `at` to `end`; of a function it marks the starts, too. fn NULL: it is none.
 * -> enum code_has
 */
static uint8_t range_read(struct code_file *f, const struct code_segment *s, uint64_t at,
			  uint64_t end, const struct code_function *fn)
{
	uint64_t called = 0;
	struct insn in;
	uint8_t has = 0;

	while (at < end) {
		const uint8_t *b = s->bytes + (at - s->low);

		if (!insn_read(b, end - at, &in)) {
			has |= CODE_HAS_UNKNOWN;
			at++;
			called = 0;
			continue;
		}
		if (fn)
			s->marks[at - s->low] |= CODE_START;
		called = called_after(f, called, &in, b, at);
		at += in.len;
		insn_mark(f, fn, &in, b, at);
		if (in.flow == INSN_JUMP_INDIRECT)
			has |= CODE_HAS_JUMPS;
	}
	return has;
}

/* ---- Second pass ---- */

/* What may be the tables of a function's jumps. */
struct switches {
	uint64_t	tables[TABLES];
	unsigned int	nr_tables;
	bool		more;
};

static void table_add(struct switches *w, uint64_t at)
{
	w->more |= w->nr_tables == TABLES;
	if (w->nr_tables < TABLES)
		w->tables[w->nr_tables++] = at;
}

static void switches_find(const struct code_file *f, const struct code_segment *s,
			  const struct code_function *fn, struct switches *w)
{
	const uint64_t end = fn->start + fn->size;
	uint64_t at = fn->start;
	struct insn in;

	while (at < end) {
		const uint8_t *b = s->bytes + (at - s->low), *marks;

		if (!insn_read(b, end - at, &in)) {
			at++;
			continue;
		}
		if (is_lea(&in)) {
			marks = code_marks(f, insn_rip_operand(&in, b, at + in.len));
			if (!marks || !(*marks & CODE_COVERED))
				table_add(w, insn_rip_operand(&in, b, at + in.len));
		}
		at += in.len;
	}
}

/* Whether a table of the function may lead there. */
static bool table_leads_to(const struct code_file *f, const struct code_function *fn, uint64_t at)
{
	const uint8_t *marks = code_marks(f, at);
	const struct code_function *to;

	if (!marks || !(*marks & CODE_START))
		return false;
	if (at - fn->start < fn->size)
		return true;
	to = code_function_at(f, at);
	return to && to->why == CODE_PART;
}

/* Marks where a table leads. It ends at the next one. -> whether it is a table */
static bool table_mark(struct code_file *f, const struct code_function *fn, uint64_t table,
		       uint64_t limit)
{
	uint64_t at = table;
	uint32_t flags;

	while (at < limit) {
		size_t size = WORDS * 4;
		const unsigned char *b = image_address(f->image, at, &size, &flags);

		for (size_t i = 0; b && i + 4 <= size && at < limit; i += 4, at += 4) {
			int32_t word;
			uint64_t to;

			memcpy(&word, b + i, 4);
			to = table + (uint64_t)(int64_t)word;
			if (!table_leads_to(f, fn, to))
				return at > table;
			code_target(f, to);
			again_mark(f, fn, to);
			if (!code_spend(f, 1))
				return false;
		}
		if (!b || size < WORDS * 4)
			break;
	}
	return at > table;
}

static void jumps_resolve(struct code_file *f, struct code_function *fn)
{
	const struct code_segment *s = code_segment_at(f, fn->start);
	struct switches w = { .nr_tables = 0 };
	unsigned int found = 0;

	if (!computed_jumps(s, fn))
		return;
	switches_find(f, s, fn, &w);
	for (unsigned int i = 0; i < w.nr_tables; i++) {
		uint64_t limit = UINT64_MAX;

		for (unsigned int k = 0; k < w.nr_tables; k++)
			if (w.tables[k] > w.tables[i] && w.tables[k] < limit)
				limit = w.tables[k];
		found += table_mark(f, fn, w.tables[i], limit);
	}
	/* The tables have shown more targets. */
	if (w.more || found < computed_jumps(s, fn))
		fn->has |= CODE_HAS_UNRESOLVED;
}

/* ---- Between functions ---- */

static bool is_padding(const struct code_segment *s, uint64_t at, uint64_t end)
{
	struct insn in;

	for (; at < end; at += in.len) {
		const uint8_t *b = s->bytes + (at - s->low);

		in.len = 1;
		/* Zeros are between sections. */
		if (*b && (!insn_read(b, end - at, &in) || !insn_is_padding(&in)))
			return false;
	}
	return true;
}

static void gap_read(struct code_file *f, const struct code_segment *s, uint64_t at, uint64_t end)
{
	if (!is_padding(s, at, end)) {
		range_read(f, s, at, end, NULL);
		return;
	}
	/* A zero may be a byte of data. */
	for (; at < end; at++)
		if (!(s->marks[at - s->low] & CODE_COVERED))
			s->marks[at - s->low] |= CODE_PADDING;
}

/* The functions are in order, and so are the gaps between those of them that have an FDE. */
static void gaps_read(struct code_file *f, const struct code_segment *s)
{
	uint64_t at = s->low;

	for (size_t i = 0; i < f->nr_functions; i++) {
		const struct code_function *fn = &f->functions[i];

		if (!(fn->has & CODE_HAS_FDE) || fn->start - s->low >= s->high - s->low)
			continue;
		if (at < fn->start)
			gap_read(f, s, at, fn->start);
		at = fn->start + fn->size;
	}
	if (at < s->high)
		gap_read(f, s, at, s->high);
}

/* Whether the function begins with a pop, and so takes its return address from the stack. */
static bool takes_return(const struct code_segment *s, const struct code_function *fn)
{
	const uint64_t at = code_entry(fn);
	struct insn in;

	return at < s->high && insn_read(s->bytes + (at - s->low), s->high - at, &in) &&
	       in.map == INSN_BYTE && (in.opcode & 0xf8) == 0x58;
}

bool sweep_all(struct code_file *f)
{
	for (size_t i = 0; i < f->nr_functions; i++) {
		struct code_function *fn = &f->functions[i];
		const struct code_segment *s = code_segment_at(f, fn->start);

		if (!(fn->has & CODE_HAS_FDE))
			continue;
		fn->has |= range_read(f, s, fn->start, fn->start + fn->size, fn);
		if (fn->returns == CODE_RETURN_GOOD && takes_return(s, fn))
			fn->returns = CODE_RETURN_READ;
	}
	for (unsigned int i = 0; i < f->nr_segments; i++)
		gaps_read(f, &f->segments[i]);
	for (size_t i = 0; i < f->nr_functions; i++)
		if ((f->functions[i].has & CODE_HAS_FDE) && (f->functions[i].has & CODE_HAS_JUMPS))
			jumps_resolve(f, &f->functions[i]);
	return f->effort;
}
