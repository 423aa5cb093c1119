/* SPDX-License-Identifier: MIT */
/*
 * place.c - places of code that are probed: moved instructions, and where threads go on that met a
 * byte that traps
 *
 * P1  A place and its moved code stay for as long as their object is loaded. So a thread may be in
 *     the moved code at any time, also after the jump is gone, and the next probe at the place
 *     costs only the jump. A place whose function is switched on later gets moved code of another
 *     kind, once, and keeps the old one, too.
 * P2  leads[] has each address where a byte may trap: the jump's own and the inner starts. Signal
 *     handlers read it: an entry's address is stored last. When its object is gone, the entry leads
 *     nowhere, and is used again; it only becomes free where no other entry lies behind it.
 * P3  The probe's call is below the 128 bytes that a function may use below its stack pointer.
 */
#include <string.h>
#include <sys/mman.h>
#include "agent/probes/probes.h"
#include "agent/syscall.h"
#include "agent/x86_64/relocate.h"

enum {
	PLACES = 65536, LEADS = 1 << 18, LEADS_MOST = LEADS / 4 * 3,
	HIT_CODE = 25,		/* bytes of hit_put() */
	LITERALS = 16,
	CODE_MOST = 2 * RELOCATE_MOST + HIT_CODE + LITERALS,
};

/* An entry whose object is gone: nothing traps at such an address. */
enum { LEAD_GONE = 1 };

struct lead {
	_Atomic uintptr_t ip;		/* 0: free */
	_Atomic(struct probe_place *) place;
};

static struct probe_place *places;
static struct lead *leads;
static uint32_t nr_places, nr_leads;
static struct probe_place *places_free;		/* P1: those whose objects are gone */

/* ---- Where threads go on ---- */

static bool memory_map(void)
{
	const size_t size = PLACES * sizeof(*places) + LEADS * sizeof(*leads);
	long at;

	if (places)
		return true;
	at = agent_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (is_error(at))
		return false;
	leads = (struct lead *)at;
	/* Release: pairs with the acquire in lead_of(). */
	__atomic_store_n(&places, (struct probe_place *)(leads + LEADS), __ATOMIC_RELEASE);
	return true;
}

static struct lead *lead_next(struct lead *l)
{
	return l + 1 == leads + LEADS ? leads : l + 1;
}

/*
 * The entry of an address, or a free one. NULL: there is no table. gone: the first entry on the way
 * that can be used again; NULL: there is none.
 */
static struct lead *lead_of(uintptr_t ip, struct lead **gone)
{
	uintptr_t found;
	struct lead *l;

	*gone = NULL;
	/* Acquire: pairs with the release in memory_map(). */
	if (!__atomic_load_n(&places, __ATOMIC_ACQUIRE))
		return NULL;
	for (l = &leads[ip * 0x9e3779b97f4a7c15ull >> 46];; l = lead_next(l)) {
		/* Acquire: pairs with the release in lead_add(). */
		found = atomic_load_explicit(&l->ip, memory_order_acquire);
		if (!found || found == ip)
			return l;
		if (found == LEAD_GONE && !*gone)
			*gone = l;
	}
}

static uintptr_t lead_ip(const struct lead *l)
{
	/* Relaxed: written under the lock. */
	return atomic_load_explicit(&l->ip, memory_order_relaxed);
}

static bool lead_add(uintptr_t ip, struct probe_place *p)
{
	struct lead *gone, *l = lead_of(ip, &gone);

	if (!lead_ip(l) && gone)
		l = gone;
	else if (!lead_ip(l) && nr_leads == LEADS_MOST)
		return false;
	else
		nr_leads += !lead_ip(l);
	/* Both pair with the acquires in lead_of() and place_lead(). */
	atomic_store_explicit(&l->place, p, memory_order_release);
	atomic_store_explicit(&l->ip, ip, memory_order_release);
	return true;
}

/* P2. The entries in front that are gone become free, too. */
static void lead_remove(uintptr_t ip)
{
	struct lead *gone, *l = lead_of(ip, &gone);

	if (!lead_ip(l))
		return;
	/* Relaxed: nothing depends on it. */
	atomic_store_explicit(&l->place, NULL, memory_order_relaxed);
	atomic_store_explicit(&l->ip, LEAD_GONE, memory_order_relaxed);
	if (lead_ip(lead_next(l)))
		return;
	for (; lead_ip(l) == LEAD_GONE; l = l == leads ? leads + LEADS - 1 : l - 1) {
		/* Relaxed: as above. */
		atomic_store_explicit(&l->ip, 0, memory_order_relaxed);
		nr_leads--;
	}
}

static struct probe_place *lead_place(uintptr_t ip)
{
	struct lead *gone, *l = lead_of(ip, &gone);

	/* Acquire: pairs with the release in lead_add(). */
	return l && atomic_load_explicit(&l->ip, memory_order_acquire)
		       ? atomic_load_explicit(&l->place, memory_order_acquire)
		       : NULL;
}

