/* SPDX-License-Identifier: MIT */
/*
 * book.c - the books of buffers and rings (book.h): finds, fills and restores them
 */
#include <errno.h>
#include "plane/ring/ring.h"
#include "session/array.h"
#include "session/ring/access.h"
#include "session/state.h"

uint32_t ring_cpus(struct session *s)
{
	return s->header->nr_cpus;
}

/* ---- which books exist: the server's private memory ---- */

static struct buffer_name *name_of(struct session *s, data_ref buffer)
{
	for (size_t i = 0; buffer && i < s->buffers.nr; i++)
		if (s->buffers.v[i].buffer == buffer)
			return &s->buffers.v[i];
	return NULL;
}

config_ref buffer_book_ref(struct session *s, data_ref buffer)
{
	const struct buffer_name *n = name_of(s, buffer);

	return n ? n->book : 0;
}

uint64_t buffer_number(struct session *s, data_ref buffer)
{
	const struct buffer_name *n = name_of(s, buffer);

	return n ? n->number : 0;
}

struct buffer_book *buffer_book(struct session *s, data_ref buffer)
{
	return session_config(s, buffer_book_ref(s, buffer), sizeof(struct buffer_book));
}

int buffer_note(struct session *s, data_ref buffer, config_ref book)
{
	struct buffer_names *names = &s->buffers;

	if (array_room(&names->v, names->nr, sizeof(*names->v)))
		return -ENOMEM;
	names->v[names->nr++] =
		(struct buffer_name){ .buffer = buffer, .book = book, .number = ++names->made };
	return 0;
}

void buffer_renumber(struct session *s, data_ref buffer)
{
	struct buffer_name *n = name_of(s, buffer);

	if (n)
		n->number = ++s->buffers.made;
}

void buffer_forget(struct session *s, data_ref buffer)
{
	struct buffer_name *n = name_of(s, buffer);

	if (n)
		*n = s->buffers.v[--s->buffers.nr];
}

/* ---- their contents ---- */

static config_ref *refs_of(struct session *s, const struct buffer_book *b, uint32_t set)
{
	return set < BUFFER_MAX_SETS
		       ? session_config(s, b->sets[set], ring_cpus(s) * sizeof(config_ref))
		       : NULL;
}

config_ref ring_ref_at(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu)
{
	const config_ref *refs = refs_of(s, b, set);

	return refs && cpu < ring_cpus(s) ? refs[cpu] : 0;
}

struct ring_book *ring_book_at(struct session *s, const struct buffer_book *b, uint32_t set,
			       uint32_t cpu)
{
	return session_config(s, ring_ref_at(s, b, set, cpu), sizeof(struct ring_book));
}

int ring_set_room(struct session *s, struct buffer_book *b, uint32_t set)
{
	if (!b->sets[set])
		b->sets[set] = session_config_alloc(s, ring_cpus(s) * sizeof(config_ref));
	if (!b->sets[set])
		return -ENOMEM;
	if (b->nr_sets <= set)
		b->nr_sets = set + 1;
	return 0;
}

void ring_note(struct session *s, struct buffer_book *b, uint32_t set, uint32_t cpu,
	       config_ref ring)
{
	config_ref *refs = refs_of(s, b, set);

	if (refs)
		refs[cpu] = ring;
}

void ring_tell(struct session *s, const struct buffer_book *b, uint32_t set, uint32_t cpu)
{
	const struct ring_book *r = ring_book_at(s, b, set, cpu);
	const size_t at = (size_t)set * ring_cpus(s) + cpu;
	struct buffer *hits =
		session_data(s, b->buffer, sizeof(*hits) + (at + 1) * sizeof(data_ref));

	if (hits)
		/* Release: pairs with the acquire in ring_of(). */
		atomic_store_explicit(&hits->rings[at], r ? r->ring : 0, memory_order_release);
}

/* ---- the books of another server ---- */

/* What this server has made since it began is already in use. */
static int config_restore(struct session *s, config_ref ref, size_t size)
{
	return ref < s->config_heap.inherited ? session_config_restore(s, ref, size) : 0;
}

static int ring_restore(struct session *s, config_ref ref)
{
	const struct ring_book *r = session_config(s, ref, sizeof(*r));
	int err = r ? config_restore(s, ref, sizeof(*r)) : -EPROTO;

	if (!err)
		err = session_data_restore(s, r->ring, sizeof(struct ring));
	if (!err)
		err = session_data_restore(s, r->pages, (size_t)r->nr_pages * r->subbuf_size);
	if (!err)
		err = session_data_restore(s, r->descs,
					 (size_t)r->nr_pages * sizeof(struct page_desc));
	return err;
}

static int set_restore(struct session *s, const struct buffer_book *b, config_ref owner,
		       uint32_t set)
{
	const config_ref *refs = refs_of(s, b, set);
	int err = refs ? config_restore(s, b->sets[set], ring_cpus(s) * sizeof(*refs)) : -EPROTO;

	for (uint32_t cpu = 0; !err && cpu < ring_cpus(s); cpu++) {
		const struct ring_book *r = ring_book_at(s, b, set, cpu);

		if (r && r->owner == owner)
			err = ring_restore(s, refs[cpu]);
	}
	return err;
}

int buffer_book_restore(struct session *s, config_ref ref)
{
	const struct buffer_book *b = session_config(s, ref, sizeof(*b));
	int err =
		b && b->nr_sets <= BUFFER_MAX_SETS
			? config_restore(s, ref, sizeof(*b) + ring_cpus(s) * sizeof(b->left_out[0]))
			: -EPROTO;

	for (uint32_t set = 0; !err && set < b->nr_sets; set++)
		if (b->sets[set])
			err = set_restore(s, b, ref, set);
	return err ? err : buffer_note(s, b->buffer, ref);
}
