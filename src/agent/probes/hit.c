/* SPDX-License-Identifier: MIT */
/*
 * hit.c - a hit of a probe: its record by fetch_run(), and then as any event's hit
 *
 * H1  The program's vector registers may be in use. So all code of probe_try() and probe_hit() is
 *     compiled for general registers only and calls no function of libc. If a hit needs more (a
 *     thread's first hit, the session's address of code that was not looked up yet, a register of
 *     AVX-512), probe_hit() returns 1, and probe_hit_slow() does it with all registers saved.
 * H2  Memory that an argument names may not be there. The guard leads a fault of probe_copy() on.
 *     In a signal handler the fault's signal may be blocked, which would end the program: there the
 *     kernel copies, if no sandbox forbids the call. So it does at libc's places: libc blocks all
 *     signals by system calls of its own, such as where a thread begins.
 */
#include <sys/uio.h>
#include "agent/emit/emit.h"
#include "agent/graph/graph.h"
#include "agent/probes/probes.h"
#include "agent/sites/hit.h"
#include "agent/sites/state.h"
#include "agent/syscall.h"
#include "agent/x86_64/entry.h"
#include "agent/x86_64/vectors.h"
#include "plane/arch/rseq_add.h"
#include "plane/code.h"

/*
 * Bytes of a handler's alternate stack: for a hit; for one with the extended state saved; for a
 * thread's first one, which is such
 */
enum { HIT_ROOM = 2560, SLOW_ROOM = HIT_ROOM + 3072, FIRST_ROOM = SLOW_ROOM + 512 };

struct hitting {
	struct agent_thread *thread;
	bool		slow;		/* all registers are saved */
	bool		more;		/* it needs that */
	const void	*extended;	/* slow: the processor's extended state */
};

/* ---- H2 ---- */

static uint32_t copy_asked(void *to, uint64_t from, uint32_t size)
{
	const struct iovec here = { to, size }, there = { (void *)from, size };
	long n;

	if (!agent_may_read())
		return 0;
	n = agent_syscall(SYS_process_vm_readv, agent_syscall(SYS_getpid), &here, 1, &there, 1, 0);
	return is_error(n) ? 0 : (uint32_t)n;
}

static uint32_t load_asked(void *arg, void *to, uint64_t from, uint32_t size)
{
	(void)arg;
	return copy_asked(to, from, size);
}

static uint32_t load(void *arg, void *to, uint64_t from, uint32_t size)
{
	const struct hitting *h = arg;

	if ((h->thread->flags & AGENT_HANDLER) || !guard_leads_now())
		return copy_asked(to, from, size);
	return probe_copy(to, from, size);
}

static uint64_t session_address(void *arg, uint64_t address)
{
	struct hitting *h = arg;
	const struct site_table *table;
	uint64_t delta;

	if (h->slow)
		return agent_address(h->thread, (const void *)address);
	/* Pairs with the release in agent_dso_closed(). */
	if (agent_code_delta(h->thread, address,
			     atomic_load_explicit(&agent_dso_age, memory_order_acquire), &delta))
		return address + delta;
	table = site_table_find(address);
	h->more = !table;
	return table ? address + table->delta : 0;
}

static __attribute__((cold)) uint64_t vector(void *arg, unsigned int number)
{
	struct hitting *h = arg;

	if (h->slow)
		return vector_saved(h->extended, number % VECTORS, EXTENDED);
	h->more |= number >= VECTORS_SSE;
	return vector_word(number);
}

static __attribute__((cold)) bool segment(void *arg, uint64_t *base)
{
	(void)arg;
	if (sites_has_fsgsbase)
		*base = segment_base();
	return sites_has_fsgsbase;
}

/* ---- A hit ---- */

static void missed(struct agent_thread *t)
{
	struct slot *slot = agent_slot(t);

	if (slot)
		hit_miss(slot);
}

/* A task that shares its thread's rseq area, or has none, adds to the row behind the CPUs'. */
static inline void count(bool rseq, const struct probe_run *r)
{
	const uint32_t nr_cpus = plane_header(&agent.plane)->nr_cpus;
	char *at = plane_given(&agent.plane, r->hits);

	if (!r->hits || (rseq && rseq_add((uint64_t *)at, PROBE_HITS_ROW, nr_cpus, 1)))
		return;
	at += (size_t)nr_cpus * PROBE_HITS_ROW;
	/* Relaxed: a counter. */
	atomic_fetch_add_explicit((_Atomic uint64_t *)at, 1, memory_order_relaxed);
}

static void run_one(struct hitting *h, const struct probe_run *r, const struct fetch_hit *hit,
		    void *record, uint32_t room)
{
	const uint64_t *regs = hit->regs->r;
	const uintptr_t frame[2] = { regs[FETCH_RBP], regs[FETCH_RIP] };
	const uint32_t size = fetch_run(r->code, hit, record, room);

	if (h->more || !size)
		return;
	count(!h->thread->no_rseq, r);
	agent_emit(h->thread, r->event, record, size, frame);
}

