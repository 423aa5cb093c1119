/* SPDX-License-Identifier: MIT */
/*
 * pids.c - the files of pids of an instance: parses, saves and publishes them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "model/ftrace/groups.h"
#include "model/instance/options.h"
#include "model/instance/pids.h"
#include "model/text.h"
#include "model/text_memory.h"
#include "plane/plane.h"
#include "session/array.h"

enum {
	SHARED_PIDS	= sizeof(struct pid_set) * 8,	/* the highest pid of a task, plus one */
	PIDS_LIMIT	= 1 << 30,
	WORD_SIZE	= 128,
	WORDS		= SHARED_PIDS / 64,
	/* At a time, for all sets: programs may have filled them (R2) */
	MOST_ASKED	= 1 << 16,
};

_Static_assert(MOST_ASKED / (LAYOUT_MAX_INSTANCES * PIDS_SETS) >= 64,
	       "each set gets on by a word in each sweep");

_Static_assert((int)PIDS_KINDS == (int)PIDS_SETS, "in the order of struct pids_family");

struct pids {
	data_ref	ref;
	struct pid_set	*set;
	uint32_t	*large;		/* numbers from SHARED_PIDS on, sorted */
	unsigned int	nr_large;
	/* Numbers that no task had when they were written or the option was set; NULL: none */
	struct pid_set	*idle;
	uint64_t	saved;
	/* The word of `set` where the next search for ended tasks begins */
	uint32_t	next;
};

/* The numbers of one write, before they are added. */
struct numbers {
	uint32_t	*values;
	unsigned int	nr;
};

static struct pids **slot_of(struct instance *inst, enum pids_kind kind)
{
	struct pids **const slots[PIDS_KINDS] = { &inst->pids, &inst->no_pids, &inst->func_pids,
						 &inst->no_func_pids };

	return slots[kind];
}

static void pids_tell(struct instance *inst, enum pids_kind kind, data_ref set)
{
	session_pids_publish(inst->model->session, inst->index, kind, set);
}

static bool of_events(enum pids_kind kind)
{
	return kind == PIDS_TRACE || kind == PIDS_NOTRACE;
}

bool pids_any(const struct instance *inst)
{
	return inst->pids || inst->no_pids;
}

bool pids_any_function(const struct instance *inst)
{
	return inst->func_pids || inst->no_func_pids;
}

static bool is_followed(const struct instance *inst, enum pids_kind kind)
{
	return inst->model->task_lives &&
	       options_test(inst->options,
			    of_events(kind) ? OPTION_EVENT_FORK : OPTION_FUNCTION_FORK);
}

static int add_number(struct numbers *n, const char *word)
{
	uint32_t pid;
	uint64_t v;

	if (text_to_u64(word, 0, &v))
		return -EINVAL;
	pid = (uint32_t)v;	/* as in the kernel's pid_t, higher bits are lost */
	if (pid >= PIDS_LIMIT)
		return -EPERM;
	if (array_room(&n->values, n->nr, sizeof(*n->values)))
		return -ENOMEM;
	n->values[n->nr++] = pid;
	return 0;
}

static ssize_t pids_parse(const char *text, size_t len, struct numbers *out)
{
	char word[WORD_SIZE];
	size_t taken = 0;
	ssize_t n;
	int err;

	while (taken < len) {
		n = text_word(text + taken, len - taken, word, sizeof(word));
		if (n < 0)
			return n;
		taken += (size_t)n;
		if (!*word)
			break;
		err = add_number(out, word);
		if (err)
			return err;
	}
	return (ssize_t)taken;
}

static const char *file_name(enum pids_kind kind)
{
	static const char *const names[PIDS_KINDS] = {
		"set_event_pid",
		"set_event_notrace_pid",
		"set_ftrace_pid",
		"set_ftrace_notrace_pid",
	};

	return names[kind];
}

