/* SPDX-License-Identifier: MIT */
/*
 * saved.c - the texts with which a new server restores a session (R4)
 *
 * A chain in the config region, newest first, linked by one store. The id of a saved text is its
 * offset. A text that is removed is unlinked by one store, too. Then `live` is cleared, for a loop
 * over the texts that is under way. Only the server reads the chain, so the text is freed at once.
 * Each text also names the newer one beside it, so that it is unlinked without a search. These
 * names need not be right when a server dies: the next one stores them again (saved_sorted()).
 *
 * O1  The partners of the releases here are the acquires of the next server, in
 *     saved_sorted() and session_saved_each().
 * O2  Relaxed words are stored only by the server itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "session/state.h"

enum { SAVED_MAX = 32 << 20 };	/* a command for 500,000 functions */

static struct saved *saved_at(struct session *s, config_ref ref)
{
	struct saved *o = session_config(s, ref, sizeof(*o));
	size_t room;

	if (!o || ref % 64 || o->nr_refs > sizeof(o->refs) / sizeof(o->refs[0]))
		return NULL;
	room = s->config.size - ref - sizeof(*o);
	if (!o->path_len || !o->text_len || o->path_len > room ||
	    o->text_len > room - o->path_len || o->bytes[o->path_len - 1] ||
	    o->bytes[o->path_len + o->text_len - 1])
		return NULL;
	return o;
}

static size_t saved_size(const struct saved *o)
{
	return sizeof(*o) + o->path_len + o->text_len;
}

static void saved_set_newer(struct session *s, config_ref ref, config_ref newer)
{
	struct saved *o = saved_at(s, ref);

	if (o)
		o->newer = newer;
}

int session_saved_add(struct session *s, const char *path, const char *text,
		       const uint64_t *refs, unsigned int nr_refs, uint64_t *id)
{
	size_t path_len = strlen(path) + 1, text_len = strlen(text) + 1;
	struct config_header *h = s->header;
	struct saved *o;
	config_ref ref;

	if (nr_refs > sizeof(o->refs) / sizeof(o->refs[0]) || path_len + text_len > SAVED_MAX)
		return -E2BIG;
	ref = session_config_alloc(s, sizeof(*o) + path_len + text_len);
	if (!ref)
		return -ENOMEM;
	o = (struct saved *)(s->config.base + ref);
	o->next = atomic_load_explicit(&h->saved, memory_order_relaxed);	/* O2 */
	o->serial = atomic_fetch_add_explicit(&h->serial, 1, memory_order_relaxed) + 1;
	o->nr_refs = nr_refs;
	if (nr_refs)
		memcpy(o->refs, refs, nr_refs * sizeof(*refs));
	o->path_len = (uint32_t)path_len;
	o->text_len = (uint32_t)text_len;
	memcpy(o->bytes, path, path_len);
	memcpy(o->bytes + path_len, text, text_len);
	o->newer = 0;
	/* Relaxed: stored before the release. */
	atomic_store_explicit(&o->live, 1, memory_order_relaxed);
	/*
	 * O1. Release: if this process dies here, the next server finds the text whole or not at
	 * all.
	 */
	atomic_store_explicit(&h->saved, ref, memory_order_release);
	saved_set_newer(s, o->next, ref);
	*id = ref;
	return 0;
}

/* What leads to the text: the head, or the newer text beside it. NULL: it is in no chain. */
static _Atomic config_ref *saved_link(struct session *s, const struct saved *o, config_ref ref)
{
	struct saved *newer = saved_at(s, o->newer);
	_Atomic config_ref *link = newer ? (_Atomic config_ref *)&newer->next : &s->header->saved;

	return atomic_load_explicit(link, memory_order_relaxed) == ref ? link : NULL;	/* O2 */
}

void session_saved_remove(struct session *s, uint64_t id)
{
	struct saved *o = saved_at(s, id);
	_Atomic config_ref *link = o ? saved_link(s, o, id) : NULL;

	if (!link)
		return;
	/* O1: a server that dies after this leaves no removed text in the chain. */
	atomic_store_explicit(link, o->next, memory_order_release);
	saved_set_newer(s, o->next, o->newer);
	atomic_store_explicit(&o->live, 0, memory_order_relaxed);	/* O2 */
	session_config_free(s, id, saved_size(o));
}

int session_saved_move(struct session *s, uint64_t *id, uint64_t to)
{
	const struct saved *o = saved_at(s, *id);
	struct saved *old = saved_at(s, to), *copy;
	_Atomic config_ref *link = old ? saved_link(s, old, to) : NULL;
	config_ref ref = o && link ? session_config_alloc(s, saved_size(o)) : 0;

	if (!ref)
		return o && link ? -ENOMEM : -ENOENT;
	copy = (struct saved *)(s->config.base + ref);
	memcpy(copy, o, saved_size(o));
	copy->next = old->next;
	copy->newer = old->newer;
	copy->serial = old->serial;
	/* O1: a server that dies after this leaves the text in both places. */
	atomic_store_explicit(link, ref, memory_order_release);
	saved_set_newer(s, copy->next, ref);
	atomic_store_explicit(&old->live, 0, memory_order_relaxed);	/* O2 */
	session_config_free(s, to, saved_size(old));
	session_saved_remove(s, *id);
	*id = ref;
	return 0;
}

/*
 * All saved texts in order of serial; *nr is their number. NULL: none, or out of memory (*nr is
 * -1).
 */
static config_ref *saved_sorted(struct session *s, long *nr)
{
	config_ref ref, *v = NULL;
	long n = 0, i;

	/* O1 */
	for (ref = atomic_load_explicit(&s->header->saved, memory_order_acquire); saved_at(s, ref);
	     ref = saved_at(s, ref)->next)
		if (++n > (1 << 24))
			break;		/* a loop in the chain: it is damaged */
	*nr = n;
	if (!n)
		return NULL;
	v = malloc((size_t)n * sizeof(*v));
	if (!v) {
		*nr = -1;
		return NULL;
	}
	/* The chain is newest first. O1 */
	ref = atomic_load_explicit(&s->header->saved, memory_order_acquire);
	for (i = n - 1; i >= 0; i--) {
		v[i] = ref;
		saved_at(s, ref)->newer = i < n - 1 ? v[i + 1] : 0;
		ref = saved_at(s, ref)->next;
	}
	return v;
}

int session_saved_each(struct session *s,
		       int (*fn)(struct session *s, uint64_t id, const struct saved *o,
				 const char *path, const char *text, void *arg),
		       void *arg)
{
	int ret = 0;
	long nr;
	config_ref *v = saved_sorted(s, &nr);

	for (long i = 0; !ret && i < nr; i++) {
		struct saved *o = saved_at(s, v[i]);

		if (o && atomic_load_explicit(&o->live, memory_order_acquire))	/* O1 */
			ret = fn(s, v[i], o, o->bytes, o->bytes + o->path_len, arg);
	}
	free(v);
	return nr < 0 ? -ENOMEM : ret;
}
