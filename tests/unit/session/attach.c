/* SPDX-License-Identifier: MIT */
/*
 * attach.c - joining and leaving a session, and how the server learns that a process is gone
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>
#include "plane/plane.h"
#include "../../client/attach_client.h"
#include "temp_place.h"
#include "../serve.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/*
 * What the kernel says of the process of a connection: the truth; once the truth, and then nothing,
 * for want of a descriptor; that it is gone, as older kernels do.
 */
static _Atomic enum { PEERS_TOLD, PEERS_TOLD_ONCE, PEERS_LATER, PEERS_GONE } peers;

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	if (level == SOL_SOCKET && name == SO_PEERPIDFD && peers >= PEERS_LATER) {
		errno = peers == PEERS_GONE ? ESRCH : EMFILE;
		return -1;
	}
	if (level == SOL_SOCKET && name == SO_PEERPIDFD && peers == PEERS_TOLD_ONCE)
		peers = PEERS_LATER;
	return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

static int set_up(void **state)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 32, .memory = 64 << 20 };

	return serve_start("s", &params);
}

static int tear_down(void **state)
{
	serve_stop();
	session_destroy(session);
	return 0;
}

static unsigned int served(void)
{
	struct pollfd p = { .fd = attach_fd(session), .events = POLLIN };

	poll(&p, 1, 1000);
	attach_serve(session);
	return attach_processes(session, NULL, NULL);
}

static void a_process_gets_memory_and_a_slot(void **state)
{
	struct attachment *a;
	struct slot *slot;

	assert_int_equal(attach_open("s", &a), 0);
	slot = attach_slot(a);
	assert_non_null(slot);
	assert_ptr_equal(attach_slot(a), slot);
	assert_int_equal(plane_header(attach_plane(a))->magic, SESSION_MAGIC);
	/* It is the same memory as in the server. */
	slot->missed = 99;
	assert_int_equal(plane_slot(session_plane(session), slot->index)->missed, 99);
	attach_close(a);
}

static void its_slots_come_back(void **state)
{
	struct attachment *a;

	for (int i = 0; i < 50; i++) {
		assert_int_equal(attach_open("s", &a), 0);
		assert_non_null(attach_slot(a));
		attach_close(a);
	}
	serve_stop();
	for (int i = 0; i < 100 && served(); i++)
		usleep(1000);
	assert_int_equal(attach_processes(session, NULL, NULL), 0);
}

static void *take_slot(void *arg)
{
	return attach_slot(arg);
}

static void each_thread_has_its_own_and_gives_it_back(void **state)
{
	struct attachment *a;
	void *own, *other, *again;
	pthread_t t;

	assert_int_equal(attach_open("s", &a), 0);
	own = attach_slot(a);
	pthread_create(&t, NULL, take_slot, a);
	pthread_join(t, &other);
	assert_non_null(other);
	assert_ptr_not_equal(own, other);
	pthread_create(&t, NULL, take_slot, a);
	pthread_join(t, &again);
	assert_ptr_equal(again, other);
	attach_close(a);
}

static pthread_barrier_t all_there;

static void *hold_slot(void *arg)
{
	void *slot = attach_slot(arg);

	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	return slot;
}

static void more_threads_get_more_until_none_is_left(void **state)
{
	struct attachment *a;
	pthread_t t[40];
	int without = 0;
	void *slot;

	assert_int_equal(attach_open("s", &a), 0);
	pthread_barrier_init(&all_there, NULL, 41);
	for (int i = 0; i < 40; i++)
		pthread_create(&t[i], NULL, hold_slot, a);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	for (int i = 0; i < 40; i++) {
		pthread_join(t[i], &slot);
		without += !slot;
	}
	assert_int_equal(without, 8);
	pthread_barrier_destroy(&all_there);
	attach_close(a);
}