static struct pids *pids_create(struct instance *inst, enum pids_kind kind)
{
	struct model *m = inst->model;
	const struct restored r = model_restored(m, inst, file_name(kind), NULL);
	struct pids *p = calloc(1, sizeof(*p));
	data_ref restored = restored_ref(&r, 0);

	if (!p)
		return NULL;
	if (!restored)
		p->ref = session_data_alloc(m->session, sizeof(*p->set));
	else if (!session_data_restore(m->session, restored, sizeof(*p->set)))
		p->ref = restored;
	p->set = p->ref ? session_data(m->session, p->ref, sizeof(*p->set)) : NULL;
	if (p->set)
		return p;
	free(p);
	return NULL;
}

static int add_large(struct pids *p, uint32_t pid)
{
	unsigned int i = 0;

	while (i < p->nr_large && p->large[i] < pid)
		i++;
	if (i < p->nr_large && p->large[i] == pid)
		return 0;
	if (array_room(&p->large, p->nr_large, sizeof(*p->large)))
		return -ENOMEM;
	memmove(&p->large[i + 1], &p->large[i], (p->nr_large - i) * sizeof(*p->large));
	p->large[i] = pid;
	p->nr_large++;
	return 0;
}

static int add_all_large(struct pids *p, const struct numbers *n)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < n->nr; i++)
		if (n->values[i] >= SHARED_PIDS)
			err = add_large(p, n->values[i]);
	return err;
}

/* In a restored session the bits are set already, and hits may have changed them since. */
static void add_shared(const struct model *m, struct pids *p, const struct numbers *n)
{
	for (unsigned int i = 0; !m->restoring && i < n->nr; i++)
		if (n->values[i] < SHARED_PIDS)
			/* Relaxed: hits may see a pid one event late. */
			__atomic_fetch_or(&p->set->bits[n->values[i] / 64],
					  1ull << n->values[i] % 64, __ATOMIC_RELAXED);
}

/* ---- Ends of tasks ---- */

/* Handles each number of this word that has no task. */
static void each_of_word(const struct model *m, struct pids *p, uint32_t i, uint64_t bits,
			 void (*fn)(struct pids *p, uint32_t pid))
{
	for (; bits; bits &= bits - 1) {
		uint32_t pid = i * 64 + (uint32_t)__builtin_ctzll(bits);

		if (!m->task_lives(pid))
			fn(p, pid);
		else if (p->idle)
			p->idle->bits[i] &= ~(1ull << (pid % 64));
	}
}

/*
 * Handles each listed number below SHARED_PIDS that has no task. It asks about `most` numbers, at
 * least 64; the next call continues where this one stopped.
 */
static void each_without_task(const struct model *m, struct pids *p, uint32_t most,
			      void (*fn)(struct pids *p, uint32_t pid))
{
	uint32_t i = p->next, asked = 0;

	for (uint32_t seen = 0; seen < WORDS; seen++, i = (i + 1) % WORDS) {
		/* Relaxed: forks and exits may change it any time. */
		uint64_t bits = __atomic_load_n(&p->set->bits[i], __ATOMIC_RELAXED);

		asked += (uint32_t)__builtin_popcountll(bits);
		if (asked > most)
			break;
		each_of_word(m, p, i, bits, fn);
	}
	p->next = i;
}

static void rest(struct pids *p, uint32_t pid)
{
	if (!p->idle)
		p->idle = calloc(1, sizeof(*p->idle));
	/* If there is no memory, the number leaves as if it had had a task. */
	if (p->idle)
		p->idle->bits[pid / 64] |= 1ull << (pid % 64);
}

static void remove_ended(struct pids *p, uint32_t pid)
{
	if (!p->idle || !(p->idle->bits[pid / 64] >> (pid % 64) & 1))
		/*
		 * Relaxed: a bit orders nothing (plane/hit_pids.c); its neighbours may change
		 * meanwhile.
		 */
		__atomic_fetch_and(&p->set->bits[pid / 64], ~(1ull << (pid % 64)),
				   __ATOMIC_RELAXED);
}

