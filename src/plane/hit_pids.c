/* SPDX-License-Identifier: MIT */
/*
 * hit_pids.c - whose records an instance wants: set_event_pid, set_ftrace_pid and their like;
 * event-fork, function-fork
 *
 * P1  The bits of a set are loaded and stored relaxed: they order nothing. The acquire in pid_set()
 *     makes the set itself visible.
 */
#include "plane/hit.h"

static struct pid_set *pid_set(const struct plane *p, _Atomic data_ref *word)
{
	/* Acquire: pairs with the release in session_publish(). */
	data_ref ref = atomic_load_explicit(word, memory_order_acquire);

	return ref ? plane_data(p, ref) : NULL;
}

static uint64_t *word_in(struct pid_set *set, uint32_t pid)
{
	return &set->bits[pid % 4194304 / 64];
}

static uint64_t *pid_word(const struct plane *p, _Atomic data_ref *word, uint32_t pid)
{
	struct pid_set *set = pid_set(p, word);

	return set ? word_in(set, pid) : NULL;
}

static bool pid_listed(const uint64_t *word, uint32_t pid)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) >> (pid % 64) & 1;	/* P1 */
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

static void pid_follow_one(const struct plane *p, _Atomic data_ref *word, uint32_t parent,
			   uint32_t child, bool join)
{
	/* Loaded once for both uses: the set may come or go meanwhile. */
	struct pid_set *set = pid_set(p, word);
	const uint64_t bit = 1ull << (child % 64);

	if (!set)
		return;
	/* P1 */
	if (!join)
		__atomic_fetch_and(word_in(set, child), ~bit, __ATOMIC_RELAXED);
	else if (pid_listed(word_in(set, parent), parent))
		__atomic_fetch_or(word_in(set, child), bit, __ATOMIC_RELAXED);	/* P1 */
}

/* ---- Tasks of running programs, for which there is no event ---- */

_Static_assert(PIDS_SETS == 4 && LAYOUT_MAX_INSTANCES % 64 == 0, "struct pids_family");

/*
 * The sets of an instance that tasks join and leave, in the order of struct pids_family. NULL: the
 * instance's options do not make tasks follow that set.
 */
static void sets_followed(struct instance_state *inst, _Atomic data_ref *out[PIDS_SETS])
{
	/* H5 of hit.h */
	const uint32_t flags = atomic_load_explicit(&inst->flags, memory_order_relaxed);
	const bool events = flags & INSTANCE_EVENT_FORK, functions = flags & INSTANCE_FUNCTION_FORK;

	out[0] = events ? &inst->pids : NULL;
	out[1] = events ? &inst->no_pids : NULL;
	out[2] = functions ? &inst->func_pids : NULL;
	out[3] = functions ? &inst->no_func_pids : NULL;
}

/* Cold: tasks begin and end seldom. */
__attribute__((cold)) void hit_pids_follow(const struct run *r, const struct plan *plan,
					   struct instance_state *inst, bool join)
{
	uint32_t parent = (uint32_t)((const struct record_common *)r->h->record)->pid;
	uint32_t child = other_pid(plan, r->h);
	_Atomic data_ref *sets[PIDS_SETS];

	sets_followed(inst, sets);
	for (unsigned int i = 0; i < PIDS_SETS; i++)
		if (sets[i])
			pid_follow_one(r->p, sets[i], parent, child, join);
}

/*
 * Calls of(arg, word of the set for pid, instance, number of the set) for each set that is there
 * and that tasks follow.
 */
static void
each_followed(const struct plane *p, uint32_t pid,
	      void (*of)(void *arg, uint64_t *word, uint32_t instance, unsigned int set), void *arg)
{
	_Atomic data_ref *sets[PIDS_SETS];

	for (uint32_t i = 0; i < LAYOUT_MAX_INSTANCES; i++) {
		struct instance_state *inst = plane_instance(p, i);

		/*
		 * Relaxed: it only saves work. An instance that was removed has no sets; a new one
		 * counts from when it is seen.
		 */
		if (!atomic_load_explicit(&inst->used, memory_order_relaxed))
			continue;
		sets_followed(inst, sets);
		for (unsigned int k = 0; k < PIDS_SETS; k++) {
			uint64_t *word = sets[k] ? pid_word(p, sets[k], pid) : NULL;

			if (word)
				of(arg, word, i, k);
		}
	}
}

struct follow {
	uint32_t	pid;
	bool		any;
	struct pids_family *family;
};

static void list_look(void *arg, uint64_t *word, uint32_t instance, unsigned int set)
{
	struct follow *f = arg;

	if (!pid_listed(word, f->pid))
		return;
	f->any = true;
	f->family->in[set][instance / 64] |= 1ull << (instance % 64);
}

static void list_join(void *arg, uint64_t *word, uint32_t instance, unsigned int set)
{
	const struct follow *f = arg;

	if (f->family->in[set][instance / 64] >> (instance % 64) & 1)
		__atomic_fetch_or(word, 1ull << (f->pid % 64), __ATOMIC_RELAXED);	/* P1 */
}

static void leave(void *arg, uint64_t *word, uint32_t instance, unsigned int set)
{
	const struct follow *f = arg;

	__atomic_fetch_and(word, ~(1ull << (f->pid % 64)), __ATOMIC_RELAXED);	/* P1 */
}

bool pids_followed(const struct plane *p)
{
	/* Relaxed: a task that begins while the option changes may miss it. */
	return atomic_load_explicit(&plane_header(p)->follow, memory_order_relaxed);
}

static void each_in_hit(const struct plane *p, struct slot *slot, struct follow *f,
			void (*how)(void *, uint64_t *, uint32_t, unsigned int))
{
	unsigned int level = 0;

	/* H1: the sets are not freed meanwhile. */
	if (slot && !hit_enter(p, slot, &level))
		return;
	each_followed(p, f->pid, how, f);
	if (slot)
		hit_leave(slot, level);
}

bool pids_family_of(const struct plane *p, struct slot *slot, uint32_t creator,
		    struct pids_family *out)
{
	struct follow f = { .pid = creator, .family = out };

	*out = (struct pids_family){ 0 };
	if (pids_followed(p))
		each_in_hit(p, slot, &f, list_look);
	return f.any;
}

void pids_join(const struct plane *p, struct slot *slot, const struct pids_family *family,
	       uint32_t pid)
{
	struct pids_family copy = *family;
	struct follow f = { .pid = pid, .family = &copy };

	each_in_hit(p, slot, &f, list_join);
}

void pids_leave(const struct plane *p, struct slot *slot, uint32_t pid)
{
	struct follow f = { .pid = pid };

	if (pids_followed(p))
		each_in_hit(p, slot, &f, leave);
}
