/* SPDX-License-Identifier: MIT */
/* graph_fixture.c - functions that are left in all ways of C */
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <time.h>
#include <unistd.h>
#include "graph_fixture.h"
#include "sum.h"

#define UNSEEN __attribute__((patchable_function_entry(0, 0), no_instrument_function))

/* Keeps a call from becoming a jump. */
#define HERE() __asm__ volatile("" : : : "memory")

enum { STACK = 65536 };

APART long leaf(long a)
{
	volatile long room[4] = { a, a + 1, a + 2, a + 3 };

	return room[0] * room[3] - room[1] * room[2];
}

APART long middle(long a)
{
	long n = leaf(a) + leaf(a + 1);

	HERE();
	return n;
}

APART long outer(long a)
{
	long n = middle(a);

	HERE();
	return n + leaf(n);
}

APART long run_calls(void)
{
	long n = outer(3);

	HERE();
	return n;
}

/* ---- Depth ---- */

APART long deep(long n)
{
	long below;

	if (!n)
		return 1;
	below = deep(n - 1);
	HERE();
	return below + n;
}

long run_recursion(void)
{
	return deep(20000);
}

/* ---- Tail calls ---- */

APART long tail_end(long a)
{
	HERE();
	return a + 1;
}

APART long tail_second(long a)
{
	HERE();
	return tail_end(a * 2);
}

APART long tail_first(long a)
{
	HERE();
	return tail_second(a * 3);
}

APART long tail_loop_b(long n);

APART long tail_loop_a(long n)
{
	HERE();
	return n ? tail_loop_b(n - 1) : 7;
}

APART long tail_loop_b(long n)
{
	HERE();
	return n ? tail_loop_a(n - 1) : 8;
}

/* Jumps to a function, which runs while many others jump. */
APART long tail_many(long nr)
{
	long sum = 0;

	for (long i = 0; i < nr; i++)
		sum += tail_first(i);
	HERE();
	return sum;
}

APART long tail_waits(long nr)
{
	HERE();
	return tail_many(nr);
}

APART long run_tails(void)
{
	long n = tail_first(5);

	HERE();
	return n;
}

/* ---- Arguments and results ---- */

struct large {
	long a[5];
};

struct pair {
	long		a;
	double		b;
};

APART struct large give_large(long a)
{
	struct large l = { { a, a + 1, a + 2, a + 3, a + 4 } };

	HERE();
	return l;
}

APART struct pair give_pair(long a)
{
	struct pair p = { a, (double)a / 2 };

	HERE();
	return p;
}

APART long double give_long_double(long a)
{
	HERE();
	return (long double)a / 3;
}

APART __int128 give_wide(long a)
{
	HERE();
	return (__int128)a << 70 | a;
}

typedef double vector __attribute__((vector_size(32)));

APART __attribute__((target("avx"))) vector give_vector(vector a, vector b)
{
	HERE();
	return a + b;
}

APART __attribute__((target("avx"))) double use_vector(double d)
{
	vector v = { d, d + 1, d + 2, d + 3 };

	v = give_vector(v, v);
	return v[0] + v[1] + v[2] + v[3];
}

APART long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	HERE();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

long run_values(void)
{
	struct large l = give_large(4);
	struct pair p = give_pair(5);
	long n = l.a[4] + p.a + (long)(p.b * 10) + (long)(give_long_double(100) * 1000000);
	__int128 w = give_wide(6);

	n += (long)(w >> 70) + (long)w + (long)sum(4, 1.0, 2.0, 3.0, 4.5) * 2;
	if (__builtin_cpu_supports("avx"))
		n += (long)use_vector(1.5);
	return n + many(1, 2, 3, 4, 5, 6, 7, 8);
}

/* ---- longjmp ---- */

static jmp_buf there;

APART long jump_from(long n)
{
	long below;

	if (!n)
		longjmp(there, 5);
	below = jump_from(n - 1);
	HERE();
	return below;
}

APART long jump_over(void)
{
	volatile char room[256];
	long n = 0;

	room[0] = 0;
	if (!setjmp(there))
		n = jump_from(10);
	HERE();
	return n + 3 + room[0];
}

APART long run_longjmp(void)
{
	long n = 0;

	for (int i = 0; i < 3; i++)
		n += jump_over() + leaf(i);
	return n;
}

/* ---- Handlers ---- */

static volatile long handled;
static sigjmp_buf out;

APART void in_handler(int sig)
{
	handled += leaf(sig);
	HERE();
}

APART void leaves_handler(int sig)
{
	HERE();
	siglongjmp(out, 1);
}

