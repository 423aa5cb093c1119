/* SPDX-License-Identifier: MIT */
/*
 * map.c - the tracing map under threads, signals and killed processes
 *
 * Each writer has a journal of its additions. Afterwards the map has each key once, with the
 * journals' sums. A killed writer may have made one addition that it had not noted yet. All places
 * of the map can still be used.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "plane/map/map.h"

enum { ELTS = 1024, KEYS = ELTS * 3 / 2, WRITERS = 4, KILLS_A_MAP = 20, CPUS = 8 };
/* What killed writers leave over is seen in the sums, not by a sanitizer. */
enum { KILLS = SANITIZED ? 200 : 1000 };

struct journal {
	volatile uint32_t done[KEYS];
	uint64_t	drops;
	volatile uint32_t next;		/* 1 + key that is being added, 0: none */
};

static const struct map_shape shape = {
	.max_elts = ELTS, .key_size = 16, .nr_sums = 2, .nr_cpus = CPUS, .nr_slots = WRITERS };
static struct map_layout layout;
static struct map_view map;
static struct slot *slots;
/* [2 * WRITERS]: those of threads, then those of handlers */
static struct journal *journals;
static uint64_t *doubtful;		/* by key: additions that a killed writer may have made */
static int failures;

static void check(bool ok, const char *what, long a, long b)
{
	if (ok)
		return;
	printf("# %s: %ld, %ld\n", what, a, b);
	failures++;
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(99);
	return p;
}

static void set_up(void)
{
	if (!map.data) {
		map_lay_out(&layout, &shape);
		map = (struct map_view){ &layout, shared(map_size(&shape)) };
		slots = shared(WRITERS * sizeof(*slots));
		journals = shared(2 * WRITERS * sizeof(*journals));
		doubtful = shared(KEYS * sizeof(*doubtful));
	}
	memset(map.data, 0, map_size(&shape));
	memset(slots, 0, WRITERS * sizeof(*slots));
	memset(journals, 0, 2 * WRITERS * sizeof(*journals));
	memset(doubtful, 0, KEYS * sizeof(*doubtful));
	for (uint32_t i = 0; i < WRITERS; i++)
		slots[i] = (struct slot){ .index = i, .depth = 1 };
}

static uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void add_one(struct slot *slot, struct journal *j, uint32_t k)
{
	uint64_t key[2] = { k, ~(uint64_t)k };
	uint32_t elt;

	j->next = k + 1;
	elt = map_insert(map, slot, key);
	if (elt) {
		map_add(map, elt, 1, k, 0);
		/* Some use the atomic column. */
		map_add(map, elt, 0, 1, k % 5 ? 0 : 1);
		j->done[k]++;
	} else {
		j->drops++;
	}
	j->next = 0;
}

/* ---- checks of the map ---- */

static uint64_t seen[KEYS];
static unsigned int nr_seen;

static int see(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	uint64_t k[2];

	memcpy(k, key, sizeof(k));
	check(k[0] < KEYS && k[1] == ~k[0], "a key that nobody wrote", (long)k[0], (long)k[1]);
	if (k[0] >= KEYS)
		return 0;
	check(!seen[k[0]], "key twice", (long)k[0], 0);
	/* A writer may be killed between insert and add, so an elt with sum 0 is valid. */
	seen[k[0]] = sums[0] + 1;
	check(sums[1] >= sums[0] * k[0] && sums[1] <= (sums[0] + doubtful[k[0]]) * k[0],
	      "second sum", (long)sums[1], (long)(sums[0] * k[0]));
	nr_seen++;
	return 0;
}

static void check_sums(void)
{
	memset(seen, 0, sizeof(seen));
	nr_seen = 0;
	check(!map_each(map.data, map_size(&shape), &shape, see, NULL), "map_each", 0, 0);
	for (uint32_t k = 0; k < KEYS; k++) {
		uint64_t done = 0, sum = seen[k] ? seen[k] - 1 : 0;

		for (int i = 0; i < 2 * WRITERS; i++)
			done += journals[i].done[k];
		check(sum >= done && sum <= done + doubtful[k], "sum of a key", (long)sum,
		      (long)done);
	}
}

