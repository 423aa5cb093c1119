/* SPDX-License-Identifier: MIT */
/*
 * sites.c - finds sites of all kinds, makes them nops, switches them on and off; the functions have
 * the same results
 *
 *     unit-agent-sites KIND LEN MODULE        a DSO; LEN of moved code is the least
 *     unit-agent-sites KIND LEN               the program itself, which has the functions of
 *                                             site_fixture.c
 *
 * Here a site does not call the agent but a function that destroys every register that it may.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/graph/graph.h"
#include "elf/moved.h"
#include "agent/sites/sites.h"
#include "agent/sites/hit.h"
#include "agent/state.h"

/* Of one run: all functions once, except again(), which runs four times */
enum { PASSES = 10, FUNCTIONS = 7, ALIKE = 16 << 20 };

bool patch_has_xsave = true;
/* No thread has had a hit, so no call takes the short way. */
struct agent agent;
__thread struct agent_self agent_self;

static struct site_dso dso;
static struct site sites[256];
static long (*run)(long seed);
static const char *path;
static enum site_kind kind;
static unsigned int len;

static unsigned long hits, slow_hits, left, strange;
static uintptr_t parents[FUNCTIONS + 1];

long site_run(long seed) __attribute__((weak));

/* ---- The function that sites call ---- */

static void destroy_general(void)
{
	__asm__ volatile("movq $-1, %%rcx; movq %%rcx, %%rdx; movq %%rcx, %%rsi; movq %%rcx, "
			 "%%rdi; movq %%rcx, %%r8;"
			 "movq %%rcx, %%r9; movq %%rcx, %%r10; movq %%rcx, %%r11; xorl %%eax, %%eax"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
}

static void destroy_vectors(void)
{
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm1; movdqa %%xmm0, %%xmm2; "
			 "movdqa %%xmm0, %%xmm3;"
			 "movdqa %%xmm0, %%xmm4; movdqa %%xmm0, %%xmm5; movdqa %%xmm0, %%xmm6; "
			 "movdqa %%xmm0, %%xmm7;"
			 "movdqa %%xmm0, %%xmm8; movdqa %%xmm0, %%xmm15"
			 :
			 :
			 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
			   "xmm15");
}

static size_t index_of(uintptr_t ip)
{
	for (size_t i = 0; i < dso.nr; i++)
		if (dso.bias + dso.sites[i].at == ip)
			return i;
	__atomic_fetch_add(&strange, 1, __ATOMIC_RELAXED);
	return FUNCTIONS;
}

/* The return addresses of hooked calls. */
static __thread uintptr_t returns[64];
static __thread unsigned int nr_returns;

static uint32_t hook(uintptr_t *slot, bool late)
{
	returns[nr_returns++] = *slot;
	if (!late)
		return PATCH_HOOKED;
	*slot = (uintptr_t)graph_returned_late;
	return PATCH_PASS;
}

static void look(const struct site_dso *d, uintptr_t after, const uintptr_t *slot)
{
	size_t i = index_of(after - 5);

	if (i < FUNCTIONS)
		__atomic_store_n(&parents[i], *slot, __ATOMIC_RELAXED);
	if (d != &dso)
		__atomic_fetch_add(&strange, 1, __ATOMIC_RELAXED);
}

/* Takes all four ways in turn: passed or hooked, at once or with the extended state saved. */
static uint32_t hit_at(const struct site_dso *d, uintptr_t after, uintptr_t *slot, bool late)
{
	unsigned long nr = __atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
	uint32_t hooked;

	look(d, after, slot);
	if (nr & 1)
		hooked = nr & 2 ? PATCH_SLOW : PATCH_SLOW_GRAPH;
	else
		hooked = nr & 2 ? hook(slot, late) : PATCH_PASS;
	destroy_general();
	return hooked;
}

uint32_t patch_hit(struct site_dso *d, uintptr_t after, uintptr_t *slot)
{
	return hit_at(d, after, slot, false);
}

void probe_left(uintptr_t *slot);

void probe_left(uintptr_t *slot)
{
}