uintptr_t place_lead(uintptr_t ip)
{
	const struct probe_place *p = lead_place(ip);

	for (unsigned int i = 0; p && p->code && i < p->nr; i++)
		if (ip == (uintptr_t)p->jump.at + p->offsets[i])
			return (uintptr_t)p->code + p->moved[i];
	return 0;
}

/* ---- Places ---- */

struct probe_place *place_find(uintptr_t at)
{
	struct probe_place *p = lead_place(at);

	return p && (uintptr_t)p->jump.at == at ? p : NULL;
}

struct probe_place *place_get(uintptr_t at)
{
	struct probe_place *p = place_find(at);

	if (p)
		return p;
	if (!memory_map() || (!places_free && nr_places == PLACES))
		return NULL;
	p = places_free ? places_free : &places[nr_places];
	p->jump.at = (uint8_t *)at;
	if (!lead_add(at, p))
		return NULL;
	if (places_free)
		places_free = p->next_free;
	else
		nr_places++;
	p->next_free = NULL;
	return p;
}

/* ---- Moved code ---- */

static void distance_put(uint8_t *at, const void *to)
{
	const int32_t distance = (int32_t)((const uint8_t *)to - (at + sizeof(distance)));

	memcpy(at, &distance, sizeof(distance));
}

/* P3. literals: the place, and probe_entry */
static void hit_put(uint8_t *at, const uint8_t *literals)
{
	memcpy(at, "\x48\x8d\x64\x24\x80", 5);			/* lea -128(%rsp), %rsp */
	memcpy(at + 5, "\xff\x35", 2);				/* push place */
	distance_put(at + 7, literals);
	memcpy(at + 11, "\xff\x15", 2);				/* call *probe_entry */
	distance_put(at + 13, literals + 8);
	memcpy(at + 17, "\x48\x8d\xa4\x24\x88\x00\x00\x00", 8);	/* lea 136(%rsp), %rsp */
}

/* The instructions in front of the probed one: moved, without the jump behind them. */
static size_t front_move(const struct probe_plan *plan, const uint8_t *bytes, uintptr_t at,
			 uintptr_t to, uint8_t *out, struct probe_place *p)
{
	struct relocated map;
	size_t len;

	if (!plan->before)
		return 0;
	len = relocate(bytes, plan->offsets[plan->before], at, to, out, &map);
	if (len < RELOCATE_JUMP || map.nr != plan->before)
		return 0;
	for (unsigned int i = 0; i < map.nr; i++)
		p->moved[i] = map.moved[i];
	return len - RELOCATE_JUMP;
}

/* All of it as it stands at `to`. -> its length; 0: the instructions cannot be moved there */
static size_t code_fill(struct probe_place *p, const struct probe_plan *plan, const uint8_t *bytes,
			uintptr_t to, uint8_t *out)
{
	const uintptr_t at = (uintptr_t)p->jump.at;
	const unsigned int off = plan->offsets[plan->before];
	const size_t front = front_move(plan, bytes, at, to, out, p), hit = front + HIT_CODE;
	struct relocated map;
	size_t len;

	if (plan->before && !front)
		return 0;
	len = relocate_behind(off, bytes + off, plan->len - off, at + off, to + hit, out + hit,
			      &map);
	if (!len || map.nr + plan->before > CODE_MOVED_MAX)
		return 0;
	for (unsigned int i = 0; i < map.nr; i++) {
		p->offsets[plan->before + i] = (uint8_t)(off + map.old[i]);
		p->moved[plan->before + i] = (uint16_t)(hit + map.moved[i]);
	}
	/* A thread that is led to the probed instruction makes a hit. */
	p->moved[plan->before] = (uint16_t)front;
	p->nr = (uint8_t)(plan->before + map.nr);
	hit_put(out + front, out + hit + len);
	return hit + len;
}

static uint8_t inner_of(const struct probe_place *p)
{
	uint8_t inner = 0;

	for (unsigned int i = 1; i < p->nr; i++)
		if (p->offsets[i] < NEAR_JUMP)
			inner |= (uint8_t)(1u << p->offsets[i]);
	return inner;
}

static bool leads_add(struct probe_place *p)
{
	for (unsigned int i = 1; i < p->nr; i++)
		if (p->offsets[i] < NEAR_JUMP &&
		    !lead_add((uintptr_t)p->jump.at + p->offsets[i], p))
			return false;
	return true;
}

static void jump_set(struct text_jump *j, const uint8_t *bytes, const uint8_t *code)
{
	memcpy(j->off, bytes, NEAR_JUMP);
	near_jump(j->on, (uintptr_t)j->at, code);
}

/* Its hits are those of `hit`. NULL: there is no room that its jump reaches. */
static uint8_t *code_put(struct probe_place *p, const struct probe_place *hit, struct near *near,
			 const struct probe_plan *plan, const uint8_t *bytes, size_t len)
{
	const void *const literals[2] = { hit, (const void *)probe_entry };
	uint8_t *code = near_take(near, (uintptr_t)p->jump.at, p->jump.inner, len + LITERALS);

	if (!code || !code_fill(p, plan, bytes, (uintptr_t)code, code))
		return NULL;
	memcpy(code + len, literals, sizeof(literals));
	return code;
}