static void check_all_places(void)
{
	struct journal *j = calloc(1, sizeof(*j));

	for (uint32_t i = 0; i < WRITERS; i++)
		map_recover(map, i);
	for (uint32_t k = 0; k < KEYS; k++)
		add_one(&slots[k % WRITERS], j, k);
	nr_seen = 0;
	memset(seen, 0, sizeof(seen));
	map_each(map.data, map_size(&shape), &shape, see, NULL);
	check(nr_seen == ELTS, "places that can be used", nr_seen, ELTS);
	check(j->drops == KEYS - ELTS, "drops of a full map", (long)j->drops, KEYS - ELTS);
	free(j);
}

/* ---- threads, interrupted by handlers that add too ---- */

static __thread unsigned int me;
static __thread uint64_t handler_seed;
/* `me` is set. Before that the slot would be another thread's. */
static __thread volatile bool ready;
static _Atomic bool stop;

static void in_handler(int sig)
{
	struct slot *slot = &slots[me];

	if (!ready)
		return;
	slot->depth++;
	add_one(slot, &journals[WRITERS + me], random_next(&handler_seed) % KEYS);
	slot->depth--;
}

static void *thread_writes(void *arg)
{
	uint64_t seed = (uintptr_t)arg + (uint64_t)time(NULL);

	me = (unsigned int)(uintptr_t)arg;
	handler_seed = ~seed;
	ready = true;
	for (int i = 0; i < 20000; i++)
		add_one(&slots[me], &journals[me], random_next(&seed) % KEYS);
	return NULL;
}

static void *thread_disturbs(void *arg)
{
	pthread_t *t = arg;

	while (!stop)
		for (int i = 0; i < WRITERS; i++)
			pthread_kill(t[i], SIGUSR1);
	return NULL;
}

static void run_threads(void)
{
	pthread_t t[WRITERS], pest;

	set_up();
	stop = false;
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&t[i], NULL, thread_writes, (void *)i);
	pthread_create(&pest, NULL, thread_disturbs, t);
	/* The signalling thread may signal threads until they are joined. */
	usleep(20000);
	stop = true;
	pthread_join(pest, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	check_sums();
	check_all_places();
}

/* ---- processes that are killed ---- */

static _Noreturn void process_writes(uint32_t slot, uint64_t seed)
{
	for (;;)
		add_one(&slots[slot], &journals[slot], random_next(&seed) % KEYS);
}

static pid_t start(uint32_t slot, uint64_t seed)
{
	pid_t pid = fork();

	if (!pid)
		process_writes(slot, seed);
	return pid;
}

static void kill_one(pid_t pid, uint32_t slot)
{
	struct journal *j = &journals[slot];

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (j->next)
		doubtful[j->next - 1]++;
	j->next = 0;
}

static void run_killed(unsigned int round)
{
	uint64_t seed = round * 2654435761u + (uint64_t)getpid();
	pid_t pids[2];

	set_up();
	pids[0] = start(0, seed);
	pids[1] = start(1, ~seed);
	for (unsigned int i = 0; i < KILLS_A_MAP; i++) {
		struct timespec wait = { 0, (long)(random_next(&seed) % 300000) };
		uint32_t at = i % 2;

		nanosleep(&wait, NULL);
		kill_one(pids[at], at);
		/* The next process gets the same slot, as from the server. */
		pids[at] = start(at, seed + i);
	}
	kill_one(pids[0], 0);
	kill_one(pids[1], 1);
	check_sums();
	check_all_places();
}

int main(void)
{
	struct sigaction sa = { .sa_handler = in_handler };

	sigaction(SIGUSR1, &sa, NULL);
	printf("TAP version 13\n1..2\n");
	for (int i = 0; i < 10; i++)
		run_threads();
	printf("%sok 1 - threads and handlers: sums equal their journals\n",
	       failures ? "not " : "");
	failures = 0;
	for (unsigned int i = 0; i < KILLS / KILLS_A_MAP; i++)
		run_killed(i);
	printf("%sok 2 - %d writers killed: nothing lost, no elt leaked\n", failures ? "not " : "",
	       KILLS);
	return failures != 0;
}
