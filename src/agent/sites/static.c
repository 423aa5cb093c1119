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
#include <dlfcn.h>
#include <string.h>
#include "agent/graph/graph.h"
#include "agent/sites/state.h"

/* Whether a DSO has such functions; each call looks here first. */
_Atomic uint32_t static_sites;

/* For static.S: libc's mcount and __fentry__. Until they are known these return at once. */
extern void *static_mcount_real __attribute__((visibility("hidden")));
extern void *static_fentry_real __attribute__((visibility("hidden")));
AGENT_API void agent_mcount(void);
AGENT_API void agent_fentry(void);
/* The same in libtracefuse-providers.so, which is searched before libc if this library is not. */
AGENT_API void agent_providers_fentry(void) __attribute__((weak));

/* A call of one of them, as static.S writes it. */
struct static_call {
	uintptr_t	after;		/* where it returns to */
	uintptr_t	*slot;		/* where the function's return address lies */
	uintptr_t	frame;		/* %rbp */
	uint64_t	done;		/* what static_hit() returned */
};

/* What static_hit() returns besides PATCH_*: libc's function need not be called. */
enum { STATIC_COUNTED = 1 };

uint32_t static_hit(uintptr_t after, uintptr_t *slot);
uint32_t static_hit_slow(const struct static_call *call);

typedef void (*static_count)(uintptr_t caller, uintptr_t function);
static static_count count;

bool static_is_called(void)
{
	return dlsym(RTLD_DEFAULT, "__fentry__") == (void *)agent_fentry;
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
		if (code[i] != 0xe8 || memcmp(code + i + 5, restore, sizeof(restore)))
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		return (static_count)(uintptr_t)(code + i + 5 + distance);
	}
	return NULL;
}

/* Looked up by version: this library's functions have no version. */
void static_start(void)
{
	void *fentry = dlvsym(RTLD_DEFAULT, "__fentry__", "GLIBC_2.13");
	void *mcount = dlvsym(RTLD_DEFAULT, "mcount", "GLIBC_2.2.5");

	if (fentry && mcount) {
		static_fentry_real = fentry;
		static_mcount_real = mcount;
		count = count_of(mcount);
	}
}

/* Where a site of five bytes would end: an indirect call has six. */
static uintptr_t behind(uintptr_t after)
{
	return ((const uint8_t *)after)[-5] == 0xe8 ? after : after - 1;
}

static const struct site_table *table_at(uintptr_t after)
{
	const struct agent_thread *t = agent_self.thread;

	return t && t->sites && site_table_has(t->sites, after) ? t->sites : site_table_find(after);
}

/* before: what the stack slot contained; caller: the true return address. */
static uint32_t counted(uintptr_t after, const uintptr_t *slot, uintptr_t before, uintptr_t caller)
{
	if (*slot == before || !count)
		return PATCH_PASS;
	count(caller, after);
	return STATIC_COUNTED;
}

uint32_t static_hit(uintptr_t after, uintptr_t *slot)
{
	const struct site_table *table = table_at(after);
	uintptr_t before = *slot, caller;
	uint32_t done;

	if (!table || !site_word(table, behind(after) - 5))
		return PATCH_PASS;
	caller = graph_true(slot);
	done = patch_hit_late(table->dso, behind(after), slot);
	return done >= PATCH_SLOW ? done : counted(after, slot, before, caller);
}

uint32_t static_hit_slow(const struct static_call *call)
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
	patch_hit_slow(&c);
	return counted(call->after, call->slot, before, caller);
}
