/* SPDX-License-Identifier: MIT */
/*
 * static.c - static events that histograms count, from the macro to the sum, as programs have them
 *
 * The commands are those of a user. An argument selects the rows whose names contain it.
 */
#include "attached.h"
#include "model/dynamic/synth.h"
#include "plane/arch/counter.h"

enum { KEYS = 1024, DISTINCT = 800 };

TF_EVENT(bench, one, (unsigned int, a), (int, b));
TF_EVENT(bench, text, (int, a), (const char *, name));
TF_EVENT(bench, wake, (int, pid), (int, prio));
TF_EVENT(bench, swap, (int, next_pid), (int, next_prio));

static struct bench_attached attached;
static const char *only;
static uint32_t keys[KEYS];
static volatile uint64_t sink;

static bool wanted(const char *row)
{
	return !only || strstr(row, only);
}

static void command(const char *event, const char *text)
{
	if (event_file_trigger_write(attached_file(&attached, event), text))
		bench_fail(text);
}

static void removed(const char *event, const char *text)
{
	char line[512];

	snprintf(line, sizeof(line), "!%s", text);
	command(event, line);
}

#define ROW(row, event, text, statement)					\
	do {									\
		if (wanted(row)) {						\
			command(event, text);					\
			BENCH(row, statement);					\
			removed(event, text);					\
		}								\
	} while (0)

/* ---- Two threads ---- */

static _Atomic uint32_t nr_threads;
static __thread uint32_t thread_number;
static uint32_t thread_step;	/* 0: all threads count by the same key */

static unsigned int thread_key(void)
{
	if (!thread_number)
		thread_number = ++nr_threads;
	return thread_number % 8 * thread_step;
}

static void hits_one(int nr)
{
	unsigned int key = thread_key();

	while (nr--)
		trace_one(key, 1);
}

static void hits_text(int nr)
{
	static const char *const names[] = { "cyclictest", "migration/1", "ksoftirqd/0",
					    "rcu_preempt" };
	const char *name = names[thread_key() % 4];

	while (nr--)
		trace_text(1, name);
}

/* What a hit of each of two threads takes. */
static void two_threads(const char *row, const char *event, const char *text, void (*hits)(int nr))
{
	static const char *const which[] = { "the same key", "different keys" };

	for (uint32_t i = 0; i < 2; i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s: 2 threads, %s", row, which[i]);
		if (!wanted(name))
			continue;
		command(event, text);
		thread_step = i;
		printf("%s\t%.2f\n", name, 2e3 / bench_throughput(2, hits));
		removed(event, text);
	}
}

static void all_threads(void)
{
	two_threads("static hist, one integer key", "one", "hist:keys=a", hits_one);
	two_threads("static hist, two keys and a value", "one", "hist:keys=a,b:vals=a", hits_one);
	two_threads("static hist, a .log2 key", "one", "hist:keys=a.log2", hits_one);
	two_threads("static hist, a filter of one comparison", "one", "hist:keys=a if b > 0",
		    hits_one);
	two_threads("static hist, a text key", "text", "hist:keys=name", hits_text);
}

/* ---- Pairs: a wakeup sets a variable, the switch that follows takes the difference ---- */

#define WAKE	"hist:keys=pid:ts0=common_timestamp.usecs"
#define SWAP	"hist:keys=next_pid:lat=common_timestamp.usecs-$ts0"
#define MATCH	SWAP ":onmatch(bench.wake).latency($lat,next_pid,next_prio)"
#define PAIR	trace_wake((int)(i * 7 % 256), 120); trace_swap((int)(i * 7 % 256), 120)

static void all_pairs(void)
{
	struct event_file *latency;

	command("wake", WAKE);
	ROW("static pair: variable, difference", "swap", SWAP, PAIR);
	ROW("static pair: onmax, save of a field", "swap", SWAP ":onmax($lat).save(next_prio)",
	    PAIR);
	if (synth_command(attached.model, "latency u64 lat; int pid; int prio"))
		bench_fail("no synthetic event");
	latency = event_file_get(attached.model->top, synth_find(attached.model, "latency")->event);
	if (event_file_trigger_write(latency, "hist:keys=lat.log2"))
		bench_fail("no histogram of the synthetic event");
	ROW("static pair: onmatch, log2 histogram of the synthetic event", "swap", MATCH, PAIR);
	if (event_file_trigger_write(latency, "!hist:keys=lat.log2") ||
	    event_file_enable(latency, true))
		bench_fail("enable");
	ROW("static pair: onmatch, synthetic event into the ring", "swap", MATCH, PAIR);
	event_file_enable(latency, false);
	removed("wake", WAKE);
}

int main(int argc, char **argv)
{
	only = argc > 1 ? argv[1] : NULL;
	for (int i = 0; i < KEYS; i++)
		keys[i] = 1000 + (uint32_t)rand() % DISTINCT;
	attached_open(&attached);
	BENCH("rdtsc at static histograms", sink += counter_read());
	ROW("static hist, one integer key", "one", "hist:keys=a", trace_one(i & 7, 1));
	ROW("static hist, one integer key of 800", "one", "hist:keys=a",
	    trace_one(keys[i % KEYS], 1));
	ROW("static hist, two keys and a value", "one", "hist:keys=a,b:vals=a",
	    trace_one(keys[i % KEYS], 1));
	ROW("static hist, a .log2 key", "one", "hist:keys=a.log2", trace_one(keys[i % KEYS], 1));
	ROW("static hist, a filter of one comparison", "one", "hist:keys=a if b > 0",
	    trace_one(keys[i % KEYS], 1));
	ROW("static hist, a text key", "text", "hist:keys=name", trace_text((int)i, "cyclictest"));
	ROW("static hist, comm", "one", "hist:keys=common_pid.execname",
	    trace_one(keys[i % KEYS], 1));
	ROW("static hist, one integer key, clock global", "one", "hist:keys=a:clock=global",
	    trace_one(i & 7, 1));
	all_pairs();
	all_threads();
	attached_close(&attached);
	return 0;
}
