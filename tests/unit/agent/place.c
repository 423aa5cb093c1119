/* SPDX-License-Identifier: MIT */
/*
 * place.c - sessions that a program must not join: those of other users, and those that another
 * user has changed
 *
 * Each trick is applied to a valid session, tried and undone.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/state.h"
#include "../serve.h"
#include "../session/temp_place.h"

enum { SOMEBODY = 65534 };

static char dir[256], base[256];

static const char *in_dir(const char *name)
{
	static char path[2][300];
	static int turn;

	snprintf(path[turn ^= 1], sizeof(path[0]), "%s/%s", dir, name);
	return path[turn];
}

static int set_up(void **state)
{
	static const struct session_params params = { .nr_cpus = 1,
						      .nr_slots = 8,
						      .memory = 64 << 20 };

	if (serve_start("place", &params))
		return -1;
	snprintf(dir, sizeof(dir), "%s", session_dir(session));
	snprintf(base, sizeof(base), "%s", dir);
	*strrchr(base, '/') = 0;
	return 0;
}

static int tear_down(void **state)
{
	serve_stop();
	session_destroy(session);
	temp_place_remove();
	return 0;
}

/* Tries to join in a child, with these ids. */
static int tries_name(const char *name, const char *runtime_dir, uid_t real, uid_t effective)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (syscall(SYS_setresuid, real, effective, 0))
			_exit(255);
		agent.late = true;	/* else the kernel has checked the ids */
		_exit(-attach_start(name, runtime_dir));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int tries_to_join(uid_t real, uid_t effective)
{
	return tries_name(dir, NULL, real, effective);
}

static int tries(void)
{
	return tries_to_join((uid_t)-1, (uid_t)-1);
}

static void root_only(void)
{
	if (geteuid())
		skip();
}

static void its_own_user_joins(void **state)
{
	assert_int_equal(tries(), 0);
}

static void of_another_user(const char *path)
{
	root_only();
	assert_int_equal(chown(path, SOMEBODY, (gid_t)-1), 0);
	assert_int_equal(tries(), EACCES);
	assert_int_equal(chown(path, 0, (gid_t)-1), 0);
	assert_int_equal(tries(), 0);
}

static void root_does_not_join_another_users_session(void **state)
{
	of_another_user(dir);
}

static void files_of_another_user_are_not_taken(void **state)
{
	of_another_user(in_dir("config"));
	of_another_user(in_dir("data"));
}

static void nor_is_what_lies_in_another_users_directory(void **state)
{
	of_another_user(base);
}

static void open_to_others(const char *path, mode_t mode, mode_t old)
{
	assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(tries(), EACCES);
	assert_int_equal(chmod(path, old), 0);
	assert_int_equal(tries(), 0);
}

static void nothing_is_open_to_others(void **state)
{
	open_to_others(dir, 0777, 0700);
	open_to_others(dir, 0770, 0700);
	open_to_others(base, 0707, 0700);
	open_to_others(in_dir("config"), 0666, 0600);
	open_to_others(in_dir("data"), 0660, 0600);
}

static void a_file_has_one_name(void **state)
{
	assert_int_equal(link(in_dir("config"), in_dir("dump")), 0);
	assert_int_equal(tries(), EACCES);
	assert_int_equal(unlink(in_dir("dump")), 0);
	assert_int_equal(tries(), 0);
}

static void links_are_not_followed(void **state)
{
	assert_int_equal(rename(in_dir("data"), in_dir("dump")), 0);
	assert_int_equal(symlink("dump", in_dir("data")), 0);
	assert_int_equal(tries(), ELOOP);
	assert_int_equal(rename(in_dir("dump"), in_dir("data")), 0);
	assert_int_equal(tries(), 0);
}

static void a_pipe_is_not_waited_for(void **state)
{
	assert_int_equal(rename(in_dir("config"), in_dir("dump")), 0);
	assert_int_equal(mkfifo(in_dir("config"), 0600), 0);
	assert_int_equal(tries(), EACCES);
	assert_int_equal(rename(in_dir("dump"), in_dir("config")), 0);
}

static void real_and_effective_user_are_one(void **state)
{
	root_only();
	assert_int_equal(tries_to_join(SOMEBODY, 0), EACCES);
	assert_int_equal(tries_to_join(0, SOMEBODY), EACCES);
	assert_int_equal(tries_to_join(SOMEBODY, SOMEBODY), EACCES);
	assert_int_equal(tries_to_join(0, 0), 0);
}

/* The kernel notes the user that calls listen(). */
static void another_user_is_not_asked(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	root_only();
	assert_int_equal(rename(in_dir("attach"), in_dir("dump")), 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", in_dir("attach"));
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(syscall(SYS_setresuid, -1, SOMEBODY, -1), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(syscall(SYS_setresuid, -1, 0, -1), 0);
	assert_int_equal(tries(), EACCES);
	assert_int_equal(rename(in_dir("dump"), in_dir("attach")), 0);
	close(fd);
	assert_int_equal(tries(), 0);
}

/* On systems where a user may mount a file system that seems to be another user's. */
static void a_session_lies_in_memory(void **state)
{
	char other[] = "/var/tmp/tracefuse-test-XXXXXX", real_dir[sizeof(dir)];
	struct statfs fs;

	if (!mkdtemp(other) || statfs(other, &fs) || fs.f_type == 0x01021994) {
		rmdir(other);
		skip();
	}
	strcpy(real_dir, dir);
	snprintf(dir, sizeof(dir), "%s/place", other);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(tries(), EOPNOTSUPP);
	rmdir(dir);
	rmdir(other);
	strcpy(dir, real_dir);
}

/* In that case the server makes its sessions in /dev/shm. */
static void a_file_is_no_runtime_directory(void **state)
{
	char path[300];

	snprintf(path, sizeof(path), "%s", in_dir("config"));
	assert_int_equal(tries_name("nosuch", path, (uid_t)-1, (uid_t)-1), ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_own_user_joins),
		cmocka_unit_test(a_file_is_no_runtime_directory),
		cmocka_unit_test(root_does_not_join_another_users_session),
		cmocka_unit_test(files_of_another_user_are_not_taken),
		cmocka_unit_test(nor_is_what_lies_in_another_users_directory),
		cmocka_unit_test(nothing_is_open_to_others),
		cmocka_unit_test(a_file_has_one_name),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(a_pipe_is_not_waited_for),
		cmocka_unit_test(real_and_effective_user_are_one),
		cmocka_unit_test(another_user_is_not_asked),
		cmocka_unit_test(a_session_lies_in_memory),
	};

	if (!temp_place())
		return temp_place_skip();
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
