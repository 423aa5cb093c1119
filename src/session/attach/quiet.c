/* SPDX-License-Identifier: MIT */
/*
 * quiet.c - what tells programs that they need not join before their first hit
 * (agent/join/quiet.c has the rules)
 */
#include "session/attach/attach.h"
#include "session/state.h"

void attach_barriers(struct session *s, unsigned int nr)
{
	/* Relaxed: a client's own program begins when the client has its answer. */
	atomic_store_explicit(&s->header->barriers, nr, memory_order_relaxed);
}

void attach_providers(struct session *s, uint64_t table, uint32_t first, uint32_t end)
{
	s->header->providers_table = table;
	s->header->providers_first = first;
	s->header->providers_end = end;
}

/* If all places are taken, one of them is overwritten. */
void attach_quiet(struct session *s, uint64_t program)
{
	_Atomic uint64_t *places =
		&s->header->quiet[program / 2 % LAYOUT_QUIET & -(uint64_t)QUIET_PLACES];
	unsigned int free = (unsigned int)(program >> 32) % QUIET_PLACES;

	/* Relaxed: each word has a meaning of its own, and only the server stores it. */
	for (unsigned int i = 0; i < QUIET_PLACES; i++) {
		const uint64_t is = atomic_load_explicit(&places[i], memory_order_relaxed);

		if (is == program)
			return;
		free = is ? free : i;
	}
	/* Relaxed: as above. */
	atomic_store_explicit(&places[free], program, memory_order_relaxed);
}

/* Also behind a server that died. */
bool attach_quiet_any(const struct session *s)
{
	/* Relaxed: as above. */
	for (unsigned int i = 0; i < LAYOUT_QUIET; i++)
		if (atomic_load_explicit(&s->header->quiet[i], memory_order_relaxed))
			return true;
	return false;
}
