/* SPDX-License-Identifier: MIT */
/*
 * hit_function.c - calls of functions: whether an arm has anything to do, and the commands of
 * functions (FUNCTION:traceoff:3)
 *
 * F1  Counts are int64_t in the data region. A compare-and-swap takes one firing, relaxed: each
 *     firing is taken once, and nothing else depends on the order. What a count of -1 or below
 *     means differs from command to command, as in the kernel.
 * F2  Repeats are counted by CPU, as in the kernel, but a thread may be preempted anywhere and for
 *     long, or killed. So the last call and its count are one word: a hash of 48 bits and a count
 *     of 16. The call is stored before the word names its hash. Another call with the same place
 *     may overwrite it at that moment: the hash then does not match, and the count is missed.
 */
#include "plane/hit.h"
#include "plane/ring/ring.h"

struct repeats_record {
	struct record_common common;
	uint64_t	ip, parent_ip;
	uint16_t	count, top_delta;
	uint32_t	bottom_delta;
};

/* ---- func-no-repeats ---- */

static uint64_t now(const struct run *r, struct instance_state *inst)
{
	return r->h->time ? r->h->time : clock_now(&plane_header(r->p)->tsc, inst);
}

/* F2: the upper 48 bits of struct hit_repeat.last: the hash of a call. */
static uint64_t repeat_key(uint64_t ip, uint64_t parent_ip)
{
	uint64_t h = (ip * 0x9e3779b97f4a7c15ull ^ parent_ip) * 0xff51afd7ed558ccdull;

	return (h ^ h >> 32) << 16;
}

static struct repeat_call *repeat_call_of(struct hit_repeat *r, uint64_t key)
{
	return &r->calls[(key >> 16) % REPEAT_CALLS];
}

/*
 * The call that `word`, a value of struct hit_repeat.last, names. Its place may already hold
 * another call.
 */
static struct repeats_record repeats_of(const struct run *r, struct hit_repeat *at, uint64_t word)
{
	struct repeat_call *call = repeat_call_of(at, word & ~(uint64_t)REPEAT_COUNT);

	return (struct repeats_record){
		.common = *(const struct record_common *)r->h->record,
		/*
		 * F2. Relaxed: loaded after the acquire in repeats(); the hash shows whether it is
		 * the right call.
		 */
		.ip = atomic_load_explicit(&call->ip, memory_order_relaxed),
		.parent_ip = atomic_load_explicit(&call->parent_ip, memory_order_relaxed),
		.count = (uint16_t)word,
	};
}

/* `word`: the value of struct hit_repeat.last. Relaxed: a time alone orders nothing. */
static void write_repeats(const struct run *r, struct instance_state *inst, struct hit_repeat *at,
			  uint64_t word, struct repeats_record rec)
{
	/* Relaxed: see above */
	const uint64_t from = atomic_load_explicit(&at->time, memory_order_relaxed),
		       to = now(r, inst);
	const uint64_t delta = to > from ? to - from : 0;
	const data_ref buffer = live_buffer(inst);

	rec.top_delta = (uint16_t)(delta >> 32);
	rec.bottom_delta = (uint32_t)delta;
	rec.common.type = LAYOUT_REPEATS_ID;
	if (repeat_key(rec.ip, rec.parent_ip) != (word & ~(uint64_t)REPEAT_COUNT))
		hit_miss(r->slot);
	else if (buffer && records(inst, r->h->cpu))
		ring_write(r->p, r->slot, buffer, r->h->writer, r->h->cpu,
			   ring_time(r->p, r->h, inst), &rec, sizeof(rec));
}

/*
 * Whether the call is the same as the last one on this CPU. If it is another one, the count of the
 * last call is recorded first.
 */
static bool repeats(const struct run *r, const struct arm *arm, struct instance_state *inst)
{
	struct hit_repeat *at = (struct hit_repeat *)plane_given(r->p, arm->state) + r->h->cpu;
	struct function_record f;
	struct repeats_record before;
	struct repeat_call *call;
	uint64_t key, word;

	if (r->h->size < sizeof(f) || !arm->state)
		return false;
	__builtin_memcpy(&f, r->h->record, sizeof(f));
	key = repeat_key(f.ip, f.parent_ip);
	call = repeat_call_of(at, key);
	/*
	 * F2. Acquire, also where the exchange fails: pairs with the release below, by the thread
	 * that stored the call that `word` names.
	 */
	word = atomic_load_explicit(&at->last, memory_order_acquire);
	do {
		while (word >= key && word - key < REPEAT_COUNT) {
			/*
			 * Relaxed: a raised count still belongs to the release that published the
			 * call.
			 */
			atomic_store_explicit(&at->time, now(r, inst), memory_order_relaxed);
			if (atomic_compare_exchange_weak_explicit(&at->last, &word, word + 1,
								  memory_order_acquire,
								  memory_order_acquire))
				return true;
		}
		before = repeats_of(r, at, word);
		/* Relaxed: the exchange below publishes them. */
		atomic_store_explicit(&call->ip, f.ip, memory_order_relaxed);
		atomic_store_explicit(&call->parent_ip, f.parent_ip, memory_order_relaxed);
		/* F2. Release: the call is stored. Pairs with the acquires above. */
	} while (!atomic_compare_exchange_weak_explicit(&at->last, &word, key, memory_order_acq_rel,
							memory_order_acquire));
	if (word & REPEAT_COUNT)
		write_repeats(r, inst, at, word, before);
	return false;
}

static bool out_of_section(const struct run *r, const struct arm *arm)
{
	return (arm->flags & ARM_SECTION) &&
	       !(arm->flags & ARM_WAKEUP ? r->h->woken : r->h->section);
}

