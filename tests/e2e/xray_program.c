/* SPDX-License-Identifier: MIT */
/*
 * xray_program.c MODE - a program with sleds of clang's XRay, which patches them itself or leaves
 * them alone
 *
 * Prints the results of its functions, and how often XRay has called its handler.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* XRay's own header is for C++. */
enum { XRAY_ENTRY };
int __xray_set_handler(void (*handler)(int32_t id, int type));
int __xray_patch(void);
int __xray_unpatch(void);
int __xray_patch_function(int32_t id);
uintptr_t __xray_function_address(int32_t id);
size_t __xray_max_function_id(void);

#define APART __attribute__((noinline, xray_always_instrument))
#define ASIDE __attribute__((noinline, xray_never_instrument))

static atomic_ulong enters, exits;
static volatile long zero;

#ifdef BESIDE
long beside(long a);
#else
#define beside(a) (a)
#endif

APART static long leaf(long a)
{
	return beside(a) * 3 + zero;
}

APART static long twice(long a)
{
	if (a & 1)
		return leaf(a) + 1;
	return leaf(a) + leaf(a + 1);
}

APART static long jumps(long a)
{
	return twice(a + 1);
}

APART static long all(long seed)
{
	long sum = zero;

	for (long i = 0; i < 4; i++)
		sum += jumps(seed + i);
	return sum;
}

ASIDE static void handler(int32_t id, int type)
{
	if (type == XRAY_ENTRY)
		enters++;
	else
		exits++;
}

ASIDE static void say(const char *when)
{
	printf("%s: %ld %lu %lu\n", when, all(5), enters, exits);
	fflush(stdout);
}

ASIDE static void patch_and_not(void)
{
	say("first");
	__xray_set_handler(handler);
	printf("patched: %d\n", __xray_patch());
	say("patched");
	printf("not: %d\n", __xray_unpatch());
	say("not");
	__xray_patch();
	say("again");
}

/* Patches one function; the others stay as they are. */
ASIDE static void patch_one(void)
{
	say("first");
	__xray_set_handler(handler);
	for (size_t id = 1; id <= __xray_max_function_id(); id++)
		if (__xray_function_address((int)id) == (uintptr_t)leaf)
			printf("patched: %d\n", __xray_patch_function((int)id));
	say("patched");
}

ASIDE static void in_a_child(void)
{
	pid_t child;

	say("first");
	child = fork();
	if (!child) {
		patch_and_not();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	say("parent");
}

static atomic_bool stop;
static atomic_ulong wrong;

ASIDE static void *run_through(void *arg)
{
	const long wanted = all(5);

	while (!stop)
		wrong += all(5) != wanted;
	return NULL;
}

ASIDE static void beside_threads(void)
{
	pthread_t threads[3];

	/* On a busy machine no thread may run before it patches. */
	wrong += !all(5);
	__xray_set_handler(handler);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run_through, NULL);
	for (int i = 0; i < 200; i++) {
		usleep(1000);
		__xray_patch();
		usleep(1000);
		__xray_unpatch();
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("threads: %lu %d %d\n", wrong, enters > 0, exits > 0);
}

/* Installs a filter that allows everything. */
ASIDE static void in_a_sandbox(void)
{
	struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog filter = { 1, &allow };

	say("first");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("sandbox: %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0));
	patch_and_not();
}

/* Waits for a line, then runs once more. */
ASIDE static void wait_for_doctor(void)
{
	char line[8];

	patch_and_not();
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
	say("later");
	__xray_unpatch();
	say("last");
}

ASIDE int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "patch", patch_and_not }, { "one", patch_one },
		{ "child", in_a_child }, { "threads", beside_threads },
		{ "sandbox", in_a_sandbox }, { "wait", wait_for_doctor },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			modes[i].run();
	if (argc < 2)
		say("alone");
	return 0;
}
