/* SPDX-License-Identifier: MIT */
/*
 * task.c - threads of a process in another pid name space, by its numbers and the server's
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "session/state.h"

enum { THREADS = 200 };

static unsigned int nr_read;	/* files of /proc */

FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	nr_read++;
	return __real_fopen64(path, mode);
}

static void *wait_for_the_end(void *arg)
{
	pause();
	return arg;
}

static void *end_at_once(void *arg)
{
	return arg;
}

/*
 * The first process of a name space, where some numbers have been used: its threads have the
 * numbers 1 and 2 * n + 2.
 */
static void be_a_process_of_threads(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 1; i < THREADS; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, end_at_once, NULL) || pthread_join(t, NULL) ||
		    pthread_create(&t, NULL, wait_for_the_end, NULL))
			_exit(1);
	}
	if (write(ready, "r", 1) == 1)
		pause();
	_exit(1);
}

/* -> the process in a name space of its own; 0: that is not allowed */
static pid_t elsewhere(void)
{
	int numbers[2], ready[2];
	pid_t pid = 0, helper;
	char c;

	assert_int_equal(pipe(numbers), 0);
	assert_int_equal(pipe(ready), 0);
	helper = fork();
	if (!helper) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(0);
		pid = fork();
		if (!pid)
			be_a_process_of_threads(ready[1]);
		if (write(numbers[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	close(numbers[1]);
	close(ready[1]);
	if (read(numbers[0], &pid, sizeof(pid)) != sizeof(pid) || read(ready[0], &c, 1) != 1) {
		waitpid(helper, NULL, 0);
		pid = 0;
	}
	close(numbers[0]);
	close(ready[0]);
	return pid;
}

static unsigned int tasks_of(pid_t pid)
{
	unsigned int nr = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *d; (d = readdir(dir));)
		nr += d->d_name[0] != '.';
	closedir(dir);
	return nr;
}

static void in_another_name_space(void **state)
{
	const pid_t pid = elsewhere();
	int32_t apart = 0;
	struct tasks tasks;
	pid_t before = 0;

	/* A thread of a sanitizer has a number, too. */
	if (!pid || tasks_of(pid) != THREADS)
		skip();
	assert_int_equal(task_find(pid, 1, &apart), pid);
	nr_read = 0;
	for (uint32_t i = 1; i < THREADS; i++) {
		const pid_t found = task_find(pid, 2 * i + 1, &apart);

		assert_true(found > before && found != pid);
		before = found;
		assert_int_equal(task_find(pid, 1, &apart), pid);
	}
	assert_true(nr_read < 6 * THREADS);
	/* In another order, as when many threads begin at once. */
	nr_read = 0;
	for (uint32_t i = 1; i < THREADS; i++)
		assert_true(task_find(pid, 2 * (i * 7 % THREADS) + 1, &apart) > 0);
	assert_true(nr_read < 14 * THREADS);
	assert_int_equal(task_find(pid, 2, &apart), 0);
	assert_int_equal(task_find(pid, 0, &apart), 0);

	nr_read = 0;
	tasks_look(pid, &tasks);
	for (uint32_t i = 0; i < 2 * THREADS + 10; i++)
		assert_int_equal(tasks_have(&tasks, i), i % 2 && i < 2 * THREADS);
	tasks_forget(&tasks);
	assert_true(nr_read <= THREADS + 1);

	kill(pid, SIGKILL);
	assert_true(wait(NULL) > 0);	/* the helper, which has waited for it */
	tasks_look(pid, &tasks);
	assert_false(tasks_have(&tasks, 1));
	tasks_forget(&tasks);
}

static void in_the_same_name_space(void **state)
{
	struct tasks tasks;
	int32_t apart = 0;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_int_equal(task_find(getpid(), (uint32_t)gettid(), &apart), gettid());
	assert_int_equal(apart, 0);
	nr_read = 0;
	tasks_look(getpid(), &tasks);
	assert_true(tasks_have(&tasks, (uint32_t)gettid()));
	/* Another process, which may share the memory. */
	assert_true(tasks_have(&tasks, (uint32_t)pid));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(tasks_have(&tasks, (uint32_t)pid));
	assert_int_equal(nr_read, 1);
	tasks_forget(&tasks);
}

static pid_t ended(void)
{
	const pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static bool lives(pid_t process, pid_t tid)
{
	struct tasks tasks;
	bool has;

	tasks_look(process, &tasks);
	has = tasks_have(&tasks, (uint32_t)tid);
	tasks_forget(&tasks);
	return has;
}

static void a_thread_lives_until_it_ends(void **state)
{
	const pid_t gone = ended();
	int32_t apart = 0;

	assert_true(lives(getpid(), gettid()));
	assert_false(lives(getpid(), gone));
	assert_false(lives(gone, gone));
	assert_int_equal(task_find(getpid(), (uint32_t)gone, &apart), 0);
}

static void without_a_descriptor_no_thread_is_dead(void **state)
{
	struct rlimit old, none;
	int32_t apart = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_true(lives(getpid(), gettid()));
	assert_int_equal(task_find(getpid(), (uint32_t)gettid(), &apart), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_another_name_space),
		cmocka_unit_test(in_the_same_name_space),
		cmocka_unit_test(a_thread_lives_until_it_ends),
		cmocka_unit_test(without_a_descriptor_no_thread_is_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
