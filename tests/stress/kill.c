/* SPDX-License-Identifier: MIT */
/*
 * kill.c - servers and programs that are killed at any moment; the session goes on (R4, R5)
 *
 * Programs count into a histogram. Their server is killed again and again, and another one opens
 * the session. Programs are killed, too, and new ones attach. Afterwards the histogram equals the
 * programs' journals, except for an addition that a killed program had not noted yet. No memory has
 * leaked.
 */
#include <errno.h>
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

#include "plane/map/map.h"
#include "../client/attach_client.h"
#include "session/state.h"
#include "../unit/session/temp_place.h"

enum { EVENT = 300, PROGRAMS = 3, SERVERS = 60, KEYS = 100, SLOTS = 64, STORM = 300 };

static struct shared {
	_Atomic uint64_t hits;
	struct journal {
		volatile uint64_t done;
		volatile uint32_t busy;
	} journal[PROGRAMS];
	uint64_t	doubtful;
} *shared;

static const struct map_shape shape = { .max_elts = 128, .key_size = 8, .nr_sums = 1, .nr_cpus = 2,
					.nr_slots = SLOTS };
static int failures;

static void check(bool ok, const char *what, long a, long b)
{
	if (ok)
		return;
	printf("# %s: %ld, %ld\n", what, a, b);
	failures++;
}

/* ---- a program ---- */

int double_write(const struct plane *p, struct slot *slot, data_ref buffer, uint32_t set,
		 uint32_t cpu, uint64_t time, const void *record, uint32_t size)
{
	return 0;
}

int double_match(const struct code *code, const struct hit *h)
{
	return 1;
}

void double_fold(const struct code *code, struct run *run)
{
	struct map_view m = map_view_of(run->p, code->map, &code->layout);
	const struct hit *h = run->seen;
	uint64_t key[2] = { h->time, 0 };
	struct journal *j = &shared->journal[h->cpu];
	uint32_t elt;

	j->busy = 1;
	elt = map_insert(m, run->slot, key);
	map_add(m, elt, 0, 1, h->time % 3 ? 0 : 1);
	j->done++;
	j->busy = 0;
}

static _Noreturn void program(const char *name, uint32_t index)
{
	struct record_common rec = { .type = EVENT };
	struct hit h = { .record = &rec, .size = sizeof(rec), .cpu = index };
	struct attachment *a;
	struct slot *slot;

	while (attach_open(name, &a))
		usleep(1000);
	slot = attach_slot(a);
	if (!slot)
		_exit(1);
	for (uint64_t i = 1;; i++) {
		h.time = 1 + i % KEYS;
		hit(attach_plane(a), slot, &h);
		atomic_fetch_add_explicit(&shared->hits, 1, memory_order_relaxed);
	}
}

/* ---- a server ---- */

static config_ref code_make(struct session *s, data_ref map)
{
	config_ref ref = session_config_alloc(s, sizeof(struct code));
	struct code *made = session_config(s, ref, sizeof(*made));

	if (!ref)
		_exit(3);
	made->map = map;
	map_lay_out(&made->layout, &shape);
	return ref;
}

static void plan_publish(struct session *s, data_ref map, data_ref state, config_ref old[2])
{
	size_t size = sizeof(struct plan) + sizeof(struct arm) + sizeof(struct trigger_arm);
	config_ref ref = session_config_alloc(s, size), code = code_make(s, map);
	struct plan *plan = session_config(s, ref, size);
	struct arm *arm = (struct arm *)(plan + 1);
	struct trigger_arm *t = (struct trigger_arm *)(arm + 1);

	if (!ref)
		_exit(3);
	*plan = (struct plan){ .event_id = EVENT, .nr_arms = 1, .nr_triggers = 1,
		.size = (uint32_t)size };
	*arm = (struct arm){ .flags = ARM_NEED_RECORD, .nr_triggers = 1 };
	*t = (struct trigger_arm){ .kind = TRIGGER_HIST, .code = code, .state = state };
	session_publish(s, (_Atomic uint64_t *)&plane_event(session_plane(s), EVENT)->plan, ref);
	if (old[0]) {
		session_config_retire(s, old[0], size);
		session_config_retire(s, old[1], sizeof(struct code));
	}
	old[0] = ref;
	old[1] = code;
}

