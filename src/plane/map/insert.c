/* SPDX-License-Identifier: MIT */
/*
 * insert.c - a new key; there are many writers, and each may be killed at any instruction
 *
 * Each slot owns one elt that nobody else touches. It writes the key there, claims one of the
 * max_elts places, publishes the elt by a compare-and-swap in the table, and takes a new elt from
 * the pool to own. A writer that loses the race for the table gives the place back and keeps the
 * elt.
 *
 * The pool is one word:
 *
 *     63      48 47    36 35      18 17        0
 *     +---------+--------+----------+-----------+
 *     |   seq   | owner  |   next   |  places   |      places: claimed, at most max_elts
 *     +---------+--------+----------+-----------+      next:   elts 1 .. next have been taken
 *
 * I1  Every change of the word carries the owner that made it and that owner's sequence number.
 *     Before a writer replaces the word, it notes the result in `done` of the owner that the word
 *     names. So it can always be found out whether an operation took place: it is in the word or in
 *     `done`.
 * I2  An owner writes what it is about to do (phase and seq) in its own state before it does it.
 *     The next thread that uses the slot, or the server (map_recover()), finishes or takes back
 *     what a killed process left.
 * I3  next grows only after a publication, so it is at most max_elts.
 * I4  pool and the `done` of all owners are sequentially consistent and pair with each other (I1:
 *     pool_note(), pool_change(), pool_happened()). Only an owner's own thread stores its state,
 *     elt and holder; they are relaxed where only that thread and its handlers read them. The
 *     release in owner_end() ends an operation. It pairs with the acquire in owner_recover(), which
 *     the next owner or the server runs when the old owner is dead. Their loads of state and elt
 *     are relaxed, too: they come after the thread got the slot (slot.owner, or that death) or the
 *     holder.
 */
#include "plane/map/layout.h"

enum { PLACES_BITS = 18, OWNER_BITS = 12, SEQ_MASK = 0xffff };

#define FIELD_MASK	((1ull << PLACES_BITS) - 1)
#define NEXT_ONE	(1ull << PLACES_BITS)

static uint32_t pool_places(uint64_t w)
{
	return w & FIELD_MASK;
}

static uint32_t pool_next(uint64_t w)
{
	return w >> PLACES_BITS & FIELD_MASK;
}

static uint32_t pool_owner(uint64_t w)
{
	return w >> (2 * PLACES_BITS) & ((1u << OWNER_BITS) - 1);
}

static uint32_t pool_seq(uint64_t w)
{
	return (uint32_t)(w >> (2 * PLACES_BITS + OWNER_BITS));
}

static uint64_t pool_word(uint64_t fields, uint32_t owner, uint32_t seq)
{
	return (fields & (FIELD_MASK | FIELD_MASK << PLACES_BITS)) |
	       (uint64_t)owner << (2 * PLACES_BITS) |
	       (uint64_t)seq << (2 * PLACES_BITS + OWNER_BITS);
}

uint32_t map_taken(const struct map *m, const struct map_layout *l)
{
	/* I4 */
	const uint64_t w = atomic_load_explicit(&m->pool, memory_order_seq_cst);
	/* In insert_single() the word counts the elts; one that was killed may not have counted. */
	const uint64_t n = l->single_writer ? w + 1 : pool_next(w);

	return n < l->max_elts ? (uint32_t)n : l->max_elts;
}

/*
 * I1: notes the operation that the word shows. `done` is read before the word is read again. If the
 * word is still the same, `done` is not newer than the word; if another thread changes `done`, the
 * compare-and-swap fails.
 */
static bool pool_note(struct map_view m, uint64_t w)
{
	struct map_owner *o = map_owner(m, pool_owner(w));
	uint64_t want = (uint64_t)pool_seq(w) << 32 | pool_next(w), done;

	if (pool_owner(w) >= m.layout->nr_owners)
		return true;	/* M4: no owner of this map wrote that */
	/* I4, the same for the word below */
	done = atomic_load_explicit(&o->done, memory_order_seq_cst);
	if (atomic_load_explicit(&m.data->pool, memory_order_seq_cst) != w)
		return false;
	/* I4. It fails if another thread has noted it. */
	if (done != want)
		atomic_compare_exchange_strong_explicit(&o->done, &done, want, memory_order_seq_cst,
							memory_order_seq_cst);
	return true;
}