uint32_t patch_hit_late(struct site_dso *d, uintptr_t after, uintptr_t *slot,
			const uint64_t *saved)
{
	return hit_at(d, after, slot, true);
}

uint32_t patch_hit_slow(struct site_call *c, const uint64_t *saved)
{
	uint32_t hooked = c->done == PATCH_SLOW ? hook(c->slot, c->late) : PATCH_PASS;
	const uintptr_t *f = site_call_frame(c);

	__atomic_fetch_add(&slow_hits, 1, __ATOMIC_RELAXED);
	look(c->dso, c->after, &c->parent);
	/* A walk from the frame finds the function and its caller. The stack is aligned. */
	if (f[1] != c->after ||
	    ((const uintptr_t *)f[0])[1] != (hooked || c->late ? *c->slot : c->parent) ||
	    (uintptr_t)__builtin_frame_address(0) % 16)
		__atomic_fetch_add(&strange, 1, __ATOMIC_RELAXED);
	destroy_vectors();
	destroy_general();
	return hooked;
}

uintptr_t graph_leave(uintptr_t *slot, uint64_t retval)
{
	uintptr_t ret = returns[--nr_returns];

	__atomic_fetch_add(&left, 1, __ATOMIC_RELAXED);
	destroy_general();
	return ret;
}

/* This test has no return sites. */
void graph_left(uintptr_t *slot, uint64_t retval)
{
	abort();
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

/* ---- The object under test ---- */

/* The file has no sites of a compiler. */
static size_t find_moved(const void *bytes, size_t size)
{
	struct code_file code;
	struct image im;
	size_t room, nr = 0;
	void *memory;

	assert_true(image_open(&im, bytes, size));
	room = code_room(&im);
	assert_true(room != 0);
	memory = calloc(1, room);
	assert_true(code_open(&code, &im, memory, room) && code.nr_functions <= 256);
	for (size_t i = 0, all = moved_sites(&code, sites); i < all; i++)
		if (!sites[i].skip)
			sites[nr++] = sites[i];
	free(memory);
	return nr;
}

static size_t find_in(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t nr;
	void *at;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	nr = sites_find(at, (size_t)st.st_size, NULL, 0);
	assert_true(nr <= 256);
	nr = kind == SITE_MOVED ? find_moved(at, (size_t)st.st_size)
				: sites_find(at, (size_t)st.st_size, sites, nr);
	munmap(at, (size_t)st.st_size);
	return nr;
}

static void object_open(void)
{
	struct link_map *map = NULL;
	Dl_info info;

	run = site_run;
	if (path) {
		void *module = dlopen(path, RTLD_NOW);

		assert_non_null(module);
		run = (long (*)(long))dlsym(module, "site_run");
	}
	assert_non_null(run);
	assert_true(dladdr1((void *)run, &info, (void **)&map, RTLD_DL_LINKMAP));
	dso = (struct site_dso){ .bias = map->l_addr,
				 .sites = sites,
				 .nr = find_in(path ? path : "/proc/self/exe") };
}

static bool want_all(void *arg, size_t index)
{
	return true;
}

static bool want_none(void *arg, size_t index)
{
	return false;
}

static bool want_one(void *arg, size_t index)
{
	return index == *(size_t *)arg;
}

/* ---- Tests ---- */

static void finds_each_function(void **state)
{
	assert_int_equal(dso.nr, FUNCTIONS);
	for (size_t i = 0; i < dso.nr; i++) {
		assert_string_equal(site_skip_text(sites[i].skip), "can be traced");
		assert_int_equal(sites[i].kind, kind);
		assert_true(kind == SITE_MOVED ? sites[i].len >= len : sites[i].len == len);
		assert_true(!i || sites[i - 1].at < sites[i].at);
	}
}

static void prepared_it_does_what_it_did(void **state)
{
	long before = run(11);

	assert_true(patch_live());
	assert_int_equal(patch_prepare(&dso, getenv("SITES_ALONE") != NULL), 0);
	assert_int_equal(run(11), before);
	assert_int_equal(hits, 0);
}

static void each_call_is_seen(void **state)
{
	long before = run(12);

	assert_int_equal(patch_switch(&dso, want_all, NULL), FUNCTIONS);
	for (int i = 0; i < 100; i++)
		assert_int_equal(run(12), before);
	assert_int_equal(hits, 100 * PASSES);
	assert_int_equal(slow_hits, 50 * PASSES);
	assert_int_equal(left, 50 * PASSES);
	assert_int_equal(strange, 0);
	for (size_t i = 0; i < FUNCTIONS; i++)
		assert_true(parents[i] != 0);
	assert_int_equal(patch_switch(&dso, want_none, NULL), FUNCTIONS);
	run(12);
	assert_int_equal(hits, 100 * PASSES);
}

static void one_is_switched_alone(void **state)
{
	unsigned long all = 0;

	for (size_t i = 0; i < FUNCTIONS; i++) {
		hits = 0;
		patch_switch(&dso, want_one, &i);
		run(13);
		assert_true(hits == 1 || hits == 4);
		all += hits;
	}
	assert_int_equal(all, PASSES);
	assert_int_equal(patch_switch(&dso, want_none, NULL), 1);
}

/* Reads the permissions, such as "r-xp", of the page with that address. */
static void permissions(const void *at, char out[5])
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long low, high;
	char line[512];

	assert_non_null(f);
	strcpy(out, "none");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %4s", &low, &high, out) == 3 &&
		    (unsigned long)at - low < high - low)
			break;
	fclose(f);
}

