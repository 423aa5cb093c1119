/* SPDX-License-Identifier: MIT */
/*
 * static.c - functions compiled with -pg or -mfentry whose calls of mcount and __fentry__ stay in
 * the code
 *
 * The calls stay where memory that is executed cannot be changed: in a sandbox, or
 * if the code runs already and the call lies in two words. They then reach this
 * library's mcount and __fentry__ (x86_64/static.S), which look at the site's word
 * and do what a site does that is on. Then they call the real ones, so that gprof
 * has its counts.
 *
 * The real ones read the caller off the stack. It is not there when the function's
 * return is caught. So the function that they call themselves, with the caller and
 * the function as arguments, is called instead. It has no name; count_of() finds it
 * in their code.
 */
#include <string.h>
#include "agent/graph/graph.h"
#include "agent/providers/real.h"
#include "agent/sites/state.h"
#include "elf/code/insn.h"

/* Whether a DSO has such functions; each call looks here first. */
_Atomic uint32_t static_sites;

/* For static.S: libc's mcount and __fentry__; at first, what calls static_find() and goes there. */
extern void *static_mcount_real __attribute__((visibility("hidden")));
extern void *static_fentry_real __attribute__((visibility("hidden")));
/* What takes their place in another libc. */
extern const char static_return[] __attribute__((visibility("hidden")));

REAL_FUNCTION_AS(mcount, void (*)(void));
REAL_FUNCTION_AS(__fentry__, void (*)(void));

/* A call of one of them, as static.S writes it. */
struct static_call {
	uintptr_t	after;		/* where it returns to */
	uintptr_t	*slot;		/* where the function's return address lies */
	uintptr_t	frame;		/* %rbp */
	uint64_t	done;		/* what static_hit() returned */
};

/* What static_hit() returns besides PATCH_*: libc's function need not be called. */
enum { STATIC_COUNTED = 1 };

uint32_t static_hit(uintptr_t after, uintptr_t *slot, const uint64_t *saved);
uint32_t static_hit_slow(const struct static_call *call, const uint64_t *saved);
void static_find(void);

typedef void (*static_count)(uintptr_t caller, uintptr_t function);
static static_count count;

bool static_is_called(void)
{
	return !real_shadowed("__fentry__");
}

/*
 * The target of the only call in mcount: behind it mcount restores its registers. NULL: the code is
 * another libc's.
 */
static static_count count_of(const uint8_t *code)
{
	/* mov 0x30(%rsp), %r9 */
	static const uint8_t restore[] = { 0x4c, 0x8b, 0x4c, 0x24, 0x30 };
	int32_t distance;

	for (unsigned int i = 0; i < 64; i++) {
		if (code[i] != INSN_OP_CALL || memcmp(code + i + 5, restore, sizeof(restore)))
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		return (static_count)(uintptr_t)(code + i + 5 + distance);
	}
	return NULL;
}

/*
 * static.S calls it when such a function is called for the first time, with the vector registers as
 * they are: few programs have any, so a program's start does not look for them.
 */
void static_find(void)
{
	void *const mcount = real_found(&real_entry_mcount);
	void *const fentry = real_found(&real_entry___fentry__);
	const bool found = real_entry_mcount.object && real_entry___fentry__.object;

	count = found ? count_of(mcount) : NULL;
	/* Relaxed: each thread stores the same. */
	__atomic_store_n(&static_fentry_real, found ? fentry : (void *)static_return,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&static_mcount_real, found ? mcount : (void *)static_return,
			 __ATOMIC_RELAXED);
}

/* Where a site of five bytes would end: an indirect call has six. */
static uintptr_t behind(uintptr_t after)
{
	return ((const uint8_t *)after)[-5] == INSN_OP_CALL ? after : after - 1;
}

static const struct site_table *table_at(uintptr_t after)
{
	const struct agent_thread *t = agent_self.thread;

	return t && t->sites && site_table_has(t->sites, after) ? t->sites : site_table_find(after);
}

/* before: what the stack slot contained; caller: the true return address. */
static uint32_t counted(uintptr_t after, const uintptr_t *slot, uintptr_t before, uintptr_t caller)
{
	if (*slot == before)
		return PATCH_PASS;
	if (!real_entry_mcount.function)
		static_find();
	if (!count)
		return PATCH_PASS;
	count(caller, after);
	return STATIC_COUNTED;
}

uint32_t static_hit(uintptr_t after, uintptr_t *slot, const uint64_t *saved)
{
	const struct site_table *table = table_at(after);
	uintptr_t before = *slot, caller;
	uint32_t done;

	if (!table || !site_word(table, behind(after) - 5))
		return PATCH_PASS;
	caller = graph_true(slot);
	done = patch_hit_late(table->dso, behind(after), slot, saved);
	return done >= PATCH_SLOW ? done : counted(after, slot, before, caller);
}

uint32_t static_hit_slow(const struct static_call *call, const uint64_t *saved)
{
	const struct site_table *table = table_at(call->after);
	uintptr_t before = *call->slot, caller = graph_true(call->slot);
	struct site_call c = {
		.done = call->done,
		.slot = call->slot,
		.after = behind(call->after),
		.caller = call->frame,
		.parent = before,
		.late = 1,
	};

	if (!table)
		return PATCH_PASS;
	/* mcount is called after the function has made its frame. */
	c.next = (uintptr_t)call->slot == call->frame + 8 ? (const void *)call->frame
							  : (const void *)&c.caller;
	c.dso = table->dso;
	patch_hit_slow(&c, saved);
	return counted(call->after, call->slot, before, caller);
}
