/* SPDX-License-Identifier: MIT */
/*
 * race.c - properties that hold however writers race
 *
 *     a: hist:keys=oa:v=ww              every writer sets one variable
 *     b: hist:keys=ob:d=ww-$v           and takes it: each setting is matched at most once
 *     c: onmax($m).save(...)            what is saved belongs together in whatever a reader sees,
 *        onchange($m).save(...)         and to the value that it was saved for
 *
 * Writers are threads, then processes. Each hit of prop:c carries one number in
 * all of its fields.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "property_fixture.h"

enum { HITS = 200000 };

/* Memory that the processes share. */
struct shared {
	_Atomic uint64_t number;	/* relaxed: only its value matters */
	/* Released by a writer at its end, acquired by the reader. */
	_Atomic unsigned int done;
};

struct writer {
	struct property_fixture	*st;
	struct shared	*shared;
	unsigned int	nr;
};

static void hit_event(const struct writer *w, int event, uint64_t n)
{
	static const struct script none;
	struct stimulus e = { .record = { .type = (uint16_t)(ID_A + event),
					.pid = 10 + (int32_t)w->nr,
					.x = (int32_t)(n & 0x7fffffff),
					.u = (uint32_t)(n * 3),
					.w = n,
					.own = 1 },
			     .time = n + 1,
			     .cpu = w->nr,
			     .comm = "racer" };

	snprintf(e.record.name, sizeof(e.record.name), "n%u", (unsigned int)n);
	property_stimulus(w->st, &none, w->nr, 0, &e, stdout);
}

static void *race(void *arg)
{
	struct writer *w = arg;

	for (int i = 0; i < HITS; i++) {
		uint64_t n =
			1 + atomic_fetch_add_explicit(&w->shared->number, 1, memory_order_relaxed);

		hit_event(w, EVENT_C, n);
		hit_event(w, n % 2 ? EVENT_A : EVENT_B, n);
		if (n % 3 == 0)
			hit_event(w, EVENT_B, n);
	}
	/* Release: pairs with the reader's acquire. */
	atomic_fetch_add_explicit(&w->shared->done, 1, memory_order_release);
	return NULL;
}

/* ---- The reader ---- */

static bool whole(uint64_t tracked, const char *name, uint64_t xx, uint64_t uu, uint64_t ww)
{
	char expected[NAME_SIZE];

	snprintf(expected, sizeof(expected), "n%u", (unsigned int)ww);
	return tracked == ww && !strcmp(name, expected) && xx == (ww & 0x7fffffff) &&
	       uu == (uint32_t)(ww * 3);
}

/* The number of consistent rows of the text; -1: a row is torn. */
static int count_rows(const char *text)
{
	int rows = 0;

	for (const char *s = text; (s = strstr(s, "\n\t")); s++) {
		uint64_t tracked, xx, uu, ww;
		char name[64];

		if (sscanf(s,
			   " %*[a-z]: %" SCNu64 " name: %63s xx: %" SCNu64 " uu: %" SCNu64
			   " ww: %" SCNu64,
			   &tracked, name, &xx, &uu, &ww) != 5)
			return -1;
		if (!strcmp(name, "(null)") && !tracked && !xx && !uu && !ww)
			continue;	/* no values are saved yet */
		if (!whole(tracked, name, xx, uu, ww)) {
			printf("# torn:%.*s\n", (int)strcspn(s + 1, "\n"), s + 1);
			return -1;
		}
		rows++;
	}
	return rows;
}

static bool read_while_racing(struct property_fixture *st, struct shared *shared,
			      unsigned int writers)
{
	bool ok = true, last = false;
	int rows = 0;

	while (ok && !last) {
		size_t len;
		int err;
		char *text;

		/* Acquire: pairs with the release at a writer's end. */
		last = atomic_load_explicit(&shared->done, memory_order_acquire) == writers;
		text = fixture_read(&st->fixture, "events/prop/c/hist", 1 << 20, &len, &err);
		rows = count_rows(text);
		ok = rows >= 0 && !err;
		free(text);
	}
	return ok && rows == 2;
}

