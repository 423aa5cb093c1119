/* SPDX-License-Identifier: MIT */
/*
 * block.c - blocks: what is larger than a word, replaced as a whole (R17)
 *
 *     word[elt]       {version:32, place:32}   the record that is published; 0: none yet
 *     spare[owner]    {seq:32, place:32}       which record the owner may fill; 0: the one it was
 *                                              born with
 *     record[place]   {elt, owner, seq, old} content
 *
 * Each elt has a record of its own from the start. The first writer that publishes takes it as its
 * spare, so there are always as many spares as owners.
 *
 * B1  A record is either published in one word or the spare of one owner. Between the
 *     compare-and-swap of the word and that of the spare it is both, and the record that it
 *     replaced is neither. Its header has all that is needed to finish; the next thread that finds
 *     it does so.
 * B2  Before a published record is replaced, its publication is finished. The thread reads the
 *     record's header and then the word again: while the word is the same, the header cannot
 *     change. Then the owner's spare goes from {seq, this} to {seq + 1, old}. Because of seq that
 *     happens once, whichever thread does it.
 * B3  If an owner's spare is published where its header says, the owner was killed before it
 *     finished. The slot's next owner, or the server, finishes.
 * B4  Content is stored with release and loaded with acquire. A reader that loads content of the
 *     record's next use also sees that the word has changed.
 * B5  A thread that finishes, or looks whether there is something to finish, decides by word and
 *     spare together. There all loads and stores of both are seq_cst, so that all threads see them
 *     change in one order (B1, B2). Readers use the word alone, with acquire: pairs with
 *     map_block_publish().
 */
#include "plane/map/layout.h"

enum { COPY_TRIES = 64 };

static uint32_t place_of(uint64_t word)
{
	return (uint32_t)word;
}

static uint64_t pair(uint64_t high, uint32_t place)
{
	return high << 32 | place;
}

static uint64_t *content(struct map_view m, uint32_t block, uint32_t place)
{
	return (uint64_t *)(block_record(m, block, place) + 1);
}

static struct block_header header_load(const struct block_header *h)
{
	/* B4: pairs with header_store(). */
	return (struct block_header){
		.elt = __atomic_load_n(&h->elt, __ATOMIC_ACQUIRE),
		.owner = __atomic_load_n(&h->owner, __ATOMIC_ACQUIRE),
		.seq = __atomic_load_n(&h->seq, __ATOMIC_ACQUIRE),
		.old = __atomic_load_n(&h->old, __ATOMIC_ACQUIRE),	/* B4, all four */
	};
}

static void header_store(struct block_header *h, const struct block_header *v)
{
	/* B4: pairs with header_load(). */
	__atomic_store_n(&h->elt, v->elt, __ATOMIC_RELEASE);
	__atomic_store_n(&h->owner, v->owner, __ATOMIC_RELEASE);
	__atomic_store_n(&h->seq, v->seq, __ATOMIC_RELEASE);
	__atomic_store_n(&h->old, v->old, __ATOMIC_RELEASE);	/* B4, all four */
}

/* The owner's spare becomes the record that was replaced. That happens once (B2). */
static void spare_next(struct map_view m, uint32_t block, uint32_t place,
		       const struct block_header *h)
{
	_Atomic uint64_t *spare = block_spare(m, block, h->owner);
	uint64_t was = pair(h->seq, place);

	/*
	 * The load comes first because it is cheaper than an atomic write: the exchange is nearly
	 * always done already. The exchange decides (B5).
	 */
	if (atomic_load_explicit(spare, memory_order_acquire) == was)
		atomic_compare_exchange_strong_explicit(spare, &was, pair(h->seq + 1u, h->old),
							memory_order_seq_cst, memory_order_seq_cst);
}

/* B2. False: the word has changed. */
static bool finish_published(struct map_view m, uint32_t block, uint32_t elt, uint64_t word)
{
	struct block_header h = header_load(block_record(m, block, place_of(word)));

	/* B5 */
	if (atomic_load_explicit(block_word(m, block, elt), memory_order_seq_cst) != word)
		return false;
	if (h.owner < m.layout->nr_spares && block_place_valid(m.layout, h.old))
		spare_next(m, block, place_of(word), &h);
	return true;
}

/*
 * The record that an owner may fill. B3: a publication that its predecessor left is finished first.
 */
static uint64_t owner_spare(struct map_view m, uint32_t block, uint32_t owner)
{
	_Atomic uint64_t *spare = block_spare(m, block, owner);
	/* B5: loaded before the word */
	uint64_t s = atomic_load_explicit(spare, memory_order_seq_cst);
	struct block_header h;

	if (!block_place_valid(m.layout, place_of(s))) {
		s = pair(0, 1 + m.layout->nr_elts + owner);
		atomic_store_explicit(spare, s, memory_order_seq_cst);	/* B5 */
		return s;
	}
	h = header_load(block_record(m, block, place_of(s)));
	/* B5: word and spare. */
	if (h.elt < m.layout->nr_elts && block_place_valid(m.layout, h.old) &&
	    place_of(atomic_load_explicit(block_word(m, block, h.elt), memory_order_seq_cst)) ==
		    place_of(s)) {
		h.owner = owner;
		h.seq = (uint32_t)(s >> 32);
		spare_next(m, block, place_of(s), &h);
		s = atomic_load_explicit(spare, memory_order_seq_cst);	/* B5 */
	}
	return s;
}