static struct pids *followed(struct instance *inst, enum pids_kind kind)
{
	return is_followed(inst, kind) ? *slot_of(inst, kind) : NULL;
}

static void sweep(struct instance *inst, enum pids_kind kind, uint32_t most)
{
	struct pids *p = followed(inst, kind);

	if (p)
		each_without_task(inst->model, p, most, remove_ended);
}

static uint32_t sets_followed(struct model *m)
{
	struct instance *inst;
	uint32_t nr = 0;

	list_each(inst, &m->instances, node)
		for (int kind = 0; kind < PIDS_KINDS; kind++)
			nr += !!followed(inst, (enum pids_kind)kind);
	return nr;
}

void pids_sweep(struct model *m)
{
	const uint32_t nr = sets_followed(m);
	struct instance *inst;

	list_each(inst, &m->instances, node)
		for (int kind = 0; nr && kind < PIDS_KINDS; kind++)
			sweep(inst, (enum pids_kind)kind, MOST_ASKED / nr);
}

/* From now on ends of tasks count. For a new server they have counted before. */
static void begin_to_follow(struct instance *inst, enum pids_kind kind)
{
	struct pids *p = *slot_of(inst, kind);

	if (p && is_followed(inst, kind) && !inst->model->held)
		each_without_task(inst->model, p, MOST_ASKED, rest);
}

static void rest_new(const struct model *m, struct pids *p, const struct numbers *n)
{
	for (unsigned int i = 0; i < n->nr; i++)
		if (n->values[i] < SHARED_PIDS && !m->task_lives(n->values[i]))
			rest(p, n->values[i]);
}

/* ---- Printing ---- */

/*
 * The kernel's mark for "no list" is the number above the highest pid. So this number prints as if
 * there were none (set_ftrace_pid).
 */
static void print_large(uint32_t pid, bool marks, FILE *out)
{
	if (marks && pid == SHARED_PIDS)
		fputs("no pid\n", out);
	else
		fprintf(out, "%u\n", pid);
}

static void print_pids(const struct pids *p, bool marks, FILE *out)
{
	uint64_t bits;

	/* Relaxed: forks and exits may change it any time. */
	for (uint32_t i = 0; i < WORDS; i++) {
		bits = __atomic_load_n(&p->set->bits[i], __ATOMIC_RELAXED);
		for (; bits; bits &= bits - 1)
			fprintf(out, "%u\n", i * 64 + (uint32_t)__builtin_ctzll(bits));
	}
	for (unsigned int i = 0; i < p->nr_large; i++)
		print_large(p->large[i], marks, out);
}

/* Saves the list, with numbers that are to be added to it. */
static int record(struct instance *inst, enum pids_kind kind, struct pids *p,
		  const struct numbers *n)
{
	char *text = NULL;
	size_t size;
	FILE *f = text_memory_open(&text, &size);
	int err;

	if (!f)
		return -ENOMEM;
	print_pids(p, false, f);
	for (unsigned int i = 0; i < n->nr; i++)
		if (n->values[i] < SHARED_PIDS)
			fprintf(f, "%u\n", n->values[i]);
	if (fclose(f))
		return -ENOMEM;
	/*
	 * The order matters: a set that hits look at always has a saved text, by which a new server
	 * finds it.
	 */
	err = saved_replace(inst->model, inst, file_name(kind), text, &p->ref, 1, &p->saved);
	free(text);
	return err;
}

/* The two events of the scheduler that change the sets need a plan even if they are not enabled. */
static int prepare_follow(struct instance *inst)
{
	static const char *const names[] = { "sched_process_fork", "sched_process_free" };
	struct event_file *f;
	struct event *e;
	int err = 0;

	for (unsigned int i = 0; !err && i < 2; i++) {
		e = model_find_event(inst->model, "sched", names[i]);
		if (!e)
			continue;
		f = event_file_get(inst, e);
		err = f ? event_file_need_state(f) : -ENOMEM;
	}
	return err;
}