static __attribute__((noinline)) void run_small(struct hitting *h, const struct probe_run *r,
						const struct fetch_hit *hit)
{
	uint64_t record[PROBE_SMALL / 8];

	run_one(h, r, hit, record, sizeof(record));
}

static __attribute__((noinline)) void run_large(struct hitting *h, const struct probe_run *r,
						const struct fetch_hit *hit)
{
	void *record;

	/* The thread's first one makes a system call. */
	if (!h->thread->large && sites_quiet()) {
		missed(h->thread);
		return;
	}
	record = large_get(h->thread, r->room);
	if (!record)
		return;
	run_one(h, r, hit, record, r->room);
	large_put(h->thread, record);
}

static inline bool is_armed(uint32_t event)
{
	/* Relaxed: hit() loads it again with acquire. */
	return atomic_load_explicit(&plane_event(&agent.plane, event)->plan,
				    memory_order_relaxed) != 0;
}

static void run_make(struct hitting *h, const struct probe_registers *regs, uint64_t function,
		     const struct probe_run *r)
{
	const struct fetch_hit hit = {
		.regs = regs, .bias = r->bias, .function = function, .comm = h->thread->comm,
		.load = r->asks ? load_asked : load, .session = session_address, .arg = h,
		.vector = vector, .segment = segment,
	};

	if (r->room <= PROBE_SMALL)
		run_small(h, r, &hit);
	else
		run_large(h, r, &hit);
}

static inline bool is_return_wanted(const struct probe_run *r)
{
	return (r->flags & PROBE_POINT_RETURN) && is_armed(r->event);
}

/* Whether a function that begins there, whose return address is at the stack pointer, is hooked. */
static bool return_await(struct hitting *h, const struct probe_registers *regs,
			 const struct probe_place *p, const struct probe_runs *runs)
{
	for (uint32_t i = 0; i < runs->nr; i++)
		if (is_return_wanted(&runs->runs[i]))
			return graph_probe(h->thread, (uintptr_t *)regs->r[FETCH_RSP], p, h->slow);
	return true;
}

/*
 * -> whether it needs all registers saved. Then the instruction's register has the number of the
 * run that is to be made first.
 */
static inline bool runs_all(struct hitting *h, struct probe_registers *regs,
			    const struct probe_place *p, const struct probe_runs *runs,
			    uint32_t first)
{
	for (uint32_t i = first; i < runs->nr; i++) {
		const struct probe_run *r = &runs->runs[i];

		if ((r->flags & PROBE_POINT_RETURN) || !is_armed(r->event))
			continue;
		regs->r[FETCH_RIP] = r->ip;
		run_make(h, regs, 0, r);
		if (h->more) {
			regs->r[FETCH_RIP] = i;
			return true;
		}
	}
	if (!runs->returns || return_await(h, regs, p, runs))
		return false;
	regs->r[FETCH_RIP] = runs->nr;
	return true;
}

static inline const struct probe_runs *runs_of(const struct probe_place *p)
{
	/* Pairs with the release in runs_set(). */
	return atomic_load_explicit(&((struct probe_place *)p)->runs, memory_order_acquire);
}

static inline bool is_on(void)
{
	/* Relaxed: one hit more or less does not matter. */
	return atomic_load_explicit(&agent.state, memory_order_relaxed) == AGENT_ON;
}

/* probe_runs.quick: what fetch_run() does for such code. */
static inline void fetch_quick(const struct probe_registers *regs, const struct probe_run *r,
			       uint64_t record[PROBE_SMALL / 8])
{
	record[1] = r->ip;
	/* Eight bytes, whatever its size: the next one lies behind it. */
	for (const struct fetch_op *op = r->code->ops; op->kind == FETCH_STORE_REGISTER; op++)
		__builtin_memcpy((char *)record + op->off, &regs->r[op->reg], 8);
}

/*
 * The most frequent hits, by short ways only: into a ring, or counted by integers. False: nothing
 * was done. The direction flag is the program's, so no string instruction may be here (tests/lint/
 * plane looks).
 */
bool probe_try(const struct probe_registers *regs, const struct probe_place *p)
{
	struct agent_thread *t = agent_self.thread;
	const struct probe_runs *runs = runs_of(p);
	uint64_t counter = 0, record[PROBE_SMALL / 8];
	const struct probe_run *r;
	bool timed;

	if (!runs || !runs->quick || !is_on() || !t || t->busy || (t->flags & AGENT_HANDLER))
		return false;
	r = &runs->runs[0];
	timed = emit_wants_time(t, r->event);
	if (timed)
		counter = emit_counter();
	else if (!emit_counts(t, r->event))
		return false;
	fetch_quick(regs, r, record);
	if (timed ? !emit_timed(t, r->event, record, r->code->size, counter)
		  : !agent_count(t, r->event, record, r->code->size))
		return false;
	count(true, r);		/* the short ways need it, too */
	return true;
}

