/* SPDX-License-Identifier: MIT */
/*
 * session.c - a session's memory: names, life cycle, allocation, restoring
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>
#include "plane/plane.h"
#include "session/attach/attach.h"
#include "session/session.h"
#include "temp_place.h"

static const struct session_params small = { .nr_cpus = 2, .nr_slots = 16, .memory = 64 << 20 };

static struct session *made(const char *name)
{
	struct session *s = NULL;

	assert_int_equal(session_create(name, &small, &s), 0);
	return s;
}

static void names_are_checked(void **state)
{
	static const char *const bad[] = { "", ".x", "-x", "a/b", "a b", "\xc3\xa4",
		"0123456789012345678901234567890123456789012345678901234567890123" };
	struct session *s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(session_create(bad[i], &small, &s), -EINVAL);
	assert_true(session_name_valid(
		"012345678901234567890123456789012345678901234567890123456789012"));
}

static void a_name_is_taken_once(void **state)
{
	struct session *s = made("one"), *other;

	assert_int_equal(session_create("one", &small, &other), -EEXIST);
	assert_int_equal(session_open("one", &other), -EBUSY);
	assert_int_equal(session_remove_stale("one"), -EBUSY);
	session_destroy(s);
	assert_int_equal(session_open("one", &other), -ENOENT);
}

/* A user who may rename files in the directories above may have put another session there. */
static void a_session_of_another_user_is_not_opened(void **state)
{
	struct session *s = made("one"), *other;
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s", session_dir(s));
	session_close(s);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(session_open("one", &other), -EACCES);
	assert_int_equal(chmod(dir, 0700), 0);
	if (!geteuid()) {
		assert_int_equal(chown(dir, 65534, (gid_t)-1), 0);
		assert_int_equal(session_open("one", &other), -EACCES);
		assert_int_equal(chown(dir, 0, (gid_t)-1), 0);
	}
	assert_int_equal(session_open("one", &other), 0);
	session_destroy(other);
}

static void who_comes_second_waits_for_the_first(void **state)
{
	struct session *s = made("one"), *other;
	char lock[4200];
	int fd;

	/* The session exists, but no server answers commands yet. */
	assert_int_equal(session_await("one", 0), -ETIMEDOUT);
	session_served(s);
	assert_int_equal(session_await("one", 0), 0);
	snprintf(lock, sizeof(lock), "%s/lock", session_dir(s));
	session_close(s);
	/* Another server is restoring it. */
	fd = open(lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(session_open("one", &other), -EBUSY);
	assert_int_equal(session_remove_stale("one"), -EBUSY);
	assert_int_equal(session_await("one", 0), -ETIMEDOUT);
	close(fd);
	assert_int_equal(session_open("one", &other), 0);
	assert_int_equal(session_await("one", 0), -ETIMEDOUT);
	session_destroy(other);
	assert_int_equal(session_await("one", 0), 0);
}

static int remove_dead(void *arg, const char *name, const char *dir, bool alive)
{
	if (!alive)
		session_remove_stale(name);
	return 0;
}

static void *remove_all_dead(void *stop)
{
	while (!atomic_load((_Atomic bool *)stop))
		session_list(remove_dead, NULL);
	return NULL;
}

/* The other thread may be removing the last session. The name is free a moment later. */
static struct session *made_when_free(const char *name)
{
	struct session *s = NULL;
	int err = -EEXIST;

	for (int i = 0; i < 5000 && err == -EEXIST; i++) {
		err = session_create(name, &small, &s);
		if (err == -EEXIST)
			usleep(1000);
	}
	assert_int_equal(err, 0);
	return s;
}

/* The session has no server that answers, but it is not dead. */
static void what_is_being_made_is_not_removed(void **state)
{
	static _Atomic bool stop;
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, remove_all_dead, &stop), 0);
	for (int i = 0; i < 100; i++) {
		struct session *s = made_when_free("new");

		assert_int_equal(access(session_dir(s), F_OK), 0);
		assert_string_equal(strrchr(session_dir(s), '/'), "/new");
		assert_string_equal(session_name(s), "new");
		session_destroy(s);
	}
	atomic_store(&stop, true);
	pthread_join(t, NULL);
}

