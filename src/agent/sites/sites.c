/* SPDX-License-Identifier: MIT */
/*
 * sites.c - the sites of this process: prepared at attach, switched as the server says (R21)
 *
 *     attach, dlopen() -> prepared -> reported to the server, which then stores words -> switched
 *     task:  wait for site_control.command -> words into the tables, patch_switch() of each DSO ->
 *     answer
 *
 * S2 and S4 to S6 are in task.c.
 *
 * S3  What is known of DSOs is written under sites_lock(), by the task or by a thread that loads or
 *     unloads. A child of fork() has it as its parent left it: its text is the parent's.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/graph/graph.h"
#include "agent/probes/probes.h"
#include "agent/sites/state.h"
#include "agent/syscall.h"
#include "elf/code/insn.h"

/* ---- The lock ---- */

enum { WAS_FIRST = 1, WAS_BUSY = 2 };

/* Functions of libc may have sites, too: what the agent calls under the lock is no hit. */
static void hits_stop(void)
{
	struct agent_thread *t = agent_self.thread;

	agent_self.stopped = agent_self.first ? WAS_FIRST : 0;
	agent_self.first = 1;
	if (!t)
		return;
	agent_self.stopped |= t->busy ? WAS_BUSY : 0;
	t->busy = 1;
}

static void hits_go_on(void)
{
	const uint8_t was = agent_self.stopped;

	agent_self.first = was & WAS_FIRST;
	if (agent_self.thread)
		agent_self.thread->busy = (was & WAS_BUSY) != 0;
}

static void lock_take(void)
{
	uint32_t free = 0;

	/* Pairs with the release in lock_release(). */
	if (!atomic_compare_exchange_strong_explicit(&agent.here->sites_lock, &free, 1,
						     memory_order_acquire, memory_order_relaxed))
		/* Pairs with the same. */
		while (atomic_exchange_explicit(&agent.here->sites_lock, 2, memory_order_acquire))
			agent_syscall(SYS_futex, &agent.here->sites_lock, FUTEX_WAIT_PRIVATE, 2, 0);
}

static void lock_release(void)
{
	/* Pairs with the acquires in lock_take(). */
	if (atomic_exchange_explicit(&agent.here->sites_lock, 0, memory_order_release) == 2)
		agent_syscall(SYS_futex, &agent.here->sites_lock, FUTEX_WAKE_PRIVATE, 1);
}

void sites_lock(void)
{
	lock_take();
	hits_stop();
}

