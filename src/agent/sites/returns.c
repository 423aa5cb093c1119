/* SPDX-License-Identifier: MIT */
/*
 * returns.c - which functions end at return sites only
 *
 *     f:      entry site ... nop5; ret ... nop5; ret            its returns are caught at the nops
 *     h:      entry site ... nop5; ret ... ret                  its return address is replaced
 *     x:      entry sled ... exit sled ... exit sled            caught at the sleds, which are rets
 *
 * A function ends at each `ret`, and at each jump out of its FDE. It has return sites if there is
 * one right before each of these, in the function and in each cold part that it jumps to, and none
 * of these is a jump. A function that ends in a jump lasts until the jump's target returns, which
 * only a replaced return address shows.
 * A return site in a part without an entry may belong to any function: it is on while any function
 * of the file is traced that way. (There a jump ends the function.)
 */
#include <sys/mman.h>
#include "agent/sites/sites.h"
#include "elf/image.h"
#include "agent/syscall.h"
#include "elf/code/insn.h"

enum { HAS_ENTRY = 1, HAS_ENTRIES = 2, HAS_RETURNS = 4, HAS_JUMPS = 8, IS_BAD = 16 };

struct pairing {
	const struct image *im;
	struct site	*returns;	/* by address */
	size_t		nr;
	uint8_t		*parts;		/* by number of the FDE */
};