static void owner_begin(struct map_owner *o, enum map_phase phase)
{
	/* I4 */
	uint64_t seq = (atomic_load_explicit(&o->state, memory_order_relaxed) >> 8) + 1;

	if (!(seq & SEQ_MASK))
		seq++;		/* 0 is the value in a new map's pool and `done` */
	/* I2: before the operation itself, which is seq_cst. */
	atomic_store_explicit(&o->state, seq << 8 | phase, memory_order_seq_cst);
}

static void owner_end(struct map_owner *o)
{
	uint64_t state = atomic_load_explicit(&o->state, memory_order_relaxed);	/* I4 */

	/* I4: pairs with the acquire in owner_recover(). */
	atomic_store_explicit(&o->state, state & ~0xffull, memory_order_release);
}

static uint32_t owner_seq(const struct map_owner *o)
{
	return atomic_load_explicit(&o->state, memory_order_relaxed) >> 8 & SEQ_MASK;	/* I4 */
}

/* Changes the pool once: adds `add` to its fields. False: no place is left (only for a claim). */
static bool pool_change(struct map_view m, uint32_t owner, uint64_t add, bool claim, uint32_t *next)
{
	uint64_t w = atomic_load_explicit(&m.data->pool, memory_order_seq_cst), new;	/* I4 */
	uint32_t seq = owner_seq(map_owner(m, owner));

	for (;;) {
		if (claim && pool_places(w) >= m.layout->max_elts)
			return false;
		if (!pool_note(m, w)) {
			w = atomic_load_explicit(&m.data->pool, memory_order_seq_cst);	/* I4 */
			continue;
		}
		/* I1, I4: a value is replaced only after it was noted. */
		new = pool_word(w + add, owner, seq);
		if (atomic_compare_exchange_strong_explicit(
			    &m.data->pool, &w, new, memory_order_seq_cst, memory_order_seq_cst))
			break;
	}
	*next = pool_next(new);
	return true;
}

/*
 * I1: whether the owner's last operation took place. *next is the field as that operation left it.
 */
static bool pool_happened(struct map_view m, uint32_t owner, uint32_t *next)
{
	struct map_owner *o = map_owner(m, owner);
	uint64_t w = atomic_load_explicit(&m.data->pool, memory_order_seq_cst), done;	/* I4 */

	if (pool_owner(w) == owner && pool_seq(w) == owner_seq(o)) {
		*next = pool_next(w);
		return true;
	}
	/*
	 * I4: loaded after the word. An operation that the word no longer shows was noted before it
	 * changed.
	 */
	done = atomic_load_explicit(&o->done, memory_order_seq_cst);
	*next = (uint32_t)done;
	return (uint32_t)(done >> 32) == owner_seq(o);
}

static uint32_t owner_elt(struct map_view m, uint32_t owner)
{
	/* I4 */
	uint32_t elt = atomic_load_explicit(&map_owner(m, owner)->elt, memory_order_relaxed);

	return elt && elt < m.layout->nr_elts ? elt : 1 + m.layout->max_elts + owner;
}

static void owner_unclaim(struct map_view m, uint32_t owner)
{
	struct map_owner *o = map_owner(m, owner);
	uint32_t next;

	owner_begin(o, MAP_UNCLAIM);
	/*
	 * The fields are added to as one number. -1 borrows nothing from the next field: a place
	 * was claimed.
	 */
	pool_change(m, owner, ~0ull, false, &next);
	owner_end(o);
}

static void owner_replace(struct map_view m, uint32_t owner)
{
	struct map_owner *o = map_owner(m, owner);
	uint32_t next;

	owner_begin(o, MAP_REPLACE);
	pool_change(m, owner, NEXT_ONE, false, &next);
	/* I4: before the release in owner_end() */
	atomic_store_explicit(&o->elt, next, memory_order_relaxed);
	owner_end(o);
}