static int take_refs(struct session *s, uint64_t id, const struct saved *o, const char *path,
		     const char *text, void *arg)
{
	memcpy(arg, o->refs, 2 * sizeof(uint64_t));
	return 0;
}

static void adopt(struct session *s, uint64_t refs[2], config_ref old[2])
{
	if (session_saved_each(s, take_refs, refs) || !refs[0] ||
	    session_data_restore(s, refs[0], map_size(&shape)) ||
	    session_data_restore(s, refs[1], sizeof(struct trigger_state)))
		_exit(2);
	plan_publish(s, refs[0], refs[1], old);
	session_restore_done(s);
}

static struct session *first(const char *name, uint64_t refs[2])
{
	struct session_params params = { .nr_cpus = PROGRAMS,
					 .nr_slots = SLOTS,
					 .memory = 64 << 20 };
	struct session *s;
	uint64_t id;

	if (session_create(name, &params, &s))
		_exit(1);
	refs[0] = session_data_alloc(s, map_size(&shape));
	refs[1] = session_data_alloc(s, sizeof(struct trigger_state));
	if (session_saved_add(s, "events/x/trigger", "hist:keys=a", refs, 2, &id))
		_exit(1);
	return s;
}

static _Noreturn void serve(const char *name)
{
	config_ref old[2] = { 0 };
	struct session *s = NULL;
	uint64_t refs[2] = { 0 };
	int err = session_open(name, &s);

	if (err == -ENOENT) {
		s = first(name, refs);
		plan_publish(s, refs[0], refs[1], old);
	} else if (err) {
		printf("# open: %d\n", err);
		fflush(stdout);
		_exit(4);
	} else {
		adopt(s, refs, old);
	}
	for (unsigned int i = 0;; i++) {
		plan_publish(s, refs[0], refs[1], old);
		attach_serve(s);
		session_reclaim(s);
		if (i % 20 == 0)
			usleep(200);
	}
}

static pid_t start_server(const char *name)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		serve(name);
	return pid;
}

static uint64_t done_at_start[PROGRAMS];

static pid_t start_program(const char *name, uint32_t index)
{
	pid_t pid;

	done_at_start[index] = shared->journal[index].done;
	pid = fork();
	if (!pid)
		program(name, index);
	return pid;
}

/*
 * Waits until each program has attached. A slow program (with a sanitizer) takes longer for that
 * than a server lives.
 */
static void wait_for_programs(void)
{
	int made = 0;

	for (int i = 0; i < 10000 && made < PROGRAMS; i++) {
		made = 0;
		for (int k = 0; k < PROGRAMS; k++)
			made += shared->journal[k].done != done_at_start[k];
		usleep(1000);
	}
	check(made == PROGRAMS, "programs that make hits", made, PROGRAMS);
}

static void kill_program(pid_t pid, uint32_t index)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	shared->doubtful += shared->journal[index].busy;
	shared->journal[index].busy = 0;
}

static void kill_server(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	check(WIFSIGNALED(status), "a server ended by itself", WEXITSTATUS(status), 0);
}

static uint64_t wait_for_hits(uint64_t more)
{
	uint64_t from = atomic_load(&shared->hits);

	for (int i = 0; i < 5000 && atomic_load(&shared->hits) < from + more; i++)
		usleep(1000);
	return atomic_load(&shared->hits) - from;
}

