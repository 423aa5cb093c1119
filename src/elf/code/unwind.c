/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - interprets .eh_frame for one address: the row that says where the caller is
 *
 * Only four registers are followed: rbx, rbp, rsp, and the return address. What compilers, libc and
 * assembly of Debian's libraries write as an expression is recognised by its bytes:
 *
 *     CFA: breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus    a stub of the PLT
 *          breg6 N, deref                                               a stack that was aligned
 *          breg7 N, deref                                               a signal's frame, assembly
 *          breg7 N, deref, plus_uconst 8                                assembly
 *     register: breg6 N                                                 a stack that was aligned
 *               breg7 N                                                 a signal's frame
 *
 * Sources: DWARF 5, section 6.4; Linux Standard Base, .eh_frame and .eh_frame_hdr; the System V ABI
 * for x86-64 (numbers of registers).
 */
#include "elf/code/cursor.h"
#include "elf/code/unwind.h"

enum {
	REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_RET = 16,
	KEPT = 4,		/* states that remember_state keeps */
	/* In the kernel's frame of a signal, from rsp on: struct ucontext. */
	SIGNAL_SP = 160, SIGNAL_IP = 168,
	CFA_MOST = (1 << 23) - 8, SAVED_MOST = (1 << 15) - 8,
};

enum op {
	OP_LIT8 = 0x38, OP_BREG6 = 0x76, OP_BREG7 = 0x77, OP_BREG16 = 0x80, OP_DEREF = 0x06,
	OP_PLUS_CONST = 0x23, OP_LIT15 = 0x3f,
};

enum rule_kind {
	RULE_SAME, RULE_AT_CFA, RULE_AT_BP, RULE_AT_SP, RULE_UNDEFINED, RULE_OTHER,
};

struct rule {
	enum rule_kind	kind;
	int64_t		offset;
};

enum cfa_kind {
	CFA_OTHER, CFA_REGISTER, CFA_DEREF, CFA_DEREF8, CFA_PLT,
};

enum { FOLLOWED = 4 };

/* A row while the instructions are read. */
struct state {
	enum cfa_kind	cfa;
	uint64_t	base;		/* a register */
	int64_t		offset;
	struct rule	rules[FOLLOWED];	/* bx, bp, sp, ret */
};

struct reading {
	const struct cie *cie;
	uint64_t	pc, at;		/* until where; the address that the rows have reached */
	struct state	now, first;	/* first: behind the CIE's instructions */
	struct state	kept[KEPT];
	unsigned int	nr_kept;
};

/* ---- Rules ---- */

static struct rule *rule_of(struct state *s, uint64_t reg)
{
	switch (reg) {
	case REG_BX:
		return &s->rules[0];
	case REG_BP:
		return &s->rules[1];
	case REG_SP:
		return &s->rules[2];
	case REG_RET:
		return &s->rules[3];
	}
	return NULL;
}

static void rule_set(struct state *s, uint64_t reg, enum rule_kind kind, int64_t offset)
{
	struct rule *r = rule_of(s, reg);

	if (r)
		*r = (struct rule){ kind, offset };
}

/* The first bytes of each are those of a PLT; the row of a stub is chosen by its address. */
static bool is_plt(const struct cursor *c)
{
	static const uint8_t begin[] = { OP_BREG7, 8, OP_BREG16, 0, OP_LIT15, 0x1a },
			     end[] = { 0x2a, 0x33, 0x24, 0x22 };

	return c->size == 11 && !memcmp(c->b, begin, sizeof(begin)) &&
	       c->b[6] >= OP_LIT8 && c->b[6] < OP_LIT15 &&
	       !memcmp(c->b + 7, end, sizeof(end));
}

/* e: an expression and nothing else. */
static void cfa_express(struct state *s, struct cursor *e)
{
	uint64_t op;

	s->cfa = CFA_OTHER;
	if (is_plt(e)) {
		s->cfa = CFA_PLT;
		s->base = REG_SP;
		s->offset = e->b[6] - 0x30;
		return;
	}
	op = take_bytes(e, 1);
	s->base = op - OP_BREG6 + REG_BP;
	s->offset = (int64_t)take_leb(e, true);
	if (e->bad || (op != OP_BREG6 && op != OP_BREG7) || take_bytes(e, 1) != OP_DEREF)
		return;
	if (e->at == e->size)
		s->cfa = CFA_DEREF;
	else if (e->size - e->at == 2 && e->b[e->at] == OP_PLUS_CONST && e->b[e->at + 1] == 8)
		s->cfa = CFA_DEREF8;
}

