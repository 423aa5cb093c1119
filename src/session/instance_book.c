/* SPDX-License-Identifier: MIT */
/*
 * instance_book.c - what the server knows of its instances: which ones exist, and their sets of
 * pids (R2)
 */
#include "session/ring/access.h"
#include "session/state.h"

struct instance_book *instance_book(struct session *s, uint32_t instance)
{
	struct instance_book *books = session_config(s, s->header->instance_books,
						     LAYOUT_MAX_INSTANCES * sizeof(*books));

	return books && instance < LAYOUT_MAX_INSTANCES ? &books[instance] : NULL;
}

bool session_instance_used(struct session *s, uint32_t instance)
{
	const struct instance_book *b = instance_book(s, instance);

	return b && b->used;
}

void session_instance_use(struct session *s, uint32_t instance, bool used)
{
	struct instance_book *b = instance_book(s, instance);

	if (!b)
		return;
	b->used = used;
	/* Relaxed: a hit in each_followed() no longer finds sets, or finds none yet. */
	atomic_store_explicit(&plane_instance(&s->plane, instance)->used, used,
			      memory_order_relaxed);
}

void session_pids_publish(struct session *s, uint32_t instance, unsigned int set, data_ref ref)
{
	struct instance_state *st = plane_instance(&s->plane, instance);
	_Atomic data_ref *const words[PIDS_SETS] = { &st->pids, &st->no_pids, &st->func_pids,
						     &st->no_func_pids };

	instance_book(s, instance)->pids[set] = ref;
	session_publish(s, words[set], ref);
}

void session_pids_follow(struct session *s, uint32_t instance, uint32_t sets)
{
	instance_book(s, instance)->follows = sets;
}

/* ---- processes that join sets ---- */

static uint64_t *word_in(struct pid_set *set, pid_t pid)
{
	return &set->bits[(uint32_t)pid % (sizeof(*set) * 8) / 64];
}

static void book_join(struct session *s, const struct instance_book *b, unsigned int k,
		      pid_t creator, pid_t pid)
{
	struct pid_set *set = session_data(s, b->pids[k], sizeof(*set));

	/* Both: P1 of plane/hit_pids.c. */
	if (set &&
	    __atomic_load_n(word_in(set, creator), __ATOMIC_RELAXED) >> ((uint32_t)creator % 64) &
		    1)
		__atomic_fetch_or(word_in(set, pid), 1ull << ((uint32_t)pid % 64),
				  __ATOMIC_RELAXED);
}

void pids_inherit(struct session *s, pid_t creator, pid_t pid)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_INSTANCES; i++) {
		const struct instance_book *b = instance_book(s, i);

		for (unsigned int k = 0; b->used && k < PIDS_SETS; k++)
			if (b->follows >> k & 1)
				book_join(s, b, k, creator, pid);
	}
}