/* I2: finishes or takes back what the slot's previous owner left. */
static void owner_recover(struct map_view m, uint32_t owner)
{
	struct map_owner *o = map_owner(m, owner);
	uint32_t elt = owner_elt(m, owner), next;
	const void *key = map_elt(m, elt);
	bool happened = pool_happened(m, owner, &next);

	/* I4: pairs with the release in owner_end(). */
	switch ((enum map_phase)(atomic_load_explicit(&o->state, memory_order_acquire) & 0xff)) {
	case MAP_IDLE:
		return;
	case MAP_CLAIM:
		if (!happened)
			owner_end(o);
		else if (map_lookup(m, key, map_key_words(m), map_hash(m, key)) == elt)
			owner_replace(m, owner);
		else
			owner_unclaim(m, owner);
		return;
	case MAP_UNCLAIM:
		if (happened)
			owner_end(o);
		else
			owner_unclaim(m, owner);
		return;
	case MAP_REPLACE:
		if (!happened) {
			owner_replace(m, owner);
			return;
		}
		/* I4, as in owner_replace() */
		atomic_store_explicit(&o->elt, next, memory_order_relaxed);
		owner_end(o);
		return;
	}
}

static void elt_fill(struct map_view m, uint32_t elt, const void *key)
{
	uint64_t *to = (uint64_t *)map_elt(m, elt);
	const uint64_t *from = key;

	for (uint32_t i = 0; i < m.layout->key_size / 8; i++)
		to[i] = from[i];
}

/*
 * Puts the elt into the table. Returns it, or the elt that another writer put there for the same
 * key; 0 only when the table is damaged (it has twice the room).
 */
static uint32_t map_publish(struct map_view m, uint32_t elt, uint32_t hash, const void *key)
{
	uint32_t i = hash >> m.layout->hash_shift;

	for (uint32_t n = 0; n <= m.layout->entry_mask; n++, i = (i + 1) & m.layout->entry_mask) {
		/* M1: pairs with the release below */
		uint64_t e = atomic_load_explicit(map_entry(m, i), memory_order_acquire);

		/* M1: pairs with the acquire in map_lookup(). On failure e is the winner's. */
		if (!e && atomic_compare_exchange_strong_explicit(
				  map_entry(m, i), &e, (uint64_t)hash << 32 | elt,
				  memory_order_release, memory_order_acquire))
			return elt;
		if (e >> 32 == hash && (uint32_t)e < m.layout->nr_elts &&
		    map_key_equal(m, (uint32_t)e, key, map_key_words(m)))
			return (uint32_t)e;
	}
	return 0;
}

static uint32_t map_drop(struct map_view m)
{
	/* Relaxed: a counter for the reader of the file. */
	atomic_fetch_add_explicit(&m.data->drops, 1, memory_order_relaxed);
	return 0;
}

static uint32_t insert_owned(struct map_view m, uint32_t owner, uint32_t hash, const void *key)
{
	struct map_owner *o = map_owner(m, owner);
	uint32_t elt, got, next;

	elt = owner_elt(m, owner);
	elt_fill(m, elt, key);
	owner_begin(o, MAP_CLAIM);
	if (!pool_change(m, owner, 1, true, &next)) {
		owner_end(o);
		return map_drop(m);
	}
	got = map_publish(m, elt, hash, key);
	if (got == elt)
		owner_replace(m, owner);
	else
		owner_unclaim(m, owner);
	return got;
}

/*
 * For a slot beyond MAP_OWNERS, and for a hit in a signal handler that interrupted an insert of its
 * own thread: the slot has no owner, or its owner is busy, so the hit borrows another one. An owner
 * that a killed thread of the same slot and level had borrowed is taken over.
 */
static uint32_t insert_borrowed(struct map_view m, uint32_t slot, uint32_t level, uint32_t hash,
				const void *key)
{
	uint32_t me = 1 + slot * LAYOUT_HIT_LEVELS + level, base = map_own(m), got;

	for (uint32_t i = 0; i < MAP_NESTED; i++) {
		uint32_t owner = base + (me + i) % MAP_NESTED, holder = 0;
		struct map_owner *o = map_owner(m, owner);

		/*
		 * Acquire: pairs with the release below. The fields of the borrowed owner are then
		 * visible.
		 */
		if (!atomic_compare_exchange_strong_explicit(
			    &o->holder, &holder, me, memory_order_acquire, memory_order_relaxed) &&
		    holder != me)
			continue;
		owner_recover(m, owner);
		got = insert_owned(m, owner, hash, key);
		/*
		 * Release: pairs with the acquires above, in borrow_owner() and in map_recover().
		 */
		atomic_store_explicit(&o->holder, 0, memory_order_release);
		return got;
	}
	return map_drop(m);
}

