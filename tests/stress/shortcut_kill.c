/* SPDX-License-Identifier: MIT */
/*
 * shortcut_kill.c - programs that are killed at any instant of a hit that takes a shortcut
 *
 *     shortcut_kill [TIMES]
 *
 * For each kind of shortcut, programs attach one after the other, hit an event and are killed. Each
 * notes when a hit begins and ends. Afterwards the histogram equals the notes; each sum lacks at
 * most the last hit of a killed program. All keys exist once, and the next program can count.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../unit/agent/hist_session.h"
#include "plane/arch/ring_commit.h"

enum { EVENT = 1000, BEGIN, KEYS = 40, VALUE = 3, FEW = 12, READY = 200 };

static const struct kind {
	const char *what, *begin, *end, *late;
	bool has_value;
} kinds[] = {
	{"one key", NULL, "hist:keys=s32", NULL, false},
	{"two keys and a value", NULL, "hist:keys=s32,u64:vals=u32", NULL, true},
	{"a .log2 key", NULL, "hist:keys=u64.log2", NULL, false},
	{"a filter", NULL, "hist:keys=s32:vals=u32 if u8 < 200", NULL, true},
	{"a text key", NULL, "hist:keys=name", NULL, false},
	{"a fixed text key", NULL, "hist:keys=task", NULL, false},
	{"the time", NULL, "hist:keys=s32:t=common_timestamp.usecs", NULL, false},
	{"the time since", "hist:keys=s32:t0=common_timestamp",
	 "hist:keys=s32:l=common_timestamp-$t0", NULL, false},
	{"onmax, save", NULL, "hist:keys=s32:v=u64:onmax($v).save(u32,s16)", NULL, false},
	{"onmatch", "hist:keys=s32:t0=common_timestamp",
	 "hist:keys=s32:l=common_timestamp-$t0:onmatch(app.b).late($l,s32)", "hist:keys=key",
	 false},
};

static struct journal {
	volatile uint64_t begun, done;
	volatile uint32_t ready;
} * journal;

static uint64_t taken(void)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; agent_shortcut_name(i); i++)
		nr += agent_shortcut_taken(agent_thread(), i);
	return nr;
}

static void hit_event(const struct kind *k, uint64_t i)
{
	struct rec r = {.s32 = (int32_t)(i % KEYS),
			.u32 = VALUE,
			.u64 = 1ull << i % KEYS,
			.u8 = (uint8_t)(i % 199)};
	char text[16];

	r.s16 = (int16_t)(i % KEYS);
	snprintf(text, sizeof(text), "a text %u", (unsigned int)(i % KEYS));
	rec_text(&r, text);
	/* A variable can be matched only once. */
	if (k->begin)
		agent_emit(agent_thread(), BEGIN, &r, sizeof(r), NULL);
	journal->begun++;
	agent_emit(agent_thread(), EVENT, &r, sizeof(r), NULL);
	journal->done++;
}

static _Noreturn void program(const struct kind *k, uint64_t first)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (tf_attach(session_dir(session)) || !agent_thread())
		_exit(2);
	for (uint64_t i = first;; i++) {
		hit_event(k, i);
		if (i == first + READY)
			journal->ready = taken() > READY / 4 ? 2 : 1;
	}
}

/* Returns whether the program took shortcuts; -1: it did not attach. */
static int kill_one(const struct kind *k, uint64_t turn)
{
	const struct timespec nap = {0, 200000};
	struct timespec wait = {0, (long)(turn * 7919 % 900) * 1000};
	int status = 0, tries = 0;
	pid_t pid;

	journal->ready = 0;
	pid = fork();
	if (!pid)
		program(k, turn * 13);
	while (!journal->ready && ++tries < 100000 && !waitpid(pid, &status, WNOHANG))
		nanosleep(&nap, NULL);
	if (!journal->ready)
		return -1;
	nanosleep(&wait, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return journal->ready == 2;
}

static bool is_between(const char *what, uint64_t v, uint64_t low, uint64_t high)
{
	if (v >= low && v <= high)
		return true;
	printf("# %s: %llu, not from %llu to %llu\n", what, (unsigned long long)v,
	       (unsigned long long)low, (unsigned long long)high);
	return false;
}

static uint64_t sum_of(const char *text, const char *what)
{
	uint64_t sum = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		sum += strtoull(at + strlen(what), NULL, 10);
	return sum;
}

static bool check(const struct kind *k, uint64_t keys)
{
	const char *text = text_of("events/app/e/hist");
	bool ok = is_between("hits", number_in(text, "Hits: "), journal->done, journal->begun) &&
		  is_between("entries", number_in(text, "Entries: "), keys, keys) &&
		  is_between("dropped", number_in(text, "Dropped: "), 0, 0) &&
		  is_between("hitcounts", sum_of(text, "hitcount:"), journal->done, journal->begun);

	if (k->has_value)
		ok &= is_between("values", sum_of(text, "u32:"), VALUE * journal->done,
				 VALUE * journal->begun);
	if (ok && k->late)
		ok = is_between("synthetic events",
				number_in(text_of("events/synthetic/late/hist"), "Hits: "),
				journal->done, journal->begun);
	return ok;
}

static void removed(const char *path, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "!%s", text);
	put(path, line);
}

static bool run(const struct kind *k, uint64_t times, bool possible)
{
	bool ok = (!k->begin || !put("events/app/b/trigger", k->begin)) &&
		  !put("events/app/e/trigger", k->end) &&
		  (!k->late || !put("events/synthetic/late/trigger", k->late));

	journal->begun = journal->done = 0;
	for (uint64_t i = 0; ok && i < times; i++) {
		int quick = kill_one(k, i);

		ok = quick == possible;
		if (!ok)
			printf("# program %llu: %s\n", (unsigned long long)i,
			       quick < 0 ? "did not attach"
			       : quick	 ? "has shortcuts"
					 : "took no shortcut");
	}
	ok = ok && check(k, KEYS);
	if (k->late)
		removed("events/synthetic/late/trigger", k->late);
	removed("events/app/e/trigger", k->end);
	if (k->begin)
		removed("events/app/b/trigger", k->begin);
	return ok;
}

int main(int argc, char **argv)
{
	const uint64_t times = argc > 1 ? strtoull(argv[1], NULL, 10) : FEW;
	const size_t nr = sizeof(kinds) / sizeof(kinds[0]);
	const uint32_t ids[] = {EVENT, BEGIN};
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	journal = mmap(NULL, sizeof(*journal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	printf("TAP version 13\n1..%zu\n", nr);
	if (hist_session_start(ids, "eb") || put("synthetic_events", "late u64 lat; int key")) {
		printf("Bail out! no session\n");
		return 1;
	}
	for (size_t i = 0; i < nr; i++) {
		bool ok = run(&kinds[i], times, !session_header(session)->fence && rseq_cpu() >= 0);

		printf("%sok %zu - %s: %llu programs are killed\n", ok ? "" : "not ", i + 1,
		       kinds[i].what, (unsigned long long)times);
		failed += !ok;
	}
	hist_session_stop();
	return failed != 0;
}
