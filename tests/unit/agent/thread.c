/* SPDX-License-Identifier: MIT */
/*
 * thread.c - threads and their slots, stacks and addresses: the agent inside of a process that is
 * its own server
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/graph/graph.h"
#include "agent/state.h"
#include "session/attach/attach.h"
#include "session/session.h"
#include "../pid_list.h"
#include "own_server.h"

static int set_up(void **state)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 64, .memory = 64 << 20 };

	if (serve_start(NULL, &params))
		return -1;
	return attach_start(session_dir(session), NULL);
}

/* ---- Slots ---- */

static void a_thread_keeps_its_slot(void **state)
{
	struct agent_thread *t = agent_thread();

	assert_non_null(t);
	assert_ptr_equal(agent_thread(), t);
	assert_int_equal(t->tid, gettid());
	assert_int_equal(t->tgid, getpid());
	assert_int_equal(plane_slot(session_plane(session), t->slot->index)->owner, gettid());
}

static void *own_slot(void *arg)
{
	struct agent_thread *t = agent_thread();

	return t ? t->slot : NULL;
}

static void a_slot_is_used_again(void **state)
{
	void *first, *next;
	pthread_t t;

	pthread_create(&t, NULL, own_slot, NULL);
	pthread_join(t, &first);
	assert_non_null(first);
	assert_ptr_not_equal(first, agent_thread()->slot);
	for (int i = 0; i < 100; i++) {
		pthread_create(&t, NULL, own_slot, NULL);
		pthread_join(t, &next);
		assert_ptr_equal(next, first);
	}
}

static pthread_barrier_t all_there;

static void *hold_slot(void *arg)
{
	void *slot = own_slot(NULL);

	pthread_barrier_wait(&all_there);
	return slot;
}

/* 64 slots, one of which is this thread's. */
static void no_more_than_there_are(void **state)
{
	struct attach_losses before, after;
	pthread_t t[70];
	int with = 0;
	void *slot;

	attach_losses(session, &before);
	pthread_barrier_init(&all_there, NULL, 70);
	for (int i = 0; i < 70; i++)
		pthread_create(&t[i], NULL, hold_slot, NULL);
	for (int i = 0; i < 70; i++) {
		pthread_join(t[i], &slot);
		with += slot != NULL;
	}
	pthread_barrier_destroy(&all_there);
	assert_int_equal(with, 63);
	attach_losses(session, &after);
	assert_int_equal(after.hits - before.hits, 7);
	assert_int_equal(after.threads - before.threads, 7);
	assert_int_equal(after.processes, 1);
}