static void rule_express(struct state *s, uint64_t reg, struct cursor *e)
{
	const uint64_t op = take_bytes(e, 1);
	const int64_t offset = (int64_t)take_leb(e, true);

	if (e->bad || e->at != e->size || (op != OP_BREG6 && op != OP_BREG7))
		rule_set(s, reg, RULE_OTHER, 0);
	else
		rule_set(s, reg, op == OP_BREG6 ? RULE_AT_BP : RULE_AT_SP, offset);
}

/* ---- Instructions ---- */

/* The block that comes next, which c leaves behind. */
static struct cursor block_take(struct cursor *c)
{
	const uint64_t size = take_leb(c, false);
	struct cursor e = { .b = c->b + c->at, .bad = true };

	if (cursor_has(c, size)) {
		e.size = size;
		e.bad = false;
		cursor_skip(c, size);
	}
	return e;
}

static int64_t take_scaled(const struct reading *r, struct cursor *c, bool is_signed)
{
	return (int64_t)(take_leb(c, is_signed) * (uint64_t)r->cie->data_unit);
}

static void cfa_set(struct state *s, uint64_t base, int64_t offset)
{
	s->cfa = CFA_REGISTER;
	s->base = base;
	s->offset = offset;
}

/* Instructions of the CFA. False: it is another one. */
static bool cfa_step(struct reading *r, struct cursor *c, uint8_t op)
{
	struct state *s = &r->now;
	struct cursor e;
	uint64_t reg;

	switch (op) {
	case 0x0c:				/* def_cfa */
		reg = take_leb(c, false);
		cfa_set(s, reg, (int64_t)take_leb(c, false));
		return true;
	case 0x12:				/* def_cfa_sf */
		reg = take_leb(c, false);
		cfa_set(s, reg, take_scaled(r, c, true));
		return true;
	case 0x0d:				/* def_cfa_register */
		s->base = take_leb(c, false);
		return true;
	case 0x0e:				/* def_cfa_offset */
		s->offset = (int64_t)take_leb(c, false);
		return true;
	case 0x13:				/* def_cfa_offset_sf */
		s->offset = take_scaled(r, c, true);
		return true;
	case 0x0f:				/* def_cfa_expression */
		e = block_take(c);
		cfa_express(s, &e);
		return true;
	}
	return false;
}

static void rule_restore(struct reading *r, uint64_t reg)
{
	struct rule *to = rule_of(&r->now, reg);

	if (to)
		*to = *rule_of(&r->first, reg);
}

/* Instructions of a register. False: it is another one. */
static bool register_step(struct reading *r, struct cursor *c, uint8_t op)
{
	const uint64_t reg = take_leb(c, false);
	struct state *s = &r->now;
	struct cursor e;

	switch (op) {
	case 0x05:				/* offset_extended */
		rule_set(s, reg, RULE_AT_CFA, take_scaled(r, c, false));
		return true;
	case 0x11:				/* offset_extended_sf */
		rule_set(s, reg, RULE_AT_CFA, take_scaled(r, c, true));
		return true;
	case 0x2f:				/* GNU_negative_offset_extended */
		rule_set(s, reg, RULE_AT_CFA, -take_scaled(r, c, false));
		return true;
	case 0x06:				/* restore_extended */
		rule_restore(r, reg);
		return true;
	case 0x07:				/* undefined */
		rule_set(s, reg, RULE_UNDEFINED, 0);
		return true;
	case 0x08:				/* same_value */
		rule_set(s, reg, RULE_SAME, 0);
		return true;
	case 0x09: case 0x14: case 0x15:	/* register, val_offset, val_offset_sf */
		take_leb(c, false);
		rule_set(s, reg, RULE_OTHER, 0);
		return true;
	case 0x10:				/* expression */
		e = block_take(c);
		rule_express(s, reg, &e);
		return true;
	case 0x16:				/* val_expression */
		block_take(c);
		rule_set(s, reg, RULE_OTHER, 0);
		return true;
	}
	return false;
}

