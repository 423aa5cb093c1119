/* SPDX-License-Identifier: MIT */
/*
 * entry.c - where a parameter is at the function's entry, if its location says so
 *
 *     DW_OP_reg5                    the value is in %di
 *     DW_OP_reg5 piece, reg4 piece  its parts are in %di and %si
 *     DW_OP_breg5 0                 it is in memory, whose address is in %di
 *     DW_OP_fbreg N, DW_OP_deref    it is in memory, and the prologue has stored its address
 *
 * Without optimization a location is most often the place to which the prologue has copied the
 * value. It says nothing about the entry, but it says that the value has no address.
 */
#include <stdlib.h>

#include "debug/reader/reader.h"

enum { OPERATIONS = 4, NO_REGISTER = READER_INTEGERS + READER_VECTORS };

/* DWARF has numbers of its own for registers. */
static unsigned int number_of_dwarf(unsigned int dwarf)
{
	static const unsigned int integers[READER_INTEGERS] = { 5, 4, 1, 2, 8, 9 };
	enum { XMM0 = 17 };

	for (unsigned int i = 0; i < READER_INTEGERS; i++)
		if (integers[i] == dwarf)
			return i;
	return dwarf >= XMM0 && dwarf < XMM0 + READER_VECTORS ?
	       READER_INTEGERS + dwarf - XMM0 : NO_REGISTER;
}

static unsigned int value_register(const Dwarf_Op *op)
{
	return op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31 ?
	       number_of_dwarf(op->atom - DW_OP_reg0) : NO_REGISTER;
}

/* A place below the frame's base, or below %bp or %sp. */
static bool is_in_frame(const Dwarf_Op *op)
{
	return op->atom == DW_OP_fbreg || op->atom == DW_OP_breg6 || op->atom == DW_OP_breg7;
}

static bool is_address(const Dwarf_Op *op)
{
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31 && !op->number &&
	       !is_in_frame(op);
}

static unsigned int register_bytes(unsigned int number)
{
	return number < READER_INTEGERS ? 8 : 16;
}

/* One register without a piece, or up to two that have one each. */
static void take_value(struct reader_entry *e, const Dwarf_Op *ops, size_t nr)
{
	const size_t step = nr == 1 ? 1 : 2;

	if (nr > OPERATIONS || nr % step)
		return;
	for (size_t i = 0; i < nr; i += step) {
		e->registers[e->nr] = value_register(&ops[i]);
		if (e->registers[e->nr] == NO_REGISTER ||
		    (step == 2 && ops[i + 1].atom != DW_OP_piece)) {
			e->nr = 0;
			e->bytes = 0;
			return;
		}
		e->bytes += step == 2 ? ops[i + 1].number : register_bytes(e->registers[e->nr]);
		e->nr++;
	}
}

/* A prologue may copy the address to another register. */
static void take_address(struct reader_entry *e, const Dwarf_Op *ops, size_t nr, bool at_entry)
{
	e->has_address = (nr == 1 && is_address(&ops[0])) ||
			 (nr == 2 && is_in_frame(&ops[0]) && ops[1].atom == DW_OP_deref);
	if (nr == 1 && e->has_address && at_entry) {
		e->registers[0] = number_of_dwarf(ops[0].atom - DW_OP_breg0);
		e->nr = e->registers[0] < READER_INTEGERS;
	}
}

struct reader_entry reader_entry(const struct reader_places *p, Dwarf_Die *parameter)
{
	struct reader_entry e = { .located = false };
	Dwarf_Attribute location;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	Dwarf_Op *ops;
	size_t nr;

	if (!dwarf_attr(parameter, DW_AT_location, &location))
		return e;
	while ((at = dwarf_getlocations(&location, at, &base, &start, &end, &ops, &nr)) > 0 &&
	       reader_may() && !e.nr && !e.has_address) {
		if (!nr)
			continue;
		e.located = true;
		if (start <= p->body)
			take_address(&e, ops, nr, start <= p->entry);
		if (start <= p->entry && !e.has_address)
			take_value(&e, ops, nr);
	}
	return e;
}

void reader_entry_begin(struct reader_places *p, Dwarf_Die *function)
{
	Dwarf_Addr *ends = NULL;
	const int nr = dwarf_entrypc(function, &p->entry) ?
		       0 : dwarf_entry_breakpoints(function, &ends);

	p->body = nr > 0 ? ends[0] : p->entry;
	free(ends);
}