/* The number of the first return site at or behind `at`. */
static size_t return_at(const struct pairing *p, uint64_t at)
{
	size_t low = 0, high = p->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->returns[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether a jump to there, without a return site, leads to another part of the same function. */
static bool is_own_part(const struct pairing *p, uint64_t to)
{
	const size_t number = image_function(p->im, to);

	if (number == p->im->nr_starts)
		return false;
	if (p->parts[number] & HAS_ENTRY)
		return to != image_function_start(p->im, number);
	return !(p->parts[number] & (HAS_JUMPS | IS_BAD));
}

/* The target of a jump whose distance has `size` bytes; it ends before `end`. */
static uint64_t jump_to(const struct insn *in, unsigned int size, const unsigned char *b,
			uint64_t end)
{
	if (size == 4)
		return relative(b + in->len - 4, end);
	return end + (uint64_t)(int64_t)(int8_t)b[in->len - 1];
}

static bool is_inside(const struct pairing *p, size_t number, uint64_t at)
{
	const uint64_t start = image_function_start(p->im, number);

	return at - start < image_function_end(p->im, number) - start;
}

/* An instruction that is not behind a return site: whether it does not leave the function. */
static bool instruction_stays(const struct pairing *p, size_t number, const struct insn *in,
			      const unsigned char *b, uint64_t end)
{
	const unsigned int size = insn_distance(in);
	uint64_t to;

	if (insn_returns(in))
		return false;
	if (insn_jumps_by_memory(in))
		return p->parts[number] & HAS_RETURNS;	/* a switch */
	if (!size)
		return true;
	to = jump_to(in, size, b, end);
	return is_inside(p, number, to) || is_own_part(p, to);
}

/* An instruction behind a return site: whether it is a jump, without a condition, that leaves. */
static bool jump_leaves(const struct pairing *p, size_t number, const struct insn *in,
			const unsigned char *b, uint64_t end)
{
	uint64_t to;

	if (insn_jumps_by_memory(in))
		return true;
	if (in->map != INSN_BYTE || (in->opcode != INSN_OP_JMP && in->opcode != INSN_OP_JMP_8))
		return false;
	to = jump_to(in, insn_distance(in), b, end);
	return !is_inside(p, number, to) || to == image_function_start(p->im, number);
}

/* -> what the instruction means for its part: nothing, HAS_JUMPS, IS_BAD */
static uint8_t judge(const struct pairing *p, size_t number, const struct insn *in,
		     const unsigned char *b, uint64_t end, bool at_site)
{
	if (!at_site)
		return instruction_stays(p, number, in, b, end) ? 0 : IS_BAD;
	if (insn_returns(in))
		return 0;
	return jump_leaves(p, number, in, b, end) ? HAS_JUMPS : IS_BAD;
}

static uint8_t part_judge(const struct pairing *p, size_t number)
{
	const uint64_t end = image_function_end(p->im, number);
	uint64_t at = image_function_start(p->im, number);
	size_t size = end - at, next = return_at(p, at);
	uint32_t flags;
	const unsigned char *b = image_address(p->im, at, &size, &flags);
	const struct site *here;
	bool at_site = false;
	uint8_t is = 0;
	struct insn in;

	if (!b || size < end - at)
		return IS_BAD;
	for (; at < end && !(is & IS_BAD); at += in.len, b += in.len) {
		if (!insn_read(b, end - at, &in))
			return IS_BAD;
		here = next < p->nr && p->returns[next].at == at ? &p->returns[next++] : NULL;
		if (!here || here->kind == SITE_RETURN || at_site)
			is |= judge(p, number, &in, b, at + in.len, at_site);
		at_site = here && here->kind == SITE_RETURN;
	}
	/* Bad: the last instruction is a return site, or one of them is not at an instruction. */
	return at_site || (next < p->nr && p->returns[next].at < end) ? is | IS_BAD : is;
}

static void parts_note(const struct pairing *p, const struct site *entries, size_t nr)
{
	size_t function;

	for (size_t i = 0; i < nr; i++) {
		function = image_function(p->im, entries[i].at);
		if (function != p->im->nr_starts)
			p->parts[function] |=
				p->parts[function] & HAS_ENTRY ? HAS_ENTRIES : HAS_ENTRY;
	}
	for (size_t i = 0; i < p->nr; i++) {
		function = image_function(p->im, p->returns[i].at);
		if (function != p->im->nr_starts)
			p->parts[function] |=
				p->returns[i].skip ? HAS_RETURNS | IS_BAD : HAS_RETURNS;
	}
}

static void parts_judge(const struct pairing *p)
{
	bool more;

	do {
		more = false;
		for (size_t i = 0; i < p->im->nr_starts; i++) {
			const uint8_t was = p->parts[i];

			if (!(was & IS_BAD))
				p->parts[i] |= part_judge(p, i);
			more |= p->parts[i] != was;
		}
	} while (more);
}

/* Notes the return sites of an entry's function. */
static void function_pair(const struct pairing *p, struct site *entry)
{
	const size_t function = image_function(p->im, entry->at);

	entry->returns = !entry->skip && entry->kind != SITE_CALL_LATE &&
			 function != p->im->nr_starts &&
			 (p->parts[function] & ~HAS_ENTRY) == HAS_RETURNS;
	for (size_t k = return_at(p, entry->at);
	     entry->returns && k < p->nr && is_inside(p, function, p->returns[k].at); k++) {
		p->returns[k].number = entry->number;
		p->returns[k].returns = true;
	}
}

/* Return sites in a part without an entry. False: one is bad, and may belong to any function. */
static bool parts_pair(const struct pairing *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		struct site *s = &p->returns[i];
		const size_t part = image_function(p->im, s->at);

		if (part != p->im->nr_starts && (p->parts[part] & HAS_ENTRY))
			continue;
		if (part == p->im->nr_starts || (p->parts[part] & IS_BAD))
			return false;
		s->returns = true;
	}
	return true;
}

static bool pair(struct pairing *p, struct site *entries, size_t nr)
{
	long memory = agent_syscall(SYS_mmap, 0, p->im->nr_starts, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool any;

	if ((unsigned long)memory > -4096ul)
		return false;
	p->parts = (uint8_t *)memory;
	parts_note(p, entries, nr);
	parts_judge(p);
	any = parts_pair(p);
	for (size_t i = 0; any && i < nr; i++)
		function_pair(p, &entries[i]);
	agent_syscall(SYS_munmap, memory, p->im->nr_starts);
	return any;
}

/* Cold: once for each object. */
__attribute__((cold)) size_t sites_pair(const void *file, size_t size, struct site *sites,
					size_t nr, size_t nr_returns)
{
	struct image im;
	struct pairing p = { .im = &im, .returns = sites + nr, .nr = nr_returns };
	size_t all = nr;

	for (size_t i = 0; i < nr + nr_returns; i++)
		sites[i].number = i < nr ? (uint32_t)i : SITE_NO_FUNCTION;
	if (!nr_returns || !image_open(&im, file, size) || !im.nr_starts || !pair(&p, sites, nr))
		return nr;
	for (size_t i = nr; i < nr + nr_returns; i++)
		if (sites[i].returns)
			sites[all++] = sites[i];
	sites_sort(sites, all);
	return all;
}

/* Whether one in a part without an entry is skipped: it may belong to any function. */
static bool any_lost(const struct site *sites, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (site_is_return(&sites[i]) && sites[i].returns && sites[i].skip &&
		    sites[i].number == SITE_NO_FUNCTION)
			return true;
	return false;
}

/* The number of return sites of entry i; they follow it. */
static size_t nr_own(const struct site *sites, size_t nr, size_t i)
{
	size_t k = i + 1;

	while (k < nr && site_is_return(&sites[k]) && sites[k].number == sites[i].number)
		k++;
	return k - i - 1;
}

bool sites_unpair(struct site *sites, size_t nr)
{
	const bool lost = any_lost(sites, nr);
	bool any = false;

	for (size_t i = 0; i < nr; i++) {
		const bool is_entry = !site_is_return(&sites[i]);
		const size_t own = is_entry ? nr_own(sites, nr, i) : 0;
		bool good = sites[i].returns && !sites[i].skip && !lost;

		for (size_t k = 1; k <= own; k++)
			good = good && !sites[i + k].skip;
		for (size_t k = 0; is_entry && k <= own; k++)
			sites[i + k].returns = good;
		any |= good && is_entry;
	}
	return any;
}
