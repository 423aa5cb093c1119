/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - the agent reads sections, waiters, DSOs and slots while another thread writes
 * anything there (R38)
 *
 * A child attaches and does everything that reads these tables: it begins and ends sections, waits
 * and wakes, looks for DSOs, and its threads take slots. First each word gets each of a list of
 * values, then a thread scribbles at the same time. The session's memory lies between inaccessible
 * pages, so an access elsewhere ends the child by a signal, and an endless loop ends by SIGALRM. A
 * hit may fault in the spare addresses. The agent then detaches, and the next child continues
 * (agent/thread/guard.c).
 *
 *     stress-hostile-agent [CHILDREN [SEED]]
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include "agent/providers/hooks.h"
#include "agent/providers/records.h"
#include "agent/state.h"
#include "own_server.h"

enum { RING_BYTES = 1 << 14, CHILD_S = 40, ROUND_MS = 150, WORDS = 48 };

static struct program_tables *tables;
static struct instance_state *inst;
static uint64_t seed, x;
static uint64_t nr_detached;

static uint64_t chance(void)
{
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* ---- Places that are written to ---- */

struct piece {
	void	*at;
	size_t	size;
};

static struct piece pieces[64];
static unsigned int nr_pieces;

static void add(void *at, size_t size)
{
	pieces[nr_pieces++] = (struct piece){ at, size };
}

static void pieces_find(void)
{
	const uint32_t slots = atomic_load(&session_header(session)->slots_high);

	add(inst, sizeof(*inst));
	for (int i = 0; i < SECTION_WATCHES; i++)
		add(&tables->sections[i], sizeof(tables->sections[i]));
	add(tables->woken, 64 * sizeof(tables->woken[0]));
	add(&tables->waiters_end, sizeof(tables->waiters_end) + 4);
	add(tables->waiters, (slots < 16 ? slots : 16) * sizeof(tables->waiters[0]));
	add(tables->dsos, 8 * sizeof(tables->dsos[0]));
	add(&tables->dsos[LAYOUT_MAX_DSOS - 1], sizeof(tables->dsos[0]));
	add(&tables->next_task, sizeof(tables->next_task));
	add(tables->sites, 8 * sizeof(tables->sites[0]));
	for (uint32_t i = 0; i < slots && i < 16; i++)
		add(plane_slot(session_plane(session), i), sizeof(struct slot));
}

static uint64_t nonsense(void)
{
	static const uint64_t values[] = {
		0, 1, 2, ~0ull, 0xffffffff, 0x7fffffff, 1ull << 31, 1ull << 32, 0xffffffff00000000,
		1ull << 62, 0x100000001, 0x8000000080000000, 0x3f0000003f, 0xffffff80ffffff80,
		0x0000200000002000, 64 << 20,
	};

	return chance() % 3 ? values[chance() % (sizeof(values) / sizeof(values[0]))] :
	       chance() % 2 ? chance() & 0xffff : chance();
}

/* Writes words of 8 bytes, atomically, as a program's own stores would be. */
static void stroke(void)
{
	const struct piece *p = &pieces[chance() % nr_pieces];
	uint64_t *word = (uint64_t *)p->at + chance() % (p->size / 8);

	__atomic_store_n(word, nonsense(), __ATOMIC_RELAXED);
}

static void *scribble(void *arg)
{
	(void)arg;
	for (;;) {
		for (int i = 0; i < 50; i++)
			stroke();
		for (int i = 0; i < 200; i++)
			__asm__ volatile("pause");
	}
	return NULL;
}

/* ---- The agent's actions ---- */

static pthread_mutexattr_t shared;
static pthread_mutex_t mutex;
static int word;

static void sections(struct agent_thread *t)
{
	static const uint32_t kinds[] = { SECTION_IRQS, SECTION_PREEMPT, SECTION_OWN };

	for (int i = 0; i < 3; i++) {
		agent_section_change(t, kinds[i], true, (const void *)sections,
				     (const void *)stroke, __builtin_frame_address(0));
		agent_section_change(t, kinds[i], false, (const void *)sections,
				     (const void *)stroke, __builtin_frame_address(0));
	}
}

static void waits(const void *addr, unsigned int kind)
{
	const void *here = (const void *)waits, *frame = __builtin_frame_address(0);

	thread_wait(addr, kind, false);
	thread_wake(addr, kind, 3, here, here, frame);
	(void)agent_wakeup_pending();
	thread_got(addr, kind);
	thread_got_lock(addr, kind, false);
	thread_woken(addr, kind, 0, here, here, frame);
}

static void dsos(struct agent_thread *t)
{
	agent_dso_closed();		/* so that it is looked up again */
	(void)agent_address(t, (const void *)dsos);
	(void)agent_address(t, (const void *)printf);
	(void)agent_functions_on();
}

static void all_of_it(void)
{
	struct agent_thread *t = agent_thread();

	if (!t)
		return;
	sections(t);
	waits(&mutex, WAKE_MUTEX);
	waits(&word, WAKE_FUTEX);
	dsos(t);
}

static void *once(void *arg)
{
	all_of_it();
	return arg;
}

static void in_a_thread(void)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, once, NULL))
		pthread_join(t, NULL);
}