enum code_why place_make(struct probe_place *p, struct near *near, const struct probe_plan *plan,
			 const uint8_t *bytes)
{
	uint8_t scratch[CODE_MOST];
	uint8_t *code;
	size_t len;

	memcpy(p->offsets, plan->offsets, sizeof(p->offsets));
	len = code_fill(p, plan, bytes, (uintptr_t)p->jump.at, scratch);
	if (!len)
		return CODE_FIXED;
	p->jump.inner = inner_of(p);
	code = code_put(p, p, near, plan, bytes, len);
	if (!code)
		return CODE_TOO_FAR;
	jump_set(&p->jump, bytes, code);
	p->tactic = plan->tactic;
	p->code = code;
	return leads_add(p) ? CODE_GOOD : CODE_TOO_FAR;
}

/* ---- Functions that begin where a probe is ---- */

bool place_make_carrying(const struct probe_place *p, struct near *near,
			 const uint8_t jump[NEAR_JUMP], struct text_jump *out)
{
	const struct probe_plan one = { .len = NEAR_JUMP, .nr = 1, .tactic = CODE_WHOLE };
	uint8_t scratch[CODE_MOST];
	/* Threads may still come to the inner starts of what was displaced first: leads[] stays. */
	struct probe_place with = *p;
	const size_t len = code_fill(&with, &one, jump, (uintptr_t)p->jump.at, scratch);
	const uint8_t *code = len ? code_put(&with, p, near, &one, jump, len) : NULL;

	if (!code)
		return false;
	*out = p->jump;
	jump_set(out, jump, code);
	return true;
}

bool place_carries(uintptr_t at, const uint8_t jump[NEAR_JUMP])
{
	const struct probe_place *p = place_find(at);

	return p && p->is_on && !memcmp(p->jump.off, jump, NEAR_JUMP);
}

void places_bytes(uintptr_t at, uint8_t *out, size_t size)
{
	memcpy(out, (const void *)at, size);
	for (uintptr_t ip = at - NEAR_JUMP + 1; places && ip < at + size; ip++) {
		const struct probe_place *p = place_find(ip);

		for (size_t k = 0; p && p->is_on && k < NEAR_JUMP; k++)
			if (ip + k - at < size)
				out[ip + k - at] = p->jump.off[k];
	}
}

/* ---- All places ---- */

void places_unwant(void)
{
	for (uint32_t i = 0; i < nr_places; i++)
		places[i].wanted = false;
}

bool places_any(const struct probe_object *o)
{
	for (uint32_t i = 0; i < nr_places; i++)
		if (places[i].object == o && places[i].code)
			return true;
	return false;
}

uint32_t places_points(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_places; i++)
		nr += places[i].is_on ? places[i].nr_points : 0;
	return nr;
}

static void leads_remove(const struct probe_place *p)
{
	lead_remove((uintptr_t)p->jump.at);
	for (unsigned int i = 1; i < p->nr; i++)
		if (p->offsets[i] < NEAR_JUMP)
			lead_remove((uintptr_t)p->jump.at + p->offsets[i]);
}

/* No thread is in the moved code of an object that is gone, or comes back to it. */
static void place_free(struct probe_place *p)
{
	leads_remove(p);
	/* Relaxed: no hit reads it. */
	runs_free(atomic_exchange_explicit(&p->runs, NULL, memory_order_relaxed));
	*p = (struct probe_place){ .next_free = places_free };
	places_free = p;
}

/* P1: what is at these addresses later is another object's. */
void places_forget(const struct probe_object *o)
{
	for (uint32_t i = 0; i < nr_places; i++)
		if (places[i].object == o)
			place_free(&places[i]);
}

void places_look(bool (*is_there)(const struct probe_object *o))
{
	for (uint32_t i = 0; i < nr_places; i++)
		if (places[i].object && places[i].code && is_there(places[i].object))
			places[i].is_on = *places[i].jump.at == places[i].jump.on[0];
}

static bool is_to_switch(const struct probe_place *p, const struct probe_object *o, bool on)
{
	return p->object == o && p->code && p->is_on != on && p->wanted == on;
}

static size_t jumps_gather(const struct probe_object *o, bool on, struct text_jump *out)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < nr_places; i++)
		if (is_to_switch(&places[i], o, on)) {
			if (out)
				out[nr] = places[i].jump;
			nr++;
		}
	return nr;
}

int places_switch(const struct probe_object *o, bool on, bool alone, const struct pages *texts,
		  unsigned int nr_texts)
{
	const size_t nr = jumps_gather(o, on, NULL), size = nr * sizeof(struct text_jump);
	long jumps;
	int err;

	if (!nr)
		return 0;
	jumps = agent_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (is_error(jumps))
		return (int)jumps;
	jumps_gather(o, on, (struct text_jump *)jumps);
	err = text_switch((struct text_jump *)jumps, nr, on, alone, texts, nr_texts);
	for (uint32_t i = 0; !err && i < nr_places; i++)
		if (is_to_switch(&places[i], o, on))
			places[i].is_on = on;
	agent_syscall(SYS_munmap, jumps, size);
	return err;
}
