/* SPDX-License-Identifier: MIT */
/*
 * map_block.c - blocks and variables under several processes, signals and kills
 *
 * A block's words depend on its first one, so a reader detects a torn block. Writers note in
 * journals what they have published. A maximum must be the greatest noted value, or one that a
 * killed writer had not noted yet. At the end every record is in exactly one place: no kill has
 * lost one.
 */
#include <pthread.h>
#include <sched.h>
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
#include "plane/map/layout.h"

enum {
	WRITERS = 3,
	ELTS = 2,
	WORDS = 12,
	KILLS = SANITIZED ? 200 : 600,	/* no sanitizer sees what they leave over */
	KILLS_A_MAP = 20,
	ROUNDS = 30000,
	SETTINGS = 60000
};

struct journal {
	volatile uint64_t max[ELTS + 1];	/* greatest value that it has published */
	volatile uint64_t doubtful[ELTS + 1];	/* the one that it is about to publish */
};

static const struct map_shape shape = { .max_elts = 128,
				       .key_size = 8,
				       .nr_sums = 1,
				       .nr_vars = 2,
				       .nr_cpus = 2,
				       .nr_slots = WRITERS,
				       .nr_blocks = 2,
				       .block_size = { WORDS * 8, WORDS * 8 } };
static struct map_layout layout;
static struct map_view map;
static struct slot *slots;
static struct journal *journals;
static int failures;
static const uint32_t blocks_max = 0, blocks_change = 1;

static void check(bool ok, const char *what, long a, long b)
{
	if (ok)
		return;
	if (failures++ < 10)
		printf("# %s: %ld, %ld\n", what, a, b);
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
	}
	memset(map.data, 0, map_size(&shape));
	memset(journals, 0, 2 * WRITERS * sizeof(*journals));
	for (uint32_t i = 0; i < WRITERS; i++)
		slots[i] = (struct slot){ .index = i, .depth = 1 };
}

static uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static uint64_t made_of(uint64_t v, uint32_t word)
{
	return (v + word) * 0x9e3779b97f4a7c15u;
}

static void check_whole(const uint64_t *content, const char *what)
{
	for (uint32_t i = 1; i < WORDS; i++)
		check(content[i] == made_of(content[0], i), what, (long)content[0], i);
}

/* As OP_TRACK_BEGIN ... OP_TRACK_END. */
static void track(struct slot *slot, struct journal *j, uint32_t elt, uint32_t block, uint64_t v)
{
	const bool max = block == blocks_max;
	struct map_block b;
	bool published = false;

	if (max ? v <= map_block_value(map, elt, block) : v == map_block_value(map, elt, block))
		return;
	if (!map_block_begin(map, slot, elt, block, &b))
		return;
	map_block_put(&b, 0, v);
	for (uint32_t i = 1; i < WORDS; i++)
		map_block_put(&b, 8 * i, made_of(v, i));
	if (max)
		j->doubtful[elt] = v;
	while (!published) {
		uint64_t now = map_block_look(&b);

		if (max ? v <= now : v == now)
			break;
		published = map_block_publish(&b);
	}
	map_block_end(&b);
	if (max && published)
		j->max[elt] = v;
	if (max)
		j->doubtful[elt] = 0;
}

static void write_one(struct slot *slot, struct journal *j, uint64_t *seed)
{
	uint32_t elt = random_next(seed) % (ELTS + 1);

	if (random_next(seed) % 2)
		track(slot, j, elt, blocks_change, random_next(seed) % 4 + 1);
	else
		/* The value rises slowly, so that many are published. */
		track(slot, j, elt, blocks_max,
		      map_block_value(map, elt, blocks_max) + random_next(seed) % 3);
}

static void read_all(void)
{
	static uint64_t before[ELTS + 1];
	uint64_t content[WORDS];

	for (uint32_t elt = 0; elt <= ELTS; elt++)
		for (uint32_t block = 0; block < shape.nr_blocks; block++) {
			if (!map_block_read(map.data, map_size(&shape), &shape, elt, block,
					    content))
				continue;
			check_whole(content, "torn in the server");
			if (block == blocks_max) {
				check(content[0] >= before[elt], "a maximum that falls",
				      (long)content[0], (long)before[elt]);
				before[elt] = content[0];
			}
			if (map_block_copy(map, elt, block, content, sizeof(content)))
				check_whole(content, "torn in a program");
		}
	if (!map_block_value(map, 0, blocks_max))
		memset(before, 0, sizeof(before));
}

static void forget_reads(void)
{
	read_all();	/* reads an empty map */
}

/* B1: each record is published once, or is the spare of one owner. */
static void check_records(void)
{
	uint32_t nr = map.layout->nr_elts + map.layout->nr_spares;
	uint32_t *seen = calloc(nr + 1, sizeof(*seen));

	for (uint32_t i = 0; i < WRITERS; i++)
		map_recover(map, i);
	for (uint32_t block = 0; block < shape.nr_blocks; block++) {
		memset(seen, 0, (nr + 1) * sizeof(*seen));
		for (uint32_t i = 0; i < map.layout->nr_elts; i++) {
			uint32_t place = (uint32_t)*block_word(map, block, i);

			seen[place ? place : 1 + i]++;
		}
		for (uint32_t i = 0; i < map.layout->nr_spares; i++) {
			uint32_t place = (uint32_t)*block_spare(map, block, i);

			seen[place ? place : 1 + map.layout->nr_elts + i]++;
		}
		for (uint32_t i = 1; i <= nr; i++)
			check(seen[i] == 1, "places of a record", i, seen[i]);
	}
	free(seen);
}