static int arm_follow(struct instance *inst)
{
	int err = pids_any(inst) || pids_any_function(inst) ? prepare_follow(inst) : 0;

	return err ? err : model_publish(inst->model, inst);
}

int pids_follow_changed(struct instance *inst, int option)
{
	const bool events = option == OPTION_EVENT_FORK;

	begin_to_follow(inst, events ? PIDS_TRACE : PIDS_FUNCTION);
	begin_to_follow(inst, events ? PIDS_NOTRACE : PIDS_NO_FUNCTION);
	return arm_follow(inst);
}

static int pids_publish(struct instance *inst, enum pids_kind kind, struct pids *p)
{
	int err;

	*slot_of(inst, kind) = p;
	pids_tell(inst, kind, p->ref);
	err = of_events(kind) ? 0 : ftrace_groups_publish(inst);
	return err ? err : arm_follow(inst);
}

static void pids_free(struct model *m, struct pids *p)
{
	if (!m->closing)
		session_data_retire(m->session, p->ref, sizeof(*p->set));
	saved_remove(m, &p->saved);
	free(p->large);
	free(p->idle);
	free(p);
}

/* All of the numbers, or none. */
static int add_pids(struct instance *inst, enum pids_kind kind, struct pids *p,
		    const struct numbers *n)
{
	const unsigned int nr = p->nr_large;
	uint32_t *before = malloc((nr + 1ul) * sizeof(*before));
	int err;

	if (!before)
		return -ENOMEM;
	if (nr)
		memcpy(before, p->large, nr * sizeof(*before));
	err = add_all_large(p, n);
	if (!err)
		err = record(inst, kind, p, n);
	if (!err) {
		add_shared(inst->model, p, n);
	} else {
		if (nr)
			memcpy(p->large, before, nr * sizeof(*before));
		p->nr_large = nr;
	}
	free(before);
	return err;
}

static int add_numbers(struct instance *inst, enum pids_kind kind, const struct numbers *n)
{
	struct pids *p = *slot_of(inst, kind);
	bool is_new = !p;
	int err;

	if (!n->nr)
		return 0;
	if (is_new)
		p = pids_create(inst, kind);
	if (!p)
		return -ENOMEM;
	err = add_pids(inst, kind, p, n);
	if (!err && is_followed(inst, kind) && !inst->model->restoring)
		rest_new(inst->model, p, n);
	if (!is_new)
		return err;
	if (!err)
		return pids_publish(inst, kind, p);
	pids_free(inst->model, p);
	return err;
}

ssize_t pids_write(struct instance *inst, enum pids_kind kind, const char *text, size_t len)
{
	struct numbers n = { NULL, 0 };
	ssize_t taken = pids_parse(text, len, &n);
	int err = taken < 0 ? (int)taken : add_numbers(inst, kind, &n);

	free(n.values);
	return err ? err : taken;
}

void pids_clear(struct instance *inst, enum pids_kind kind)
{
	struct pids *p = *slot_of(inst, kind);
	struct model *m = inst->model;

	if (!p)
		return;
	*slot_of(inst, kind) = NULL;
	if (!m->closing) {
		pids_tell(inst, kind, 0);
		if (!of_events(kind))
			ftrace_groups_publish(inst);
		model_publish(m, inst);
	}
	pids_free(m, p);
}

void pids_restored(struct instance *inst)
{
	for (int kind = 0; kind < PIDS_KINDS; kind++)
		if (!*slot_of(inst, (enum pids_kind)kind))
			pids_tell(inst, (enum pids_kind)kind, 0);
}

void pids_print(struct instance *inst, enum pids_kind kind, FILE *out)
{
	const struct pids *p = *slot_of(inst, kind);

	sweep(inst, kind, MOST_ASKED);
	if (p)
		print_pids(p, !of_events(kind), out);
	else if (!of_events(kind))
		fputs("no pid\n", out);
}