static void each_word(void)
{
	for (int i = 0; i < WORDS; i++) {
		const struct piece *p = &pieces[chance() % nr_pieces];
		uint64_t *at = (uint64_t *)p->at + chance() % (p->size / 8), was = *at;

		for (int v = 0; v < 12; v++) {
			__atomic_store_n(at, nonsense(), __ATOMIC_RELAXED);
			all_of_it();
		}
		__atomic_store_n(at, was, __ATOMIC_RELAXED);
	}
	in_a_thread();
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void meanwhile(void)
{
	const uint64_t end = now_ms() + ROUND_MS;
	pthread_t t;

	if (pthread_create(&t, NULL, scribble, NULL))
		return;
	while (now_ms() < end)
		all_of_it();
	in_a_thread();
}

/* Whether the thread waits in its own place, whatever number the slot has. */
static bool waits_in_its_place(void)
{
	struct agent_thread *t = agent_thread();
	const uint32_t i = t ? agent_slot_index(t) : 0;
	struct slot *slot = plane_slot(session_plane(session), i);
	bool right;

	slot->index = i + 1;
	thread_wait(&word, WAKE_FUTEX, false);
	right = t && tables->waiters[i].addr == (uintptr_t)&word && !tables->waiters[i + 1].addr;
	thread_woken(&word, WAKE_FUTEX, 0, NULL, NULL, NULL);
	slot->index = i;
	return right;
}

static void *its_thread(void *arg)
{
	*(struct agent_thread **)arg = agent_thread();
	return NULL;
}

/* Whether another thread gets another place, although the slot seems to be free. */
static bool keeps_its_place(void)
{
	struct agent_thread *t = agent_thread(), *other = t;
	struct slot *slot;
	uint32_t owner;
	pthread_t thread;

	if (!t)
		return false;
	slot = plane_slot(session_plane(session), agent_slot_index(t));
	owner = atomic_exchange(&slot->owner, 0);
	if (pthread_create(&thread, NULL, its_thread, &other))
		return false;
	pthread_join(thread, NULL);
	atomic_store(&slot->owner, owner);
	return other && other != t;
}

/* Returns 0; 7: it was detached meanwhile; 9: the actions have no effect even without damage. */
static int child(int nr)
{
	alarm(CHILD_S);
	for (int i = 0; i < 20; i++)
		all_of_it();
	if (!nr && !waits_in_its_place())
		return 10;
	if (!nr && !keeps_its_place())
		return 11;
	if (!nr && (!agent_thread() || !live_number(inst->live) || !tables->waiters_end ||
		    tables->dsos[0].state != DSO_READY))
		return 9;
	pieces_find();
	each_word();
	meanwhile();
	return agent.state == AGENT_DETACHED ? 7 : 0;
}

/* ---- The test ---- */

static void watch_all(void)
{
	struct section_control *c = &session_header(session)->sections;

	for (int i = 0; i < SECTION_WATCHES; i++) {
		c->watch[i].generation++;
		c->watch[i].thresh = 0;
	}
	c->kinds = SECTION_CRITICAL | SECTION_WAKEUP;
}

/* Restores only the data that each hit needs. The next child gets the other nonsense, too. */
static void put_right(const struct instance_state *was)
{
	memcpy(inst, was, sizeof(*inst));
	memset(tables->dsos, 0, sizeof(tables->dsos));
}

static int set_up(void)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20 };

	if (serve_start(NULL, &params))
		return -1;
	inst = instance_start(RING_BYTES);
	tables = session_data(session, session_header(session)->programs, sizeof(*tables));
	watch_all();
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&mutex, &shared);
	return attach_start(session_dir(session), NULL);
}

static const char *one_child(int nr)
{
	static char what[64];
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		x = (seed + (uint64_t)nr) * 0x9e3779b97f4a7c15ull | 1;
		_exit(child(nr));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return "no child";
	nr_detached += WIFEXITED(status) && WEXITSTATUS(status) == 7;
	if (WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == 7))
		return NULL;
	snprintf(what, sizeof(what), "child %d: status %#x", nr, status);
	return what;
}

int main(int argc, char **argv)
{
	const int nr = argc > 1 ? atoi(argv[1]) : 12;
	struct instance_state was;
	const char *wrong = NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n");
	seed = argc > 2 ? strtoull(argv[2], NULL, 10)
			: (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20;
	if (set_up()) {
		printf("not ok 1 - no session\n");
		return 1;
	}
	was = *inst;
	for (int i = 0; i < nr && !wrong; i++) {
		wrong = one_child(i);
		put_right(&was);
	}
	printf("# %d children, %llu of them detached, seed %llu\n", nr,
	       (unsigned long long)nr_detached, (unsigned long long)seed);
	if (wrong)
		printf("not ok 1 - %s\n", wrong);
	else
		printf("ok 1 - the agent stays in the session's memory whatever it says\n");
	fflush(stdout);
	_exit(wrong != NULL);
}