/* The first page that a switch writes. */
static char *switched_page(size_t size)
{
	return dso.moved ? dso.mirror
			 : (char *)((dso.bias + dso.sites[0].at) & -(uintptr_t)size);
}

/* A program that changes its own code can still do so. */
static void pages_stay_what_they_were(void **state)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = switched_page(size), is[5];

	permissions(page, is);
	assert_string_equal(is, "r-xp");
	assert_int_equal(mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	assert_int_equal(patch_switch(&dso, want_all, NULL), FUNCTIONS);
	permissions(page, is);
	assert_string_equal(is, "rwxp");
	assert_int_equal(mprotect(page, size, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(patch_switch(&dso, want_none, NULL), FUNCTIONS);
	permissions(page, is);
	assert_string_equal(is, "r-xp");
}

/* The parent forked in the middle of a switch. */
static void a_child_gives_back_what_its_parent_has_opened(void **state)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = switched_page(size), is[5];
	pid_t child = fork();
	int status;

	if (!child) {
		for (unsigned int i = 0; i < dso.nr_texts; i++)
			dso.open[i].in_place = true;
		mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC);
		patch_switch(&dso, want_all, NULL);
		permissions(page, is);
		_exit(strcmp(is, "r-xp") != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void what_its_file_says_is_kept(void **state)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct pages_open o = { .in_place = false };
	char *two = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     is[5];
	struct pages p = pages_of(two, 2 * size);

	p.prot |= PROT_WRITE;
	assert_int_equal(pages_begin(&o, &p, true), 0);
	assert_int_equal(pages_end(&o), 0);
	permissions(two, is);
	assert_string_equal(is, "rwxp");
	/* The second page is unmapped; the first one is unchanged. */
	p.prot = PROT_READ | PROT_EXEC;
	mprotect(two, size, PROT_READ | PROT_EXEC);
	munmap(two + size, size);
	assert_true(pages_begin(&o, &p, true) < 0);
	assert_false(o.in_place);
	permissions(two, is);
	assert_string_equal(is, "r-xp");
	munmap(two, size);
}

static void a_breakpoint_is_left_alone(void **state)
{
	static struct site copy[256];
	struct site_dso other = dso;

	/* The agent compares moved code with its file when it finds it. */
	if (kind == SITE_MOVED)
		return;
	memcpy(copy, sites, sizeof(copy));
	other.sites = copy;
	other.mirror = NULL;
	/* The bytes there now differ from the file's. A sled that is off is unchanged. */
	if (kind == SITE_SLED)
		assert_int_equal(patch_switch(&dso, want_all, NULL), FUNCTIONS);
	assert_int_equal(patch_prepare(&other, false), 0);
	for (size_t i = 0; i < other.nr; i++)
		if (copy[i].kind != SITE_NOP)
			assert_int_equal(copy[i].skip, SITE_CHANGED);
	patch_forget(&other);
	if (kind == SITE_SLED)
		assert_int_equal(patch_switch(&dso, want_none, NULL), FUNCTIONS);
}

/* XRay's runtime finds its sleds unchanged, and is their only user from then on. */
static void what_is_released_is_as_it_was(void **state)
{
	static struct site copy[256];
	const long before = run(15);
	unsigned long seen;

	if (kind != SITE_SLED)
		return;
	memcpy(copy, sites, sizeof(copy));
	patch_switch(&dso, want_all, NULL);
	patch_release(&dso);
	for (size_t i = 0; i < dso.nr; i++) {
		const unsigned char *at =
			(const unsigned char *)(dso.bias + sites[i].at) - SLED_HEAD;

		assert_int_equal(at[0], 0xeb);
		assert_int_equal(at[1], 9);
		assert_int_equal(sites[i].skip, SITE_CHANGED);
	}
	seen = hits;
	assert_int_equal(run(15), before);
	assert_int_equal(hits, seen);
	assert_int_equal(patch_switch(&dso, want_all, NULL), 0);
	memcpy(sites, copy, sizeof(copy));
}

/* ---- Beside running threads ---- */

static _Atomic bool stop;
static long expected;
static _Atomic unsigned long wrong;

static void *run_on(void *arg)
{
	while (!stop)
		if (run(14) != expected)
			wrong++;
	return NULL;
}

static void threads_run_through_it(void **state)
{
	pthread_t threads[2];

	expected = run(14);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_on, NULL), 0);
	for (int i = 0; i < 500; i++)
		assert_int_equal(patch_switch(&dso, i & 1 ? want_none : want_all, NULL), FUNCTIONS);
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(strange, 0);
}

