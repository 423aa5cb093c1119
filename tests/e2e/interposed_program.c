/* SPDX-License-Identifier: MIT */
/*
 * interposed_program.c - defines functions of libc, as a sanitizer's runtime does: the real ones
 * are known only from main() on
 *
 * Prints how often each was called. The agent must not call them, before main() or later.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define WRAPPED(X)									\
	X(void *, memcpy, (void *a, const void *b, size_t n), (a, b, n))		\
	X(void *, memset, (void *a, int c, size_t n), (a, c, n))			\
	X(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n))		\
	X(void *, memchr, (const void *a, int c, size_t n), (a, c, n))			\
	X(void *, memrchr, (const void *a, int c, size_t n), (a, c, n))			\
	X(size_t, strlen, (const char *a), (a))						\
	X(int, strcmp, (const char *a, const char *b), (a, b))				\
	X(int, strncmp, (const char *a, const char *b, size_t n), (a, b, n))		\
	X(char *, strchr, (const char *a, int c), (a, c))				\
	X(char *, strrchr, (const char *a, int c), (a, c))				\
	X(size_t, strspn, (const char *a, const char *b), (a, b))			\
	X(size_t, strcspn, (const char *a, const char *b), (a, b))			\
	X(char *, strstr, (const char *a, const char *b), (a, b))			\
	X(char *, strcpy, (char *a, const char *b), (a, b))				\
	X(char *, strcat, (char *a, const char *b), (a, b))				\
	X(char *, getenv, (const char *a), (a))						\
	X(unsigned long, getauxval, (unsigned long a), (a))				\
	X(int, sigemptyset, (sigset_t *a), (a))						\
	X(int, sigaddset, (sigset_t *a, int s), (a, s))					\
	X(int, sigismember, (const sigset_t *a, int s), (a, s))				\
	X(int, vsnprintf, (char *a, size_t n, const char *f, va_list v), (a, n, f, v))	\
	X(int, dl_iterate_phdr,								\
	  (int (*f)(struct dl_phdr_info *, size_t, void *), void *a), (f, a))		\
	X(int, pthread_key_create, (pthread_key_t *k, void (*e)(void *)), (k, e))	\
	X(int, pthread_setspecific, (pthread_key_t k, const void *v), (k, v))		\
	X(pthread_t, pthread_self, (void), ())

#define WRAP(type, name, params, args)							\
	static type (*real_##name) params;						\
	static unsigned long calls_##name;						\
	type name params								\
	{										\
		calls_##name++;								\
		return real_##name args;						\
	}
WRAPPED(WRAP)

static void *thread(void *arg)
{
	free(malloc(100));
	return arg;
}

static void handle(int sig)
{
	(void)sig;
}

int main(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t other;
	void *library;

#define FIND(type, name, params, args) real_##name = dlsym(RTLD_NEXT, #name);
	WRAPPED(FIND)
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&lock);
		free(malloc((size_t)i));
		pthread_mutex_unlock(&lock);
	}
	signal(SIGUSR1, handle);
	sigset(SIGUSR2, SIG_HOLD);
	raise(SIGUSR1);
	library = dlopen("libm.so.6", RTLD_NOW);
	for (int i = 0; i < 3; i++)
		if (!library || pthread_create(&other, NULL, thread, NULL) ||
		    pthread_join(other, NULL))
			return 1;
	if (system("true"))
		return 1;
	fflush(stdout);
#define SAY(type, name, params, args) printf("%s %lu\n", #name, calls_##name);
	WRAPPED(SAY)
	return 0;
}