static void a_private_session_leaves_nothing(void **state)
{
	struct session *s = made(NULL);
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s", session_dir(s));
	assert_int_equal(access(dir, F_OK), 0);
	session_close(s);
	assert_int_equal(access(dir, F_OK), -1);
}

static void a_session_ends_where_no_file_can_be_opened(void **state)
{
	struct rlimit before, none;
	struct session *s = made("last");
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s", session_dir(s));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	session_destroy(s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(access(dir, F_OK), -1);
}

/* Until all is restored, a server uses only memory that the last one never used. */
static void what_was_full_once_is_opened(void **state)
{
	enum { PIECE = 1 << 20, ALL = 256 };
	struct session *s = made("full");
	data_ref a[ALL], first = session_data_alloc(s, 100), small;
	unsigned int nr = 0;

	while (nr < ALL && (a[nr] = session_data_alloc(s, PIECE))) {
		memset(session_data(s, a[nr], PIECE), 0xee, PIECE);
		nr++;
	}
	assert_in_range(nr, 10, ALL - 1);
	while ((small = session_data_alloc(s, 4000)))
		memset(session_data(s, small, 4000), 0xdd, 4000);
	session_close(s);
	assert_int_equal(session_open("full", &s), 0);
	assert_int_equal(session_data_alloc(s, PIECE), 0);
	assert_int_equal(session_data_restore(s, first, 100), 0);
	session_restore_done(s);
	while (session_reclaim(s))
		;
	session_close(s);
	assert_int_equal(session_open("full", &s), 0);
	for (unsigned int i = 0; i < 4; i++) {
		a[i] = session_data_alloc(s, PIECE);
		assert_int_not_equal(a[i], 0);
		for (unsigned int k = 0; k < PIECE; k++)
			assert_int_equal(((const char *)session_data(s, a[i], PIECE))[k], 0);
	}
	assert_int_equal(session_data_restore(s, first, 100), 0);
	session_destroy(s);
}

/* The directory of the sessions. */
static void base_path(char out[256])
{
	snprintf(out, 256, "%s/tracefuse", temp_place_dir);
}

static int nothing(void *arg, const char *name, const char *dir, bool alive)
{
	return 0;
}