static void state_step(struct reading *r, struct cursor *c, uint8_t op)
{
	if (op == 0x0a && r->nr_kept < KEPT)
		r->kept[r->nr_kept++] = r->now;
	else if (op == 0x0b && r->nr_kept)
		r->now = r->kept[--r->nr_kept];
	else
		c->bad = true;
}

/* False: it is no step to another address. */
static bool address_step(struct reading *r, struct cursor *c, uint8_t op)
{
	switch (op) {
	case 0x01:
		r->at = take_address(c, r->cie->address);
		return true;
	case 0x02: case 0x03: case 0x04:
		r->at += take_bytes(c, 1u << (op - 2)) * r->cie->code_unit;
		return true;
	}
	return false;
}

/* The instruction's upper two bits say what it does. */
static void short_step(struct reading *r, struct cursor *c, uint8_t op)
{
	if (op >> 6 == 1)
		r->at += (op & 63) * r->cie->code_unit;
	else if (op >> 6 == 2)
		rule_set(&r->now, op & 63, RULE_AT_CFA, take_scaled(r, c, false));
	else
		rule_restore(r, op & 63);
}

static void row_step(struct reading *r, struct cursor *c)
{
	const uint8_t op = (uint8_t)take_bytes(c, 1);

	if (op >> 6)
		short_step(r, c, op);
	else if (op == 0x2e)			/* GNU_args_size */
		take_leb(c, false);
	else if (op == 0x0a || op == 0x0b)
		state_step(r, c, op);
	else if (op && !address_step(r, c, op) && !cfa_step(r, c, op) &&
		 !register_step(r, c, op))
		c->bad = true;
}

/* Reads until the rows are behind r->pc. False: they make no sense. */
static bool rows_run(struct reading *r, struct cursor *c)
{
	while (c->at < c->size && r->at <= r->pc) {
		const struct state before = r->now;

		row_step(r, c);
		if (c->bad)
			return false;
		if (r->at > r->pc)
			r->now = before;
	}
	return true;
}

/* ---- A row as a word ---- */

static bool is_signal(const struct state *s)
{
	return s->cfa == CFA_DEREF && s->base == REG_SP && s->offset == SIGNAL_SP &&
	       s->rules[3].kind == RULE_AT_SP && s->rules[3].offset == SIGNAL_IP;
}

static enum unwind_kind unwind_kind_of(const struct state *s)
{
	switch (s->cfa) {
	case CFA_PLT:
		return UNWIND_SP;
	case CFA_REGISTER:
		return s->base == REG_SP ? UNWIND_SP : s->base == REG_BP ? UNWIND_BP :
		       s->base == REG_BX ? UNWIND_BX : UNWIND_NONE;
	case CFA_DEREF:
		return s->base == REG_BP ? UNWIND_BP_DEREF : UNWIND_SP_DEREF;
	case CFA_DEREF8:
		return s->base == REG_SP ? UNWIND_SP_DEREF8 : UNWIND_NONE;
	case CFA_OTHER:
		break;
	}
	return UNWIND_NONE;
}

static enum unwind_base saved_of(const struct rule *r, int32_t *offset)
{
	*offset = 0;
	if (r->kind == RULE_SAME)
		return UNWIND_SAME;
	if ((r->kind != RULE_AT_CFA && r->kind != RULE_AT_BP) || r->offset % 8 ||
	    r->offset > SAVED_MOST || r->offset < -SAVED_MOST)
		return UNWIND_LOST;
	*offset = (int32_t)r->offset;
	return r->kind == RULE_AT_CFA ? UNWIND_AT_CFA : UNWIND_AT_BP;
}

/* A stub of the PLT has pushed a word from its instruction number `offset` on. */
static int64_t cfa_offset(const struct state *s, uint64_t pc)
{
	if (s->cfa != CFA_PLT)
		return s->offset;
	return (int64_t)(pc & 15) >= s->offset ? 16 : 8;
}