static void a_child_of_fork_is_not_attached(void **state)
{
	struct attachment *a;
	int status;
	pid_t pid;

	assert_int_equal(attach_open("s", &a), 0);
	assert_non_null(attach_slot(a));
	pid = fork();
	if (!pid) {
		int wrong = attach_slot(a) != NULL;

		attach_close(a);	/* frees its own memory and sends nothing */
		_exit(wrong);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(attach_slot(a)->process,
			 plane_slot(session_plane(session), attach_slot(a)->index)->process);
	assert_int_not_equal(attach_slot(a)->owner, 0);
	attach_close(a);
}

static void note_pid(void *arg, pid_t pid)
{
	*(pid_t *)arg = pid;
}

/* found: the last one of them */
static bool has_children(pid_t *found)
{
	bool has;

	pthread_mutex_lock(&serving);
	has = attach_children(session, found ? note_pid : NULL, found);
	pthread_mutex_unlock(&serving);
	return has;
}

static void a_child_that_has_not_joined_is_found(void **state)
{
	struct attachment *a;
	pid_t pid, found = 0;

	assert_int_equal(attach_open("s", &a), 0);
	assert_false(has_children(NULL));
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	assert_true(has_children(NULL));
	assert_true(has_children(&found));
	assert_int_equal(found, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(has_children(NULL));
	attach_close(a);
}

static void a_killed_process_is_noticed(void **state)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct attachment *a;

		stop = 1;
		if (attach_open("s", &a) || !attach_slot(a))
			_exit(1);
		attach_slot(a)->depth = 1;
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	serve_stop();
	session_config_retire(session, session_config_alloc(session, 64), 64);
	assert_int_equal(served(), 1);
	/* The process is stopped inside a hit, so this memory waits. */
	kill(pid, SIGSTOP);
	assert_int_equal(session_reclaim(session), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(served(), 0);
	assert_int_equal(session_reclaim(session), 0);
	close(ready[0]);
	close(ready[1]);
}

static void the_end_of_the_connection_alone_means_nothing(void **state)
{
	int ready[2], go[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid = fork();
	if (!pid) {
		struct attachment *a;

		if (attach_open("s", &a) || !attach_slot(a))
			_exit(1);
		for (int fd = 3; fd < 100; fd++)
			if (fd != ready[1] && fd != go[0])
				close(fd);
		if (write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		execl("/bin/sleep", "sleep", "100", NULL);
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	serve_stop();
	assert_int_equal(served(), 1);
	assert_int_equal(served(), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(served(), 0);
	close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
}

static void exec_leaves_the_session(void **state)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct attachment *a;

		if (attach_open("s", &a) || !attach_slot(a))
			_exit(1);
		dup2(ready[1], 1);
		execl("/bin/sh", "sh", "-c", "echo; exec sleep 100", NULL);
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	serve_stop();
	for (int i = 0; i < 100 && served(); i++)
		usleep(1000);
	assert_int_equal(attach_processes(session, NULL, NULL), 0);
	assert_int_equal(kill(pid, 0), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

/* A shell's programs: their slots are used again, though nobody has looked whether they live. */
static void programs_in_turn_use_the_same_slots(void **state)
{
	for (int i = 0; i < 30; i++) {
		const pid_t pid = fork();
		int status = 1;

		if (!pid) {
			struct attachment *a;

			_exit(attach_open("s", &a) || !attach_slot(a));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	serve_stop();
	assert_in_range(session_header(session)->slots_high, 1, 8);
	assert_int_equal(served(), 0);
}

/* Attaches, says so by a byte, and stays. */
static pid_t program_that_stays(int says)
{
	const pid_t pid = fork();
	struct attachment *a;

	if (pid)
		return pid;
	if (attach_open("s", &a) || !attach_slot(a) || write(says, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* The server has the next program's question before the end of the last one. */
static void slots_of_a_program_that_has_just_ended_are_used_again(void **state)
{
	struct pollfd p = { .fd = attach_fd(session), .events = POLLIN };
	pid_t first, second;
	int ready[2];
	uint32_t high;
	char c;

	assert_int_equal(pipe(ready), 0);
	first = program_that_stays(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	serve_stop();
	for (int i = 0; i < 30; i++) {	/* it is settled, and nothing waits */
		attach_serve(session);
		usleep(1000);
	}
	high = session_header(session)->slots_high;
	second = program_that_stays(ready[1]);
	assert_int_equal(poll(&p, 1, 10000), 1);
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	for (p.fd = ready[0]; !poll(&p, 1, 0);)
		attach_serve(session);
	kill(second, SIGKILL);
	waitpid(second, NULL, 0);
	close(ready[0]), close(ready[1]);
	assert_int_equal(session_header(session)->slots_high, high);
}

static const struct process_entry *first_process(void)
{
	return plane_config(session_plane(session), session_header(session)->processes);
}

/* A process that has got the number since is another one. The kernel knows by the connection. */
static void a_number_that_is_used_again_keeps_no_slots(void **state)
{
	struct attachment *a;
	int fd, ends[2];
	socklen_t len = sizeof(fd);
	bool told;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	told = !getsockopt(ends[0], SOL_SOCKET, SO_PEERPIDFD, &fd, &len);
	close(ends[0]), close(ends[1]);
	if (!told)
		skip();
	close(fd);
	/* Once for whether the kernel tells. A slow server may ask again before it stops. */
	peers = PEERS_TOLD_ONCE;
	assert_int_equal(attach_open("s", &a), 0);
	serve_stop();
	/* The number is that of this process, which lives. */
	peers = PEERS_GONE;
	assert_int_equal(attach_processes(session, NULL, NULL), 0);
	peers = PEERS_TOLD;
	attach_close(a);
}

/* The next server recognises the process by that. */
static void a_process_that_stays_is_described(void **state)
{
	struct attachment *a;

	assert_int_equal(attach_open("s", &a), 0);
	serve_stop();
	for (int i = 0; i < 10000 && !first_process()->start_time; i++) {
		usleep(1000);
		session_reclaim(session);
	}
	assert_int_equal(first_process()->pid, getpid());
	assert_true(first_process()->start_time != 0);
	attach_close(a);
}

/* The connection of a process that has died is open in its child. */
static void an_end_that_no_connection_tells_is_noticed(void **state)
{
	struct pollfd p = { .events = POLLIN };
	int ready[2], go[2], status = 1;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	pid = fork();
	if (!pid) {
		struct attachment *a;

		if (attach_open("s", &a) || !attach_slot(a))
			_exit(1);
		if (!fork()) {
			close(go[1]);
			_exit(read(go[0], &c, 1) != 1);
		}
		_exit(write(ready[1], "x", 1) != 1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	serve_stop();
	p.fd = attach_fd(session);
	for (int i = 0; i < 10000 && first_process()->pid; i++) {
		session_reclaim(session);
		if (poll(&p, 1, 1) > 0)
			attach_serve(session);
	}
	assert_int_equal(first_process()->pid, 0);
	close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
}

static void a_server_that_does_not_answer_is_waited_for_shortly(void **state)
{
	struct timespec t0, t1;
	struct attachment *a;

	serve_stop();
	clock_gettime(CLOCK_MONOTONIC, &t0);
	assert_int_equal(attach_open("s", &a), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	assert_true(t1.tv_sec - t0.tv_sec < 60);
}

static void no_server_no_session(void **state)
{
	struct attachment *a;

	assert_int_equal(attach_open("other", &a), -ENOENT);
	assert_int_equal(attach_open("a/b", &a), -EINVAL);
	serve_stop();
	session_close(session);
	assert_int_equal(attach_open("s", &a), -ECONNREFUSED);
	assert_int_equal(session_open("s", &session), 0);
}

static int die_with_session(const char *name)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 32, .memory = 64 << 20 };
	struct session *s;
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(session_create(name, &params, &s) != 0);
	waitpid(pid, &status, 0);
	return status;
}

static void a_new_server_finds_living_processes(void **state)
{
	int ready[2], go[2];
	pid_t server_pid, pid;
	struct session *s;
	char c;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	server_pid = fork();
	if (!server_pid) {
		static const struct session_params params = {
			.nr_cpus = 2, .nr_slots = 32, .memory = 64 << 20 };

		if (session_create("t", &params, &s))
			_exit(1);
		for (;;) {
			attach_serve(s);
			usleep(500);
		}
	}
	pid = fork();
	if (!pid) {
		struct attachment *a;
		int err = -1;

		for (int i = 0; err && i < 1000; i++, usleep(1000))
			err = attach_open("t", &a);
		if (err || !attach_slot(a) || write(ready[1], "x", 1) != 1 ||
		    read(go[0], &c, 1) != 1)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	kill(server_pid, SIGKILL);
	waitpid(server_pid, NULL, 0);
	assert_int_equal(session_open("t", &s), 0);
	assert_int_equal(attach_processes(s, NULL, NULL), 1);
	assert_int_equal(write(go[1], "x", 1), 1);
	waitpid(pid, NULL, 0);
	attach_serve(s);
	assert_int_equal(attach_processes(s, NULL, NULL), 0);
	session_destroy(s);
	close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
	assert_int_equal(die_with_session("u"), 0);
	assert_int_equal(session_remove_stale("u"), 0);
}

/* Serves until a process has got slots, describes none, and gives its entry the pid. */
static int serve_and_die(const char *name, pid_t pid)
{
	static const struct session_params params = {
		.nr_cpus = 2, .nr_slots = 32, .memory = 64 << 20 };
	struct process_entry *e;
	struct session *s;

	if (session_create(name, &params, &s))
		return 1;
	while (!session_header(s)->slots_high)
		attach_serve(s);
	e = (struct process_entry *)plane_config(session_plane(s), session_header(s)->processes);
	e->start_time = 0;
	if (pid)
		e->pid = (uint32_t)pid;
	return 0;
}

/* How many processes the next server finds of the one that attaches, if its number is `pid`. */
static unsigned int found_by_next(const char *name, pid_t pid)
{
	struct session *s;
	unsigned int nr;
	int status = 1;
	pid_t dying, client = fork();
	int err;

	if (!client) {
		struct attachment *a;
		int err = -1;

		for (int i = 0; err && i < 10000; i++, usleep(1000))
			err = attach_open(name, &a);
		pause();
		_exit(0);
	}
	dying = fork();
	if (!dying)
		_exit(serve_and_die(name, pid));
	waitpid(dying, &status, 0);
	err = session_open(name, &s);
	nr = err ? 0 : attach_processes(s, NULL, NULL);
	kill(client, SIGKILL);
	waitpid(client, NULL, 0);
	assert_int_equal(status, 0);
	assert_int_equal(err, 0);
	session_destroy(s);
	return nr;
}

static void a_new_server_knows_those_that_were_not_described(void **state)
{
	unsigned int same, other;
	pid_t stranger;
	int tied[2];

	serve_stop();
	assert_int_equal(pipe(tied), 0);
	same = found_by_next("v", 0);
	stranger = fork();
	if (!stranger) {
		char c;

		close(tied[1]);
		_exit(read(tied[0], &c, 1) != 0);
	}
	other = found_by_next("w", stranger);
	close(tied[0]), close(tied[1]);
	waitpid(stranger, NULL, 0);
	assert_int_equal(same, 1);
	assert_int_equal(other, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define ATTACH_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
		ATTACH_TEST(a_process_gets_memory_and_a_slot),
		ATTACH_TEST(its_slots_come_back),
		ATTACH_TEST(each_thread_has_its_own_and_gives_it_back),
		ATTACH_TEST(more_threads_get_more_until_none_is_left),
		ATTACH_TEST(a_child_of_fork_is_not_attached),
		ATTACH_TEST(a_child_that_has_not_joined_is_found),
		ATTACH_TEST(a_killed_process_is_noticed),
		ATTACH_TEST(the_end_of_the_connection_alone_means_nothing),
		ATTACH_TEST(exec_leaves_the_session),
		ATTACH_TEST(programs_in_turn_use_the_same_slots),
		ATTACH_TEST(slots_of_a_program_that_has_just_ended_are_used_again),
		ATTACH_TEST(a_number_that_is_used_again_keeps_no_slots),
		ATTACH_TEST(a_process_that_stays_is_described),
		ATTACH_TEST(an_end_that_no_connection_tells_is_noticed),
		ATTACH_TEST(a_server_that_does_not_answer_is_waited_for_shortly),
		ATTACH_TEST(no_server_no_session),
		ATTACH_TEST(a_new_server_finds_living_processes),
		ATTACH_TEST(a_new_server_knows_those_that_were_not_described),
	};
	int failed;

	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
