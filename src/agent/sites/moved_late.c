/* SPDX-License-Identifier: MIT */
/*
 * moved_late.c - functions of moved code in a process that runs already
 *
 *     text, off        text, on                  near memory (near.h)
 *     +---------+      +---------+               +------------------------------------------+
 *     | f: push |      | jmp ----|-------------->| call enter; ...     as moved.c, always on |
 *     |    mov  |      |         |               |                                           |
 *     |    rest |      |    rest |<--------------| push; mov; jmp                            |
 *     +---------+      +---------+               +------------------------------------------+
 *
 * M1  Threads may run through the bytes at any time. So a site is switched as a probe is (text.c):
 *     by a store of the jump, or of the program's own bytes. A site that is off costs nothing.
 * M2  A thread may have been preempted at an instruction inside the jump. The distance has a byte
 *     that traps there, and moved_late_lead() says where the thread goes on. That needs our handler
 *     of SIGSEGV: without it such a site is not switched on (SITE_BUSY).
 * M3  A jump that cannot be stored at once traps meanwhile, and no thread waits for it. A thread
 *     that spins could keep the task from running, if it has a higher priority on the same CPU.
 * M4  A probe may have displaced the jump, or stand in the bytes. So the memory says whether a site
 *     is on, and bytes that are neither the program's nor the jump stay (SITE_CHANGED). Stubs are
 *     made of the program's bytes, without the jumps of probes.
 * M5  Stubs stay as long as the code is mapped: a thread may be inside one at any time.
 * M6  The jump of a probe at the function's start stays: the site is on if the probe's moved code
 *     executes our jump behind the hit (probes_carry()). Then it stays so, because hits of a site
 *     without a word are none.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/probes/probes.h"
#include "agent/sites/near.h"
#include "agent/sites/stub.h"
#include "agent/sites/text.h"
#include "agent/syscall.h"

enum { LATE_MOST = 32 };	/* bytes that are displaced */

struct late_site {
	uint8_t		*stub;		/* NULL: none */
	uint8_t		off[NEAR_JUMP];	/* the program's bytes */
	uint8_t		inner;		/* text_jump.inner */
	/* Instructions that are displaced: the site + old[i] has become stub + moved[i] */
	uint8_t		nr;
	uint8_t		old[RELOCATE_NR];
	uint16_t	moved[RELOCATE_NR];
};

struct late_area {
	struct near	near;
	size_t		size;		/* of this memory */
	struct late_site sites[];	/* as site_dso.sites */
};

static uintptr_t site_at(const struct site_dso *d, size_t i)
{
	return d->bias + d->sites[i].at;
}

/* ---- Stubs ---- */

static uint8_t late_inner_of(const struct relocated *map)
{
	uint8_t inner = 0;

	for (unsigned int i = 1; i < map->nr; i++)
		if (map->old[i] < NEAR_JUMP)
			inner |= (uint8_t)(1u << map->old[i]);
	return inner;
}

/* A stub at that address reaches what all stubs of the DSO share. */
static bool reaches(const struct stub_shared *shared, const uint8_t *stub)
{
	const int64_t distance = (int64_t)((uintptr_t)shared - (uintptr_t)stub);

	return distance == (int32_t)distance && distance - 256 == (int32_t)(distance - 256);
}

static bool late_stub_fill(struct late_site *l, const struct stub_shared *shared, uintptr_t at,
			   const uint8_t *bytes, size_t size, uint8_t *stub)
{
	struct relocated map;

	if (!reaches(shared, stub) || !moved_stub_make(shared, at, bytes, size, stub, &map))
		return false;
	l->nr = map.nr;
	for (unsigned int i = 0; i < map.nr; i++) {
		l->old[i] = map.old[i];
		/* A thread that is led to the function's start makes a hit. */
		l->moved[i] = i ? (uint16_t)(MOVED_HEAD + map.moved[i]) : 0;
	}
	l->stub = stub;
	return true;
}

static __attribute__((cold)) enum site_skip
late_stub_make(struct late_area *area, struct late_site *l, const struct stub_shared *shared,
	       uintptr_t at, size_t size)
{
	uint8_t bytes[LATE_MOST], moved[RELOCATE_MOST], *stub;
	struct relocated map;
	size_t len;

	if (size < NEAR_JUMP || size > LATE_MOST)
		return SITE_UNKNOWN;
	places_bytes(at, bytes, size);
	len = relocate(bytes, size, at, at, moved, &map);
	if (!len)
		return SITE_UNKNOWN;
	memcpy(l->off, bytes, NEAR_JUMP);
	l->inner = late_inner_of(&map);
	stub = near_take(&area->near, at, l->inner, MOVED_HEAD + len);
	return stub && late_stub_fill(l, shared, at, bytes, size, stub) ? SITE_GOOD : SITE_FAR;
}