static uint64_t state_word(const struct reading *r)
{
	const struct state *s = &r->now;
	const struct rule *ret = &s->rules[3];
	const int64_t cfa = cfa_offset(s, r->pc);
	struct unwind_row row = { .kind = unwind_kind_of(s), .is_signal = r->cie->is_signal };

	if (ret->kind == RULE_UNDEFINED)
		return unwind_pack(&(struct unwind_row){ .kind = UNWIND_END });
	if (is_signal(s))
		return unwind_pack(&(struct unwind_row){ .kind = UNWIND_SIGNAL,
							 .is_signal = true });
	if (!row.kind || s->rules[2].kind != RULE_SAME || ret->kind != RULE_AT_CFA ||
	    ret->offset % 8 || ret->offset > -8 || ret->offset < -64 || cfa > CFA_MOST ||
	    cfa < -CFA_MOST)
		return 0;
	row.cfa = (int32_t)cfa;
	row.ret = (uint32_t)(-8 - ret->offset) / 8;
	row.bp_base = saved_of(&s->rules[1], &row.bp);
	row.bx_base = saved_of(&s->rules[0], &row.bx);
	return unwind_pack(&row);
}

/* ---- Tables ---- */

/* The entry (CIE or FDE) that begins there, all of it. */
static bool entry_open(const struct unwind_tables *t, const uint8_t *at, struct cursor *c)
{
	uint32_t len;

	if (at < t->low || at > t->high || t->high - at < 8)
		return false;
	memcpy(&len, at, 4);
	if (len < 8 || len > EH_ENTRY_MAX || len > (size_t)(t->high - at) - 4)
		return false;
	*c = (struct cursor){ .b = at, .size = len + 4, .address = (uintptr_t)at };
	return true;
}

static bool table_cie(const struct unwind_tables *t, const uint8_t *at, struct reading *r,
		      struct cie *cie)
{
	struct cursor c;

	*cie = (struct cie){ .lsda = PE_OMIT };
	if (!entry_open(t, at, &c))
		return false;
	cie_parse(cie, &c);
	if (!cie->is_good || cie->return_column != REG_RET)
		return false;
	r->cie = cie;
	/* Nothing here is at an address: all of it counts. */
	r->pc = UINT64_MAX;
	c.at = cie->rows;
	if (!rows_run(r, &c) || r->at)
		return false;
	r->first = r->now;
	r->nr_kept = 0;
	return true;
}

/* Reads the FDE at that address. False: it is not one of pc. */
static bool table_fde(const struct unwind_tables *t, const uint8_t *at, uintptr_t pc,
		      uint64_t *word)
{
	struct reading r = { .now.cfa = CFA_OTHER };
	uint64_t back, start, size;
	struct cursor c;
	struct cie cie;

	if (!entry_open(t, at, &c))
		return false;
	cursor_skip(&c, 4);
	back = take_bytes(&c, 4);
	if (!back || back > (size_t)(at - t->low) + 4 || !table_cie(t, at + 4 - back, &r, &cie))
		return false;
	start = take_address(&c, cie.address);
	size = take_plain(&c, cie.address);
	if (cie.has_length)
		cursor_skip(&c, take_leb(&c, false));
	if (c.bad || pc - start >= size)
		return false;
	r.pc = pc;
	r.at = start;
	if (!rows_run(&r, &c))
		return false;
	*word = state_word(&r);
	if (!*word)
		*word = unwind_pack(&(struct unwind_row){ .kind = UNWIND_UNREAD });
	return true;
}

/* .eh_frame_hdr as linkers write it: pairs of start and FDE, counted from the header. */
static uint32_t pairs_of(const struct unwind_tables *t)
{
	static const uint8_t form[4] = { 1, 0x1b, 0x03, 0x3b };
	uint32_t nr;

	if (t->header < t->low || t->header > t->high || t->high - t->header < 12 ||
	    memcmp(t->header, form, 4))
		return 0;
	memcpy(&nr, t->header + 8, 4);
	return nr <= (size_t)(t->high - t->header - 12) / 8 ? nr : 0;
}

static int32_t pair_word(const struct unwind_tables *t, uint32_t i, unsigned int word)
{
	int32_t v;

	memcpy(&v, t->header + 12 + (size_t)i * 8 + word * 4, 4);
	return v;
}

uint64_t unwind_find(const struct unwind_tables *t, uintptr_t pc)
{
	uint32_t low = 0, high = pairs_of(t);
	const int64_t want = (int64_t)(pc - (uintptr_t)t->header);
	int64_t fde;
	uint64_t word = 0;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (pair_word(t, mid, 0) <= want)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return 0;
	fde = pair_word(t, low - 1, 1);
	if (fde < t->low - t->header || fde > t->high - t->header ||
	    !table_fde(t, t->header + fde, pc, &word))
		return 0;
	return word;
}
