/* SPDX-License-Identifier: MIT */
/*
 * patch.c - threads run functions whose sites are switched a thousand times a second
 *
 *     stress-patch MODULE SECOND-MODULE LARGE-MODULE
 *
 * A part of the calls is hooked, as for function_graph. Meanwhile the second module is loaded,
 * prepared, switched and unloaded, and children of fork() run the first one. The test checks the
 * results of the functions, and that each switch has its effect.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "agent/graph/graph.h"
#include "agent/sites/sites.h"
#include "agent/sites/hit.h"
#include "agent/state.h"
#include "elf/moved.h"

enum { THREADS = 4, SECONDS = 4, FUNCTIONS = 1000, MANY = 50000, CHILDREN = 30 };

bool patch_has_xsave = true;
/* No DSO has a table of words, so that all calls come to patch_hit(). */
struct agent agent;
__thread struct agent_self agent_self;

struct module {
	void		*handle;
	long		(*run)(long seed);
	struct site_dso	dso;
	size_t		room;
};

static _Atomic unsigned long hits, left, wrong;
static _Atomic bool stop;
static struct module first;
static long expected;

static void die(const char *what)
{
	printf("Bail out! %s\n", what);
	exit(1);
}

/* Return addresses of hooked calls, the innermost last. All functions end by returning. */
static __thread uintptr_t returns[64];
static __thread unsigned int nr_returns;

/*
 * Of eight calls three are hooked, one of them with the extended state saved. One more is passed
 * with the extended state saved.
 */
uint32_t patch_hit(struct site_dso *d, uintptr_t after, uintptr_t *slot)
{
	unsigned long nr = atomic_fetch_add_explicit(&hits, 1, memory_order_relaxed) % 8;

	if (nr >= 6)
		return PATCH_SLOW;
	if (nr >= 2)
		return PATCH_PASS;
	returns[nr_returns++] = *slot;
	return PATCH_HOOKED;
}

void probe_left(uintptr_t *slot);

void probe_left(uintptr_t *slot)
{
}

uint32_t patch_hit_late(struct site_dso *d, uintptr_t after, uintptr_t *slot,
			const uint64_t *saved)
{
	die("a late site, in functions that have none");
	return PATCH_PASS;
}

static void destroy_vectors(void)
{
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0" : : : "xmm0");
}

uint32_t patch_hit_slow(struct site_call *c, const uint64_t *saved)
{
	destroy_vectors();
	if (c->after & 0x10)
		return PATCH_PASS;
	returns[nr_returns++] = *c->slot;
	return PATCH_HOOKED;
}

uintptr_t graph_leave(uintptr_t *slot, uint64_t retval)
{
	return returns[--nr_returns];
}

/* A return site, whose function may be hooked or not. */
void graph_left(uintptr_t *slot, uint64_t retval)
{
	atomic_fetch_add_explicit(&left, 1, memory_order_relaxed);
}

/* This test has no short way of calls. */
void graph_tail(uintptr_t *slot, uint64_t func, uint64_t time, uint64_t mask)
{
	abort();
}

uintptr_t graph_tail_left(uintptr_t *slot)
{
	abort();
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- Modules ---- */

/* The file has no sites of a compiler. */
static void moved_find(struct module *m, const void *file, size_t size)
{
	struct code_file code;
	struct image im;
	size_t room = image_open(&im, file, size) ? code_room(&im) : 0;
	void *memory = calloc(1, room + 1);

	if (!room || !code_open(&code, &im, memory, room))
		die("a module whose code is not understood");
	m->dso.sites = calloc(code.nr_functions, sizeof(struct site));
	m->dso.nr = moved_sites(&code, m->dso.sites);
	free(memory);
}

static void module_find(struct module *m, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t returns;
	void *at;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	m->room = sites_find(at, (size_t)st.st_size, NULL, 0);
	if (!m->room) {
		moved_find(m, at, (size_t)st.st_size);
		munmap(at, (size_t)st.st_size);
		return;
	}
	returns = sites_returns(at, (size_t)st.st_size, NULL, 0);
	m->dso.sites = calloc(m->room + returns, sizeof(struct site));
	m->dso.nr = sites_find(at, (size_t)st.st_size, m->dso.sites, m->room);
	m->dso.nr += sites_returns(at, (size_t)st.st_size, m->dso.sites + m->dso.nr, returns);
	sites_sort(m->dso.sites, m->dso.nr);
	munmap(at, (size_t)st.st_size);
}

static void module_open(struct module *m, const char *path, bool alone)
{
	struct link_map *map;

	*m = (struct module){ .handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) };
	if (!m->handle)
		die(dlerror());
	m->run = (long (*)(long))dlsym(m->handle, "patch_run");
	dlinfo(m->handle, RTLD_DI_LINKMAP, &map);
	module_find(m, path);
	m->dso.bias = map->l_addr;
	/* No thread has run the module yet, as for all functions that are moved. */
	alone |= m->dso.nr && m->dso.sites[0].kind == SITE_MOVED;
	if (m->dso.nr <= FUNCTIONS || patch_prepare(&m->dso, alone))
		die("a module without sites, or that cannot be prepared");
}