static struct late_area *late_area_map(const struct site_dso *d)
{
	const size_t size = sizeof(struct late_area) + d->nr * sizeof(struct late_site);
	const long at = agent_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct late_area *area = (struct late_area *)at;

	if (is_error(at))
		return NULL;
	area->size = size;
	area->near.low = UINTPTR_MAX;
	for (unsigned int i = 0; i < d->nr_texts; i++) {
		const struct pages *t = &d->texts[i];

		area->near.low = t->low < area->near.low ? t->low : area->near.low;
		area->near.high = t->high > area->near.high ? t->high : area->near.high;
	}
	return area;
}

static void stubs_make(struct site_dso *d, struct late_area *area,
		       const struct stub_shared *shared)
{
	for (size_t i = 0; i < d->nr; i++) {
		struct site *s = &d->sites[i];

		if (!s->skip)
			s->skip = late_stub_make(area, &area->sites[i], shared, site_at(d, i),
						 s->len);
	}
}

__attribute__((cold)) int moved_late_make(struct site_dso *d)
{
	struct late_area *area = late_area_map(d);
	struct stub_shared *shared =
		area ? near_take(&area->near, area->near.low, 0, sizeof(*shared)) : NULL;
	int err = shared ? 0 : -ENOMEM;

	if (!err) {
		stub_share(shared, d, patch_entry_moved);
		stubs_make(d, area, shared);
		err = near_seal(&area->near);
	}
	if (!err) {
		/* Release: pairs with the acquire in moved_late_lead(). */
		__atomic_store_n(&d->late, area, __ATOMIC_RELEASE);
		d->prepared = true;
	} else if (area) {
		near_free(&area->near);
		agent_syscall(SYS_munmap, area, area->size);
	}
	return err;
}

void moved_late_forget(struct site_dso *d)
{
	struct late_area *area = d->late;

	if (!area)
		return;
	/* Release: for fork()'s copy, as in known_drop(). */
	__atomic_store_n(&d->late, NULL, __ATOMIC_RELEASE);
	near_free(&area->near);
	agent_syscall(SYS_munmap, area, area->size);
}

/* ---- What stands in the text ---- */

static bool has_jump(const struct late_site *l, uintptr_t at)
{
	uint8_t jump[NEAR_JUMP];

	near_jump(jump, at, l->stub);
	return !memcmp((const void *)at, jump, NEAR_JUMP);
}

static bool has_own(const struct late_site *l, uintptr_t at)
{
	return !memcmp((const void *)at, l->off, NEAR_JUMP);
}

/* M6 */
static bool is_on(const struct late_site *l, uintptr_t at)
{
	uint8_t jump[NEAR_JUMP];

	near_jump(jump, at, l->stub);
	return !memcmp((const void *)at, jump, NEAR_JUMP) || place_carries(at, jump);
}

static struct text_jump jump_of(const struct late_site *l, uintptr_t at)
{
	struct text_jump j = { .at = (uint8_t *)at, .inner = l->inner, .leads = true };

	memcpy(j.off, l->off, NEAR_JUMP);
	near_jump(j.on, at, l->stub);
	return j;
}

void moved_late_look(struct site_dso *d)
{
	for (size_t i = 0; i < d->nr; i++)
		d->sites[i].on = d->late->sites[i].stub &&
				 is_on(&d->late->sites[i], site_at(d, i));
}

/* M2, M3: to switch it, a thread may have to be led on. */
static bool needs_handler(const struct late_site *l, uintptr_t at)
{
	const struct text_jump j = jump_of(l, at);

	return l->inner || text_way(&j) != TEXT_ONCE;
}

/* M4 */
__attribute__((cold)) void moved_late_judge(struct site_dso *d, bool leads)
{
	for (size_t i = 0; i < d->nr; i++) {
		const struct late_site *l = &d->late->sites[i];
		const uintptr_t at = site_at(d, i);
		struct site *s = &d->sites[i];

		if (!l->stub)
			continue;
		s->on = is_on(l, at);
		s->skip = SITE_GOOD;
		if (!s->on && !has_own(l, at) && !probes_can_carry(at))
			s->skip = SITE_CHANGED;
		else if (!s->on && !leads && needs_handler(l, at))
			s->skip = SITE_BUSY;
	}
	d->leads = leads;
}

