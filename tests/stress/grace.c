/* SPDX-License-Identifier: MIT */
/*
 * grace.c - no hit sees memory that was freed (R5)
 *
 * A server publishes new plans all the time, retires the old ones, and fills reclaimed memory with
 * poison. Meanwhile threads of other processes hit; they are stopped, continued and killed. The
 * histogram's code of each plan has a pattern, which the fold checks at both ends of a hit and in
 * between.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ring_write	double_write
#define filter_match	double_match
#define hist_fold	double_fold
#include "plane/hit.c"

#include "../client/attach_client.h"
#include "../unit/session/temp_place.h"

enum { EVENT = 300, READERS = 4, THREADS = 2, ROUNDS = 3000, PATTERN = 0x5afe5afe, BLOCK = 4096 };

static struct shared {
	_Atomic uint64_t hits, poisoned;
} *shared;

static int failures;

static void check(bool ok, const char *what, long n)
{
	if (ok)
		return;
	printf("# %s: %ld\n", what, n);
	failures++;
}

/* ---- readers ---- */

int double_write(const struct plane *p, struct slot *slot, data_ref buffer, uint32_t set,
		 uint32_t cpu, uint64_t time, const void *record, uint32_t size)
{
	return 0;
}

int double_match(const struct code *code, const struct hit *h)
{
	return 1;
}

static bool whole(const struct code *code)
{
	const uint32_t *words = (const uint32_t *)(code + 1);

	for (unsigned int i = 0; i < (BLOCK - sizeof(*code)) / 4; i += 61)
		if (__atomic_load_n(&words[i], __ATOMIC_RELAXED) != PATTERN)
			return false;
	return code->size == PATTERN;
}

void double_fold(const struct code *code, struct run *run)
{
	bool ok = whole(code);

	for (int i = 0; ok && i < 3; i++) {
		if (run->h->cpu)
			sched_yield();
		ok = whole(code);
	}
	if (!ok)
		atomic_fetch_add(&shared->poisoned, 1);
	atomic_fetch_add(&shared->hits, 1);
}

static void *reader_thread(void *arg)
{
	struct attachment *a = arg;
	struct slot *slot = attach_slot(a);
	struct record_common rec = { .type = EVENT };
	struct hit h = { .record = &rec, .size = sizeof(rec) };

	if (!slot)
		return NULL;
	for (;;) {
		h.cpu ^= 1;
		hit(attach_plane(a), slot, &h);
	}
}

static _Noreturn void reader(const char *name)
{
	struct attachment *a;
	pthread_t t;

	if (attach_open(name, &a))
		_exit(1);
	for (int i = 1; i < THREADS; i++)
		pthread_create(&t, NULL, reader_thread, a);
	reader_thread(a);
	_exit(1);
}

static pid_t reader_start(const char *name)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		reader(name);
	return pid;
}

/* ---- the server ---- */

static config_ref plan_make(struct session *s, config_ref *prog_ref, data_ref state)
{
	size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(s, size);
	struct plan *plan = session_config(s, ref, size);
	struct arm *arm = (struct arm *)(plan + 1);
	struct trigger_arm *t = (struct trigger_arm *)(arm + 1);
	uint32_t *words;

	*prog_ref = session_config_alloc(s, BLOCK);
	words = session_config(s, *prog_ref, BLOCK);
	if (!plan || !words)
		exit(99);
	for (int i = 0; i < BLOCK / 4; i++)
		words[i] = PATTERN;
	((struct code *)words)->flags = 0;
	*plan = (struct plan){ .event_id = EVENT, .nr_arms = 1, .nr_triggers = 1,
		.size = (uint32_t)size };
	*arm = (struct arm){ .flags = ARM_NEED_RECORD, .nr_triggers = 1 };
	*t = (struct trigger_arm){ .kind = TRIGGER_HIST, .code = *prog_ref, .state = state };
	return ref;
}