static UNSEEN void handle(void (*handler)(int), char *stack, struct sigaction *old)
{
	struct sigaction sa = { .sa_handler = handler,
			       .sa_flags = stack ? SA_ONSTACK | SA_NODEFER : 0 };
	stack_t ss = { .ss_sp = stack, .ss_size = STACK, .ss_flags = stack ? 0 : SS_DISABLE };

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, old);
}

APART long raises(long n)
{
	raise(SIGUSR1);
	HERE();
	return n + leaf(n);
}

APART long run_handler(void)
{
	char *stack = malloc(STACK);
	struct sigaction old;
	long n = 0;

	for (int i = 0; i < 4; i++) {
		handle(in_handler, i & 1 ? stack : NULL, i ? NULL : &old);
		n += raises(i);
	}
	handle(SIG_IGN, NULL, NULL);
	sigaction(SIGUSR1, &old, NULL);
	free(stack);
	n += handled;
	handled = 0;
	return n;
}

APART long run_left_handler(void)
{
	char *stack = malloc(STACK);
	struct sigaction old;
	volatile long n = 0;

	handle(leaves_handler, stack, &old);
	for (volatile int i = 0; i < 5; i++)
		if (!sigsetjmp(out, 1))
			n += raises(100);
		else
			n += leaf(i);
	handle(SIG_IGN, NULL, NULL);
	sigaction(SIGUSR1, &old, NULL);
	free(stack);
	return n;
}

/* The handler runs at any point; each tenth one leaves the interrupted code. */
static volatile sig_atomic_t timer_may_leave;
static sigjmp_buf interrupted;

APART void on_timer(int sig)
{
	handled += deep(3) == 7 ? middle(sig) != 0 : -1000000;
	HERE();
	if (timer_may_leave && handled % 10 == 0) {
		timer_may_leave = 0;
		siglongjmp(interrupted, 1);
	}
}

APART long run_interrupted(long rounds)
{
	char *stack = malloc(STACK);
	struct sigaction old;
	volatile long wrong = 0;

	handle(on_timer, stack, &old);
	for (volatile long i = 0; i < rounds; i++) {
		if (sigsetjmp(interrupted, 1))
			continue;
		timer_may_leave = i % 3 == 0;
		wrong += outer(3) != run_calls() || tail_first(5) != 31 || deep(8) != 37;
		timer_may_leave = 0;
	}
	handle(SIG_IGN, NULL, NULL);
	sigaction(SIGUSR1, &old, NULL);
	free(stack);
	wrong += handled < 0;
	handled = 0;
	return wrong;
}

APART long run_sleeps(void)
{
	usleep(50000);
	return 1;
}

/* Uses the processor for 3 ms, and sleeps for 30 ms. */
APART long works(long n)
{
	struct timespec from, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000l + now.tv_nsec - from.tv_nsec < 3000000);
	usleep(30000);
	return n;
}

APART long only_calls(long n)
{
	n = works(n);
	HERE();
	return n + 1;
}

APART long only_jumps(long n)
{
	return works(n + 1);
}

APART long run_works(void)
{
	long n = only_calls(1);

	HERE();
	n += only_jumps(n);
	HERE();
	return n;
}

/* ---- Coroutines ---- */

static ucontext_t main_context, contexts[2];
static long switches;

APART long switch_at(int me, long n)
{
	long below;

	if (!n) {
		switches++;
		swapcontext(&contexts[me], &contexts[!me]);
		return leaf(me);
	}
	below = switch_at(me, n - 1);
	HERE();
	return below + 1;
}

APART void coroutine(int me)
{
	for (long i = 0; i < 10; i++)
		switches += switch_at(me, me ? 20 - i : i + 3);
}

long run_coroutines(void)
{
	static char stack[STACK];
	char *stacks[2] = { malloc(STACK), stack };
	long n;

	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	swapcontext(&main_context, &contexts[0]);
	n = switches;
	switches = 0;
	free(stacks[0]);
	return n;
}

/* ---- Processes ---- */

APART long in_child(long n)
{
	long below = deep(n);

	HERE();
	return below;
}

/* The child returns from functions that its parent called. */
APART pid_t forks(void)
{
	pid_t pid = fork();

	HERE();
	return pid;
}

static UNSEEN long status_of(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

long run_fork(void)
{
	pid_t pid = forks();

	if (!pid)
		_exit(in_child(30) == 466 ? 11 : 1);
	return status_of(pid) + deep(5);
}

long run_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		if (in_child(10) != 56)
			_exit(1);
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
		_exit(2);
	}
	return status_of(pid) + deep(5);
}

/* ---- Threads ---- */