/* ---- Switching ---- */

/* A jump that needs the handler now, and has none, stays: its stub makes no hits (S2 of hit.c). */
static bool may_switch(const struct site_dso *d, size_t i, bool on)
{
	const struct text_jump j = jump_of(&d->late->sites[i], site_at(d, i));

	/* M6 */
	if (!(on ? has_own : has_jump)(&d->late->sites[i], site_at(d, i)))
		return false;
	return on || d->leads || text_way(&j) == TEXT_ONCE;
}

static bool is_to_switch(const struct site_dso *d, size_t i, bool on,
			 bool (*wants)(void *arg, size_t index), void *arg)
{
	const struct site *s = &d->sites[i];

	if (!d->late->sites[i].stub || s->on == on || s->skip == SITE_CHANGED)
		return false;
	return (!s->skip && wants(arg, i)) == on && may_switch(d, i, on);
}

/*
 * Stores them at `out`, if that is not NULL, but no more than `most`. -> their number. The server
 * may change its words at any time, so a second call may find others.
 */
static size_t jumps_gather(const struct site_dso *d, bool on,
			   bool (*wants)(void *arg, size_t index), void *arg, struct text_jump *out,
			   size_t most)
{
	size_t nr = 0;

	for (size_t i = 0; i < d->nr && nr < most; i++) {
		if (!is_to_switch(d, i, on, wants, arg))
			continue;
		if (out)
			out[nr] = jump_of(&d->late->sites[i], site_at(d, i));
		nr++;
	}
	return nr;
}

static long switch_to(struct site_dso *d, bool on, bool (*wants)(void *arg, size_t index),
		      void *arg)
{
	const size_t most = jumps_gather(d, on, wants, arg, NULL, d->nr);
	const size_t size = most * sizeof(struct text_jump);
	long jumps, err = 0;
	size_t nr;

	if (!most)
		return 0;
	jumps = agent_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is_error(jumps))
		return jumps;
	nr = jumps_gather(d, on, wants, arg, (struct text_jump *)jumps, most);
	if (nr)
		err = text_switch((struct text_jump *)jumps, nr, on, false, d->texts, d->nr_texts);
	agent_syscall(SYS_munmap, jumps, size);
	return err ? -EACCES : (long)nr;
}

/* M6 */
static void probed_switch_on(struct site_dso *d, bool (*wants)(void *arg, size_t index), void *arg)
{
	uint8_t jump[NEAR_JUMP];

	for (size_t i = 0; i < d->nr; i++) {
		const struct late_site *l = &d->late->sites[i];
		const uintptr_t at = site_at(d, i);

		if (!l->stub || d->sites[i].on || d->sites[i].skip || has_own(l, at) ||
		    has_jump(l, at) || !wants(arg, i))
			continue;
		near_jump(jump, at, l->stub);
		if (!probes_carry(at, jump))
			d->sites[i].skip = SITE_CHANGED;
	}
}

long moved_late_switch(struct site_dso *d, bool (*wants)(void *arg, size_t index), void *arg)
{
	const long off = switch_to(d, false, wants, arg), on = switch_to(d, true, wants, arg);

	probed_switch_on(d, wants, arg);
	moved_late_look(d);
	return off < 0 ? off : on < 0 ? on : off + on;
}

/* ---- Sites by address, threads that are led on ---- */

/* The last site that does not begin behind it; d->nr: none. */
static size_t site_before(const struct site_dso *d, uintptr_t ip)
{
	size_t low = 0, high = d->nr;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (site_at(d, middle) <= ip)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : d->nr;
}

bool moved_late_is_on(const struct site_dso *d, uintptr_t at)
{
	const size_t i = site_before(d, at);

	return i != d->nr && site_at(d, i) == at && d->late->sites[i].stub &&
	       has_jump(&d->late->sites[i], at);
}

uintptr_t moved_late_lead(const struct site_dso *d, uintptr_t ip)
{
	/* Acquire: pairs with the release in moved_late_make(). */
	const struct late_area *area = __atomic_load_n(&d->late, __ATOMIC_ACQUIRE);
	const size_t i = area ? site_before(d, ip) : d->nr;
	const struct late_site *l;

	if (i == d->nr || !area->sites[i].stub)
		return 0;
	l = &area->sites[i];
	for (unsigned int k = 0; k < l->nr; k++)
		if (l->old[k] < NEAR_JUMP && ip == site_at(d, i) + l->old[k])
			return (uintptr_t)l->stub + l->moved[k];
	return 0;
}