/* V4 of moved.c */
static void stubs_are_not_like_the_text(void **state)
{
	const uintptr_t text = dso.bias + dso.sites[0].at, first = (uintptr_t)dso.mirror;
	const uintptr_t size = dso.bias + dso.sites[dso.nr - 1].at - text;

	assert_true(!dso.moved || ((first - text) % ALIKE > size &&
				   (first + dso.mirror_size - text) % ALIKE > size));
}

static void nonsense_has_no_sites(void **state)
{
	static unsigned char bytes[65536];
	static struct site out[64];
	int fd = open(path ? path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	unsigned int seed = 1;

	close(fd);
	assert_true(size > 64);
	/* The file is cut anywhere, and any byte is changed: there is no access outside of it. */
	for (int i = 0; i < 2000; i++) {
		size_t at = (size_t)rand_r(&seed) % (i & 1 ? 1024 : (size_t)size);
		unsigned char old = bytes[at];

		bytes[at] = (unsigned char)rand_r(&seed);
		sites_find(bytes, (size_t)rand_r(&seed) % ((size_t)size + 1), out, 64);
		sites_find(bytes, (size_t)size, out, 64);
		sites_profiled(bytes, (size_t)rand_r(&seed) % ((size_t)size + 1));
		sites_profiled(bytes, (size_t)size);
		bytes[at] = old;
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_each_function),
		cmocka_unit_test(prepared_it_does_what_it_did),
		cmocka_unit_test(each_call_is_seen),
		cmocka_unit_test(one_is_switched_alone),
		cmocka_unit_test(stubs_are_not_like_the_text),
		cmocka_unit_test(threads_run_through_it),
		cmocka_unit_test(pages_stay_what_they_were),
		cmocka_unit_test(a_child_gives_back_what_its_parent_has_opened),
		cmocka_unit_test(what_its_file_says_is_kept),
		cmocka_unit_test(a_breakpoint_is_left_alone),
		cmocka_unit_test(what_is_released_is_as_it_was),
		cmocka_unit_test(nonsense_has_no_sites),
	};

	if (argc < 3)
		return 2;
	kind = (enum site_kind)atoi(argv[1]);
	len = (unsigned int)atoi(argv[2]);
	path = argc > 3 ? argv[3] : NULL;
	pages_may_move = true;
	object_open();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
