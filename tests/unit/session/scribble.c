/* SPDX-License-Identifier: MIT */
/*
 * scribble.c - programs overwrite the server's words in the data region; the server uses its own
 * books instead (R2)
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "plane/plane.h"
#include "plane/ring/ring.h"
#include "session/ring/access.h"
#include "session/state.h"
#include "temp_place.h"

enum { CPUS = 2, SOURCE = 1, PAGE = 4096, RECORDS = 20, MEMORY = 64 << 20 };

static struct session *session;
static struct slot *slot;
static data_ref buffer;

/* ---- allocations that fail ---- */

static int fail_at;		/* how many allocations until one fails; 0: none does */

void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_calloc(size_t n, size_t size);

static bool fails(void)
{
	return fail_at && !--fail_at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

/* ---- rings ---- */

static data_ref made(void)
{
	uint64_t sizes[CPUS] = { 8 * PAGE, 8 * PAGE };
	data_ref ref;

	assert_int_equal(buffer_create(session, 0, CPUS, PAGE, sizes, 2, true, &ref), 0);
	return ref;
}

static void fill(data_ref to, uint32_t set, uint32_t nr)
{
	struct { struct record_common common; uint64_t number; } r = { .common.type = 300 };

	for (r.number = 0; r.number < nr; r.number++)
		assert_int_equal(ring_write(&session->plane, slot, to, set,
					    (uint32_t)r.number % CPUS, 100 + r.number, &r,
					    sizeof(r)),
				 0);
}

static int setup(void **state)
{
	static const struct session_params params = { .nr_cpus = CPUS,
						      .nr_slots = 16,
						      .memory = MEMORY };

	assert_int_equal(session_create(NULL, &params, &session), 0);
	slot = session_slot_get(session);
	buffer = made();
	fill(buffer, SOURCE, RECORDS);
	return 0;
}

static int teardown(void **state)
{
	session_close(session);
	return 0;
}

static unsigned int records_in(data_ref b)
{
	struct ring_record r;
	struct ring_iter *it;
	unsigned int nr = 0;

	assert_int_equal(ring_iter_open(session, b, -1, &it), 0);
	while (ring_iter_next(it, &r) == 1)
		nr++;
	ring_iter_close(it);
	return nr;
}

/* Overwrites all but head and tails, which belong to the writers. */
static void scribble(data_ref b)
{
	struct buffer *hits = session_data(session, b, sizeof(*hits) + 4 * CPUS * 8);

	for (uint32_t i = 0; i < 2 * CPUS; i++) {
		struct ring *r = session_data(session, hits->rings[i], sizeof(*r));

		r->nr_pages = 1 << 12;
		r->subbuf_size = 1 << 13;
		r->page_shift = 13;
		r->pages = 1 << 20;
		r->descs = 4096 + 64;
		memset((char *)r + offsetof(struct ring, floor), 0x7f,
		       sizeof(*r) - offsetof(struct ring, floor));
		hits->rings[i] = hits->rings[0];
	}
	hits->nr_cpus = 1000;
	hits->subbuf_size = 16;
}

static void readers_see_the_rings_that_were_made(void **state)
{
	struct ring_stats st;
	uint64_t bytes = buffer_ring_bytes(session, buffer, 0);

	scribble(buffer);
	assert_int_equal(records_in(buffer), RECORDS);
	assert_int_equal(buffer_ring_bytes(session, buffer, 0), bytes);
	assert_int_equal(buffer_stats(session, buffer, 0, &st), 0);
	assert_int_equal(st.entries, RECORDS / CPUS);
}

static void a_scribbled_buffer_gives_back_its_own_memory(void **state)
{
	uint64_t used = session->data_heap.used;
	data_ref other = made(), mine = made();
	uint64_t one = (session->data_heap.used - used) / 2;

	fill(other, SOURCE, RECORDS);
	scribble(mine);
	buffer_retire(session, mine);
	while (session_reclaim(session))
		;
	assert_int_equal(session->data_heap.used, used + one);
	mine = made();
	fill(mine, SOURCE, RECORDS);
	assert_int_equal(records_in(other), RECORDS);
	buffer_free(session, mine);
	buffer_free(session, other);
	assert_int_equal(session->data_heap.used, used);
}

/*
 * There are more rings than a resized buffer has places for. Hits may still write into those that
 * find no place.
 */
static void a_ring_goes_when_its_buffer_goes(void **state)
{
	uint64_t sizes[CPUS] = { 2 * PAGE, 2 * PAGE };
	struct ring_stats before, st;
	data_ref newer;

	for (uint32_t set = 2; set < RING_SET_KEPT; set++)
		assert_int_equal(buffer_add_set(session, buffer, set, sizes), 0);
	for (uint32_t lease = 0; lease < 8; lease++)
		assert_int_equal(buffer_add_set(session, buffer, RING_SET_LEASES + lease, sizes),
				 0);
	for (uint32_t set = 2; set < RING_SET_KEPT; set++)
		fill(buffer, set, CPUS);
	for (uint32_t lease = 0; lease < 8; lease++)
		fill(buffer, RING_SET_LEASES + lease, CPUS);
	assert_int_equal(buffer_stats(session, buffer, 0, &before), 0);
	newer = made();
	while (session_reclaim(session))
		;
	assert_int_equal(buffer_keep(session, buffer, newer), 0);
	/* `newer` is not published yet, so a new hit may take any ring of the old buffer. */
	assert_int_equal(session->limbo.nr, 0);
	assert_int_equal(buffer_stats(session, newer, 0, &st), 0);
	assert_int_equal(st.entries + st.overrun, before.entries + before.overrun);
	assert_true(st.entries < before.entries);
	buffer_retire(session, buffer);
	assert_int_not_equal(session->limbo.nr, 0);
	buffer = newer;
}

/* ---- sets of pids ---- */

static bool listed(data_ref set, pid_t pid)
{
	const struct pid_set *p = session_data(session, set, sizeof(*p));

	return p->bits[pid / 64] >> (pid % 64) & 1;
}

static void a_child_joins_the_set_that_was_published(void **state)
{
	static const uint64_t nonsense[] = { UINT64_MAX, 1ull << 40, MEMORY - 8, 4096, 0 };
	data_ref set = session_data_alloc(session, sizeof(struct pid_set));
	struct instance_state *inst = plane_instance(&session->plane, 3);

	session_instance_use(session, 3, true);
	session_pids_publish(session, 3, 0, set);
	session_pids_follow(session, 3, 1);
	session_follow(session, true);
	((struct pid_set *)session_data(session, set, sizeof(struct pid_set)))
		->bits[getpid() / 64] |= 1ull << (getpid() % 64);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		pid_t child = fork();

		if (!child)
			for (;;)
				pause();
		atomic_store(&inst->pids, nonsense[i]);
		atomic_store(&inst->no_pids, nonsense[i]);
		atomic_store(&inst->func_pids, nonsense[i]);
		atomic_store(&inst->flags, UINT32_MAX);
		atomic_store(&inst->used, (uint32_t)i);
		follow_child(session, child);
		assert_true(listed(set, child));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

/* ---- the server's own hits ---- */

/* Wrong addresses lead to spare memory behind the region, which takes writes and is bounded. */
static void nonsense_leads_nowhere(void **state)
{
	const struct hit none = { .cpu = CPUS };
	const struct plane *p = &session->plane;
	volatile uint64_t *at;

	/* cmocka has set its own handlers. A hit installs the guard's handlers again. */
	session_hit(session, slot, &none);
	assert_true(session->data.spare >= MEMORY);
	for (uint64_t i = 0; i < 3000; i++) {
		at = plane_data(p, UINT64_MAX - 7 - i * 4096);
		assert_in_range((uintptr_t)at, (uintptr_t)p->data,
				(uintptr_t)p->data + session->data.size + session->data.spare - 8);
		at = (volatile uint64_t *)(p->data + session->data.size + i * 4096);
		*at = i;
		assert_int_equal(*at, i);
	}
	assert_int_equal(records_in(buffer), RECORDS);
}

/* Without memory there is an error. No record is left out silently. */
static void no_memory_is_an_error(void **state)
{
	struct ring_consumer *c;
	struct ring_record r;
	struct ring_stats st;
	struct ring_iter *it;
	int err;

	for (int n = 1, failed = 1; failed; n++) {
		fail_at = n;
		err = ring_iter_open(session, buffer, -1, &it);
		failed = !fail_at;
		fail_at = 0;
		assert_int_equal(err, failed ? -ENOMEM : 0);
		if (!err)
			ring_iter_close(it);
	}
	for (int n = 1, failed = 1; failed; n++) {
		fail_at = n;
		err = buffer_stats(session, buffer, 0, &st);
		failed = !fail_at;
		fail_at = 0;
		assert_int_equal(err, failed ? -ENOMEM : 0);
	}
	assert_int_equal(st.entries, RECORDS / CPUS);
	for (int n = 1, failed = 1; failed; n++) {
		assert_int_equal(ring_consumer_open(session, -1, &c), 0);
		fail_at = n;
		err = ring_consume(c, buffer, &r);
		failed = !fail_at;
		fail_at = 0;
		assert_int_equal(err, failed ? -ENOMEM : 1);
		ring_consumer_close(c);
	}
	assert_int_equal(records_in(buffer), RECORDS - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(readers_see_the_rings_that_were_made),
		TEST(a_scribbled_buffer_gives_back_its_own_memory),
		TEST(a_ring_goes_when_its_buffer_goes),
		TEST(a_child_joins_the_set_that_was_published),
		TEST(nonsense_leads_nowhere),
		TEST(no_memory_is_an_error),
	};
	int failed;

	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