/* Overwrites freed memory before it is used again. */
static void poison(struct session *s)
{
	config_ref refs[8];
	int nr = 0;

	for (; nr < 8; nr++) {
		refs[nr] = session_config_alloc(s, BLOCK);
		if (!refs[nr])
			break;
		memset(session_config(s, refs[nr], BLOCK), 0x66, BLOCK);
	}
	while (nr--)
		session_config_free(s, refs[nr], BLOCK);
}

struct published {
	config_ref	plan, code;
};

static void publish(struct session *s, struct published *p, data_ref state)
{
	size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	struct published old = *p;

	p->plan = plan_make(s, &p->code, state);
	session_publish(s, (_Atomic uint64_t *)&plane_event(session_plane(s), EVENT)->plan,
			p->plan);
	if (old.plan) {
		session_config_retire(s, old.plan, size);
		session_config_retire(s, old.code, BLOCK);
	}
}

static void disturb(const char *name, pid_t *pids, unsigned int round)
{
	pid_t *pid = &pids[round / 3 % READERS];

	switch (round % 3) {
	case 0:
		kill(*pid, SIGSTOP);
		break;
	case 1:
		kill(*pid, SIGCONT);
		break;
	case 2:
		if (round / 3 % 5)
			break;
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
		*pid = reader_start(name);
		break;
	}
}

/* Reclaims until limbo is empty or a second has passed. */
static size_t drain(struct session *s)
{
	size_t left = 1;

	for (int i = 0; left && i < 1000; i++) {
		attach_serve(s);
		left = session_reclaim(s);
		if (left)
			usleep(1000);
	}
	return left;
}

static void stop_all(struct session *s, pid_t *pids, int sig)
{
	for (int i = 0; i < READERS; i++) {
		kill(pids[i], sig);
		if (sig == SIGKILL)
			waitpid(pids[i], NULL, 0);
	}
}

static void run(const char *name, bool no_membarrier)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20,
					 .no_membarrier = no_membarrier };
	struct published p = { 0 };
	pid_t pids[READERS];
	struct session *s;
	data_ref state;
	uint64_t before;
	size_t left;

	if (session_create(name, &params, &s))
		exit(99);
	state = session_data_alloc(s, sizeof(struct trigger_state));
	memset(shared, 0, sizeof(*shared));
	publish(s, &p, state);
	for (int i = 0; i < READERS; i++)
		pids[i] = reader_start(name);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		publish(s, &p, state);
		attach_serve(s);
		session_reclaim(s);
		poison(s);
		if (i % 10 == 0)
			disturb(name, pids, i / 10);
		if (i % 50 == 0)
			usleep(2000);
	}
	stop_all(s, pids, SIGCONT);
	before = atomic_load(&shared->hits);
	for (int i = 0; i < 2000 && atomic_load(&shared->hits) < before + 100; i++) {
		attach_serve(s);
		usleep(1000);
	}
	check(atomic_load(&shared->hits) >= before + 100, "readers go on",
	      (long)atomic_load(&shared->hits));
	left = drain(s);
	check(!left, "left in limbo while readers run", (long)left);
	/* Stopped threads delay reclamation, not commands. */
	stop_all(s, pids, SIGSTOP);
	for (int i = 0; i < 100; i++)
		publish(s, &p, state);
	stop_all(s, pids, SIGKILL);
	left = drain(s);
	check(!left, "left in limbo when all are dead", (long)left);
	check(!attach_processes(s, NULL, NULL), "processes left", attach_processes(s, NULL, NULL));
	check(!atomic_load(&shared->poisoned), "hits that saw freed memory",
	      (long)atomic_load(&shared->poisoned));
	check(atomic_load(&shared->hits) > 1000, "hits", (long)atomic_load(&shared->hits));
	session_destroy(s);
}

int main(void)
{
	if (!temp_place())
		return temp_place_skip();
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("TAP version 13\n1..2\n");
	run("grace", false);
	printf("%sok 1 - with membarrier\n", failures ? "not " : "");
	fflush(stdout);
	failures = 0;
	run("grace", true);
	printf("%sok 2 - with a fence in every hit\n", failures ? "not " : "");
	temp_place_remove();
	return failures != 0;
}
