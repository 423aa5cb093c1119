/* SPDX-License-Identifier: MIT */
/*
 * map_steps.c - disturbs an insert at each of its instructions
 *
 * The processor's trap flag stops the insert after each instruction. At the n-th one the handler
 * makes an insert of the same thread (like a signal handler's hit), one of another thread, or the
 * end of the process. Afterwards the map must be consistent: it has the key once, and all its
 * places can be used.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include "plane/map/map.h"

enum { ELTS = 128, SLOTS = 2, MAX_STEPS = 5000, KEY = 42 };

enum disturbance {
	NESTED_SAME_KEY,
	NESTED_OTHER_KEY,
	THREAD_SAME_KEY,
	THREAD_OTHER_KEY,
	THREAD_FILLS_UP,
	KILLED,
	KILLED_THEN_THREAD,
	DISTURBANCES
};

static const char *const names[DISTURBANCES] = { "a nested insert of the same key",
						"a nested insert of another key",
						"another thread's insert of the key",
						"another thread's insert of another key",
						"another thread filling the map",
						"the end of the process",
						"the end of the process, then another thread" };

static const struct map_shape shape = { .max_elts = ELTS, .key_size = 8, .nr_sums = 1, .nr_cpus = 1,
					.nr_slots = SLOTS };
static struct map_layout layout;
static struct map_view map;
static struct slot *slots;
static volatile int steps, stop_at;
static enum disturbance what;
static int failures;

static __attribute__((noinline)) uint32_t insert(uint32_t slot, uint64_t k)
{
	uint64_t key[2] = { k, 0 };

	return map_insert(map, &slots[slot], key);
}

static void disturb(void)
{
	switch (what) {
	case NESTED_SAME_KEY:
	case NESTED_OTHER_KEY:
		slots[0].depth++;
		insert(0, what == NESTED_SAME_KEY ? KEY : KEY + 1);
		slots[0].depth--;
		break;
	case THREAD_SAME_KEY:
	case THREAD_OTHER_KEY:
		insert(1, what == THREAD_SAME_KEY ? KEY : KEY + 1);
		break;
	case THREAD_FILLS_UP:
		for (uint64_t k = 1000; k < 1000 + ELTS; k++)
			insert(1, k);
		break;
	default:
		_exit(1);
	}
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (++steps < stop_at)
		return;
	disturb();
	uc->uc_mcontext.gregs[REG_EFL] &= ~0x100;	/* the rest runs at full speed */
}

/* The red zone below the stack pointer belongs to the function: step over it. */
#define TRAP_FLAG(change)						\
	__asm__ __volatile__("leaq -128(%%rsp), %%rsp\n\tpushfq\n\t"	\
			     change "\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" : : : "memory", "cc")

static uint32_t insert_in_steps(void)
{
	uint32_t elt;

	steps = 0;
	TRAP_FLAG("orq $0x100, (%%rsp)");
	elt = insert(0, KEY);
	TRAP_FLAG("andq $~0x100, (%%rsp)");
	return elt;
}

static void set_up(void)
{
	memset(map.data, 0, map_size(&shape));
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){ .index = i, .depth = 1 };
	insert(0, 1);	/* an owner that has inserted before */
}

static unsigned int nr_seen, nr_key;

static int see(void *arg, uint32_t elt, const void *key, const uint64_t *sums)
{
	nr_seen++;
	nr_key += *(const uint64_t *)key == KEY;
	return 0;
}

static void check_whole(bool key_is_in)
{
	nr_seen = nr_key = 0;
	map_each(map.data, map_size(&shape), &shape, see, NULL);
	if (nr_key != key_is_in && what < KILLED && what != THREAD_FILLS_UP) {
		printf("# step %d: the key is there %u times\n", stop_at, nr_key);
		failures++;
	}
	for (uint64_t k = 1; k < 3 * ELTS; k++)
		insert(k % SLOTS, k);
	nr_seen = nr_key = 0;
	map_each(map.data, map_size(&shape), &shape, see, NULL);
	if (nr_seen != ELTS || nr_key > 1) {
		printf("# step %d: %u of %u places can be used\n", stop_at, nr_seen, ELTS);
		failures++;
	}
}

/* False: the insert has fewer steps. */
static bool disturbed_at(int step)
{
	int status;
	pid_t pid;

	stop_at = step;
	set_up();
	if (what < KILLED) {
		uint32_t elt = insert_in_steps();

		check_whole(elt != 0);
		return steps >= step;
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		insert_in_steps();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (what == KILLED_THEN_THREAD)
		for (uint64_t k = KEY; k < KEY + 4; k++)
			insert(1, k);
	check_whole(true);
	return WEXITSTATUS(status) == 1;
}

static void *shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(99);
	return p;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	map_lay_out(&layout, &shape);
	map = (struct map_view){ &layout, shared(map_size(&shape)) };
	slots = shared(SLOTS * sizeof(*slots));
	sigaction(SIGTRAP, &sa, NULL);
	printf("TAP version 13\n1..%d\n", DISTURBANCES);
	for (what = 0; what < DISTURBANCES; what++) {
		int before = failures, step = 1;

		/*
		 * A step takes as many stops as there are instructions before it, so not all steps
		 * are tried in each case.
		 */
		int stride = what == NESTED_SAME_KEY || what >= KILLED ? 1 : 3;

		while (step < MAX_STEPS && disturbed_at(step))
			step += stride;
		if (step < 50)
			failures++;	/* no instruction was stepped */
		printf("%sok %d - %s at %s of %d instructions\n", failures > before ? "not " : "",
		       what + 1, names[what], stride == 1 ? "each" : "every third", step - 1);
	}
	return failures != 0;
}
