/* SPDX-License-Identifier: MIT */
/*
 * program.c - program HIT [neighbour | free]: a traced program that announces each hit before it,
 * and its end after it
 *
 * HIT is a row of `hits`. Before each announced hit the program makes some that are not announced,
 * so that the thread remembers the way. The neighbour makes hits all the time without announcing
 * them. So does a free program, which is never asked to pause.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <time.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>
#include "journal.h"

enum { WARM = 40, LEARNS = 20 };

TF_EVENT(way, tick, (int, n), (unsigned long, big), (const char *, text));
TF_EVENT(way, plain, (int, n), (unsigned int, u), (unsigned long, big));
TF_EVENT(way, begin, (int, n));
TF_EVENT(way, end, (int, n), (unsigned long, big));
TF_EVENT(way, other, (int, n));

/*
 * As many events as a thread remembers, with numbers in sequence. So they use all places of the
 * thread's memory: each place once for one of the `kept` events, which another instance records,
 * and once for one of the `summed` events, which have a histogram.
 */
#define CROWD(EACH) \
	EACH(0) EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7) EACH(8) EACH(9) EACH(10) \
	EACH(11) EACH(12) EACH(13) EACH(14) EACH(15)
#define KEPT(i) TF_EVENT(kept, kept##i, (int, n), (unsigned long, big));
#define SUMMED(i) TF_EVENT(summed, summed##i, (unsigned long, big), (int, n));
CROWD(KEPT)
CROWD(SUMMED)

static struct journal *journal;
static sigjmp_buf back;
static volatile int in_handler;
/* The neighbour has 2, so that it uses up no variable of the other program. */
static int who = 1;

/* ---- the hits ---- */

#ifdef __clang__
#define SITE __attribute__((noinline, patchable_function_entry(5)))
#else
#define SITE __attribute__((noinline, noclone, patchable_function_entry(5)))
#endif

SITE static int way_leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

/* It ends by a jump. */
SITE static int way_jumps(int x)
{
	return way_leaf(x);
}

/* A function with a return site as gcc writes it, which it does only with -pg. */
int way_returns(int x);
__asm__(".text\n"
	".type way_returns, @function\n"
	"way_returns: .cfi_startproc\n"
	"1: nop; nop; nop; nop; nop\n"
	"leal 1(%rdi), %eax\n"
	"2: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"ret\n"
	".cfi_endproc\n"
	".size way_returns, . - way_returns\n"
	".section __patchable_function_entries, \"awo\", @progbits, .text\n"
	".quad 1b\n"
	".section __return_loc, \"aw\", @progbits\n"
	".quad 2b\n"
	".text\n");

/* A function without a site. */
__attribute__((noinline)) int way_probed(long n, long m);
int way_probed(long n, long m)
{
	__asm__ volatile("" : "+r"(n), "+r"(m) : : "memory");
	return (int)(n * 3 + m);
}

static void hit_plain(void)
{
	trace_plain(who, 7, 1000);
}

static void hit_tick(void)
{
	trace_tick(who, 1000, "some text");
}

/*
 * A handler's pair has its own key, because it would otherwise use up the time of the interrupted
 * pair.
 */
static void hit_pair(void)
{
	int key = who + in_handler * 2;

	trace_begin(key);
	trace_end(key, 1000);
}

static void hit_leaf(void)
{
	way_leaf(1);
}

static void hit_returns(void)
{
	way_returns(1);
}

static void hit_jumps(void)
{
	way_jumps(1);
	__asm__ volatile("");
}

static void hit_probed(void)
{
	way_probed(1, 2);
}

static void hit_heap(void)
{
	void *volatile p = malloc(7771);

	free(p);
}

static void hit_lock(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static const struct {
	const char *name;
	void (*hit)(void);
} hits[] = {
	{ "plain", hit_plain }, { "tick", hit_tick },	    { "pair", hit_pair },
	{ "leaf", hit_leaf }, { "returns", hit_returns }, { "jumps", hit_jumps },
	{ "heap", hit_heap }, { "lock", hit_lock }, { "probed", hit_probed },
};

static void (*hit)(void);

/* ---- */

static void hit_crowd(void)
{
#define HIT_KEPT(i) trace_kept##i(3, 4);
#define HIT_SUMMED(i) trace_summed##i(5, 6);
	for (int i = 0; i < LEARNS; i++) {
		CROWD(HIT_KEPT)
		CROWD(HIT_SUMMED)
	}
}

static void on_signal(int sig)
{
	in_handler = 1;
	hit();
	in_handler = 0;
	journal->handled = journal->handled + 1;
	trace_other(1);
	journal->other = journal->other + 1;
	if (journal->handler == HANDLER_CROWDS)
		hit_crowd();
	if (journal->handler == HANDLER_JUMPS)
		siglongjmp(back, 1);
}

static __attribute__((noinline)) void announced(void)
{
	journal->begun = journal->begun + 1;
	if (sigsetjmp(back, 1)) {
		journal->left = journal->left + 1;
		__asm__ volatile("int3" : : : "memory");
		return;
	}
	__asm__ volatile("int3" : : : "memory");
	hit();
	__asm__ volatile("int3" : : : "memory");
	journal->done = journal->done + 1;
}

static void counted(void)
{
	journal->begun = journal->begun + 1;
	hit();
	journal->done = journal->done + 1;
}

static void nap(void)
{
	struct timespec ts = { .tv_nsec = 50000 };

	nanosleep(&ts, NULL);
}

static void stay(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Runs on another CPU: while the stepper hides the program's sections from the kernel, no other
 * thread may add to that CPU's data.
 */
static int neighbour(void)
{
	stay(journal->cpu);
	journal->ready = 1;
	while (!journal->stop) {
		if (!journal->pause)
			for (int i = 0; i < 20; i++)
				counted();
		journal->paused = journal->pause;
		nap();
	}
	return 0;
}

/* Runs on all CPUs, also on the neighbour's. */
static _Noreturn void hit_for_ever(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	for (;;)
		counted();
}

static int stepped(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	stay(journal->cpu);
	sigaction(SIGUSR1, &sa, NULL);
	if (__rseq_size)
		journal->rseq = (uint64_t)__builtin_thread_pointer() + (uint64_t)__rseq_offset;
	trace_other(1);
	journal->other = journal->other + 1;
	while (!journal->stop) {
		for (int i = 0; i < WARM; i++)
			counted();
		announced();
	}
	return 0;
}

int main(int argc, char **argv)
{
	journal = mmap(NULL, JOURNALS * sizeof(*journal), PROT_READ | PROT_WRITE, MAP_SHARED,
		       JOURNAL_FD, 0);
	if (journal == MAP_FAILED)
		return 1;
	for (size_t i = 0; argc > 1 && i < sizeof(hits) / sizeof(hits[0]); i++)
		if (!strcmp(hits[i].name, argv[1]))
			hit = hits[i].hit;
	if (!hit || (!tf_attached() && tf_attach(getenv("TRACEFUSE_SESSION"))))
		return 2;
	if (argc == 2)
		return stepped();
	if (!strcmp(argv[2], "free"))
		hit_for_ever();
	journal += JOURNAL_NEIGHBOUR;
	who = 2;
	return neighbour();
}