/* The pid in the name means nothing, because it may be of another name space. */
static void only_sessions_that_nobody_serves_are_swept(void **state)
{
	struct session *s = made(NULL);
	char base[256], dead[300], half[300], path[4200];
	int fd;

	base_path(base);
	snprintf(dead, sizeof(dead), "%s/.%d-1", base, (int)getpid());
	snprintf(half, sizeof(half), "%s/.4194303-1", base);
	snprintf(path, sizeof(path), "%s/.4194303-2-0", base);
	assert_int_equal(rename(session_dir(s), path), 0);
	assert_int_equal(mkdir(dead, 0700), 0);
	assert_int_equal(session_list(nothing, NULL), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(access(dead, F_OK), -1);
	/* Another process is making this session. */
	fd = open(base, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	assert_int_equal(mkdir(half, 0700), 0);
	assert_int_equal(session_list(nothing, NULL), 0);
	assert_int_equal(access(half, F_OK), 0);
	session_destroy(made("meanwhile"));
	assert_int_equal(access(half, F_OK), 0);
	close(fd);
	assert_int_equal(session_list(nothing, NULL), 0);
	assert_int_equal(access(half, F_OK), -1);
	assert_int_equal(rename(path, session_dir(s)), 0);
	session_close(s);
}

enum { STRANGER = 61234 };

/*
 * Runs in a process of another user, without XDG_RUNTIME_DIR. Returns 0 if nothing was made and
 * the error names the directory.
 */
static int try_taken(const char *place)
{
	struct session *s;

	if (setresgid(STRANGER, STRANGER, STRANGER) || setresuid(STRANGER, STRANGER, STRANGER) ||
	    unsetenv("XDG_RUNTIME_DIR"))
		return 10;
	for (int i = 0; i < 2; i++) {
		int err = session_create(i ? "mine" : NULL, NULL, &s);

		if (!err || !strstr(session_error(err), place))
			return 11;
	}
	return session_list(nothing, NULL) ? 0 : 12;
}

/*
 * A directory or a link that another user has made in advance is not used.
 */
static void a_place_that_another_user_has_taken_is_refused(void **state)
{
	char place[64], own[64] = "/dev/shm/tracefuse-own-XXXXXX";

	snprintf(place, sizeof(place), "/dev/shm/tracefuse-%d", STRANGER);
	if (geteuid() || !access(place, F_OK))
		skip();
	assert_non_null(mkdtemp(own));
	assert_int_equal(chown(own, STRANGER, STRANGER), 0);
	for (int link = 0; link < 2; link++) {
		int status;
		pid_t pid;

		assert_int_equal(link ? symlink(own, place) : mkdir(place, 0777), 0);
		pid = fork();
		if (!pid)
			_exit(try_taken(place));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		/* This succeeds, so the directory is still empty. */
		assert_int_equal(link ? unlink(place) : rmdir(place), 0);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	assert_int_equal(rmdir(own), 0);
}

static void others_may_not_enter(void **state)
{
	struct session *s = made("mine");
	struct stat st;

	assert_int_equal(stat(session_dir(s), &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
	session_destroy(s);
}

static void memory_is_zeroed_and_aligned(void **state)
{
	struct session *s = made(NULL);
	data_ref a = session_data_alloc(s, 100), b = session_data_alloc(s, 5000), c;

	assert_int_equal(a % 64, 0);
	assert_int_equal(b % 4096, 0);
	memset(session_data(s, b, 5000), 0xff, 5000);
	session_data_free(s, b, 5000);
	c = session_data_alloc(s, 5000);
	assert_int_equal(c, b);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(((char *)session_data(s, c, 5000))[i], 0);
	session_close(s);
}

static void big_blocks_go_back_to_the_system(void **state)
{
	struct session *s = made(NULL);
	size_t size = 8 << 20;
	data_ref a = session_data_alloc(s, size);
	char path[4200];
	struct stat st;

	memset(session_data(s, a, size), 1, size);
	session_data_free(s, a, size);
	snprintf(path, sizeof(path), "%s/data", session_dir(s));
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_blocks * 512 < 2 << 20);
	assert_int_equal(session_data_alloc(s, size), a);
	assert_int_equal(*(char *)session_data(s, a + size - 1, 1), 0);
	session_close(s);
}

static long later_ms;			/* what the clock shows too much */

int clock_gettime(clockid_t clock, struct timespec *out)
{
	const int ret = (int)syscall(SYS_clock_gettime, clock, out);

	if (clock == CLOCK_MONOTONIC)
		out->tv_sec += later_ms / 1000;
	return ret;
}

/* How many MB of the data region are backed, besides what the session itself needs. */
static unsigned int backed(struct session *s)
{
	static blkcnt_t own;
	char path[4200];
	struct stat st;

	snprintf(path, sizeof(path), "%s/data", session_dir(s));
	assert_int_equal(stat(path, &st), 0);
	if (!own)
		own = st.st_blocks;
	return (unsigned int)((st.st_blocks - own) / 2048);
}

enum { PREPARED = 40 };

static off_t room_is;			/* of the tmpfs, for one file; 0: there is no limit */

int fallocate(int fd, int mode, off_t off, off_t len)
{
	struct stat st;

	if (room_is && !mode && !fstat(fd, &st) && st.st_blocks * 512 + len > room_is) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_fallocate, fd, mode, off, len);
}

static void what_is_prepared_is_backed_in_pieces(void **state)
{
	static const uint64_t sizes[] = { 30 << 20, 10 << 20 };
	struct session *s = made(NULL);
	unsigned int before = backed(s), after, calls = 1;
	data_ref a, b;

	while (session_data_prepare(s, sizes, 2)) {
		after = backed(s);
		assert_true(after > before && after < before + PREPARED / 2);
		before = after;
		calls++;
	}
	assert_true(calls > 2);
	assert_in_range(backed(s), PREPARED - 1, PREPARED);
	a = session_data_alloc(s, sizes[0]);
	b = session_data_alloc(s, sizes[1]);
	assert_in_range(backed(s), PREPARED - 1, PREPARED + 1);
	for (size_t i = 0; i < sizes[0]; i += 512)
		assert_int_equal(*(char *)session_data(s, a + i, 1), 0);
	for (size_t i = 0; i < sizes[1]; i += 512)
		assert_int_equal(*(char *)session_data(s, b + i, 1), 0);
	session_close(s);
}

static void what_was_prepared_for_nobody_is_given_back(void **state)
{
	static const uint64_t size = PREPARED << 20, wide = 1ull << 40;
	struct session *s = made(NULL);
	data_ref used;

	backed(s);
	assert_false(session_data_prepare(s, &wide, 1));
	while (session_data_prepare(s, &size, 1))
		session_reclaim(s);
	used = session_data_alloc(s, 8 << 20);
	memset(session_data(s, used, 8 << 20), 1, 8 << 20);
	later_ms = 3600 * 1000;
	for (int i = 0; i < 10; i++)
		session_reclaim(s);
	later_ms = 0;
	assert_in_range(backed(s), 8, 9);
	assert_int_equal(*(char *)session_data(s, used + (8 << 20) - 1, 1), 1);
	session_close(s);
}

static void what_is_prepared_is_no_reason_to_refuse(void **state)
{
	enum { HOLE = 8 };
	static const uint64_t size = PREPARED << 20, hole = HOLE << 20;
	struct session *s = made(NULL);
	const data_ref first = session_data_alloc(s, hole);

	backed(s);
	assert_int_not_equal(session_data_alloc(s, 1), 0);
	session_data_free(s, first, hole);
	while (session_data_prepare(s, &size, 1))
		;
	assert_in_range(backed(s), PREPARED - 1, PREPARED);
	room_is = (off_t)(PREPARED + HOLE / 2) << 20;
	assert_int_equal(session_data_alloc(s, hole), first);
	room_is = 0;
	assert_in_range(backed(s), HOLE - 1, HOLE);
	session_close(s);
}

/* Before, there is no room. */
static void what_is_being_freed_is_waited_for(void **state)
{
	static const uint64_t size = 30 << 20;
	struct session *s = made(NULL);

	session_data_retire(s, session_data_alloc(s, PREPARED << 20), PREPARED << 20);
	session_hold(s, true);
	session_reclaim(s);
	assert_true(session_data_prepare(s, &size, 1));
	later_ms = 3600 * 1000;
	assert_false(session_data_prepare(s, &size, 1));
	later_ms = 0;
	session_hold(s, false);
	while (session_reclaim(s))
		assert_true(session_data_prepare(s, &size, 1));
	while (session_data_prepare(s, &size, 1))
		;
	assert_int_not_equal(session_data_alloc(s, size), 0);
	session_close(s);
}

/* In the order in which they were made, as the plans of many probes are. */
static void many_small_pieces_are_freed_and_made_again(void **state)
{
	enum { PIECES = 3000 };
	static data_ref kept[PIECES], given[PIECES];
	struct session *s = made(NULL);

	for (int i = 0; i < PIECES; i++) {
		given[i] = session_data_alloc(s, 128);
		kept[i] = session_data_alloc(s, 64);
		memset(session_data(s, kept[i], 64), i, 64);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < PIECES; i++)
			session_data_free(s, given[i], 128);
		for (int i = 0; i < PIECES; i++)
			assert_int_equal(session_data_alloc(s, 128), given[i]);
	}
	for (int i = 0; i < PIECES; i++)
		assert_int_equal(*(uint8_t *)session_data(s, kept[i] + 63, 1), (uint8_t)i);
	session_close(s);
}

static void large_pieces_go_back_in_steps(void **state)
{
	const size_t size = PREPARED << 20;
	struct session *s = made(NULL);
	unsigned int before = backed(s), steps = 0;
	data_ref a = session_data_alloc(s, size);

	before = backed(s);
	session_data_retire(s, a, size);
	while (session_reclaim(s)) {
		assert_true(backed(s) > before - PREPARED / 2);
		before = backed(s);
		steps++;
	}
	assert_true(steps > 1);
	assert_in_range(backed(s), 0, 1);
	/* The whole of it can be had again, and is zeros. */
	assert_int_equal(session_data_alloc(s, size), a);
	assert_int_equal(*(char *)session_data(s, a + size - 1, 1), 0);
	session_close(s);
}

static void running_out_is_an_error(void **state)
{
	struct session *s = made(NULL);
	struct session_room room;

	session_room(s, &room);
	assert_false(room.used_up);
	assert_int_equal(session_data_alloc(s, 65 << 20), 0);
	session_room(s, &room);
	assert_true(room.used_up);
	assert_int_equal(session_data_alloc(s, SIZE_MAX), 0);
	assert_int_not_equal(session_data_alloc(s, 32 << 20), 0);
	assert_int_equal(session_data_alloc(s, 32 << 20), 0);
	session_close(s);
}

static void refs_are_checked(void **state)
{
	struct session *s = made(NULL);

	assert_null(session_data(s, 0, 1));
	assert_null(session_data(s, 64 << 20, 1));
	assert_null(session_data(s, (64 << 20) - 8, 9));
	assert_null(session_data(s, UINT64_MAX, 2));
	assert_null(session_data(s, 64, SIZE_MAX));
	assert_non_null(session_data(s, (64 << 20) - 8, 8));
	session_close(s);
}

static void a_block_freed_twice_is_given_once(void **state)
{
	struct session *s = made(NULL);
	data_ref a = session_data_alloc(s, 64);

	session_data_free(s, a, 64);
	session_data_free(s, a, 64);
	assert_int_equal(session_data_alloc(s, 64), a);
	assert_int_not_equal(session_data_alloc(s, 64), a);
	session_close(s);
}

static void a_truncated_file_reads_as_zeros(void **state)
{
	struct session *s = made("cut");
	data_ref a = session_data_alloc(s, 1 << 20);
	char path[4200];

	memset(session_data(s, a, 1 << 20), 7, 1 << 20);
	snprintf(path, sizeof(path), "%s/data", session_dir(s));
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_equal(*(char *)session_data(s, a + 70000, 1), 0);
	session_destroy(s);
}

/* ---- restoring ---- */

static void ends_badly(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		fn();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static uint64_t texts[4];

static void serve_and_die(void)
{
	struct session *s;
	uint64_t refs[2], id;
	data_ref lost;

	if (session_create("again", &small, &s))
		_exit(1);
	refs[0] = session_data_alloc(s, 4096);
	lost = session_data_alloc(s, 200000);
	refs[1] = lost;
	memset(session_data(s, refs[0], 4096), 0x55, 4096);
	memset(session_data(s, lost, 200000), 0x66, 200000);
	session_publish(
		s, &((struct event_entry *)session_config(s, session_header(s)->events, 8))[7].plan,
		session_config_alloc(s, 64));
	if (session_saved_add(s, "events/a/trigger", "one", refs, 2, &id) ||
	    session_saved_add(s, "gone", "two", NULL, 0, &id))
		_exit(1);
	session_saved_remove(s, id);
	if (session_saved_add(s, "events/b/filter", "three", refs, 1, &id))
		_exit(1);
	/* There is no close, as if the server had been killed. */
}

static void prepare_and_die(void)
{
	static const uint64_t size = PREPARED << 20;
	struct session *s;

	if (session_create("again", &small, &s) || !session_data_alloc(s, 1))
		_exit(1);
	while (session_data_prepare(s, &size, 1))
		;
	if (backed(s) < PREPARED - 1)
		_exit(1);
}

static void what_a_dead_server_had_prepared_is_given_back(void **state)
{
	struct session *s;

	ends_badly(prepare_and_die);
	assert_int_equal(session_open("again", &s), 0);
	assert_in_range(backed(s), 0, 1);
	session_restore_done(s);
	session_destroy(s);
}

static int take_object(struct session *s, uint64_t id, const struct saved *o, const char *path,
		       const char *text, void *arg)
{
	char *out = arg;

	sprintf(out + strlen(out), "%s=%s/%u;", path, text, o->nr_refs);
	texts[o->nr_refs] = o->refs[0];
	return 0;
}

static void a_dead_servers_session_is_opened(void **state)
{
	struct session *s, *other;
	char seen[256] = "";
	data_ref a;

	ends_badly(serve_and_die);
	assert_int_equal(session_create("again", &small, &s), -EEXIST);
	assert_int_equal(session_open("again", &s), 0);
	assert_int_equal(session_open("again", &other), -EBUSY);
	assert_int_equal(session_saved_each(s, take_object, seen), 0);
	assert_string_equal(seen, "events/a/trigger=one/2;events/b/filter=three/1;");
	a = texts[2];
	assert_int_equal(session_data_restore(s, a, 4096), 0);
	assert_int_not_equal(session_data_alloc(s, 64), a);
	session_restore_done(s);
	assert_int_equal(session_reclaim(s), 0);
	assert_int_equal(*(unsigned char *)session_data(s, a, 1), 0x55);
	session_destroy(s);
}

static void what_was_not_adopted_is_freed_and_zeroed(void **state)
{
	struct session *s;
	struct event_entry *e;
	char seen[256] = "";
	data_ref a, high;

	ends_badly(serve_and_die);
	assert_int_equal(session_open("again", &s), 0);
	high = session_header(s)->data_high;
	e = session_config(s, session_header(s)->events, sizeof(*e) * 8);
	assert_int_not_equal(e[7].plan, 0);
	session_saved_each(s, take_object, seen);
	session_data_restore(s, texts[2], 4096);
	session_restore_done(s);
	assert_int_equal(e[7].plan, 0);
	session_reclaim(s);
	for (int i = 0; i < 200; i++) {
		a = session_data_alloc(s, 1000);
		if (a >= high)
			break;
		for (int k = 0; k < 1000; k++)
			assert_int_equal(((char *)session_data(s, a, 1000))[k], 0);
	}
	session_saved_each(s, take_object, seen);
	assert_int_equal(strlen(seen),
			 2 * strlen("events/a/trigger=one/2;events/b/filter=three/1;"));
	session_destroy(s);
}

/* A program without membarrier says so in its HELLO. Then the server sets `fence`. */
static void serve_who_needs_fences(void)
{
	struct session *s;

	if (session_create("again", &small, &s))
		_exit(1);
	atomic_store(&((struct config_header *)session_header(s))->fence, 1);
}

static void who_needs_fences_does_so_under_the_next_server(void **state)
{
	struct session *s;

	ends_badly(serve_who_needs_fences);
	assert_int_equal(session_open("again", &s), 0);
	assert_int_equal(atomic_load(&session_header(s)->fence), 1);
	session_destroy(s);
}

static void adopting_outside_is_refused(void **state)
{
	struct session *s;

	ends_badly(serve_and_die);
	assert_int_equal(session_open("again", &s), 0);
	assert_int_equal(session_data_restore(s, 64, 64), -EINVAL);
	assert_int_equal(session_data_restore(s, 63 << 20, 64), -EINVAL);
	assert_int_equal(session_data_restore(s, 0, 64), -EINVAL);
	session_destroy(s);
}

static int list_one(void *arg, const char *name, const char *dir, bool alive)
{
	sprintf((char *)arg + strlen(arg), "%s:%d;", name, alive);
	return 0;
}

static void stale_sessions_are_listed_and_removed(void **state)
{
	struct session *s = made("living");
	char seen[256] = "";

	ends_badly(serve_and_die);
	assert_int_equal(session_list(list_one, seen), 0);
	assert_string_equal(seen, "again:0;living:1;");
	assert_int_equal(session_remove_stale("again"), 0);
	assert_int_equal(session_remove_stale("again"), -ENOENT);
	session_destroy(s);
}

static void whose_lock_cannot_be_opened_is_left_alone(void **state)
{
	char path[4200];
	struct stat st;

	ends_badly(serve_and_die);
	snprintf(path, sizeof(path), "%s/tracefuse/again/lock", temp_place_dir);
	unlink(path);
	assert_int_equal(symlink("config", path), 0);
	assert_int_equal(session_remove_stale("again"), -ELOOP);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(session_remove_stale("again"), 0);
}

static void what_is_left_behind_goes(void **state)
{
	char path[4200];
	int owner;

	ends_badly(serve_and_die);
	owner = session_own("again");
	assert_true(owner >= 0);
	snprintf(path, sizeof(path), "%s/tracefuse/again/config", temp_place_dir);
	/* The owner is still there, so the session may be restored for it. */
	session_destroy(made("other"));
	assert_int_equal(access(path, F_OK), 0);
	close(owner);
	session_destroy(made("other"));
	assert_int_equal(access(path, F_OK), -1);
	/* A session without an owner stays. */
	ends_badly(serve_and_die);
	session_destroy(made("other"));
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(session_remove_stale("again"), 0);
}

static void damaged_files_are_refused(void **state)
{
	char path[4200];
	struct session *s;
	int fd;

	ends_badly(serve_and_die);
	snprintf(path, sizeof(path), "%s/tracefuse/again/config", temp_place_dir);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "xx", 2, 0), 2);
	close(fd);
	assert_int_equal(session_open("again", &s), -EPROTO);
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(session_open("again", &s), -EPROTO);
	assert_int_equal(session_remove_stale("again"), 0);
}

/* ---- reclamation ---- */

static void retired_memory_waits_for_hits(void **state)
{
	struct session *s = made(NULL);
	struct slot *slot = session_slot_get(s);
	config_ref a = session_config_alloc(s, 64);

	slot->depth = 1;
	slot->epoch = session_header(s)->epoch;
	session_config_retire(s, a, 64);
	assert_int_equal(session_reclaim(s), 1);
	slot->epoch = session_header(s)->epoch;
	assert_int_equal(session_reclaim(s), 0);
	assert_int_equal(session_config_alloc(s, 64), a);
	session_config_retire(s, a, 64);
	slot->epoch = 0;
	assert_int_equal(session_reclaim(s), 1);
	slot->depth = 0;
	assert_int_equal(session_reclaim(s), 0);
	session_slot_put(s, slot);
	session_close(s);
}

static void slots_have_scratch_and_run_out(void **state)
{
	struct session *s = made(NULL);
	struct slot *got[17];

	for (int i = 0; i < 17; i++)
		got[i] = session_slot_get(s);
	assert_non_null(got[15]);
	assert_null(got[16]);
	assert_int_equal(got[3]->index, 3);
	assert_non_null(
		session_data(s, got[3]->scratch, sizeof(struct hit_scratch) * LAYOUT_HIT_LEVELS));
	session_slot_put(s, got[3]);
	assert_ptr_equal(session_slot_get(s), got[3]);
	session_close(s);
}

/* The memory of a session does not depend on its maximum number of slots. */
static void slots_have_memory_when_they_are_given(void **state)
{
	const struct session_params params = { .nr_cpus = 2, .memory = 64 << 20 };
	struct session *s;
	char path[4200];
	struct stat st;

	assert_int_equal(session_create("sparse", &params, &s), 0);
	snprintf(path, sizeof(path), "%s/data", session_dir(s));
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_blocks * 512 < 2 << 20);
	assert_int_equal(session_header(s)->nr_slots, LAYOUT_MAX_SLOTS);
	assert_int_equal(session_header(s)->slots_high, 0);
	for (uint32_t i = 0; i < 50; i++)
		assert_int_equal(session_slot_get(s)->index, i);
	assert_int_equal(session_header(s)->slots_high, 50);
	session_close(s);
	assert_int_equal(session_open("sparse", &s), 0);
	assert_int_equal(session_header(s)->slots_high, 50);
	assert_int_equal(session_slot_get(s)->index, 0);
	session_destroy(s);
}

