/* SPDX-License-Identifier: MIT */
/*
 * hit_pids.c - whose records an instance wants: set_event_pid, set_ftrace_pid and their like; event-fork, function-fork
 *
 * The bits of a set are loaded and stored relaxed: none orders anything.
 */
#include "plane/hit.h"

static uint64_t *pid_word(const struct plane *p, _Atomic data_ref *word, uint32_t pid)
{
	data_ref ref = atomic_load_explicit(word, memory_order_acquire);	/* pairs with session_publish() */

	return ref ? &((struct pid_set *)plane_data(p, ref))->bits[pid % 4194304 / 64] : NULL;
}

static bool pid_listed(const uint64_t *word, uint32_t pid)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) >> (pid % 64) & 1;
}

static bool pid_missing(const struct plane *p, struct instance_state *inst, uint32_t pid)
{
	const uint64_t *word = pid_word(p, &inst->pids, pid);

	return word && !pid_listed(word, pid);
}

static bool pid_unwanted(const struct plane *p, struct instance_state *inst, uint32_t pid)
{
	const uint64_t *word = pid_word(p, &inst->no_pids, pid);

	return word && pid_listed(word, pid);
}

static uint32_t other_pid(const struct plan *plan, const struct hit *h)
{
	uint32_t pid = 0;

	if (plan->other_pid + sizeof(pid) <= h->size)
		pid = *(const uint32_t *)((const char *)h->record + plan->other_pid);
	return pid;
}

bool hit_pids_refuse(const struct run *r, const struct plan *plan, struct instance_state *inst)
{
	uint32_t pid = (uint32_t)((const struct record_common *)r->h->record)->pid;
	bool missing = pid_missing(r->p, inst, pid), unwanted = pid_unwanted(r->p, inst, pid);
	uint32_t other;

	if (plan->other_kind == OTHER_PID_NONE || !(missing || unwanted))
		return missing || unwanted;
	other = other_pid(plan, r->h);
	if (plan->other_kind == OTHER_PID_SWITCH)
		return (missing && pid_missing(r->p, inst, other)) ||
		       (unwanted && pid_unwanted(r->p, inst, other));
	return pid_missing(r->p, inst, other) || pid_unwanted(r->p, inst, other);
}

bool hit_function_pids_refuse(const struct run *r, struct instance_state *inst)
{
	const uint32_t pid = (uint32_t)((const struct record_common *)r->h->record)->pid;
	const uint64_t *wanted = pid_word(r->p, &inst->func_pids, pid);
	const uint64_t *unwanted = pid_word(r->p, &inst->no_func_pids, pid);

	return (wanted && !pid_listed(wanted, pid)) || (unwanted && pid_listed(unwanted, pid));
}

static void pid_follow_one(const struct plane *p, _Atomic data_ref *set, uint32_t parent, uint32_t child, bool join)
{
	const uint64_t *of_parent = pid_word(p, set, parent);
	uint64_t *of_child = pid_word(p, set, child);
	uint64_t bit = 1ull << (child % 64);

	if (!of_child)
		return;
	/* Relaxed: a bit orders nothing. */
	if (!join)
		__atomic_fetch_and(of_child, ~bit, __ATOMIC_RELAXED);
	else if (pid_listed(of_parent, parent))
		__atomic_fetch_or(of_child, bit, __ATOMIC_RELAXED);
}

void hit_pids_follow(const struct run *r, const struct plan *plan, struct instance_state *inst, bool join)
{
	uint32_t parent = (uint32_t)((const struct record_common *)r->h->record)->pid;
	uint32_t child = other_pid(plan, r->h);

	pid_follow_one(r->p, &inst->pids, parent, child, join);
	pid_follow_one(r->p, &inst->no_pids, parent, child, join);
}

/* ---- Tasks of running programs, which no event tells of ---- */

static void follow_task(const struct plane *p, struct instance_state *inst, uint32_t parent, uint32_t child, bool join)
{
	const uint32_t flags = atomic_load_explicit(&inst->flags, memory_order_relaxed);

	if (flags & INSTANCE_EVENT_FORK) {
		pid_follow_one(p, &inst->pids, parent, child, join);
		pid_follow_one(p, &inst->no_pids, parent, child, join);
	}
	if (flags & INSTANCE_FUNCTION_FORK) {
		pid_follow_one(p, &inst->func_pids, parent, child, join);
		pid_follow_one(p, &inst->no_func_pids, parent, child, join);
	}
}

static void follow_everywhere(const struct plane *p, uint32_t parent, uint32_t child, bool join)
{
	if (!atomic_load_explicit(&plane_header(p)->follow, memory_order_relaxed))
		return;
	for (uint32_t i = 0; i < LAYOUT_MAX_INSTANCES; i++) {
		struct instance_state *inst = plane_instance(p, i);

		if (atomic_load_explicit(&inst->used, memory_order_relaxed))
			follow_task(p, inst, parent, child, join);
	}
}

void pids_join(const struct plane *p, uint32_t parent, uint32_t child)
{
	follow_everywhere(p, parent, child, true);
}

void pids_leave(const struct plane *p, uint32_t pid)
{
	follow_everywhere(p, pid, pid, false);
}