static void check_all(const char *name)
{
	struct session *s;
	uint64_t refs[2] = { 0 }, done = 0, hits, used;
	config_ref old[2] = { 0 };
	struct map *m;

	if (session_open(name, &s)) {
		check(false, "the last opening", 0, 0);
		return;
	}
	adopt(s, refs, old);
	check(!attach_processes(s, NULL, NULL), "processes of the dead",
	      attach_processes(s, NULL, NULL), 0);
	check(!session_reclaim(s), "left in limbo", (long)session_reclaim(s), 0);
	m = session_data(s, refs[0], map_size(&shape));
	hits = map_hits(m, &shape);
	for (int i = 0; i < PROGRAMS; i++)
		done += shared->journal[i].done;
	check(hits >= done && hits <= done + shared->doubtful, "hits", (long)hits, (long)done);
	check(!map_drops(m), "drops", (long)map_drops(m), 0);
	/* The saved text, one plan, one code. */
	used = s->config_heap.used;
	check(used <= 64 * 16 + sizeof(struct code), "bytes in use in the config region",
	      (long)used, 0);
	used = s->data_heap.used - map_size(&shape);
	check(used <= SLOTS * (sizeof(struct hit_scratch) * LAYOUT_HIT_LEVELS + 4096),
	      "bytes in use in the data region", (long)used, 0);
	session_destroy(s);
}

static void run_killed(const char *name)
{
	pid_t server = start_server(name), programs[PROGRAMS];
	uint32_t seed = (uint32_t)getpid();

	for (uint32_t i = 0; i < PROGRAMS; i++)
		programs[i] = start_program(name, i);
	check(wait_for_hits(100) >= 100, "hits at the start", 0, 0);
	for (uint32_t i = 0; i < SERVERS; i++) {
		seed = seed * 1664525 + 1013904223;
		usleep(seed >> 16 & 4095);
		kill_server(server);
		if (i % 10 == 0)
			check(wait_for_hits(100) >= 100, "hits without a server", i, 0);
		if (i % 3 == 0) {
			kill_program(programs[i / 3 % PROGRAMS], i / 3 % PROGRAMS);
			programs[i / 3 % PROGRAMS] = start_program(name, i / 3 % PROGRAMS);
		}
		server = start_server(name);
		if (i % 10 == 9)
			wait_for_programs();
	}
	check(wait_for_hits(100) >= 100, "hits at the end", 0, 0);
	for (uint32_t i = 0; i < PROGRAMS; i++)
		kill_program(programs[i], i);
	kill_server(server);
	check_all(name);
}

/* ---- many that come and go ---- */

static _Noreturn void come_and_go(const char *name, int how)
{
	struct attachment *a;

	if (attach_open(name, &a))
		_exit(1);
	if (!attach_slot(a))
		_exit(2);
	if (how % 3 == 0)
		attach_close(a);
	else if (how % 3 == 1)
		raise(SIGKILL);
	_exit(0);
}

static void run_storm(const char *name)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = SLOTS, .memory = 64 << 20 };
	int started = 0, ended = 0, status, refused = 0;
	struct session *s;

	if (session_create(name, &params, &s))
		exit(99);
	while (ended < STORM) {
		if (started < STORM && started - ended < 6) {
			fflush(stdout);
			if (!fork())
				come_and_go(name, started);
			started++;
		}
		attach_serve(s);
		while (waitpid(-1, &status, WNOHANG) > 0) {
			ended++;
			refused += WIFEXITED(status) && WEXITSTATUS(status);
		}
	}
	for (int i = 0; i < 1000 && attach_processes(s, NULL, NULL); i++) {
		attach_serve(s);
		usleep(1000);
	}
	/* The ends of all connections are there now, and counting decides about them at once. */
	attach_serve(s);
	check(!attach_processes(s, NULL, NULL), "processes of the dead", 0, 0);
	check(!refused, "could not attach", refused, 0);
	for (uint32_t i = 0; i < SLOTS; i++)
		check(s->slot_process[i] == SLOT_FREE, "a slot is still taken", i,
		      s->slot_process[i]);
	session_destroy(s);
}

int main(void)
{
	if (!temp_place())
		return temp_place_skip();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	printf("TAP version 13\n1..2\n");
	run_killed("killed");
	printf("%sok 1 - %d servers killed: counts go on, nothing leaks\n", failures ? "not " : "",
	       SERVERS);
	fflush(stdout);
	failures = 0;
	run_storm("storm");
	printf("%sok 2 - %d processes attach and leave, close or are killed\n",
	       failures ? "not " : "", STORM);
	temp_place_remove();
	return failures != 0;
}