static uint32_t insert_single(struct map_view m, uint32_t hash, const void *key)
{
	/*
	 * Acquire: pairs with the release below, by the writer before, which may be another
	 * process.
	 */
	uint64_t n = atomic_load_explicit(&m.data->pool, memory_order_acquire);
	const void *last;
	uint32_t elt;

	if (n >= m.layout->max_elts)	/* M4 */
		return map_drop(m);
	last = map_elt(m, (uint32_t)n + 1);
	/*
	 * A writer that was killed between the publication and the last store below left its elt in
	 * the table. Release: pairs with the acquire above.
	 */
	if (map_lookup(m, last, map_key_words(m), map_hash(m, last)) == n + 1)
		atomic_store_explicit(&m.data->pool, ++n, memory_order_release);
	if (n >= m.layout->max_elts)
		return map_drop(m);
	elt_fill(m, (uint32_t)n + 1, key);
	elt = map_publish(m, (uint32_t)n + 1, hash, key);
	/*
	 * Release: pairs with the acquire above. The next writer, perhaps another process, sees the
	 * entry first.
	 */
	atomic_store_explicit(&m.data->pool, n + 1, memory_order_release);
	return elt;
}

static uint32_t insert_new(struct map_view m, const struct slot *slot, uint32_t hash,
			   const void *key)
{
	/* Relaxed: the thread's own. */
	uint32_t owner = slot_owner(slot),
		 depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);
	struct map_owner *o;
	uint32_t holder;

	/*
	 * The map is full for good: a hit costs no more than this. Relaxed: a late value only means
	 * that the long way is taken.
	 */
	if (pool_places(atomic_load_explicit(&m.data->pool, memory_order_relaxed)) >=
		    m.layout->max_elts &&
	    pool_next(atomic_load_explicit(&m.data->pool, memory_order_relaxed)) >=
		    m.layout->max_elts)
		return map_drop(m);
	if (owner >= map_own(m))
		return insert_borrowed(m, owner, depth ? depth - 1 : 0, hash, key);
	o = map_owner(m, owner);
	/*
	 * Relaxed: only this thread and its handlers store it. It is the depth of the insert that
	 * runs.
	 */
	holder = atomic_load_explicit(&o->holder, memory_order_relaxed);
	if (holder && holder < depth)
		return insert_borrowed(m, owner, depth - 1, hash, key);
	/*
	 * Relaxed: only the handlers of this thread read it. The fences keep the insert between the
	 * two stores.
	 */
	atomic_store_explicit(&o->holder, depth ? depth : 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	owner_recover(m, owner);
	owner = insert_owned(m, owner, hash, key);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&o->holder, 0, memory_order_relaxed);	/* Relaxed: as above. */
	return owner;
}

uint32_t map_insert_any(struct map_view m, const struct slot *slot, const void *key)
{
	uint32_t hash = map_hash(m, key), elt = map_lookup(m, key, map_key_words(m), hash);

	if (elt)
		return elt;
	if (m.layout->single_writer)
		return insert_single(m, hash, key);
	return insert_new(m, slot, hash, key);
}

uint32_t map_insert_word_any(struct map_view m, const struct slot *slot, uint64_t key)
{
	return map_insert_any(m, slot, &key);
}

uint32_t map_insert_pair_any(struct map_view m, const struct slot *slot, uint64_t first,
			     uint64_t second)
{
	const uint64_t key[2] = { first, second };

	return map_insert_any(m, slot, key);
}

void map_recover(struct map_view m, uint32_t slot_index)
{
	if (m.layout->single_writer || !m.layout->nr_owners)
		return;
	if (slot_index < map_own(m)) {
		owner_recover(m, slot_index);
		block_recover(m, slot_index);
		/*
		 * Relaxed: its thread is dead. The next one gets the slot by a release after this.
		 */
		atomic_store_explicit(&map_owner(m, slot_index)->holder, 0, memory_order_relaxed);
	}
	for (uint32_t i = map_own(m); i < m.layout->nr_owners; i++) {
		struct map_owner *o = map_owner(m, i);
		/*
		 * Acquire: pairs with the releases in insert_borrowed() and map_block_end(), by the
		 * last holder.
		 */
		uint32_t holder = atomic_load_explicit(&o->holder, memory_order_acquire);

		if (!holder || (holder - 1) / LAYOUT_HIT_LEVELS != slot_index)
			continue;
		owner_recover(m, i);
		block_recover(m, i);
		/* Release: pairs with the acquires in insert_borrowed() and borrow_owner(). */
		atomic_store_explicit(&o->holder, 0, memory_order_release);
	}
}
