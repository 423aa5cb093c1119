/* SPDX-License-Identifier: MIT */
/*
 * probe.c - how a probe at a place of a file is planted
 *
 * P1  A function's entry is probed behind its endbr64 and behind a compiler's site. These change
 *     neither registers nor the stack, so a hit there sees what it would see at the entry.
 * P2  A site's bytes are switched by the agent for function tracers. No jump of a probe covers
 *     them.
 */
#include <string.h>
#include "elf/probe.h"

enum {
	ENTRY_BYTES = 5,	/* of a site from its `at` on */
};

static uint64_t site_begin(const struct site *s)
{
	return s->kind == SITE_SLED ? s->at - SLED_HEAD : s->at;
}

static uint64_t site_end(const struct site *s)
{
	return s->kind == SITE_SLED || s->len < ENTRY_BYTES ? s->at + ENTRY_BYTES : s->at + s->len;
}

/* P2 */
void probe_plan_sites(struct code_file *f, const struct site *sites, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const uint64_t begin = site_begin(&sites[i]);
		const struct code_plan plan = {
			.tactic = CODE_WHOLE,
			.at = begin,
			.len = (uint8_t)(site_end(&sites[i]) - begin),
		};

		code_own(f, &plan, true);
	}
}

/* The number of the first site that begins there or behind it. Sites are sorted. */
static size_t site_from(const struct site *sites, size_t nr, uint64_t at)
{
	size_t low = 0, high = nr;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (site_begin(&sites[mid]) < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* P1. */
static uint64_t probed_address(const struct code_function *fn, const struct site *sites, size_t nr,
			       uint64_t at)
{
	const uint64_t entry = fn && fn->start == at ? code_entry(fn) : at;

	for (size_t i = site_from(sites, nr, at < entry ? at : entry); i < nr; i++) {
		const uint64_t begin = site_begin(&sites[i]);

		if (begin == at || begin == entry)
			return site_end(&sites[i]);
		if (begin > at && begin > entry)
			break;
	}
	return entry;
}

static enum code_why return_refuse(const struct code_function *fn, uint64_t at,
				   struct probe_plan *out)
{
	if (!fn || (fn->start != at && code_entry(fn) != at))
		return CODE_NOT_START;
	out->returns = fn->returns;
	return (enum code_why)fn->why;
}

static bool plan_copy(const struct code_file *f, const struct code_plan *plan,
		      struct probe_plan *out)
{
	const struct code_segment *s = code_segment_at(f, plan->at);
	const size_t size = plan->len < CODE_JUMP ? CODE_JUMP : plan->len;

	_Static_assert(sizeof(out->offsets) == sizeof(plan->offsets), "the same plan");
	if (size > sizeof(out->bytes) || s->high - plan->at < size) {
		out->why = CODE_FIXED;
		return false;
	}
	out->tactic = plan->tactic;
	out->from = plan->at;
	out->address = plan->address;
	out->len = plan->len;
	out->nr = plan->nr;
	out->before = plan->before;
	memcpy(out->offsets, plan->offsets, sizeof(out->offsets));
	memcpy(out->bytes, s->bytes + (plan->at - s->low), size);
	return true;
}

bool probe_plan_make(struct code_file *f, const struct site *sites, size_t nr, uint64_t at,
		     bool returns, struct probe_plan *out)
{
	const struct code_function *fn = code_function_at(f, at);
	struct code_plan plan;

	*out = (struct probe_plan){ .tactic = CODE_REFUSED, .from = at, .address = at };
	out->why = (uint8_t)(returns ? return_refuse(fn, at, out) : CODE_GOOD);
	if (out->why || out->returns)
		return false;
	if (!code_plan(f, probed_address(fn, sites, nr, at), CODE_NO_TRAP, &plan)) {
		out->why = plan.why;
		return false;
	}
	if (!plan_copy(f, &plan, out))
		return false;
	code_own(f, &plan, true);
	return true;
}