/* A slow path unblocks nothing. */
static void what_the_program_blocks_waits_on(void **state)
{
	const struct timespec none = { 0 };
	sigset_t set, old, waits;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	raise(SIGTRAP);
	signals_restore(signals_block());
	sigpending(&waits);
	assert_true(sigismember(&waits, SIGTRAP));
	assert_int_equal(sigtimedwait(&set, NULL, &none), SIGTRAP);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static _Atomic bool gave_up;

static void on_trap(int sig)
{
}

static void *take_lock(void *arg)
{
	if (thread_lock())
		thread_unlock();
	else
		gave_up = true;
	return NULL;
}

/* What wakes it without need starts no second second. */
static void the_lock_is_not_waited_for_without_end(void **state)
{
	const struct sigaction act = { .sa_handler = on_trap };
	pthread_t t;

	agent_thread();
	sigaction(SIGTRAP, &act, NULL);
	assert_true(thread_lock());
	pthread_create(&t, NULL, take_lock, NULL);
	for (int i = 0; i < 300 && !gave_up; i++) {
		usleep(50000);
		pthread_kill(t, SIGTRAP);
	}
	thread_unlock();
	pthread_join(t, NULL);
	assert_true(gave_up);
	signal(SIGTRAP, SIG_DFL);
}

static void an_interposer_is_busy_once(void **state)
{
	struct agent_thread *t = agent_enter();

	assert_non_null(t);
	assert_null(agent_enter());
	agent_leave(t);
	assert_ptr_equal(agent_enter(), t);
	agent_leave(t);
}

static void a_task_is_in_the_log(void **state)
{
	struct plane *p = session_plane(session);
	struct program_tables *tables = plane_data(p, plane_header(p)->programs);
	bool found = false;

	pthread_setname_np(pthread_self(), "renamed");
	agent_thread_renamed(agent_thread());
	for (int i = 0; i < LAYOUT_TASKS; i++)
		found |= tables->tasks[i].seq == (uint64_t)i + 1 &&
			 tables->tasks[i].pid == (uint32_t)gettid() &&
			 !strcmp(tables->tasks[i].comm, "renamed");
	assert_true(found);
}

static void a_child_has_no_slot_until_it_attaches(void **state)
{
	struct agent_thread *t = agent_thread();
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(t->slot != NULL || agent_attached() || agent.here->nr_given);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_ptr_equal(agent_thread(), t);
	assert_non_null(t->slot);
}

/* ---- Stacks ---- */

static uint64_t stack[AGENT_STACK];
static uint32_t nr_stack;

static __attribute__((noinline)) void walk(void)
{
	nr_stack = stack_walk(agent_thread(), __builtin_frame_address(0), stack, AGENT_STACK);
	__asm__ __volatile__("" : : : "memory");
}

static __attribute__((noinline)) void walk_below(int depth)
{
	if (depth)
		walk_below(depth - 1);
	else
		walk();
	__asm__ __volatile__("" : : : "memory");
}

/* Whether an address of the session is one of this function's here. */
static bool is_in(uint64_t addr, const void *function)
{
	uint64_t at = agent_address(agent_thread(), function);

	return addr > at && addr < at + 256;
}

static void the_callers_are_found(void **state)
{
	walk_below(3);
	assert_true(nr_stack > 4);
	for (int i = 0; i < 4; i++)
		assert_true(is_in(stack[i], walk_below));
	assert_true(is_in(stack[4], the_callers_are_found));
}

static void *walk_thread(void *arg)
{
	const struct agent_thread *t;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	/* First: is_in() looks near to the function's begin, which a sanitizer makes long. */
	walk_below(2);
	t = agent_thread();
	return (void *)(uintptr_t)(t && here - t->stack_low < t->stack_high - t->stack_low &&
				   t->stack_high - t->stack_low > 65536);
}

static void a_thread_s_own_stack_is_known(void **state)
{
	void *known;
	pthread_t t;

	pthread_create(&t, NULL, walk_thread, NULL);
	pthread_join(t, &known);
	assert_non_null(known);
	assert_true(nr_stack >= 4);
	assert_true(is_in(stack[3], walk_thread));
}

static void a_deep_stack_is_cut_off(void **state)
{
	walk_below(200);
	assert_int_equal(nr_stack, AGENT_STACK);
}

/* How many callers a walk finds; a stack of which some are found is said to be cut. */
static uint32_t callers_known(struct agent_thread *t, const void *frame)
{
	const uint32_t nr = stack_walk(t, frame, stack, AGENT_STACK);

	if (!nr || nr == AGENT_STACK)
		return nr;
	assert_int_equal(stack[nr - 1], LAYOUT_STACK_CUT);
	return nr - 1;
}

/* Frames of no use: each chain ends without a read outside of the page. */
static void bad_frames_end_the_walk(void **state)
{
	uintptr_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct agent_thread *t = agent_thread();
	uintptr_t code = (uintptr_t)walk_below + 8;

	assert_int_equal(callers_known(t, page + 510), 0);	/* no code */
	page[511] = code;
	page[510] = (uintptr_t)(page + 600);		/* beyond the page */
	assert_int_equal(callers_known(t, page + 510), 1);
	assert_int_equal(callers_known(t, page + 511), 0);	/* half beyond */
	assert_int_equal(callers_known(t, (char *)page + 3), 0);
	page[0] = (uintptr_t)page;			/* itself */
	page[1] = code;
	assert_int_equal(callers_known(t, page), 1);
	page[0] = (uintptr_t)(page + 2);
	page[2] = 0;
	page[3] = (uintptr_t)page;			/* data is no code */
	assert_int_equal(callers_known(t, page), 1);
	/* copied from a stack to where no function is hooked */
	page[3] = (uintptr_t)graph_returned;
	assert_int_equal(callers_known(t, page), 2);
	munmap(page, 4096);
}

static bool stack_left(const struct agent_thread *t, uintptr_t frame, uintptr_t sp)
{
	return !stack_levels(t, &frame, 1, sp);
}

static void what_was_left_is_told_from_what_waits(void **state)
{
	const struct agent_thread t = { .stack_low = 0x10000, .stack_high = 0x20000 };

	assert_true(stack_left(&t, 0x11000, 0x12000));		/* popped */
	assert_true(stack_left(&t, 0x11000, 0x11000));		/* the same call again */
	assert_false(stack_left(&t, 0x12000, 0x11000));		/* a handler above it */
	assert_false(stack_left(&t, 0x12000, 0x90000));		/* a handler on another stack */
	assert_true(stack_left(&t, 0x90000, 0x12000));		/* which was left */
	assert_true(stack_left(&t, 0x90100, 0x90200));
	assert_false(stack_left(&t, 0x90000, 0xa0000));		/* cannot be told */
}

static void an_alternate_stack_may_lie_within_the_own_one(void **state)
{
	const struct agent_thread t = { .stack_low = 0x10000, .stack_high = 0x20000 };

	*agent_alternate() = (struct agent_region){ 0x18000, 0x4000 };
	/* what a handler there has interrupted */
	assert_false(stack_left(&t, 0x11000, 0x1b000));
	assert_false(stack_left(&t, 0x1d000, 0x1b000));
	assert_false(stack_left(&t, 0x1b000, 0x1a000));		/* a handler within that one */
	assert_true(stack_left(&t, 0x1a000, 0x1b000));		/* which was left */
	assert_true(stack_left(&t, 0x1a000, 0x12000));		/* as was the first one */
	assert_true(stack_left(&t, 0x12000, 0x13000));
	assert_false(stack_has_room(0x18100, 0x200));
	assert_true(stack_has_room(0x17f00, 0x200));
	*agent_alternate() = (struct agent_region){ 0 };
	assert_true(stack_left(&t, 0x11000, 0x1b000));		/* the array's function alone */
	assert_true(stack_has_room(0x18100, 0x200));
}

/* ---- Addresses ---- */

static void addresses_are_those_of_the_table(void **state)
{
	struct plane *p = session_plane(session);
	struct program_tables *tables = plane_data(p, plane_header(p)->programs);
	uint64_t own = agent_address(agent_thread(), (void *)(uintptr_t)walk_below);
	/* No sanitizer has one of its own of that. */
	uint64_t libc = agent_address(agent_thread(), dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
	const struct dso_entry *e = &tables->dsos[(own - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT];
	char exe[256] = "";

	assert_true(own >= LAYOUT_DSO_BASE && libc >= LAYOUT_DSO_BASE);
	assert_int_not_equal(own >> LAYOUT_DSO_SHIFT, libc >> LAYOUT_DSO_SHIFT);
	assert_int_equal(e->state, DSO_READY);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(tables->paths + e->path, exe);
	assert_true(e->id_len >= 8);
	assert_true((own & 0xffffffff) < e->size);
	e = &tables->dsos[(libc - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT];
	assert_non_null(strstr(tables->paths + e->path, "libc"));
	/* Only the needed room was taken. */
	assert_true(atomic_load(&tables->paths_used) < LAYOUT_PATH);
}

static void addresses_outside_stay(void **state)
{
	int here;
	void *heap = malloc(16);

	assert_int_equal(agent_address(agent_thread(), &here), (uintptr_t)&here);
	assert_int_equal(agent_address(agent_thread(), heap), (uintptr_t)heap);
	assert_int_equal(agent_address(agent_thread(), NULL), 0);
	free(heap);
}

static void numbers_stay_when_dsos_go(void **state)
{
	uint64_t before = agent_address(agent_thread(), (void *)(uintptr_t)walk_below);

	agent_dso_closed();
	assert_int_equal(agent_address(agent_thread(), (void *)(uintptr_t)walk_below), before);
}

/* ---- Sets of pids ---- */

static void list_none(void)
{
	session_follow(session, false);
	session_pids_publish(session, 0, 2, 0);
}

enum birth { UNSEEN, SEEN, FOLLOWED };

static struct made {
	enum birth	birth;
	struct pids_family family;
	pid_t		tid;
	bool		joined;		/* before its first hit, or with it: UNSEEN */
	bool		stayed;		/* with it */
} made;

static void *be_made(void *arg)
{
	made.tid = gettid();
	if (made.birth != UNSEEN)
		agent_born((uint32_t)made.tid, made.birth == FOLLOWED ? &made.family : NULL);
	made.joined = is_listed(made.tid);
	agent_thread();
	made.stayed = is_listed(made.tid);
	return NULL;
}

static void make(enum birth birth)
{
	pthread_t t;

	made.birth = birth;
	if (birth == FOLLOWED)
		assert_true(agent_family(&made.family));
	pthread_create(&t, NULL, be_made, NULL);
	pthread_join(t, NULL);
	/* It had a slot, and left. */
	assert_false(is_listed(made.tid));
}

static void a_thread_joins_its_creator(void **state)
{
	assert_false(agent_family(&made.family));
	list_only(session, gettid());
	make(FOLLOWED);
	assert_true(made.joined && made.stayed);
	assert_true(is_listed(gettid()));
	list_only(session, 1);
	make(FOLLOWED);
	assert_false(made.joined || made.stayed);
	list_none();
}

/* What agent_family() wrote is gone by then, and the creator may be. */
static void *be_made_without_slot(void *arg)
{
	made.tid = gettid();
	agent_self.retry = UINT64_MAX;
	agent_born((uint32_t)made.tid, &made.family);
	memset(&made.family, 0, sizeof(made.family));
	made.joined = is_listed(made.tid);
	agent_self.retry = 0;
	agent_thread();
	made.stayed = is_listed(made.tid);
	return NULL;
}

static void a_thread_that_finds_no_slot_joins_when_it_has_one(void **state)
{
	pthread_t t;

	list_only(session, gettid());
	assert_true(agent_family(&made.family));
	pthread_create(&t, NULL, be_made_without_slot, NULL);
	pthread_join(t, NULL);
	assert_true(!made.joined && made.stayed);
	assert_false(is_listed(made.tid));
	list_none();
}

/* A child of vfork() in another name space of pids cannot tell which it has. */
static void who_does_not_know_its_pid_leaves_it_to_the_server(void **state)
{
	struct agent_thread *t = agent_thread();

	list_only(session, gettid());
	assert_true(agent_family(&made.family));
	t->no_rseq++;
	agent.here->other_pids = true;
	assert_false(agent_family(&made.family));
	agent.here->other_pids = false;
	t->no_rseq--;
	list_none();
}

static void of_an_unknown_one_the_first_thread_is_the_creator(void **state)
{
	list_only(session, getpid());
	make(UNSEEN);
	assert_true(!made.joined && made.stayed);
	make(SEEN);		/* when nobody asked */
	assert_false(made.joined || made.stayed);
	list_only(session, 1);
	make(UNSEEN);
	assert_false(made.joined || made.stayed);
	list_none();
}

static void *forks(void *arg)
{
	pid_t pid;
	int status;

	if (arg)
		list_only(session, gettid());
	agent_thread();
	pid = fork();
	if (!pid)
		_exit(is_listed(getpid()));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return (void *)(uintptr_t)WEXITSTATUS(status);
}

static void a_child_joins_the_thread_that_forks(void **state)
{
	pthread_t t;
	void *joined;

	pthread_create(&t, NULL, forks, (void *)1);
	pthread_join(t, &joined);
	assert_ptr_equal(joined, (void *)1);
	list_only(session, getpid());
	pthread_create(&t, NULL, forks, NULL);
	pthread_join(t, &joined);
	/* Of that thread nobody has told, so it is the first one's; so is its child. */
	assert_ptr_equal(joined, (void *)1);
	list_only(session, 1);
	assert_ptr_equal(forks(NULL), NULL);
	list_none();
}

static void a_child_of_vfork_joins_on_its_parent_s_slot(void **state)
{
	struct agent_thread *t = agent_thread();
	volatile bool joined = false;
	pid_t pid;

	list_only(session, gettid());
	t->no_rseq++;		/* vfork_begin() */
	pid = vfork();
	if (!pid) {
		agent_vforked();
		joined = is_listed(getpid());
		_exit(0);
	}
	t->no_rseq--;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(joined);
	assert_int_equal(atomic_load(&t->slot->depth), 0);
	list_none();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_keeps_its_slot),
		cmocka_unit_test(a_slot_is_used_again),
		cmocka_unit_test(a_thread_joins_its_creator),
		cmocka_unit_test(a_thread_that_finds_no_slot_joins_when_it_has_one),
		cmocka_unit_test(who_does_not_know_its_pid_leaves_it_to_the_server),
		cmocka_unit_test(of_an_unknown_one_the_first_thread_is_the_creator),
		cmocka_unit_test(a_child_joins_the_thread_that_forks),
		cmocka_unit_test(a_child_of_vfork_joins_on_its_parent_s_slot),
		/* for children neither, from here on */
		cmocka_unit_test(no_more_than_there_are),
		cmocka_unit_test(what_the_program_blocks_waits_on),
		cmocka_unit_test(the_lock_is_not_waited_for_without_end),
		cmocka_unit_test(an_interposer_is_busy_once),
		cmocka_unit_test(a_task_is_in_the_log),
		cmocka_unit_test(a_child_has_no_slot_until_it_attaches),
		cmocka_unit_test(the_callers_are_found),
		cmocka_unit_test(a_thread_s_own_stack_is_known),
		cmocka_unit_test(a_deep_stack_is_cut_off),
		cmocka_unit_test(bad_frames_end_the_walk),
		cmocka_unit_test(what_was_left_is_told_from_what_waits),
		cmocka_unit_test(an_alternate_stack_may_lie_within_the_own_one),
		cmocka_unit_test(addresses_are_those_of_the_table),
		cmocka_unit_test(addresses_outside_stay),
		cmocka_unit_test(numbers_stay_when_dsos_go),
	};

	return cmocka_run_group_tests(tests, set_up, server_stop);
}
