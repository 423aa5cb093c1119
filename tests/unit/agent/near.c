/* SPDX-License-Identifier: MIT */
/*
 * near.c - memory near code, and jumps to it that are stored while threads run through them
 *
 * The code that is jumped to does what the displaced instructions do, so the results are equal
 * whether a thread takes the jump or not. A handler leads on threads that met a byte that traps.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/sites/sites.h"
#include "agent/sites/text.h"
#include "agent/syscall.h"

enum { PAGE = 4096, SPAN = 1 << 20, PIECE = 24, PER_MASK = 200, STRIDE = 33, NR = 96, THREADS = 3,
       SWITCHES = 4000, SIZE = 13, MOVED = 8, LARGE = 1 << 16, MULTIPLE = 1 << 24 };

_Atomic bool patch_asks;

bool patch_live(void)
{
	return !agent_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
			      0, 0);
}

static uint8_t *code_map(size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* ---- Memory ---- */

static void take_one(struct near *n, uintptr_t at, unsigned int inner)
{
	uint8_t *got = near_take(n, at, inner, PIECE);
	int64_t distance = (int64_t)((uintptr_t)got - (at + NEAR_JUMP));
	uint32_t d;

	assert_non_null(got);
	assert_int_equal((int32_t)distance, distance);
	d = near_distance(at, got);
	for (unsigned int i = 1; i < NEAR_JUMP; i++)
		if (inner >> i & 1)
			assert_true(near_is_trap((uint8_t)(d >> 8 * (i - 1))));
	for (unsigned int i = 0; i < PIECE; i++)
		assert_int_equal(got[i], 0);
	memset(got, 1, PIECE);
}

static void places_reach_and_trap(void **state)
{
	uint8_t *text = code_map(SPAN, PROT_READ | PROT_EXEC);
	struct near n = { .low = (uintptr_t)text, .high = (uintptr_t)text + SPAN };

	for (unsigned int inner = 0; inner < 32; inner += 2)
		for (uintptr_t i = 0; i < PER_MASK; i++)
			take_one(&n, n.low + i * 7919 % SPAN, inner);
	assert_int_equal(near_seal(&n), 0);
	/* Pages that can be executed are not written again. */
	for (unsigned int inner = 0; inner < 32; inner += 2)
		take_one(&n, n.low, inner);
	near_free(&n);
	munmap(text, SPAN);
}

/* What cannot be made executable is never said to be. */
static void pages_that_cannot_be_sealed_stay_open(void **state)
{
	uint8_t *text = code_map(SPAN, PROT_READ | PROT_EXEC), *got;
	struct near n = { .low = (uintptr_t)text, .high = (uintptr_t)text + SPAN };

	got = near_take(&n, n.low, 0, PIECE);
	assert_non_null(got);
	munmap((void *)((uintptr_t)got & -(uintptr_t)PAGE), PAGE);
	assert_int_equal(near_seal(&n), -ENOMEM);
	assert_int_equal(near_seal(&n), -ENOMEM);
	near_free(&n);
	munmap(text, SPAN);
}

/* Whether the piece lies a multiple of 16 MB from some byte of the text. */
static bool is_like_text(const struct near *n, const uint8_t *piece, size_t size)
{
	const uintptr_t off = ((uintptr_t)piece - n->low) % MULTIPLE;

	return off < n->high - n->low || off + size > MULTIPLE;
}

/* N4: as long as there are others. */
static void places_are_not_like_the_text(void **state)
{
	uint8_t *text = code_map(SPAN, PROT_READ | PROT_EXEC);
	struct near n = { .low = (uintptr_t)text, .high = (uintptr_t)text + SPAN };

	for (unsigned int inner = 0; inner < 8; inner += 2)
		for (uintptr_t i = 0; i < PER_MASK; i++)
			assert_false(is_like_text(&n, near_take(&n, n.low + i * 7919 % SPAN, inner,
								PIECE), PIECE));
	near_free(&n);
	munmap(text, SPAN);
}

/* The others come first, then all of them are given, each once. */
static void all_places_are_given(void **state)
{
	uint8_t *text = code_map(SPAN, PROT_READ | PROT_EXEC), *got;
	struct near n = { .low = (uintptr_t)text, .high = (uintptr_t)text + SPAN };
	unsigned int like = 0, others = 0;

	while ((got = near_take(&n, n.low + SPAN / 2, 0, LARGE)) != NULL) {
		assert_int_equal(got[0] | got[LARGE - 1], 0);
		got[0] = got[LARGE - 1] = 1;
		if (is_like_text(&n, got, LARGE))
			like++;
		else
			others++;
		assert_true(others || !like);
	}
	assert_true(others >= MULTIPLE / LARGE - SPAN / LARGE - 1);
	assert_true(like >= SPAN / LARGE / 2 - 1);
	near_free(&n);
	munmap(text, SPAN);
}

