/* SPDX-License-Identifier: MIT */
/*
 * hit.c - a call of a traced function: a hit of ftrace:function, by the plan of its group
 *
 * S1  A traced function's arguments may be in vector registers, and its caller may
 *     rely on other registers that the compiler knows the function to preserve. So
 *     all code from sites_hit() on is compiled for general registers only and calls
 *     no function of libc. If a hit needs more, sites_hit() returns true; entry.S
 *     then saves all registers and calls sites_hit_slow().
 * S2  A site that is being switched off has lost its word while its byte still
 *     calls: such a call is no hit. A word is stored before its byte is switched on.
 */
#include "agent/emit/emit.h"
#include "agent/sites/hit.h"
#include "agent/state.h"

const struct site_table *site_table_find(uintptr_t ip)
{
	/* Acquire: pairs with the release in table_publish(). */
	uint32_t nr = atomic_load_explicit(&nr_site_tables, memory_order_acquire);

	for (uint32_t i = 0; i < nr; i++)
		if (site_table_has(&site_tables[i], ip))
			return &site_tables[i];
	return NULL;
}

static __attribute__((noinline)) const struct site_table *table_seek(struct agent_thread *t,
								     uintptr_t ip)
{
	const struct site_table *table = site_table_find(ip);

	if (t && table)
		t->sites = table;
	return table;
}

static inline const struct site_table *table_of(struct agent_thread *t, uintptr_t ip)
{
	const struct site_table *table = t ? t->sites : NULL;

	return __builtin_expect(table && site_table_has(table, ip), 1) ? table : table_seek(t, ip);
}

/* The entry whose plan a call of the function runs; 0: none. */
static inline uint32_t entry_of(const struct site_table *table, uintptr_t ip)
{
	uint32_t group = table ? site_word(table, ip) & SITE_GROUP : 0;

	if (!group)
		return 0;
	/* Relaxed: hit() loads it again with acquire. */
	return atomic_load_explicit(&plane_event(&agent.plane, group + GROUP_FUNCTION)->plan,
				    memory_order_relaxed)
		       ? group + GROUP_FUNCTION
		       : 0;
}

/* The address is in another DSO with sites. */
static __attribute__((noinline)) uint64_t address_sought(uintptr_t addr)
{
	const struct site_table *table = site_table_find(addr);

	return table ? addr + table->delta : 0;
}

/* The address in the session, if it can be found without libc; else 0. */
static inline uint64_t address_known(const struct agent_thread *t, const struct site_table *table,
				     uintptr_t addr)
{
	uint64_t delta;

	if (site_table_has(table, addr))
		return addr + table->delta;
	/* Pairs with the release in agent_dso_closed(). */
	if (agent_code_delta(t, addr, atomic_load_explicit(&agent_dso_age, memory_order_acquire),
			     &delta))
		return addr + delta;
	return address_sought(addr);
}

/* Of a call that site_out_of_section() leaves out. False: the thread needs a slot to count it. */
static __attribute__((noinline)) bool site_left_counted(const struct agent_thread *t,
							uint32_t entry)
{
	const struct plan *plan = site_plan(entry);

	return !plan || !(plan->wants & PLAN_ONLY_DEPTH) ||
	       stack_call_left(t, (uintptr_t)__builtin_frame_address(0));
}

bool sites_hit(uintptr_t ip, uintptr_t parent)
{
	struct agent_thread *t = agent_self.thread;
	const struct site_table *table;
	struct function_record r;
	uint32_t entry;

	/* Relaxed: all that a hit needs is published with the table: see site_table_find(). */
	if (atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_ON || (t && t->busy))
		return false;
	table = table_of(t, ip);
	entry = entry_of(table, ip);
	if (!entry)
		return false;
	if (t && site_out_of_section(t, entry))
		return !site_left_counted(t, entry);
	if (!t || !t->slot || emit_wants_stack(entry))
		return true;
	r.parent_ip = address_known(t, table, parent);
	if (!r.parent_ip)
		return true;
	r.ip = ip + table->delta;
	agent_emit(t, entry, &r, sizeof(r), NULL);
	return false;
}

void sites_hit_slow(uintptr_t ip, uintptr_t parent, const void *frame)
{
	struct agent_thread *t = agent_thread();
	const struct site_table *table;
	struct function_record r;
	uint32_t entry;

	if (!t)
		return;
	table = table_of(t, ip);
	entry = entry_of(table, ip);
	if (!entry)
		return;
	r.parent_ip = agent_address(t, (const void *)parent);
	r.ip = ip + table->delta;
	agent_emit(t, entry, &r, sizeof(r), frame);
}