static void check_maxima(void)
{
	for (uint32_t elt = 0; elt <= ELTS; elt++) {
		uint64_t now = map_block_value(map, elt, blocks_max), done = 0;
		bool doubtful = false;

		for (int i = 0; i < 2 * WRITERS; i++) {
			done = journals[i].max[elt] > done ? journals[i].max[elt] : done;
			doubtful |= journals[i].doubtful[elt] == now;
		}
		check(now == done || (now > done && doubtful), "maximum", (long)now, (long)done);
	}
}

/* ---- threads, interrupted by handlers that publish too ---- */

static __thread unsigned int me;
static __thread uint64_t handler_seed;
static _Atomic unsigned int running;

/* `me` is set. Before that the slot would be another thread's. */
static __thread volatile bool ready;

static void in_handler(int sig)
{
	if (!ready)
		return;
	slots[me].depth++;
	write_one(&slots[me], &journals[WRITERS + me], &handler_seed);
	slots[me].depth--;
}

static void *thread_writes(void *arg)
{
	uint64_t seed = (uintptr_t)arg + (uint64_t)time(NULL);

	me = (unsigned int)(uintptr_t)arg;
	handler_seed = ~seed;
	ready = true;
	for (int i = 0; i < ROUNDS; i++) {
		write_one(&slots[me], &journals[me], &seed);
		if (i % 16 == 0)
			raise(SIGUSR1);
	}
	running--;
	return NULL;
}

static void run_threads(void)
{
	pthread_t t[WRITERS];

	set_up();
	forget_reads();
	running = WRITERS;
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&t[i], NULL, thread_writes, (void *)i);
	while (running) {
		read_all();
		for (int i = 0; i < WRITERS; i++)
			pthread_kill(t[i], SIGUSR1);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	check_maxima();
	check_records();
}

/* ---- processes that are killed ---- */

static pid_t start(uint32_t slot, uint64_t seed)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	me = slot;
	handler_seed = ~seed;
	ready = true;
	for (unsigned int i = 1;; i++) {
		write_one(&slots[slot], &journals[slot], &seed);
		if (i % 64 == 0)
			raise(SIGUSR1);
	}
}

static void run_killed(unsigned int round)
{
	uint64_t seed = round * 2654435761u + (uint64_t)getpid();
	pid_t pids[WRITERS];

	set_up();
	forget_reads();
	for (uint32_t i = 0; i < WRITERS; i++)
		pids[i] = start(i, seed + i);
	for (unsigned int i = 0; i < KILLS_A_MAP; i++) {
		struct timespec wait = { 0, (long)(random_next(&seed) % 300000) };
		uint32_t at = i % WRITERS;

		nanosleep(&wait, NULL);
		read_all();
		kill(pids[at], SIGKILL);
		waitpid(pids[at], NULL, 0);
		slots[at].depth = 1;	/* as the server gives it to the next process */
		if (i % 2)
			map_recover(map, at);
		pids[at] = start(at, seed + i);
	}
	for (uint32_t i = 0; i < WRITERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	read_all();
	check_maxima();
	check_records();
}

/* ---- variables: each setting is matched at most once ---- */

static uint64_t *matched;	/* by setting */

static _Noreturn void match_all(void)
{
	unsigned int idle = 0;
	uint64_t v;

	for (;;) {
		if (map_var_read_once(map, 1, 0, &v))
			__atomic_fetch_add(&matched[v], 1, __ATOMIC_RELAXED);
		else if (++idle % 1000 == 0)
			sched_yield();	/* if there are fewer processors than processes */
	}
}

/*
 * Two readers race for settings. Each setting except the last may be overwritten by the next one.
 */
static void run_once(void)
{
	uint64_t total = 0;
	pid_t pids[2];

	set_up();
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			match_all();
	}
	for (uint64_t i = 1; i < SETTINGS; i++) {
		map_var_set(map, 1, 0, i);
		/*
		 * Half of the writers wait until a setting is matched. None of these may be lost.
		 */
		while (i % 2 && __atomic_load_n(&matched[i], __ATOMIC_RELAXED) == 0)
			sched_yield();
	}
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	for (uint64_t i = 1; i < SETTINGS; i++) {
		check(matched[i] <= 1, "matches of a setting", (long)i, (long)matched[i]);
		total += matched[i];
	}
	check(total >= SETTINGS / 2, "matches in all", (long)total, SETTINGS);
}

static void report(int nr, const char *what)
{
	printf("%sok %d - %s\n", failures ? "not " : "", nr, what);
	fflush(stdout);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = in_handler };
	int failed = 0;

	sigaction(SIGUSR1, &sa, NULL);
	matched = shared((SETTINGS + 1) * sizeof(*matched));
	printf("TAP version 13\n1..3\n");
	fflush(stdout);
	for (int i = 0; i < 5; i++)
		run_threads();
	report(1, "threads and handlers: no block is torn, each maximum is the greatest, no record "
		  "is lost");
	failed += failures;
	failures = 0;
	for (unsigned int i = 0; i < KILLS / KILLS_A_MAP; i++)
		run_killed(i);
	report(2, "writers killed: no block is torn, no record is lost or used twice");
	failed += failures;
	failures = 0;
	run_once();
	report(3, "read once by two processes: each setting is matched at most once, none is lost");
	return failed + failures != 0;
}