static void far_code_has_none(void **state)
{
	struct near n = { .low = 1ul << 46, .high = (1ul << 46) + (1ul << 30) };

	assert_null(near_take(&n, n.low, 0, PIECE));
	near_free(&n);
}

/* ---- Jumps ---- */

/* What each one begins with: the start of its second instruction, and its bytes. */
static const struct {
	uint8_t		second, bytes[SIZE];
} forms[] = {
	{ 4, { 0x48, 0x8d, 0x47, 0x01, 0x48, 0x8d, 0x40, 0x02, 0x48, 0x8d, 0x40, 0x04, 0xc3 } },
	{ 1, { 0x90, 0x48, 0x8d, 0x47, 0x07, 0x90, 0x90, 0x90, 0x48, 0x8d, 0x40, 0x00, 0xc3 } },
	{ 7, { 0x48, 0x8d, 0x87, 0x07, 0, 0, 0, 0x90, 0x48, 0x8d, 0x40, 0x00, 0xc3 } },
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static uint8_t *text;
static struct text_jump jumps[NR];
static uint8_t *moved[NR];
static _Atomic bool stop;
static _Atomic unsigned long wrong, calls;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	for (unsigned int i = 0; i < NR; i++) {
		const uintptr_t off = (uintptr_t)*ip - (uintptr_t)jumps[i].at;

		if (off < NEAR_JUMP) {
			*ip = (greg_t)(moved[i] + off);
			return;
		}
	}
	_exit(3);
}

static void jump_make(struct near *n, unsigned int i)
{
	const unsigned int form = i % FORMS, inner = 1u << forms[form].second & 0x1e;
	uint8_t *at = text + i * STRIDE;
	struct text_jump *j = &jumps[i];
	uint32_t distance;

	j->at = at;
	j->inner = (uint8_t)inner;
	moved[i] = near_take(n, (uintptr_t)at, inner, PIECE);
	assert_non_null(moved[i]);
	memcpy(moved[i], forms[form].bytes, MOVED);
	moved[i][MOVED] = 0xe9;
	distance = (uint32_t)((uintptr_t)at + MOVED - (uintptr_t)(moved[i] + MOVED + NEAR_JUMP));
	memcpy(moved[i] + MOVED + 1, &distance, 4);
	distance = near_distance((uintptr_t)at, moved[i]);
	memcpy(j->off, at, NEAR_JUMP);
	j->on[0] = 0xe9;
	memcpy(j->on + 1, &distance, 4);
}

static void *runs(void *arg)
{
	unsigned long x = 1;

	while (!atomic_load(&stop))
		for (unsigned int i = 0; i < NR; i++) {
			long (*f)(long) = (long (*)(long))(void *)(text + i * STRIDE);

			if (f((long)x) != (long)x + 7)
				atomic_fetch_add(&wrong, 1);
			x++;
		}
	atomic_fetch_add(&calls, x);
	return NULL;
}

static bool are_on(bool on)
{
	for (unsigned int i = 0; i < NR; i++)
		if (memcmp(jumps[i].at, on ? jumps[i].on : jumps[i].off, NEAR_JUMP))
			return false;
	return true;
}

static void jumps_come_and_go(void **state)
{
	const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct near n;
	struct pages pages;
	pthread_t threads[THREADS];
	unsigned int ways = 0;

	text = code_map(PAGE, PROT_READ | PROT_WRITE);
	for (unsigned int i = 0; i < NR; i++)
		memcpy(text + i * STRIDE, forms[i % FORMS].bytes, SIZE);
	mprotect(text, PAGE, PROT_READ | PROT_EXEC);
	n = (struct near){ .low = (uintptr_t)text, .high = (uintptr_t)text + PAGE };
	for (unsigned int i = 0; i < NR; i++) {
		jump_make(&n, i);
		ways |= 1u << text_way(&jumps[i]);
	}
	assert_int_equal(ways, 1 << TEXT_ONCE | 1 << TEXT_SPIN | 1 << TEXT_TRAP);
	assert_int_equal(near_seal(&n), 0);
	sigaction(SIGSEGV, &action, NULL);
	pages = pages_of(text, PAGE);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, runs, NULL), 0);
	for (unsigned int i = 0; i < SWITCHES; i++) {
		assert_int_equal(text_switch(jumps, NR, i % 2 == 0, false, &pages, 1), 0);
		assert_true(are_on(i % 2 == 0));
	}
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	assert_true(calls > 0);
	assert_int_equal(text_switch(jumps, NR, true, true, &pages, 1), 0);
	assert_true(are_on(true));
	near_free(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_reach_and_trap),
		cmocka_unit_test(pages_that_cannot_be_sealed_stay_open),
		cmocka_unit_test(places_are_not_like_the_text),
		cmocka_unit_test(all_places_are_given),
		cmocka_unit_test(far_code_has_none),
		cmocka_unit_test(jumps_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
