/* SPDX-License-Identifier: MIT */
/*
 * places.c - where the functions of files without a compiler's sites are: the server reads such a
 * file once, and all programs of the session use what it has found
 *
 * What is published for a DSO stays while the session lives. It is published again only if the file
 * has changed under the same build-id, for example by strip.
 */
#include <errno.h>
#include <string.h>

#include "elf/sites.h"
#include "sources/program/sites.h"

static struct site_set *set_of(struct programs *p, uint32_t nr)
{
	struct session *s = p->model->session;
	struct site_control *c = session_config(s, session_header(s)->sites, sizeof(*c));

	return &c->sets[nr];
}

/* There is always one, so that a file without functions has a list, too. */
static size_t places_bytes(uint32_t nr)
{
	return (nr + 1ul) * sizeof(struct site_place);
}

static struct site_place published_of(const struct site *s)
{
	return (struct site_place){
		.at = s->at, .len = s->len, .skip = s->skip, .unreturned = s->unreturned,
	};
}

static bool is_same(const struct site_place *v, uint32_t nr, const struct elf_sites *f)
{
	for (uint32_t i = 0; v && nr == f->nr && i < nr; i++) {
		const struct site_place place = published_of(&f->v[i]);

		if (memcmp(&v[i], &place, sizeof(place)))
			return false;
	}
	return v && nr == f->nr;
}

static config_ref places_left(const struct site_set *set, uint32_t *nr)
{
	/* Relaxed: nobody else stores them. */
	*nr = atomic_load_explicit(&set->nr_places, memory_order_relaxed);
	return atomic_load_explicit(&set->places, memory_order_relaxed);
}

void program_places_publish(struct programs *p, uint32_t nr, const struct elf_sites *f)
{
	struct session *s = p->model->session;
	struct site_set *set = set_of(p, nr);
	struct site_place *v;
	uint32_t nr_old;
	config_ref old = places_left(set, &nr_old), ref;

	if (old && is_same(session_config(s, old, places_bytes(nr_old)), nr_old, f))
		return;
	ref = session_config_alloc(s, places_bytes((uint32_t)f->nr));
	/* Programs read the file themselves then. */
	if (!ref)
		return;
	v = session_config(s, ref, places_bytes((uint32_t)f->nr));
	for (size_t i = 0; i < f->nr; i++)
		v[i] = published_of(&f->v[i]);
	/*
	 * Relaxed: ordered by the next one. A program that reads the number of another list finds
	 * less of it, or zeros behind it, which it refuses.
	 */
	atomic_store_explicit(&set->nr_places, (uint32_t)f->nr, memory_order_relaxed);
	/* Release: pairs with the acquire in places_take() of agent/sites/dso.c. */
	atomic_store_explicit(&set->places, ref, memory_order_release);
	if (old)
		session_config_retire(s, old, places_bytes(nr_old));
}

void program_places_restore(struct programs *p)
{
	for (uint32_t i = 0; i < LAYOUT_MAX_DSOS; i++) {
		struct site_set *set = set_of(p, i);
		uint32_t nr;
		config_ref ref = places_left(set, &nr);

		/* Relaxed: as above. */
		if (ref && session_config_restore(p->model->session, ref, places_bytes(nr)))
			atomic_store_explicit(&set->places, 0, memory_order_relaxed);
	}
}