bool sites_lock_try(void)
{
	uint32_t free = 0;

	/* Pairs with the release in lock_release(). */
	if (!atomic_compare_exchange_strong_explicit(&agent.here->sites_lock, &free, 1,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	hits_stop();
	return true;
}

void sites_unlock(void)
{
	hits_go_on();
	lock_release();
}

/* ---- Switching ---- */

struct wanted {
	const uint32_t	*words;
	size_t		nr;
	const struct site *sites;
	bool		any;		/* a function with return sites is hooked */
};

static uint32_t wanted_word(const struct wanted *w, uint32_t number)
{
	return number < w->nr ? w->words[number] & ~SITE_RETURNS : 0;
}

static bool wants_return(const struct wanted *w, const struct site *s)
{
	if (s->number == SITE_NO_FUNCTION)
		return s->returns && w->any;
	return s->returns && (wanted_word(w, s->number) & SITE_HOOKED);
}

static bool wants(void *arg, size_t index)
{
	const struct wanted *w = arg;
	const struct site *s = &w->sites[index];

	return site_is_return(s) ? wants_return(w, s) : wanted_word(w, s->number) != 0;
}

/* In the first pass nothing is switched off, and no entry is switched on. */
static bool wants_return_first(void *arg, size_t index)
{
	const struct wanted *w = arg;
	const struct site *s = &w->sites[index];

	return s->on || (site_is_return(s) && wants_return(w, s));
}

static struct wanted wanted_of(const struct site_control *c, uint32_t number)
{
	const struct site_set *set = &c->sets[number % LAYOUT_MAX_DSOS];
	/* Acquire: the words are there. Pairs with the release in session_publish(). */
	config_ref ref = atomic_load_explicit(&set->words, memory_order_acquire);
	uint32_t nr = atomic_load_explicit(&set->nr, memory_order_relaxed);

	if (number >= LAYOUT_MAX_DSOS || !ref || ref >= agent.plane.config_size ||
	    nr * 4ull > agent.plane.config_size - ref)
		return (struct wanted){ 0 };
	return (struct wanted){ .words = plane_config(&agent.plane, ref), .nr = nr };
}

static bool any_returns(const struct known *k, const struct wanted *w)
{
	for (size_t i = 0; i < k->dso.nr; i++)
		if (k->dso.sites[i].returns && wants_return(w, &k->dso.sites[i]))
			return true;
	return false;
}

/*
 * Switches return sites on before the words are stored: a call that finds SITE_RETURNS in its word
 * relies on them.
 */
static bool returns_on(struct known *k, struct wanted *w)
{
	w->any = k->returns && any_returns(k, w);
	return w->any && k->dso.prepared && graph_may_at_sites() &&
	       patch_switch(&k->dso, wants_return_first, w) >= 0;
}

/* What a call of the site is to do. */
static uint32_t word_of(const struct known *k, const struct site *s, const struct wanted *w,
			bool at_sites)
{
	bool called = site_is_called(k, s);
	uint32_t word = called || !s->skip ? wanted_word(w, s->number) : 0;

	if (at_sites && s->returns)
		return word & SITE_HOOKED ? word | SITE_RETURNS : word;
	/*
	 * The return is not caught if the function may end in a jump to one that looks at its
	 * caller: that would see an address of ours (jumps.c). It is not caught anywhere after
	 * graph_refused().
	 */
	return s->jumps || s->unreturned || graph_refused() ? word & SITE_GROUP : word;
}

/*
 * Stores the words of the sites that are on or will be. A site that is switched off
 * loses its word before its byte, so from here on its calls are no hits (hit.c, S2).
 */
static void words_set(struct known *k, const struct wanted *w, bool at_sites)
{
	bool missed = false;

	for (size_t i = 0; i < k->dso.nr; i++) {
		struct site *s = &k->dso.sites[i];
		uint32_t word;

		if (site_is_return(s))
			continue;
		word = word_of(k, s, w, at_sites);
		missed |= wanted_word(w, s->number) & ~word & SITE_HOOKED;
		/* Relaxed: see site_word(). */
		if (word || s->on || s->called)
			atomic_store_explicit(
				&k->dso.table
					 ->words[(k->dso.bias + s->at - k->dso.table->code) >> 2],
				word, memory_order_relaxed);
		s->called = site_is_called(k, s) && word;
	}
	if (missed && graph_refused())
		graph_missed(graph_refusals());
}

/*
 * Memory that may be unmapped is left for later. Until then sites to be switched off have no words,
 * so they make no hits.
 */
static bool is_there(const struct known *k)
{
	/* Relaxed: written under the lock. */
	return k->program || !atomic_load_explicit(&sites.moving, memory_order_relaxed);
}

static int known_obey(const struct site_control *c, struct known *k)
{
	struct wanted w = wanted_of(c, k->number);
	const bool there = is_there(k);
	long n = 0;

	if (there)
		late_ready(k);
	if (there && k->dso.late)
		moved_late_judge(&k->dso, guard_leads());
	w.sites = k->dso.sites;
	words_set(k, &w, there && returns_on(k, &w));
	/* What the server commanded before it knew the DSO does not count. */
	k->obeys = k->told;
	if (there)
		n = patch_switch(&k->dso, wants, &w);
	else
		sites.postponed = true;
	return n < 0 ? (int)n : 0;
}

static struct site_answer *answer_place(void)
{
	struct program_tables *tables =
		plane_given(&agent.plane, plane_header(&agent.plane)->programs);

	return &tables->sites[(agent.here->process - 1) % LAYOUT_MAX_PROCESSES];
}

/* For refused_functions. */
static __attribute__((cold)) void answer_left(struct site_answer *a, const struct known *k,
					      const struct site *s)
{
	const uint64_t base = layout_dso_base(k->number);

	for (unsigned int i = 0; i < SITES_LEFT; i++)
		if (!a->left[i]) {
			a->left[i] = (base + k->dso.bias + s->at - k->start) |
				     (uint64_t)s->skip << SITE_LEFT_SHIFT;
			return;
		}
}

static void answer_count(struct site_answer *a, const struct known *k)
{
	_Static_assert(SITE_NR_SKIPS <= sizeof(a->skipped) / sizeof(a->skipped[0]),
		       "each has its count");

	for (size_t i = 0; i < k->dso.nr; i++) {
		const struct site *s = &k->dso.sites[i];

		if (site_is_return(s))
			continue;
		a->nr_sites++;
		a->nr_on += s->on || s->called;
		a->skipped[SITE_GRAPHLESS] += s->jumps && !s->returns;
		a->skipped[SITE_RETURNLESS] += s->unreturned;
		if (site_is_called(k, s) || (k->dso.prepared && !s->skip))
			continue;
		a->nr_skipped++;
		a->skipped[s->skip]++;
		if (site_skip_is_own(s->skip))
			answer_left(a, k, s);
	}
}

static void answer_dsos(struct site_answer *a)
{
	uint64_t dsos[LAYOUT_MAX_DSOS / 64] = { 0 };

	for (unsigned int i = 0; i < sites.nr_known; i++) {
		const struct known *k = &sites.known[i];

		if (k->ld && k->tried && k->number < LAYOUT_MAX_DSOS)
			dsos[k->number / 64] |= 1ull << k->number % 64;
	}
	/* Relaxed: a hint. */
	for (unsigned int i = 0; i < LAYOUT_MAX_DSOS / 64; i++)
		atomic_store_explicit(&a->dsos[i], dsos[i], memory_order_relaxed);
}

static __attribute__((cold)) void answer_fill(int err)
{
	struct site_answer *a = answer_place();

	a->nr_sites = a->nr_skipped = a->nr_on = 0;
	memset(a->skipped, 0, sizeof(a->skipped));
	memset(a->left, 0, sizeof(a->left));
	for (unsigned int i = 0; i < sites.nr_known; i++)
		if (sites.known[i].ld && sites.known[i].tried)
			answer_count(a, &sites.known[i]);
	answer_dsos(a);
	if (sites.plants)
		probes_answer(a);
	a->asked = sites.asked;
	a->nr_unopened = sites.nr_unopened;
	a->pid = agent.here->pid;
	a->err = err ? err : sites.failed ? sites.failed : graph_error();
}

bool agent_functions_on(void)
{
	/* Relaxed: what is on a moment later is seen with the next one. */
	return agent_attached() && __atomic_load_n(&answer_place()->nr_on, __ATOMIC_RELAXED);
}

/* The set of words is that of this command or of a later one. */
static void obey(const struct site_control *c, uint32_t command)
{
	bool may = !agent_restricted() && !agent_filtered();
	/*
	 * A sandbox may kill a thread that changes its memory; all threads may wait. A child of a
	 * process in one has what its parent obeyed. Relaxed: this process or its parent stored it.
	 */
	bool is_new = command != atomic_load_explicit(&sites.command, memory_order_relaxed);
	int err = (may || !is_new) && sites.may_patch ? 0 : -EPERM;

	/* Never set back: the process has a task from then on, and this may be it. */
	sites.plants |= may && sites.permitted && sites.may_patch && probes_may_come();
	/* First: a probe that goes may leave a jump that is off (M6 of moved_late.c). */
	if (may && sites.plants)
		probes_obey();
	for (unsigned int i = 0; may && i < sites.nr_known; i++) {
		struct known *k = &sites.known[i];
		int one = k->ld && k->dso.table ? known_obey(c, k) : 0;

		err = one ? one : err;
	}
	if (!agent.here->process)	/* S6 of task.c: the server does not know it yet */
		return;
	answer_fill(err);
	/* Pairs with the server's acquire in answer_of(). */
	atomic_store_explicit(&answer_place()->command, command, memory_order_release);
}

void sites_obey(void)
{
	/* Acquire: the words are there. Pairs with the release in attach_command(). */
	uint32_t command = atomic_load_explicit(&sites_control()->command, memory_order_acquire);

	obey(sites_control(), command);
	/* Last, and for fork()'s copy: a child that is forked meanwhile obeys again. */
	atomic_store_explicit(&sites.command, command, memory_order_release);
}

void sites_probe(void)
{
	if (!sites.plants || sites_quiet())
		return;
	probes_obey();
	if (agent_attached() && agent.here->process)
		answer_fill(0);
}

bool sites_have_changed(uintptr_t bias)
{
	for (unsigned int i = 0; i < sites.nr_known; i++)
		if (sites.known[i].ld && sites.known[i].dso.prepared &&
		    sites.known[i].dso.bias == bias)
			return true;
	return false;
}

bool sites_are_moved_at(uintptr_t at)
{
	const uint8_t *b = (const uint8_t *)at;
	int32_t distance;
	uintptr_t to;

	if (*b != INSN_OP_JMP)
		return false;
	memcpy(&distance, b + 1, sizeof(distance));
	to = at + 5 + (uintptr_t)(intptr_t)distance;
	for (unsigned int i = 0; i < sites.nr_known; i++) {
		const struct site_dso *d = &sites.known[i].dso;

		if (!sites.known[i].ld)
			continue;
		if ((d->moved && to - (uintptr_t)d->mirror < d->mirror_size) ||
		    (d->late && moved_late_is_on(d, at)))
			return true;
	}
	return false;
}

uintptr_t sites_lead(uintptr_t ip)
{
	uintptr_t to = 0;

	for (unsigned int i = 0; !to && i < sites.nr_known; i++) {
		const struct known *k = &sites.known[i];

		/* Acquire: pairs with the release in known_find(). */
		if (__atomic_load_n(&k->ld, __ATOMIC_ACQUIRE) && ip - k->start < k->end - k->start)
			to = moved_late_lead(&k->dso, ip);
	}
	return to;
}

void sites_catch_up(void)
{
	if (!agent_attached())
		return;
	answer_dsos(answer_place());	/* some may have been unloaded */
	if (!sites.postponed)
		return;
	sites.postponed = false;
	sites_obey();
}

/* Its words are memory of this process, which no sandbox forbids to write. */
static void words_unhook(struct known *k)
{
	for (size_t i = 0; k->dso.table && i < k->dso.nr; i++) {
		const struct site *s = &k->dso.sites[i];
		_Atomic uint32_t *at =
			&k->dso.table->words[(k->dso.bias + s->at - k->dso.table->code) >> 2];
		/* Relaxed: see site_word(). */
		const uint32_t word = atomic_load_explicit(at, memory_order_relaxed);

		if (s->jumps && !site_is_return(s) && !(word & SITE_RETURNS))
			atomic_store_explicit(at, word & SITE_GROUP, memory_order_relaxed);
	}
}

void sites_hidden(void)
{
	bool any = false;

	/* Relaxed: written under the lock. Their paths may be gone. */
	if (!sites.callers_hidden || atomic_load_explicit(&sites.moving, memory_order_relaxed))
		return;
	for (unsigned int i = 0; i < sites.nr_known; i++) {
		struct known *k = &sites.known[i];

		if (!k->ld || !k->tried || k->looked_through)
			continue;
		known_look_through(k);
		words_unhook(k);
		any = true;
	}
	if (any && agent_attached() && agent.here->process)
		answer_fill(0);
}

void agent_callers_hidden(void)
{
	const bool quiet = sites_quiet();
	uint64_t old;

	/* Also for an interposer of the program that sites_start() calls, under the lock. */
	if (!sites.permitted) {
		sites.callers_hidden = true;
		return;
	}
	old = quiet ? 0 : signals_block();
	sites_lock();
	sites.callers_hidden = true;
	sites_hidden();
	sites_unlock();
	if (!quiet)
		signals_restore(old);
}

void agent_binds_deep(void)
{
	/* Relaxed: watch.c reads it in the thread that loads an object then. */
	atomic_store_explicit(&sites.binds_deep, true, memory_order_relaxed);
}

void sites_look_again(void)
{
	watch_again();
	for (unsigned int i = 0; i < sites.nr_known; i++)
		if (sites.known[i].ld && is_there(&sites.known[i]))
			patch_look(&sites.known[i].dso);
	probes_look_again();
}

/* It is called without the lock, too, so it does nothing more. */
void sites_note_failure(int err)
{
	sites.failed = err;
	if (agent_attached() && sites.nr_known)
		answer_place()->err = err;
}

void sites_fail(int err)
{
	agent_say("functions cannot be switched", err);
	sites_note_failure(err);
}

void sites_forbidden(void)
{
	/* Relaxed: see pages.h. */
	atomic_store_explicit(&pages_may_move, false, memory_order_relaxed);
	sites_note_failure(SITE_FORBIDDEN);
}

void sites_note_unopened(void)
{
	sites.nr_unopened++;
	if (agent_attached() && agent.here->process)
		answer_place()->nr_unopened = sites.nr_unopened;
}

/* ---- Beginning ---- */

static bool any_known(void)
{
	for (unsigned int i = 0; i < sites.nr_known; i++)
		if (sites.known[i].ld)
			return true;
	return false;
}

/* A thread of a process that attaches late is in sites_start(). */
static atomic_bool late_starts;

/*
 * fork() waits until the task has stored its jumps: in the child nobody would go on with the steps.
 */
static void fork_begins(void)
{
	/*
	 * Another thread may begin to plant just now (late.c). Or it is in sites_start(): it holds
	 * a lock of the dynamic linker then, which libc leaves locked in the child.
	 */
	if ((!sites.permitted || sites_quiet()) &&
	    /* Acquire: pairs with the release in sites_start(). */
	    !atomic_load_explicit(&late_starts, memory_order_acquire))
		return;
	/* First, and cleared last: a signal handler may come at any moment. */
	agent_self.fork_locks = true;
	lock_take();
	sites.forking = true;
}

static void fork_ends(void)
{
	if (sites.forking) {
		sites.forking = false;
		lock_release();
	}
	agent_self.fork_locks = false;
}

bool sites_wait_for_fork(void)
{
	/* Relaxed: this thread's own. In the child the lock is wiped. */
	return agent_self.fork_locks &&
	       atomic_load_explicit(&agent.here->sites_lock, memory_order_relaxed);
}

/* In a child of fork(): begins a task of its own, which does nothing until there is a command. */
static void forked(void)
{
	uint64_t old;

	sites.forking = false;		/* the lock is wiped (state.h) */
	/* Relaxed: the child has no such thread. */
	atomic_store_explicit(&late_starts, false, memory_order_relaxed);
	agent_self.fork_locks = false;
	/* Relaxed: fork() has copied all that came before it. */
	if ((!any_known() && !sites.plants) ||
	    atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_ON ||
	    agent_restricted() || agent_filtered())
		return;
	old = signals_block();
	task_begin();
	signals_restore(old);
}

/*
 * The kernel may refuse to execute memory that was written also without a sandbox (PR_SET_MDWE,
 * SELinux).
 */
static bool memory_permitted(void)
{
	long at = agent_syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool may;

	if (is_error(at))
		return false;
	may = !agent_syscall(SYS_mprotect, at, 4096, PROT_READ | PROT_EXEC);
	agent_syscall(SYS_munmap, at, 4096);
	return may;
}

/* Called at the first DSO with sites: most programs have none, and pay nothing. */
void sites_ask_memory(void)
{
	if (sites.memory_asked)
		return;
	sites.memory_asked = true;
	sites_processor_look();
	sites.may_patch = sites.may_patch && memory_permitted();
}

/* ---- From finding to obeying ---- */

static bool prepare_all(void)
{
	bool any = false;

	for (unsigned int i = 0; i < sites.nr_known; i++) {
		struct known *k = &sites.known[i];
		int err = k->ld && !k->tried ? known_prepare(k) : 0;

		if (err)
			agent_say("functions cannot be switched", err);
		any |= k->ld && k->dso.table && !k->obeys;
	}
	return any;
}

/* At a start, before the server has told all: the connection waits for no other answer. */
static void ask_all(void)
{
	for (unsigned int i = 0; i < sites.nr_known; i++) {
		struct known *k = &sites.known[i];

		/* As in tell_all(). */
		if (__atomic_load_n(&k->ld, __ATOMIC_ACQUIRE) && k->unread && !k->tried)
			known_ask(k);
	}
}

/*
 * When the server answers, the words of the new DSO are there. Without an answer they come with a
 * later command.
 */
static void tell_all(void)
{
	for (unsigned int i = 0; i < sites.nr_known; i++) {
		struct known *k = &sites.known[i];
		struct attach_request q = {
			.version = SESSION_VERSION, .kind = ATTACH_DSO, .value = k->number };
		struct attach_reply reply;

		/*
		 * ld can change here only by a thread that loads or unloads. That is this thread,
		 * or the DSO is the program. Pairs with the release in known_find().
		 */
		if (!__atomic_load_n(&k->ld, __ATOMIC_ACQUIRE) || !k->dso.table || k->told)
			continue;
		/* The user who chooses functions does so now. */
		if (!request_ask(&q, &reply) && reply.barrier)
			request_answer(&q, &reply, sizeof(reply), AGENT_WAIT_MS);
		k->told = true;
	}
}

static void obey_new(void)
{
	for (unsigned int i = 0; i < sites.nr_known; i++)
		if (sites.known[i].ld && sites.known[i].dso.table && !sites.known[i].obeys)
			known_obey(sites_control(), &sites.known[i]);
	answer_fill(0);
	task_begin();
}

static bool any_new(void)
{
	for (unsigned int i = 0; i < sites.nr_known; i++)
		if (sites.known[i].ld && !sites.known[i].tried)
			return true;
	return false;
}

/* Called in the dynamic linker, under its lock. A child of fork() may not be attached yet. */
void sites_go_on(void)
{
	bool any = false;
	uint64_t old;

	/* Pairs with the release in attach_start(). */
	if (!any_new() || atomic_load_explicit(&agent.state, memory_order_acquire) != AGENT_ON ||
	    !thread_lock())
		return;
	if (!attach_again()) {
		if (request_usable() || !attach_more())
			ask_all();
		sites_lock();
		any = prepare_all();
		answer_fill(0);
		sites_unlock();
		if (any && (request_usable() || !attach_more()))
			tell_all();
	}
	thread_unlock();
	if (!any)
		return;
	old = signals_block();
	sites_lock();
	obey_new();
	sites_unlock();
	signals_restore(old);
}

/* Registered once: pthread_atfork() cannot be undone. */
static void tell_forks(void)
{
	static bool is_told;

	if (!is_told && !pthread_atfork(fork_begins, fork_ends, forked))
		is_told = true;
}

void sites_start(void)
{
	bool alone = sites_one_thread();
	uint64_t old = signals_block();

	/*
	 * The interposers of mprotect() report changes. Relaxed: no other data depends on it.
	 */
	sites.told_of_writes = agent_providers_table && !agent.late;
	if (sites.told_of_writes)
		atomic_store_explicit(&patch_asks, false, memory_order_relaxed);
	graph_start();
	/* Relaxed: as in late_find(). */
	sites.asked = atomic_load_explicit(&sites_control()->asked, memory_order_relaxed);
	if (!sites.permitted && task_permitted(false)) {
		/*
		 * Not when the first sites come: the dynamic linker is locked then, and a fork
		 * handler of the program may wait for that lock.
		 */
		/* Pairs with the acquire in fork_begins(). */
		atomic_store_explicit(&late_starts, agent.late, memory_order_release);
		tell_forks();
		sites_lock();
		sites.may_patch = task_permitted(true) && patch_live();
		/* Relaxed: see pages.h. */
		atomic_store_explicit(&pages_may_move, sites.may_patch, memory_order_relaxed);
		sites.calls_come = static_is_called();
		pages_alone = alone;
		watch_start(alone);
		/* Else HELLO has no answer yet. */
		if (!agent.all_said)
			ask_all();
		prepare_all();
		pages_alone = false;
		sites.permitted = sites.untold = true;
		sites_unlock();
		/* Relaxed: the lock is free. */
		atomic_store_explicit(&late_starts, false, memory_order_relaxed);
	}
	signals_restore(old);
}

void sites_tell(void)
{
	uint64_t old;

	if (!sites.untold)
		return;
	sites.untold = false;
	old = signals_block();
	sites_lock();
	answer_fill(0);
	sites_unlock();
	tell_all();
	signals_restore(old);
}

void sites_stop(void)
{
	if (!sites.untold)
		return;
	sites.permitted = sites.untold = false;
	watch_stop();
}

/*
 * XRay's runtime makes sleds writable before it patches them. In a sandbox the agent makes only the
 * system call that the program is about to make.
 */
static void known_release(struct known *k, const void *at, uint64_t size, int prot)
{
	const uintptr_t low = (uintptr_t)at;

	if (low >= k->end || low + size <= k->start)
		return;
	if (!sites_quiet())
		patch_release(&k->dso);
	else if (!agent_syscall(SYS_mprotect, low, size, prot))
		patch_release_open(&k->dso, low, low + size);
	k->returns = sites_unpair(k->dso.sites, k->dso.nr);
}

static void sleds_release(const void *at, uint64_t size, int prot)
{
	const uint64_t old = signals_block();

	sites_lock();
	for (unsigned int i = 0; i < sites.nr_known; i++) {
		struct known *k = &sites.known[i];

		if (k->ld && k->dso.sleds && is_there(k))
			known_release(k, at, size, prot);
	}
	if (agent_attached() && agent.here->process)
		answer_fill(0);
	sites_unlock();
	signals_restore(old);
}

void agent_code_written(const void *at, uint64_t size, int prot)
{
	/* Acquire: pairs with the release in table_publish(). */
	const uint32_t nr = atomic_load_explicit(&nr_site_tables, memory_order_acquire);

	for (uint32_t i = 0; i < nr; i++) {
		const struct site_table *t = &site_tables[i];

		/* Relaxed: a program does not change code of a DSO that comes or goes meanwhile. */
		if ((uintptr_t)at >=
			    t->code + atomic_load_explicit(&t->size, memory_order_relaxed) ||
		    t->code >= (uintptr_t)at + size)
			continue;
		atomic_store_explicit(&patch_asks, true, memory_order_relaxed);
		if (t->dso->sleds)
			sleds_release(at, size, prot);
	}
}

/* Sites that the session has on already take effect before the program runs. */
__attribute__((cold)) void sites_begin(void)
{
	uint64_t old = signals_block();

	sites_lock();
	/*
	 * Never set back: the process has a task from then on. One that attaches late may have no
	 * interposer, and would not hear of the first probe.
	 */
	sites.plants |= sites.permitted && sites.may_patch && (agent.late || probes_may_come());
	if (any_known() || sites.plants) {
		pages_alone = sites_one_thread();
		sites_obey();
		pages_alone = false;
		task_begin();
	}
	if (agent.here->process && (!sites.permitted || (!sites.plants && probes_may_come())))
		sites_never_plants();
	else if (!any_known() && agent.here->process && sites.nr_unopened)
		answer_fill(0);
	watch_age();
	sites_unlock();
	signals_restore(old);
}

bool sites_begin_late(void)
{
	const bool has_task = any_known();
	bool wanted;

	if (sites_quiet() || !sites.permitted)
		return false;
	sites_ask_memory();
	if (!sites.may_patch)
		return false;
	wanted = late_find() || probes_may_come();
	if (!wanted && !sites.plants) {
		answer_fill(0);
		return true;
	}
	if (sites.plants) {
		sites_obey();
		return true;
	}
	/* One that has ended for a moment begins again by itself (agent_task_again()). */
	if (!has_task)
		task_begin();
	/* Relaxed: this thread has stored it, or does not care. */
	if (!has_task && !atomic_load_explicit(&agent.here->task, memory_order_relaxed))
		return false;
	sites.plants = true;
	sites_obey();
	return true;
}

void sites_never_plants(void)
{
	answer_fill(0);
	answer_place()->plants_never = 1;
}

void sites_again(void)
{
	sites_lock();
	sites_look_again();
	sites_unlock();
	sites_begin();
}