bool hit_function_refuse(const struct run *r, const struct arm *arm, struct instance_state *inst)
{
	if (out_of_section(r, arm))
		return true;
	/*
	 * If the entry of a call was recorded, its return is recorded, whatever the pids are now. A
	 * mask says that the entry was recorded.
	 */
	if ((arm->flags & ARM_FUNC_PIDS) && !r->h->mask && hit_function_pids_refuse(r, inst))
		return true;
	return (arm->flags & ARM_NO_REPEATS) && repeats(r, arm, inst);
}

uint64_t hit_function_ask(const struct run *r, const struct plan *plan)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < plan->nr_arms; i++) {
		const struct arm *arm = &plan_arms(plan)[i];
		struct instance_state *inst = plane_instance(r->p, arm->instance);

		if (arm->instance >= LAYOUT_GRAPH_INSTANCES || !(arm->flags & ARM_RECORD) ||
		    out_of_section(r, arm) ||
		    ((arm->flags & ARM_FUNC_PIDS) && hit_function_pids_refuse(r, inst)))
			continue;
		mask |= 1ull << arm->instance;
	}
	return mask;
}

/* ---- Commands ---- */

static const struct trigger_site *site_find(const struct trigger_sites *t, uint64_t ip)
{
	uint32_t from = 0, to = t->nr;

	while (from < to) {
		const uint32_t at = from + (to - from) / 2;

		if (t->sites[at].ip == ip)
			return &t->sites[at];
		if (t->sites[at].ip < ip)
			from = at + 1;
		else
			to = at;
	}
	return NULL;
}

/*
 * Finds the count of a command. False: the command is not for this function. *count NULL: it has no
 * limit.
 */
static bool count_find(const struct run *r, const struct trigger_arm *t, _Atomic int64_t **count)
{
	const struct trigger_site *site;
	uint64_t index = 0, ip;

	*count = NULL;
	if (t->code) {
		if (r->h->size < offsetof(struct function_record, parent_ip))
			return false;
		/* A recording may have it anywhere. */
		__builtin_memcpy(&ip, (const char *)r->h->record +
				 offsetof(struct function_record, ip), sizeof(ip));
		site = site_find(plane_config(r->p, t->code), ip);
		if (!site)
			return false;
		index = site->index;
	}
	if (t->flags & TRIGGER_COUNTED)
		*count = plane_given(r->p, t->state + index * sizeof(**count));
	return true;
}

/* F1. `endless`: a count below 0 fires and does not change. */
static bool take(_Atomic int64_t *count, bool endless)
{
	int64_t left;

	if (!count)
		return true;
	left = atomic_load_explicit(count, memory_order_relaxed);	/* F1 */
	do {
		if (left < 0)
			return endless;
		if (!left)
			return false;
		/* F1 */
	} while (!atomic_compare_exchange_weak_explicit(
		count, &left, left - 1, memory_order_relaxed, memory_order_relaxed));
	return true;
}

/* A firing that changes nothing is not counted. H5 of hit.h */
static void switch_word(_Atomic uint32_t *word, uint32_t to, _Atomic int64_t *count, bool endless)
{
	if (atomic_load_explicit(word, memory_order_relaxed) != to && take(count, endless))
		atomic_store_explicit(word, to, memory_order_release);	/* H5 */
}

static void write_stack(const struct run *r, struct instance_state *inst, _Atomic int64_t *count)
{
	/*
	 * The kernel looks whether the top instance is tracing (H5). It also decrements a count
	 * below 0, which hardly ever comes to an end.
	 */
	if (!count ||
	    (atomic_load_explicit(&plane_instance(r->p, 0)->tracing_on, memory_order_relaxed) &&
	     take(count, true)))
		hit_write_stack(r, inst, live_buffer(inst));
}

/*
 * Switches tracing off, so that the records of what happened before stay. The server does the rest.
 */
static void dump(const struct run *r, uint64_t what)
{
	struct data_header *h = (struct data_header *)r->p->data;
	uint64_t none = 0;

	/* H5 */
	atomic_store_explicit(&plane_instance(r->p, 0)->tracing_on, 0, memory_order_release);
	/*
	 * One at a time. Release: pairs with the acquire of the server, which then sees tracing
	 * off.
	 */
	atomic_compare_exchange_strong_explicit(&h->dump, &none, what, memory_order_release,
						memory_order_relaxed);
}

/* The command has no count: while tracing is off there is nothing new to write. */
static void dump_cpu(const struct run *r)
{
	/* H5 */
	if (atomic_load_explicit(&plane_instance(r->p, 0)->tracing_on, memory_order_relaxed))
		dump(r, 2 + (uint64_t)r->h->cpu);
}

void hit_function_command(struct run *r, const struct trigger_arm *t, struct instance_state *inst)
{
	struct event_state *target = plane_given(r->p, t->target);
	_Atomic int64_t *count;

	if (!count_find(r, t, &count))
		return;
	if (t->kind == TRIGGER_TRACEON || t->kind == TRIGGER_TRACEOFF)
		switch_word(&inst->tracing_on, t->kind == TRIGGER_TRACEON, count, false);
	else if (t->kind == TRIGGER_ENABLE_EVENT || t->kind == TRIGGER_DISABLE_EVENT)
		switch_word(&target->soft_disabled, t->kind == TRIGGER_DISABLE_EVENT, count, true);
	else if (t->kind == TRIGGER_STACKTRACE)
		write_stack(r, inst, count);
	else if (t->kind == TRIGGER_SNAPSHOT && take(count, false))
		hit_take_snapshot(r, inst);
	else if (t->kind == TRIGGER_DUMP && take(count, false))
		dump(r, 1);
	else if (t->kind == TRIGGER_CPUDUMP)
		dump_cpu(r);
}