static void module_close(struct module *m)
{
	dlclose(m->handle);
	patch_forget(&m->dso);
	free(m->dso.sites);
}

/* ---- Switching ---- */

static bool want_some(void *arg, size_t index)
{
	unsigned long round = *(unsigned long *)arg;

	return round & 1 ? (index * 2654435761u >> (round % 16)) & 1 : 0;
}

static bool want_all(void *arg, size_t index)
{
	return true;
}

static bool want_none(void *arg, size_t index)
{
	return false;
}

/* ---- Threads ---- */

static void *run_through(void *arg)
{
	while (!stop)
		if (first.run(1) != expected)
			wrong++;
	return NULL;
}

/* Loads, switches, runs and unloads a module in one thread. */
static void *come_and_go(void *arg)
{
	while (!stop) {
		struct module m;
		unsigned long before;

		module_open(&m, arg, false);
		if (m.run(1) != expected || patch_switch(&m.dso, want_all, NULL) <= FUNCTIONS)
			wrong++;
		before = hits;
		if (m.run(1) != expected || hits - before <= FUNCTIONS)
			wrong++;
		module_close(&m);
	}
	return NULL;
}

static void *fork_often(void *arg)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status = 1;

		if (!pid) {
			alarm(20);
			for (int k = 0; k < 50; k++)
				if (first.run(1) != expected)
					_exit(1);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			wrong++;
	}
	return NULL;
}

static void ok(int nr, bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", nr, what);
}

static void test_threads(const char *second)
{
	pthread_t threads[THREADS + 2];
	unsigned long rounds = 0;
	uint64_t end = now() + SECONDS * 1000000000ull;
	bool changed = true;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_through, NULL);
	pthread_create(&threads[THREADS], NULL, come_and_go, (void *)(uintptr_t)second);
	pthread_create(&threads[THREADS + 1], NULL, fork_often, NULL);
	for (; now() < end; rounds++) {
		changed &= patch_switch(&first.dso, want_some, &rounds) >= 0;
		nanosleep(&(struct timespec){ 0, 500000 }, NULL);
	}
	stop = true;
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(threads[i], NULL);
	ok(1, changed && rounds > 10, "sites are switched while threads run through them");
	ok(2, !wrong,
	   "functions return what they did, in threads, children and modules that come and go");
	ok(3, hits > 0, "calls were seen");
	printf("# %lu switches of %zu sites, %lu calls and %lu return sites seen\n", rounds,
	       first.dso.nr, (unsigned long)hits, (unsigned long)left);
}

static void test_off(void)
{
	unsigned long before;

	patch_switch(&first.dso, want_none, NULL);
	before = hits;
	first.run(1);
	ok(4, hits == before && first.run(1) == expected, "switched off, nothing is called");
}

static void test_many(const char *path)
{
	struct module m;
	uint64_t t0 = now(), t1, t2, t3;
	bool good;

	module_open(&m, path, true);
	t1 = now();
	good = patch_switch(&m.dso, want_all, NULL) >= MANY;
	t2 = now();
	good &= patch_switch(&m.dso, want_none, NULL) >= MANY;
	t3 = now();
	ok(5, good && m.run(1) == expected, "fifty thousand sites");
	printf("# loaded and prepared in %.2f ms, on in %.2f ms, off in %.2f ms\n",
	       (double)(t1 - t0) / 1e6, (double)(t2 - t1) / 1e6, (double)(t3 - t2) / 1e6);
	module_close(&m);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!patch_live()) {
		printf("1..0 # SKIP the kernel does not serialize processors here\n");
		return 0;
	}
	printf("1..5\n");
	module_open(&first, argv[1], false);
	expected = first.run(1);
	test_threads(argv[2]);
	test_off();
	test_many(argv[3]);
	return 0;
}