void block_recover(struct map_view m, uint32_t owner)
{
	/* Relaxed: only whether the owner ever had a spare; owner_spare() loads it again. */
	for (uint32_t i = 0; i < m.layout->nr_blocks && owner < m.layout->nr_spares; i++)
		if (atomic_load_explicit(block_spare(m, i, owner), memory_order_relaxed))
			owner_spare(m, i, owner);
}

/*
 * Two hits have no spare: one in a signal handler that interrupted its own thread while that fills
 * the slot's spare, and one of a slot beyond MAP_OWNERS. They borrow an owner, as in insert.c.
 */
static bool borrow_owner(struct map_view m, uint32_t slot, uint32_t level, struct map_block *out)
{
	uint32_t me = 1 + slot * LAYOUT_HIT_LEVELS + level, base = map_own(m);

	for (uint32_t i = 0; i < MAP_NESTED; i++) {
		uint32_t owner = base + (me + i) % MAP_NESTED, holder = 0;

		/* Acquire: pairs with the release in map_block_end(). */
		if (!atomic_compare_exchange_strong_explicit(&map_owner(m, owner)->holder, &holder,
							     me, memory_order_acquire,
							     memory_order_relaxed) &&
		    holder != me)
			continue;
		out->writer = owner;
		out->holder = me;
		return true;
	}
	return false;
}

static bool choose_owner(struct map_view m, const struct slot *slot, struct map_block *out)
{
	/* Relaxed: the thread's own */
	uint32_t depth = atomic_load_explicit(&slot->depth, memory_order_relaxed);
	uint32_t owner = slot_owner(slot);

	out->holder = 0;
	out->writer = 0;
	if (m.layout->single_writer)
		return true;
	if (depth > 1 || owner >= map_own(m))
		return borrow_owner(m, owner, depth ? depth - 1 : 0, out);
	out->writer = owner;
	return true;
}

bool map_block_begin(struct map_view m, const struct slot *slot, uint32_t elt, uint32_t block,
		     struct map_block *out)
{
	if (block >= m.layout->nr_blocks || elt >= m.layout->nr_elts)
		return false;
	if (!choose_owner(m, slot, out)) {
		/* Relaxed: a counter for the reader of the file. */
		atomic_fetch_add_explicit(&m.data->drops, 1, memory_order_relaxed);
		return false;
	}
	out->map = m;
	out->elt = elt;
	out->block = block;
	out->size = m.layout->block_size[block];
	out->spare = owner_spare(m, block, out->writer);
	out->data = content(m, block, place_of(out->spare));
	return true;
}

static uint64_t look(struct map_view m, uint32_t block, uint32_t elt, uint64_t *word)
{
	_Atomic uint64_t *at = block_word(m, block, elt);
	/* B5, here and below */
	uint64_t w = atomic_load_explicit(at, memory_order_acquire), again, v = 0;

	/* It ends: each new round means that another writer has published. */
	for (;; w = again) {
		if (block_place_valid(m.layout, place_of(w)))
			/* B4 */
			v = __atomic_load_n(content(m, block, place_of(w)), __ATOMIC_ACQUIRE);
		again = atomic_load_explicit(at, memory_order_acquire);
		if (again == w)
			break;
	}
	*word = w;
	return v;
}

uint64_t map_block_look(struct map_block *b)
{
	return look(b->map, b->block, b->elt, &b->word);
}

bool map_block_publish(struct map_block *b)
{
	struct map_view m = b->map;
	uint32_t place = place_of(b->spare), old = place_of(b->word);
	struct block_header h = {
		.elt = b->elt, .owner = b->writer, .seq = (uint32_t)(b->spare >> 32) };
	uint64_t word = b->word;

	if (!block_place_valid(m.layout, old))
		old = 1 + b->elt;	/* the one that the elt has from the start */
	else if (!finish_published(m, b->block, b->elt, word))
		return false;
	h.old = old;
	header_store(block_record(m, b->block, place), &h);
	/*
	 * B4, B5: content and header of the record are stored before it is published. Pairs with
	 * the loads of the word.
	 */
	if (!atomic_compare_exchange_strong_explicit(block_word(m, b->block, b->elt), &word,
						     pair((b->word >> 32) + 1, place),
						     memory_order_seq_cst, memory_order_seq_cst))
		return false;
	spare_next(m, b->block, place, &h);
	return true;
}

void map_block_end(struct map_block *b)
{
	/* Pairs with the acquire in borrow_owner(). */
	if (b->holder)
		atomic_store_explicit(&map_owner(b->map, b->writer)->holder, 0,
				      memory_order_release);
}

uint64_t map_block_value(struct map_view m, uint32_t elt, uint32_t block)
{
	uint64_t word;

	return block < m.layout->nr_blocks && elt < m.layout->nr_elts ? look(m, block, elt, &word)
								      : 0;
}

bool map_block_copy(struct map_view m, uint32_t elt, uint32_t block, uint64_t *out, uint32_t size)
{
	if (block >= m.layout->nr_blocks || elt >= m.layout->nr_elts)
		return false;
	if (size > m.layout->block_size[block])
		size = m.layout->block_size[block];
	for (int tries = 0; tries < COPY_TRIES; tries++) {
		/* B5 */
		uint64_t word =
			atomic_load_explicit(block_word(m, block, elt), memory_order_acquire);
		const uint64_t *from;

		if (!block_place_valid(m.layout, place_of(word)))
			return false;
		from = content(m, block, place_of(word));
		for (uint32_t i = 0; i < size / 8; i++)
			/* B4: pairs with map_block_put() */
			out[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
		if (atomic_load_explicit(block_word(m, block, elt), memory_order_acquire) == word)
			return true;
	}
	return false;
}
