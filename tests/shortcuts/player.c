/* SPDX-License-Identifier: MIT */
/*
 * player.c - a traced program that makes hits by commands of its input, the same for the same input
 *
 *     hits N SEED       hits of all events, one after the other, with numbers of the seed
 *     threads N SEED    the same in two threads at the same time, each with a seed of its own
 *     signals N SEED    the same, and a handler that hits comes into every fourth
 *     calls N           of functions
 *     taken             how often each shortcut of the first thread was taken
 *
 * It answers each command with "done". `threads` prints the threads' numbers before that, and
 * `taken` a line "COUNT NAME" for each shortcut.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>

#define INTEGERS                                                                                 \
	(signed char, s8), (unsigned char, u8), (short, s16), (unsigned short, u16), (int, s32), \
		(unsigned int, u32), (long, s64), (unsigned long, u64)

/* A macro that expands the list first. */
#define EVENT(...) TF_EVENT(__VA_ARGS__)

EVENT(prop, i0, INTEGERS);
EVENT(prop, i1, INTEGERS);
EVENT(prop, i2, INTEGERS);
EVENT(prop, i3, INTEGERS);
EVENT(prop, t0, INTEGERS, (const char *, text));
EVENT(prop, t1, INTEGERS, (const char *, text));
EVENT(prop, b0, INTEGERS);
EVENT(prop, e0, INTEGERS);
EVENT(prop, b1, INTEGERS, (const char *, text));
EVENT(prop, e1, INTEGERS, (const char *, text));

enum { TEXT_MAX = 300 };

#ifdef __clang__
#define SITE __attribute__((noinline, patchable_function_entry(5)))
#else
#define SITE __attribute__((noinline, noclone, patchable_function_entry(5)))
#endif

struct numbers {
	uint64_t state;
};

static uint64_t next(struct numbers *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state * 0x2545f4914f6cdd1d;
}

/* Few numbers occur often, some are large, some at the limits of their types. */
static uint64_t number(struct numbers *r)
{
	/* clang-format off */
	static const uint64_t ends[] = {
		0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 2147483647, 2147483648,
		4294967295, INT64_MAX, 1ull << 63, UINT64_MAX,
	};
	/* clang-format on */
	uint64_t n = next(r) >> 8;

	switch (n % 8) {
	case 0:
		return ends[n / 8 % (sizeof(ends) / sizeof(ends[0]))];
	case 1:
		return next(r);
	case 2:
		return 0 - n / 8 % 20;
	default:
		return n / 8 % 20;
	}
}

/* Lengths 0 to TEXT_MAX, mostly short; some differ only behind 16 bytes, and behind 256. */
static const char *text(struct numbers *r, char *to)
{
	uint64_t n = next(r) >> 8;
	size_t len = n % 4 ? n / 4 % 12 : n / 4 % (TEXT_MAX + 1);

	memset(to, 'a', len);
	if (len)
		to[len - 1] = (char)('a' + n / 1024 % 3);
	to[len] = '\0';
	return to;
}

#define VALUES                                                                                \
	(signed char)v[0], (unsigned char)v[1], (short)v[2], (unsigned short)v[3], (int)v[4], \
		(unsigned int)v[5], (long)v[6], v[7]

static void one_hit(struct numbers *r)
{
	unsigned int which = (unsigned int)(next(r) >> 32) % 10;
	char buf[TEXT_MAX + 1];
	uint64_t v[8];

	for (int i = 0; i < 8; i++)
		v[i] = number(r);
	text(r, buf);
	switch (which) {
	case 0:
		trace_i0(VALUES);
		break;
	case 1:
		trace_i1(VALUES);
		break;
	case 2:
		trace_i2(VALUES);
		break;
	case 3:
		trace_i3(VALUES);
		break;
	case 4:
		trace_t0(VALUES, buf);
		break;
	case 5:
		trace_t1(VALUES, buf);
		break;
	case 6:
		trace_b0(VALUES);
		break;
	case 7:
		trace_e0(VALUES);
		break;
	case 8:
		trace_b1(VALUES, buf);
		break;
	default:
		trace_e1(VALUES, buf);
	}
}

/* ---- the commands of the input ---- */

static struct numbers in_handler;

static void on_signal(int sig)
{
	one_hit(&in_handler);
}

static void hits(unsigned long nr, uint64_t seed)
{
	struct numbers r = {seed};

	while (nr--)
		one_hit(&r);
}

static void signals(unsigned long nr, uint64_t seed)
{
	struct numbers r = {seed};

	in_handler.state = seed + 1;
	while (nr--) {
		one_hit(&r);
		if (nr % 4 == 0)
			raise(SIGUSR1);
	}
}

struct part {
	unsigned long nr;
	uint64_t seed;
	pid_t tid;
};

static void *in_thread(void *arg)
{
	struct part *p = arg;

	p->tid = gettid();
	hits(p->nr, p->seed);
	return NULL;
}

static void threads(unsigned long nr, uint64_t seed)
{
	struct part parts[2] = {{nr, seed, 0}, {nr, seed + 1, 0}};
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, in_thread, &parts[i]))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d\n%d\n", parts[0].tid, parts[1].tid);
}

SITE static int prop_leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

SITE static int prop_twice(int x)
{
	__asm__ volatile("");
	return prop_leaf(x) + prop_leaf(x + 1);
}

static void calls(unsigned long nr)
{
	while (nr--)
		prop_twice(prop_leaf(1));
}

static void taken(void)
{
	void *(*thread)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "agent_thread_known");
	uint64_t (*count)(void *, unsigned int) =
		(uint64_t(*)(void *, unsigned int))dlsym(RTLD_DEFAULT, "agent_shortcut_taken");
	const char *(*name)(unsigned int) =
		(const char *(*)(unsigned int))dlsym(RTLD_DEFAULT, "agent_shortcut_name");
	void *own = thread ? thread() : NULL;

	for (unsigned int i = 0; count && name && name(i); i++)
		printf("%llu %s\n", own ? (unsigned long long)count(own, i) : 0, name(i));
}

static void stay(void)
{
	cpu_set_t set;
	int cpu = 0;

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	unsigned long nr, seed;
	char line[256];

	if (!tf_attached() && tf_attach(getenv("TRACEFUSE_SESSION")))
		return 1;
	stay();
	sigaction(SIGUSR1, &sa, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "hits %lu %lu", &nr, &seed) == 2)
			hits(nr, seed);
		else if (sscanf(line, "threads %lu %lu", &nr, &seed) == 2)
			threads(nr, seed);
		else if (sscanf(line, "signals %lu %lu", &nr, &seed) == 2)
			signals(nr, seed);
		else if (sscanf(line, "calls %lu", &nr) == 1)
			calls(nr);
		else if (!strcmp(line, "taken\n"))
			taken();
		else
			return 2;
		printf("done\n");
	}
	return 0;
}
