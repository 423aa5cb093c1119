/* SPDX-License-Identifier: MIT */
/*
 * Unit test of agent/providers/real.c: finds what the dynamic linker finds, in the default version
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/providers/real.h"

/* Behaves like an interposer: the search has to begin behind this object. */
int pthread_mutex_trylock(pthread_mutex_t *m)
{
	return EINVAL;
}

REAL_FUNCTION(malloc);
REAL_FUNCTION(getppid);
REAL_FUNCTION_AS(ilogb, int (*)(double));
REAL_FUNCTION(free);
REAL_FUNCTION(pthread_cond_wait);
REAL_FUNCTION(pthread_cond_signal);
REAL_FUNCTION(pthread_create);
REAL_FUNCTION(pthread_mutex_trylock);
REAL_FUNCTION(sem_wait);
REAL_FUNCTION_AS(gettimeofday, int (*)(void *, void *));
REAL_FUNCTION_AS(no_such_function, long (*)(void));
REAL_FUNCTION_AS(cmocka_set_message_output, void (*)(int));

static void *linker(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void test_finds_what_the_linker_finds(void **state)
{
	assert_ptr_equal(REAL(malloc), linker("malloc"));
	assert_ptr_equal(REAL(free), linker("free"));
	assert_ptr_equal(REAL(pthread_create), linker("pthread_create"));
	assert_ptr_equal(REAL(sem_wait), linker("sem_wait"));
	assert_ptr_equal(REAL(cmocka_set_message_output), linker("cmocka_set_message_output"));
	assert_true(REAL_SAME_OBJECT(malloc, free));
	assert_false(REAL_SAME_OBJECT(malloc, cmocka_set_message_output));
}

static void test_takes_the_default_version(void **state)
{
	void *old = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.2.5");

	assert_ptr_equal(REAL(pthread_cond_wait),
			 dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2"));
	assert_ptr_equal(REAL(pthread_cond_signal),
			 dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2"));
	if (old)
		assert_ptr_not_equal(REAL(pthread_cond_wait), old);
}

static void test_begins_behind_us(void **state)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	assert_int_equal(pthread_mutex_trylock(&m), EINVAL);
	assert_int_equal(REAL(pthread_mutex_trylock)(&m), 0);
	assert_int_equal(REAL(pthread_mutex_trylock)(&m), EBUSY);
}

static void test_what_is_chosen_at_run_time_is_chosen(void **state)
{
	long t[2] = { 0, 0 };

	assert_int_equal(REAL(gettimeofday)(t, NULL), 0);
	assert_true(t[0] > 0);
}

static void test_what_nobody_has_fails(void **state)
{
	errno = 0;
	assert_int_equal(REAL(no_such_function)(), -1);
	assert_int_equal(errno, ENOSYS);
}

static void test_shadowed(void **state)
{
	/* No object comes before the program itself. */
	assert_false(real_shadowed("malloc"));
}

static void test_any_number_of_times(void **state)
{
	void *(*before)(size_t) = REAL(malloc);

	real_find(&real_entry_malloc);
	assert_ptr_equal(REAL(malloc), before);
}

static void test_each_when_it_is_used(void **state)
{
	assert_null(real_entry_getppid.function);
	assert_int_equal(REAL(getppid)(), getppid());
	assert_non_null(real_entry_getppid.function);
}

static void test_what_is_loaded_later_is_not_found(void **state)
{
	if (dlopen("libm.so.6", RTLD_LAZY | RTLD_NOLOAD) ||
	    !dlopen("libm.so.6", RTLD_LAZY | RTLD_GLOBAL))
		skip();
	errno = 0;
	assert_int_equal(REAL(ilogb)(8.0), -1);
	assert_int_equal(errno, ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_the_linker_finds),
		cmocka_unit_test(test_takes_the_default_version),
		cmocka_unit_test(test_begins_behind_us),
		cmocka_unit_test(test_what_is_chosen_at_run_time_is_chosen),
		cmocka_unit_test(test_what_nobody_has_fails),
		cmocka_unit_test(test_shadowed),
		cmocka_unit_test(test_any_number_of_times),
		cmocka_unit_test(test_each_when_it_is_used),
		cmocka_unit_test(test_what_is_loaded_later_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
