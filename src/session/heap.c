/* SPDX-License-Identifier: MIT */
/*
 * heap.c - first-fit allocation of a region's address space
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "session/heap.h"

enum { HEAP_ALIGN = 64, HEAP_PAGE = 4096, FIRST_EXTENTS = 8 };

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static uint64_t heap_size(size_t size)
{
	return round_up(size ? size : 1, size >= HEAP_PAGE ? HEAP_PAGE : HEAP_ALIGN);
}

/* The largest class of which `len` is at least the least size. len: 64 at least */
static unsigned int class_of(uint64_t len)
{
	if (len < HEAP_PAGE)
		return (unsigned int)(len / HEAP_ALIGN);
	return HEAP_SMALL + (unsigned int)(63 - __builtin_clzll(len / HEAP_PAGE));
}

void extents_free(struct extents *e)
{
	free(e->v);
	memset(e, 0, sizeof(*e));
}

/* Room for one more. */
static int extents_room(struct extents *e)
{
	const size_t room = e->room ? 2 * e->room : FIRST_EXTENTS;
	struct extent *more;

	if (e->nr < e->room)
		return 0;
	more = reallocarray(e->v, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	e->v = more;
	e->gap = e->nr;
	e->room = room;
	return 0;
}

/* Moves the gap to where i extents are in front of it. */
static void extents_gap(struct extents *e, size_t i)
{
	const size_t width = e->room - e->nr;

	if (i < e->gap)
		memmove(&e->v[i + width], &e->v[i], (e->gap - i) * sizeof(e->v[0]));
	else
		memmove(&e->v[e->gap], &e->v[e->gap + width], (i - e->gap) * sizeof(e->v[0]));
	e->gap = i;
}

/* There is room. */
static void extents_insert(struct extents *e, size_t i, struct extent new)
{
	extents_gap(e, i);
	e->v[e->gap++] = new;
	e->nr++;
}

/* The index of the first extent that ends behind `off`. */
static size_t extents_find(const struct extents *e, uint64_t off)
{
	size_t lo = 0, hi = e->nr;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (extents_at(e, mid)->off + extents_at(e, mid)->len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void extents_delete(struct extents *e, size_t i)
{
	extents_gap(e, i);
	e->nr--;
}

/* *at: its index, or that of the extent that it is a part of now. */
static int extents_add_at(struct extents *e, uint64_t off, uint64_t len, size_t *at)
{
	const size_t i = extents_find(e, off);
	struct extent *before = i ? extents_at(e, i - 1) : NULL;
	struct extent *behind = i < e->nr ? extents_at(e, i) : NULL;

	if (behind && behind->off < off + len)
		return -EEXIST;
	*at = i;
	if (before && before->off + before->len == off) {
		*at = i - 1;
		before->len += len;
		if (behind && behind->off == off + len) {
			before->len += behind->len;
			extents_delete(e, i);
		}
		return 0;
	}
	if (behind && behind->off == off + len) {
		behind->off = off;
		behind->len += len;
		return 0;
	}
	if (extents_room(e))
		return -ENOMEM;
	extents_insert(e, i, (struct extent){ off, len });
	return 0;
}

static int extents_add(struct extents *e, uint64_t off, uint64_t len)
{
	size_t at;

	return extents_add_at(e, off, len, &at);
}

/* Cuts [off, off + len) out of extent i, which contains it. */
static int extents_cut(struct extents *e, size_t i, uint64_t off, uint64_t len)
{
	struct extent old = *extents_at(e, i);
	uint64_t before = off - old.off, after = old.off + old.len - off - len;

	if (before && after) {
		if (extents_room(e))
			return -ENOMEM;
		extents_insert(e, i + 1, (struct extent){ off + len, after });
		extents_at(e, i)->len = before;
	} else if (before) {
		extents_at(e, i)->len = before;
	} else if (after) {
		*extents_at(e, i) = (struct extent){ off + len, after };
	} else {
		extents_delete(e, i);
	}
	return 0;
}

int heap_init(struct heap *h, struct region *r, uint64_t start, uint64_t end, uint64_t high)
{
	memset(h, 0, sizeof(*h));
	start = round_up(start, HEAP_PAGE);
	if (high && (high < start || high > end || high % HEAP_ALIGN))
		return -EPROTO;
	h->region = r;
	h->start = start;
	h->end = end;
	h->high = high ? high : start;
	h->inherited = high;
	/* What the last server had prepared there. */
	if (high)
		region_release(r, high, end - high);
	return end > h->high ? extents_add(&h->free, h->high, end - h->high) : 0;
}

void heap_destroy(struct heap *h)
{
	extents_free(&h->free);
	extents_free(&h->restored);
}

/*
 * Whether the next server would find room if the heap ended there. What is being restored has a
 * fixed place.
 */
static bool leaves_room(const struct heap *h, uint64_t end, uint64_t len)
{
	return !h->twice || h->inherited || end <= h->high || h->end - end >= h->used + len;
}

uint64_t heap_alloc(struct heap *h, size_t size)
{
	uint64_t len = heap_size(size), align = size >= HEAP_PAGE ? HEAP_PAGE : HEAP_ALIGN;
	const unsigned int class = class_of(len);
	bool passed = false;

	if (size > h->end) {
		h->used_up = true;
		return 0;
	}
	for (size_t i = extents_find(&h->free, h->from[class]); i < h->free.nr; i++) {
		struct extent e = *extents_at(&h->free, i);
		uint64_t off = round_up(e.off, align);

		/* In order: the first one that is large enough for the class. */
		if (!passed && class_of(e.len) >= class) {
			h->from[class] = e.off;
			passed = true;
		}
		if (off - e.off >= e.len || e.len - (off - e.off) < len ||
		    !leaves_room(h, off + len, len))
			continue;
		if (region_back(h->region, off, len) || extents_cut(&h->free, i, off, len))
			return 0;
		if (off + len > h->high)
			h->high = off + len;
		h->used += len;
		return off;
	}
	h->used_up = true;
	return 0;
}

/* First fit, but that small pieces do not go back to holes that were too small for larger ones. */
bool heap_prepare(struct heap *h, const uint64_t *sizes, size_t nr, uint64_t *budget)
{
	uint64_t all = 0;
	size_t k = 0;

	for (size_t i = 0; k < nr && i < h->free.nr; i++) {
		const struct extent e = *extents_at(&h->free, i);
		uint64_t at = round_up(e.off, HEAP_PAGE);

		for (; k < nr; k++) {
			const uint64_t len = heap_size(sizes[k]);

			if (at > e.off + e.len || len > e.off + e.len - at ||
			    !leaves_room(h, at + len, all + len))
				break;
			if (!region_prepare(h->region, at, len, budget))
				return false;
			at += len;
			all += len;
		}
	}
	return k == nr;
}

/*
 * The piece has no user any more. heap_restore_done() then finds it among what was not restored:
 * programs may still run on it.
 */
static void heap_disown(struct heap *h, uint64_t off, uint64_t len)
{
	size_t i = extents_find(&h->restored, off);
	const struct extent *e = i < h->restored.nr ? extents_at(&h->restored, i) : NULL;

	if (!e || e->off > off || e->off + e->len < off + len)
		return;
	/*
	 * If the books have no room, the piece stays restored: it is lost until the session ends.
	 */
	if (!extents_cut(&h->restored, i, off, len))
		h->used -= len;
}

/*
 * The next server takes the free memory at the end for memory that was never used, because at first
 * it knows of no other free memory. So it has to read as zeros.
 */
static void lower_high(struct heap *h)
{
	const struct extent *last = extents_at(&h->free, h->free.nr - 1);

	if (last->off + last->len != h->end || last->off >= h->high)
		return;
	region_wipe(h->region, last->off, h->high - last->off);
	h->high = last->off;
}

/* The extent is there, or has grown. */
static void heap_found(struct heap *h, const struct extent *e)
{
	for (unsigned int k = class_of(e->len) + 1; k--;)
		if (h->from[k] > e->off)
			h->from[k] = e->off;
}

void heap_free_extent(struct heap *h, uint64_t off, uint64_t len)
{
	size_t at;

	if (!off || off < h->start || off > h->end || len > h->end - off)
		return;
	if (off < h->inherited) {
		heap_disown(h, off, len);
		return;
	}
	/*
	 * If the books have no room, the piece is lost until the session ends. -EEXIST: it was
	 * freed twice.
	 */
	if (extents_add_at(&h->free, off, len, &at))
		return;
	heap_found(h, extents_at(&h->free, at));
	h->used -= len;
	region_release(h->region, off, len);
	lower_high(h);
}

void heap_free(struct heap *h, uint64_t off, size_t size)
{
	heap_free_extent(h, off, heap_size(size));
}

int heap_restore(struct heap *h, uint64_t off, size_t size)
{
	uint64_t len = heap_size(size);
	int err;

	if (!off || off % HEAP_ALIGN || off < h->start || off > h->inherited ||
	    len > h->inherited - off)
		return -EINVAL;
	err = extents_add(&h->restored, off, len);
	if (err)
		return err;
	h->used += len;
	/* ENOSPC: the tmpfs is full. That is no reason to give the piece up. */
	return region_keep(h->region, off, len) ? -ENOMEM : 0;
}

int heap_restore_done(struct heap *h, struct extents *out)
{
	uint64_t at = h->start;
	int err = 0;

	for (size_t i = 0; !err && h->inherited && i <= h->restored.nr; i++) {
		uint64_t end = i < h->restored.nr ? extents_at(&h->restored, i)->off : h->inherited;

		if (end > at)
			err = extents_add(out, at, end - at);
		if (i < h->restored.nr)
			at = extents_at(&h->restored, i)->off + extents_at(&h->restored, i)->len;
	}
	for (size_t i = 0; i < out->nr; i++) {
		const struct extent *e = extents_at(out, i);

		h->used += e->len;
		/*
		 * Chunks that it shares with other pieces have old contents, so they must count as
		 * backed.
		 */
		if (!err)
			err = region_keep(h->region, e->off, 1);
		if (!err)
			err = region_keep(h->region, e->off + e->len - 1, 1);
	}
	extents_free(&h->restored);
	h->inherited = 0;
	return err;
}