static void who_had_a_slot_does_not_wait_any_more(void **state)
{
	struct session *s = made(NULL);
	struct program_tables *tables;
	struct slot *slot;

	tables = session_data(s, session_header(s)->programs, sizeof(*tables));
	slot = session_slot_get(s);
	tables->waiters[slot->index].addr = 42;
	tables->waiters[slot->index].mark_state = MARK_BUSY;
	tables->waiters[slot->index + 1].addr = 42;
	session_slot_put(s, slot);
	assert_int_equal(tables->waiters[slot->index].addr, 0);
	assert_int_equal(tables->waiters[slot->index].mark_state, MARK_NONE);
	assert_int_equal(tables->waiters[slot->index + 1].addr, 42);
	session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(a_name_is_taken_once),
		cmocka_unit_test(a_session_of_another_user_is_not_opened),
		cmocka_unit_test(who_comes_second_waits_for_the_first),
		cmocka_unit_test(what_is_being_made_is_not_removed),
		cmocka_unit_test(a_private_session_leaves_nothing),
		cmocka_unit_test(a_session_ends_where_no_file_can_be_opened),
		cmocka_unit_test(what_was_full_once_is_opened),
		cmocka_unit_test(only_sessions_that_nobody_serves_are_swept),
		cmocka_unit_test(a_place_that_another_user_has_taken_is_refused),
		cmocka_unit_test(others_may_not_enter),
		cmocka_unit_test(memory_is_zeroed_and_aligned),
		cmocka_unit_test(big_blocks_go_back_to_the_system),
		cmocka_unit_test(what_is_prepared_is_backed_in_pieces),
		cmocka_unit_test(what_was_prepared_for_nobody_is_given_back),
		cmocka_unit_test(what_is_prepared_is_no_reason_to_refuse),
		cmocka_unit_test(what_is_being_freed_is_waited_for),
		cmocka_unit_test(many_small_pieces_are_freed_and_made_again),
		cmocka_unit_test(large_pieces_go_back_in_steps),
		cmocka_unit_test(running_out_is_an_error),
		cmocka_unit_test(refs_are_checked),
		cmocka_unit_test(a_block_freed_twice_is_given_once),
		cmocka_unit_test(a_truncated_file_reads_as_zeros),
		cmocka_unit_test(a_dead_servers_session_is_opened),
		cmocka_unit_test(what_a_dead_server_had_prepared_is_given_back),
		cmocka_unit_test(what_was_not_adopted_is_freed_and_zeroed),
		cmocka_unit_test(who_needs_fences_does_so_under_the_next_server),
		cmocka_unit_test(adopting_outside_is_refused),
		cmocka_unit_test(stale_sessions_are_listed_and_removed),
		cmocka_unit_test(damaged_files_are_refused),
		cmocka_unit_test(whose_lock_cannot_be_opened_is_left_alone),
		cmocka_unit_test(what_is_left_behind_goes),
		cmocka_unit_test(retired_memory_waits_for_hits),
		cmocka_unit_test(slots_have_scratch_and_run_out),
		cmocka_unit_test(slots_have_memory_when_they_are_given),
		cmocka_unit_test(who_had_a_slot_does_not_wait_any_more),
	};
	int failed;

	if (!temp_place())
		return temp_place_skip();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	temp_place_remove();
	return failed;
}
