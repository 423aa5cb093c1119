/* SPDX-License-Identifier: MIT */
/*
 * provider_heap_program.c - uses the heap in a way that it counts itself
 *
 *   calls SEED THREADS N    random calls; prints how many of each it made
 *   errno                   what fails, fails as it should and sets errno as it should
 *   handlers                mallocs in signal handlers, where that is allowed
 *   sequences               prints whether libc uses restartable sequences
 *   forks                   children of fork() use the heap while threads do
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* glibc 2.35 and later; 0: libc does not use restartable sequences, or the kernel has none. */
extern const unsigned int __rseq_size __attribute__((weak));

void count_report(void) __attribute__((weak));

enum { MALLOC, CALLOC, REALLOC, FREE, POSIX_MEMALIGN, ALIGNED_ALLOC, MEMALIGN, VALLOC, NR };
static const char *const names[NR] = { "malloc", "calloc", "realloc", "free",
				      "posix_memalign", "aligned_alloc", "memalign", "valloc" };
static _Atomic long made[NR], asked;
static int rounds;

/* volatile, so that the compiler cannot know how the memory is used. */
static void *volatile sink;

static unsigned int next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(*seed >> 33);
}

static void *one(unsigned int what, void *old, size_t size)
{
	void *p = NULL;

	switch (what) {
	case 0:
		made[MALLOC]++;
		asked += (long)size;
		return malloc(size);
	case 1:
		made[CALLOC]++;
		return calloc(3, size);
	case 2:
		made[REALLOC]++;
		p = realloc(old, size + 1);
		sink = p;
		return p;
	case 3:
		made[REALLOC]++;
		return reallocarray(old, 3, size + 1);
	case 4:
		made[POSIX_MEMALIGN]++;
		return posix_memalign(&p, 64, size) ? NULL : p;
	case 5:
		made[ALIGNED_ALLOC]++;
		return aligned_alloc(64, (size + 63) & ~(size_t)63);
	case 6:
		made[MEMALIGN]++;
		return memalign(256, size);
	case 7:
		made[VALLOC]++;
		return valloc(size);
	default:
		return strdup("a text that libc has to find a place for");
	}
}

static void *worker(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	void *held[16] = { NULL };

	for (int i = 0; i < rounds; i++) {
		void **p = &held[next(&seed) % 16];
		unsigned int what = next(&seed) % 9;
		size_t size = next(&seed) % 3000;

		if (what == 2 || what == 3) {
			*p = one(what, *p, size);
		} else {
			made[FREE]++;
			free(*p);
			*p = one(what, NULL, size);
		}
		if (!*p)
			abort();
		memset(*p, 0xa5, 1);
	}
	for (int i = 0; i < 16; i++) {
		made[FREE]++;
		free(held[i]);
	}
	return NULL;
}

static void run_threads(uintptr_t seed, int n)
{
	pthread_t threads[64];

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(seed + (uintptr_t)i)))
			abort();
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static int calls(char **args)
{
	rounds = atoi(args[2]);
	run_threads((uintptr_t)atoi(args[0]), atoi(args[1]));
	for (int i = 0; i < NR; i++)
		printf("%s %ld\n", names[i], made[i]);
	printf("bytes %ld\n", asked);
	fflush(stdout);
	if (count_report)
		count_report();
	_exit(0);
}

static void want(int line, int yes)
{
	if (!yes)
		printf("line %d: not so\n", line);
}

#define WANT(x) want(__LINE__, x)

static int errors(void)
{
	/* volatile: the compiler must know neither which call fails nor what was freed. */
	volatile size_t huge = SIZE_MAX / 2, three = 3;
	void *volatile p;
	void *q;

	errno = 17;
	p = malloc(0);
	WANT(p && errno == 17);
	free(p);
	free(NULL);
	WANT(errno == 17);
	WANT(!malloc(huge * 2) && errno == ENOMEM);
	errno = 17;
	WANT(!calloc(huge, three) && errno == ENOMEM);
	p = malloc(10);
	strcpy(p, "keep me");
	errno = 17;
	WANT(!reallocarray(p, huge, three) && errno == ENOMEM);
	q = realloc(p, huge * 2);
	WANT(!q && !strcmp(p, "keep me"));
	errno = 17;
	q = p;
	WANT(posix_memalign(&q, 3, 10) == EINVAL && errno == 17 && q == p);
	WANT(!memalign(64, huge * 2) && errno == ENOMEM);
	q = realloc(p, 0);
	WANT(!q);
	errno = 17;
	p = realloc(NULL, 0);
	WANT(p && errno == 17);
	free(p);
	puts("end");
	return 0;
}

static void *volatile in_handler;
static _Atomic int handled;

static void on_signal(int sig)
{
	in_handler = malloc(100);
	free(in_handler);
	handled++;
}

static int handlers(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 1000; i++) {
		raise(SIGUSR1);
		sink = malloc(10);
		free(sink);
	}
	printf("%d\n", handled);
	return 0;
}

static _Atomic int stop;

static void *churn(void *arg)
{
	while (!stop) {
		void *p = malloc(100);

		sink = p;
		free(p);
	}
	return NULL;
}

__attribute__((noinline)) static void child(int nr)
{
	for (int i = 0; i < 100; i++) {
		void *p = malloc(100);

		sink = p;
		free(p);
	}
	_exit(nr);
}

static int forks(void)
{
	pthread_t threads[2];
	int good = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			child(i);
		waitpid(pid, &status, 0);
		good += WIFEXITED(status) && WEXITSTATUS(status) == i;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", good);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "sequences"))
		return puts(&__rseq_size && __rseq_size ? "yes" : "no") < 0;
	if (argc == 5 && !strcmp(argv[1], "calls"))
		return calls(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "errno"))
		return errors();
	if (argc == 2 && !strcmp(argv[1], "handlers"))
		return handlers();
	if (argc == 2 && !strcmp(argv[1], "forks"))
		return forks();
	return 2;
}