static uint64_t hits_of(struct property_fixture *st, int event)
{
	char path[64], *text, *at;
	size_t len;
	int err;
	uint64_t hits;

	text = fixture_read(&st->fixture, property_path(event, "hist", path, sizeof(path)), 1 << 20,
			    &len, &err);
	at = strstr(text, "Hits: ");
	hits = at ? strtoull(at + 6, NULL, 10) : 0;
	free(text);
	return hits;
}

/* ---- A race ---- */

static bool give(struct property_fixture *st, const char *file, const char *command)
{
	struct answer a = fixture_command(&st->fixture, "a", file, command, strlen(command));

	return !(a.open_errno | a.write_errno);
}

static bool set_up(struct property_fixture *st)
{
	return property_open(st) == 0 && give(st, "events/prop/a/trigger", "hist:keys=oa:v=ww") &&
	       give(st, "events/prop/b/trigger", "hist:keys=ob:d=ww-$v") &&
	       give(st, "events/prop/c/trigger",
		    "hist:keys=oc:m=ww:onmax($m).save(name,xx,uu,ww)") &&
	       give(st, "events/prop/c/trigger",
		    "hist:keys=oc.hex:m2=ww:onchange($m2).save(name,xx,uu,ww)");
}

static bool start_processes(struct writer *writers)
{
	fflush(stdout);
	for (int i = 0; i < WRITERS_MAX; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return false;
		if (!pid) {
			race(&writers[i]);
			_exit(0);
		}
	}
	return true;
}

static bool end_processes(void)
{
	bool ok = true;

	for (int i = 0; i < WRITERS_MAX; i++) {
		int status;

		ok &= wait(&status) > 0 && status == 0;
	}
	return ok;
}

static bool run_race(struct property_fixture *st, struct shared *shared, bool processes)
{
	struct writer writers[WRITERS_MAX];
	pthread_t threads[WRITERS_MAX];
	bool ok;

	for (unsigned int i = 0; i < WRITERS_MAX; i++)
		writers[i] = (struct writer){ st, shared, i };
	if (processes) {
		ok = start_processes(writers) && read_while_racing(st, shared, WRITERS_MAX);
		return end_processes() && ok;
	}
	for (int i = 0; i < WRITERS_MAX; i++)
		if (pthread_create(&threads[i], NULL, race, &writers[i]))
			abort();
	ok = read_while_racing(st, shared, WRITERS_MAX);
	for (int i = 0; i < WRITERS_MAX; i++)
		pthread_join(threads[i], NULL);
	return ok;
}

static int report(int nr, bool ok, const char *what, const char *who)
{
	printf("%sok %d - %s: %s\n", ok ? "" : "not ", nr, who, what);
	fflush(stdout);
	return !ok;
}

static int test_race(bool processes, int nr)
{
	const char *who = processes ? "processes" : "threads";
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct property_fixture st;
	uint64_t set, matched;
	int failed;
	bool whole_rows;

	if (shared == MAP_FAILED || !set_up(&st))
		return report(nr, false, "set up", who);
	whole_rows = run_race(&st, shared, processes);
	set = hits_of(&st, EVENT_A);
	matched = hits_of(&st, EVENT_B);
	printf("# %" PRIu64 " settings, %" PRIu64 " matched\n", set, matched);
	failed = report(nr, whole_rows, "what is saved belongs together", who);
	failed += report(nr + 1, set == WRITERS_MAX * HITS / 2, "every setting is counted", who);
	failed +=
		report(nr + 2, matched && matched <= set, "a setting is matched once at most", who);
	failed += report(nr + 3, hits_of(&st, EVENT_C) == WRITERS_MAX * HITS,
			 "every hit is counted", who);
	property_close(&st);
	munmap(shared, sizeof(*shared));
	return failed;
}

int main(void)
{
	int failed = test_race(false, 1);

	failed += test_race(true, 5);
	printf("1..8\n");
	return failed != 0;
}