static bool slow_has_room(struct agent_thread *t, const void *at)
{
	if (!(t->flags & AGENT_HANDLER) || stack_has_room((uintptr_t)at, SLOW_ROOM))
		return true;
	missed(t);
	return false;
}

uint32_t probe_hit(struct probe_registers *regs, const struct probe_place *p)
{
	struct hitting h = { .thread = agent_self.thread };
	const struct probe_runs *runs = runs_of(p);

	if (!runs || !is_on())
		return 0;
	if (__builtin_expect(!h.thread || !agent_slot(h.thread), 0)) {
		regs->r[FETCH_RIP] = 0;
		if (stack_has_room((uintptr_t)regs, FIRST_ROOM))
			return 1;
		agent_thread_missed();
		return 0;
	}
	if (emit_stranger(h.thread))
		return 0;
	if (__builtin_expect(h.thread->busy, 0) ||
	    ((h.thread->flags & AGENT_HANDLER) && !stack_has_room((uintptr_t)regs, HIT_ROOM))) {
		missed(h.thread);
		return 0;
	}
	/* probe_try() may have noted a frame that is above those of this hit. */
	emit_levels_left(h.thread, (uintptr_t)regs);
	return runs_all(&h, regs, p, runs, 0) && slow_has_room(h.thread, regs);
}

void probe_hit_slow(struct probe_registers *regs, const struct probe_place *p, const void *extended)
{
	struct hitting h = { .thread = agent_thread(), .slow = true, .extended = extended };
	const struct probe_runs *runs = runs_of(p);

	if (h.thread && runs && !emit_stranger(h.thread) && !h.thread->busy)
		runs_all(&h, regs, p, runs, (uint32_t)regs->r[FETCH_RIP]);
}

/* ---- Returns ---- */

/* What graph.S and probe.S have saved, below the slot and elsewhere. */
static void registers_take(struct probe_registers *out, const uintptr_t *slot,
			   const uint64_t *others, uintptr_t ret)
{
	static const uint8_t saved[] = { FETCH_RAX, FETCH_RCX, FETCH_RDX, FETCH_RSI, FETCH_RDI,
					 FETCH_R8, FETCH_R9, FETCH_R10, FETCH_R11 };
	static const uint8_t kept[] = { FETCH_FLAGS, FETCH_RBX, FETCH_R12, FETCH_R13, FETCH_R14,
					FETCH_R15, FETCH_RBP };
	const uint64_t *at = (const uint64_t *)((const char *)slot - (SAVED - 8));

	for (unsigned int i = 0; i < sizeof(saved); i++)
		out->r[saved[i]] = at[i];
	for (unsigned int i = 0; i < sizeof(kept); i++)
		out->r[kept[i]] = others[i];
	out->r[FETCH_RSP] = (uintptr_t)(slot + 1);
	out->r[FETCH_RIP] = ret;
}

static inline uint32_t returns_all(struct hitting *h, uintptr_t *slot, const uint64_t *others)
{
	struct probe_registers regs;
	const struct probe_runs *runs;
	const struct probe_place *p;
	uintptr_t ret;

	p = graph_probed(slot, &ret);
	runs = p ? runs_of(p) : NULL;
	if (!runs || !is_on())
		return 0;
	registers_take(&regs, slot, others, ret);
	for (uint32_t i = 0; i < runs->nr; i++)
		if (runs->runs[i].session && is_return_wanted(&runs->runs[i]) && !h->slow)
			return 1;
	for (uint32_t i = 0; i < runs->nr; i++)
		if (is_return_wanted(&runs->runs[i]))
			run_make(h, &regs, runs->runs[i].ip, &runs->runs[i]);
	return 0;
}

uint32_t probe_return(uintptr_t *slot, const uint64_t *others)
{
	struct hitting h = { .thread = agent_self.thread };

	if (!h.thread || !agent_slot(h.thread))
		return 0;
	if (h.thread->busy ||
	    ((h.thread->flags & AGENT_HANDLER) && !stack_has_room((uintptr_t)slot, HIT_ROOM))) {
		missed(h.thread);
		return 0;
	}
	return returns_all(&h, slot, others) && slow_has_room(h.thread, slot);
}

void probe_return_slow(uintptr_t *slot, const uint64_t *others, const void *extended)
{
	struct hitting h = { .thread = agent_thread(), .slow = true, .extended = extended };

	if (h.thread)
		returns_all(&h, slot, others);
}