static long cleaned;
static volatile int ready;

static UNSEEN void clean(void *arg)
{
	cleaned += (long)arg;
}

APART long blocks(long how)
{
	ready = 1;
	if (how == 1)
		pthread_exit((void *)42L);
	for (;;)
		pause();
	return 0;
}

APART long nested(long n, long how)
{
	long below;

	if (!n)
		return blocks(how);
	if (n % 10) {
		below = nested(n - 1, how);
	} else {
		pthread_cleanup_push(clean, (void *)1L);
		below = nested(n - 1, how);
		pthread_cleanup_pop(0);
	}
	HERE();
	return below;
}

APART void *thread_ends(void *how)
{
	pthread_cleanup_push(clean, (void *)100L);
	nested(50, (long)how);
	pthread_cleanup_pop(0);
	return NULL;
}

static UNSEEN long thread_run(long how)
{
	pthread_t thread;
	void *ret = NULL;
	long n;

	ready = 0;
	if (pthread_create(&thread, NULL, thread_ends, (void *)how))
		return -1;
	while (!ready)
		usleep(100);
	if (!how)
		pthread_cancel(thread);
	pthread_join(thread, &ret);
	n = cleaned;
	cleaned = 0;
	return n + (ret == PTHREAD_CANCELED ? 1000 : (long)ret);
}

long run_exit(void)
{
	return thread_run(1);
}

long run_cancel(void)
{
	return thread_run(0);
}

APART void *thread_calls(void *arg)
{
	long n = 0;

	for (int i = 0; i < 200; i++)
		n += outer(i) + deep(i);
	return (void *)n;
}

long run_thread(void)
{
	pthread_t threads[4];
	void *ret;
	long n = 0;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, thread_calls, NULL))
			return -1;
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &ret);
		n += (long)ret;
	}
	return n;
}

/* ---- Readers of the stack ---- */

int frames_seen;

static UNSEEN int frame_is(const void *at, const char *name)
{
	for (const struct graph_function *f = graph_functions; f->name; f++)
		if (!strcmp(f->name, name))
			return (size_t)((const char *)at - (const char *)f->at) < 256;
	return 0;
}

/* Returns a sum of 1, 2 and 4, one for each of the three callers in the right order. */
APART long looks(long a)
{
	static const char *const names[] = { "looks", "looks_above", "looks_top" };
	void *frames[64];
	int nr = backtrace(frames, 64), at = 0;

	frames_seen = nr;
	for (int i = 0; i < nr && at < 3; i++)
		at += frame_is(frames[i], names[at]);
	return a + at;
}

APART long looks_above(long a)
{
	long n = looks(a);

	HERE();
	return n;
}

APART long looks_top(long a)
{
	long n = looks_above(a);

	HERE();
	return n;
}

long run_backtrace(void)
{
	return looks_top(10);
}

/* ---- Functions that align the stack ---- */

struct wide {
	_Alignas(64) long a[8];
};

APART long use_wide(struct wide *w)
{
	HERE();
	return (long)((unsigned long)w % 64) + w->a[7];
}

APART long realigns(long a)
{
	struct wide w = { { a, a, a, a, a, a, a, a + 1 } };
	char room[a + 1];
	long n;

	memset(room, 1, sizeof(room));
	n = use_wide(&w);
	HERE();
	return n + room[a];
}

long run_realigned(void)
{
	return realigns(3) + realigns(40);
}

#define NAMED(f) { #f, (const void *)f }

const struct graph_function graph_functions[] = { NAMED(leaf),
						 NAMED(middle),
						 NAMED(outer),
						 NAMED(run_calls),
						 NAMED(deep),
						 NAMED(tail_end),
						 NAMED(tail_second),
						 NAMED(tail_first),
						 NAMED(tail_loop_a),
						 NAMED(tail_loop_b),
						 NAMED(tail_many),
						 NAMED(tail_waits),
						 NAMED(run_tails),
						 NAMED(many),
						 NAMED(jump_from),
						 NAMED(jump_over),
						 NAMED(run_longjmp),
						 NAMED(in_handler),
						 NAMED(leaves_handler),
						 NAMED(raises),
						 NAMED(run_handler),
						 NAMED(run_left_handler),
						 NAMED(switch_at),
						 NAMED(coroutine),
						 NAMED(run_coroutines),
						 NAMED(looks),
						 NAMED(looks_above),
						 NAMED(looks_top),
						 NAMED(run_recursion),
						 NAMED(run_sleeps),
						 NAMED(works),
						 NAMED(only_calls),
						 NAMED(only_jumps),
						 NAMED(run_works),
						 { 0 } };
