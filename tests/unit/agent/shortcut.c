/* SPDX-License-Identifier: MIT */
/*
 * shortcut.c - hits that histograms count: the result is the same with and without shortcuts
 *
 * Two events have the same fields and get the same command and the same hits. The first one's hits
 * take shortcuts. While the second one's trigger is set and while it is hit, shortcuts are off.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>
#include "hist_session.h"
#include "plane/map/map.h"

enum {
	QUICK = 1000,
	SLOW,
	OTHER,
	NEIGHBOUR = QUICK + AGENT_WAYS,
	HITS = 3000,
	THREADS = 4,
	THREAD_HITS = 60000
};

/* ---- the session ---- */

static const char *path_of(uint32_t id, const char *file)
{
	static char path[64];

	snprintf(path, sizeof(path), "events/app/%c/%s",
		 id == QUICK   ? 'q'
		 : id == SLOW  ? 's'
		 : id == OTHER ? 'o'
			       : 'n',
		 file);
	return path;
}

static void command(uint32_t id, const char *file, const char *text)
{
	int err = put(path_of(id, file), text);

	if (err)
		fail_msg("%s: %s", text, strerror(-err));
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts a histogram's lines by their texts, because entries with equal hits have no order. */
static char *lines_at(const char *path, char *to)
{
	char *line[8192], *save, *text = strdup(text_of(path));
	size_t nr = 0, at = 0;

	for (char *l = strtok_r(text, "\n", &save); l && nr < 8192; l = strtok_r(NULL, "\n", &save))
		line[nr++] = l;
	qsort(line, nr, sizeof(*line), compare_lines);
	for (size_t i = at = 0; i < nr; i++)
		at += (size_t)sprintf(to + at, "%s\n", line[i]);
	free(text);
	return to;
}

static char *lines_of(uint32_t id)
{
	static char sorted[2][1 << 20];

	return lines_at(path_of(id, "hist"), sorted[id == SLOW]);
}

static uint64_t total(uint32_t id, const char *what)
{
	return number_in(text_of(path_of(id, "hist")), what);
}

static int set_up(void **state)
{
	const uint32_t ids[] = {QUICK, SLOW, OTHER, NEIGHBOUR};

	return hist_session_start(ids, "qson") ? -1 : tf_attach(session_dir(session));
}

static int tear_down(void **state)
{
	hist_session_stop();
	return 0;
}

static void shortcuts(bool on)
{
	session_header(session)->shortcuts_off = on ? 0 : UINT32_MAX;
}

static bool possible(void)
{
	return *agent_thread()->cpu >= 0 && !session_header(session)->fence;
}

/* ---- hits ---- */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1103515245u + 12345;
	return *seed >> 8;
}

static void fill(struct rec *r, uint32_t *seed)
{
	static const char *const texts[] = {"",
					    "a",
					    "cyclictest",
					    "seven77",
					    "eight888",
					    "sixteen_letters",
					    "more than sixteen letters",
					    "\xff\xfe",
					    "a\n"};
	static const uint64_t wide[] = {0,
					1,
					2,
					3,
					1ull << 31,
					1ull << 32,
					~0ull,
					~0ull - 1,
					1ull << 63,
					(1ull << 63) + 1,
					(1ull << 63) - 1,
					5000000000ull};
	const char *text = texts[next(seed) % 9];

	memset(r, 0, sizeof(*r));
	r->s32 = (int32_t)(next(seed) % 12) - 4;
	r->u32 = next(seed) % 8 ? next(seed) % 10 : UINT32_MAX - next(seed) % 3;
	r->s64 = (int64_t)wide[next(seed) % 12];
	r->u64 = wide[next(seed) % 12];
	r->s16 = (int16_t)(next(seed) % 7 * 9999);
	r->u16 = (uint16_t)(next(seed) % 7 * 9999);
	r->s8 = (int8_t)(next(seed) % 6 * 51);
	r->u8 = (uint8_t)(next(seed) % 256);
	rec_text(r, text);
}

static bool hit_one(uint32_t id, uint32_t *seed)
{
	struct agent_thread *t = agent_thread();
	struct rec r;

	fill(&r, seed);
	if (t)
		agent_emit(t, id, &r, sizeof(r), NULL);
	return t;
}

/* ---- the same ---- */

static uint64_t taken(void)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; agent_shortcut_name(i); i++)
		nr += agent_shortcut_taken(agent_thread(), i);
	return nr;
}

/*
 * During some of the hits the histogram is paused, during others the event is enabled. Returns the
 * number of hits that took a shortcut.
 */
static uint64_t hit_all(uint32_t id, const char *text, uint32_t seed)
{
	const uint64_t before = taken();
	char other[512];

	command(id, "trigger", text);
	for (unsigned int i = 0; i < HITS; i++) {
		hit_one(id, &seed);
		/* A variable cannot be defined again. */
		if ((i % 1000 == 700 || i % 1000 == 750) && !strstr(text, ":t=")) {
			snprintf(other, sizeof(other), "%.*s:%s%s", (int)strcspn(text, " "), text,
				 i % 1000 == 700 ? "pause" : "continue", text + strcspn(text, " "));
			command(id, "trigger", other);
		} else if (i % 1000 == 800 || i % 1000 == 850) {
			command(id, "enable", i % 1000 == 800 ? "1" : "0");
		}
	}
	return taken() - before;
}

static void removed(uint32_t id, const char *text)
{
	char other[512];

	snprintf(other, sizeof(other), "!%s", text);
	command(id, "trigger", other);
	command(id, "enable", "0");
}

static void same(const char *text, bool has_shortcut)
{
	uint64_t quick, slow;

	if (!possible())
		skip();
	for (uint32_t seed = 1; seed < 4; seed++) {
		shortcuts(true);
		quick = hit_all(QUICK, text, seed);
		shortcuts(false);
		slow = hit_all(SLOW, text, seed);
		shortcuts(true);
		assert_int_equal(slow, 0);
		if (has_shortcut && quick < HITS / 3)
			fail_msg("%s: only %llu hits took a shortcut", text,
				 (unsigned long long)quick);
		if (strcmp(lines_of(QUICK), lines_of(SLOW)))
			fail_msg("%s: %s\nwithout shortcuts:\n%s", text, lines_of(QUICK),
				 lines_of(SLOW));
		removed(QUICK, text);
		removed(SLOW, text);
	}
}

static void one_key(void **state)
{
	static const char *const fields[] = {"s32", "u32", "s64", "u64",       "s16",
					     "u16", "s8",  "u8",  "common_pid"};
	char text[64];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(text, sizeof(text), "hist:keys=%s", fields[i]);
		same(text, true);
	}
}

static void two_keys_and_a_value(void **state)
{
	same("hist:keys=s32,u32", true);
	same("hist:keys=s8,s64:vals=u64", true);
	same("hist:keys=s16:vals=s8", true);
	same("hist:keys=u32:vals=s64", true);
	same("hist:keys=u64,u16:vals=hitcount", true);
}

static void a_map_that_is_full(void **state)
{
	same("hist:keys=u8,s32:vals=s16:size=128", false);
}

static void a_log2_key(void **state)
{
	static const char *const fields[] = {"s32", "u32", "s64", "u64", "s16", "u16", "s8", "u8"};
	char text[64];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(text, sizeof(text), "hist:keys=%s.log2", fields[i]);
		same(text, true);
		snprintf(text, sizeof(text), "hist:keys=%s.log2,u64", fields[i]);
		same(text, false);
		snprintf(text, sizeof(text), "hist:keys=%s,u8.log2", fields[i]);
		same(text, false);
	}
}

/* Every comparison, with operands at both ends of the field and between. */
static void one_comparison(void **state)
{
	static const char *const ops[] = {"==", "!=", "<", "<=", ">", ">=", "&"};
	static const struct {
		const char *field;
		const char *values[4];
	} fields[] = {
		{"s32", {"0", "-2", "2147483647", "-2147483648"}},
		{"u32", {"0", "3", "4294967295", "4294967294"}},
		{"s64", {"0", "-1", "9223372036854775807", "2147483648"}},
		{"u64", {"0", "18446744073709551615", "9223372036854775808", "3"}},
		{"s16", {"0", "-5542", "32767", "-32768"}},
		{"u16", {"0", "9999", "65535", "59994"}},
		{"s8", {"0", "-1", "127", "-128"}},
		{"u8", {"0", "255", "128", "7"}},
	};
	char text[128];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (size_t k = 0; k < 4 * sizeof(ops) / sizeof(ops[0]); k++) {
			snprintf(text, sizeof(text), "hist:keys=s32:vals=u64 if %s %s %s",
				 fields[i].field, ops[k / 4], fields[i].values[k % 4]);
			same(text, strcmp(ops[k / 4], "&"));
		}
	same("hist:keys=s64.log2 if !(u8 < 9)", true);
	same("hist:keys=common_pid if common_pid != 5", true);
	same("hist:keys=s32 if u8 < 99 && s16 > 0", true);
	same("hist:keys=s32 if name ~ \"s*\"", true);
}

static void texts(void **state)
{
	same("hist:keys=task", true);
	same("hist:keys=name", true);
	same("hist:keys=name,task", true);
	same("hist:keys=name,s32:vals=u16", true);
	same("hist:keys=common_pid.execname", true);
}

/* Commands without a shortcut of their own. */
static void others(void **state)
{
	same("hist:keys=u8.buckets=7", true);
	same("hist:keys=s32,u32,s8:vals=s16,u64", true);
	same("hist:keys=s32.log2:vals=u64", true);
	same("hist:keys=s32:t=common_timestamp", true);
	same("hist:keys=s32:t=common_timestamp.usecs if u8 > 3", true);
	same("hist:keys=common_pid:t=common_timestamp", true);
	same("hist:keys=s32:t=common_timestamp:clock=mono", true);
}

/* ---- from one event to another ---- */

/* The other event sets a variable for some keys. Values made of its age differ, but not by much. */
static void hit_pairs(uint32_t id, uint32_t seed)
{
	for (unsigned int i = 0; i < HITS; i++) {
		uint32_t same_seed = seed;

		if (i % 3 == 0)
			hit_one(OTHER, &same_seed);
		hit_one(id, &seed);
	}
}

#define BEGIN  "hist:keys=s32,u8:t0=common_timestamp"
#define BEGIN1 "hist:keys=s32:t0=common_timestamp"

static const struct {
	const char *begin, *end, *late;
} pairs[] = {
	{BEGIN1, "hist:keys=s32:lat=common_timestamp-$t0", NULL},
	{BEGIN1 ".usecs", "hist:keys=s32:lat=common_timestamp.usecs-$t0", NULL},
	{BEGIN1, "hist:keys=s32:lat=common_timestamp-$t0 if u8 < 100", NULL},
	{BEGIN, "hist:keys=s32,u8:lat=common_timestamp-$t0", NULL},
	{BEGIN1, "hist:keys=s32:lat=common_timestamp-$t0:onmatch(app.o).late($lat,s32,u64)",
	 "hist:keys=key if lat < 1000000000"},
	{BEGIN1, "hist:keys=s32:lat=common_timestamp-$t0:onmatch(app.o).late($lat,s32,u64)",
	 "hist:keys=v.log2:vals=key if lat < 1000000000"},
	{BEGIN, "hist:keys=s32,u8:lat=common_timestamp-$t0:onmatch(app.o).trace(late,$lat,s32,u64)",
	 "hist:keys=key,v if lat < 1000000000"},
	{BEGIN1, "hist:keys=s32:v=u64:lat=common_timestamp-$t0:onmax($v).late($lat,s32,u64)",
	 "hist:keys=key,v if lat < 1000000000"},
	{BEGIN1, "hist:keys=s32:v=u64:onmax($v).save(s16,task)", NULL},
	{BEGIN1, "hist:keys=s32:v=u64:onchange($v).save(s16,u32)", NULL},
	{BEGIN1, "hist:keys=s32:w=$t0/1000000000000000:onmax($w).save(s8)", NULL},
};

static void put_removed(const char *path, const char *text)
{
	char other[512];

	snprintf(other, sizeof(other), "!%s", text);
	assert_int_equal(put(path, other), 0);
}

static void pair_once(size_t i, bool quick, char **hist, char **late)
{
	const uint32_t id = quick ? QUICK : SLOW;
	const uint64_t before = taken();
	static char lines[1 << 20];

	shortcuts(quick);
	command(OTHER, "trigger", pairs[i].begin);
	command(id, "trigger", pairs[i].end);
	if (pairs[i].late)
		assert_int_equal(put("events/synthetic/late/trigger", pairs[i].late), 0);
	hit_pairs(id, 7);
	*hist = strdup(lines_of(id));
	*late = pairs[i].late ? strdup(lines_at("events/synthetic/late/hist", lines)) : NULL;
	assert_int_equal(taken() - before > HITS, quick);
	if (pairs[i].late)
		put_removed("events/synthetic/late/trigger", pairs[i].late);
	removed(id, pairs[i].end);
	removed(OTHER, pairs[i].begin);
	shortcuts(true);
}

static void both_ends_of_a_latency(void **state)
{
	char *hist[2], *late[2];

	if (!possible())
		skip();
	assert_int_equal(put("synthetic_events", "late u64 lat; int key; u64 v"), 0);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		pair_once(i, true, &hist[0], &late[0]);
		pair_once(i, false, &hist[1], &late[1]);
		if (strcmp(hist[0], hist[1]))
			fail_msg("%s: %s\nwithout shortcuts:\n%s", pairs[i].end, hist[0], hist[1]);
		assert_true(strstr(hist[0], "Hits: ") && !strstr(hist[0], "Hits: 0\n"));
		if (late[0] && (strcmp(late[0], late[1]) || !strstr(late[0], "hitcount")))
			fail_msg("%s: %s\nwithout shortcuts:\n%s", pairs[i].end, late[0], late[1]);
		for (int k = 0; k < 2; k++) {
			free(hist[k]);
			free(late[k]);
		}
	}
}

static struct agent_count *count_of(uint32_t id)
{
	return &agent_thread()->counts[id % AGENT_WAYS];
}

/* The only variable that is set in the map; 0: none is. */
static uint64_t only_variable(const struct agent_count *c)
{
	uint64_t v = 0;

	for (uint64_t elt = 0; elt <= c->last; elt++) {
		const uint64_t *at = (const uint64_t *)(c->elts + elt * c->elt_size + c->var);

		if (at[0])
			v = map_var_value(at, at[0]);
	}
	return v;
}

/* A time that looks as if the variable was unset (plane/map/fast.h). */
static void a_rare_time(void **state)
{
	if (!possible())
		skip();
	for (uint64_t off = 0; off < 3; off++) {
		uint32_t seed = 5;
		struct rec r;

		command(OTHER, "trigger", BEGIN1);
		fill(&r, &seed);
		for (int i = 0; i < 3; i++)
			agent_emit(agent_thread(), OTHER, &r, sizeof(r), NULL);
		assert_int_equal(count_of(OTHER)->event, OTHER);
		count_of(OTHER)->mult = 0;
		count_of(OTHER)->offset = MAP_VAR_UNSET ^ off;
		agent_emit(agent_thread(), OTHER, &r, sizeof(r), NULL);
		assert_int_equal(only_variable(count_of(OTHER)), MAP_VAR_UNSET ^ off);
		removed(OTHER, BEGIN1);
	}
}

#define SINCE1 "hist:keys=s32:lat=common_timestamp-$t0"

/* From now on, hits that take the shortcut have this time. */
static void stop_clock(uint32_t id, uint64_t now)
{
	assert_int_equal(count_of(id)->event, id);
	count_of(id)->mult = 0;
	count_of(id)->offset = now;
}

/* A difference is exact, also from a rare time; its variable is taken once. */
static void a_difference(void **state)
{
	enum { WARM = 3, AGE = 77 };

	if (!possible())
		skip();
	for (uint64_t off = 0; off < 3; off++) {
		uint32_t seed = 5;
		uint64_t before;
		struct rec r;

		command(OTHER, "trigger", BEGIN1);
		command(QUICK, "trigger", SINCE1);
		fill(&r, &seed);
		for (int i = 0; i < WARM; i++) {
			agent_emit(agent_thread(), OTHER, &r, sizeof(r), NULL);
			agent_emit(agent_thread(), QUICK, &r, sizeof(r), NULL);
		}
		stop_clock(OTHER, MAP_VAR_UNSET ^ off);
		stop_clock(QUICK, (MAP_VAR_UNSET ^ off) + AGE);
		assert_int_equal(count_of(QUICK)->shortcut, SHORTCUT_SINCE);
		before = taken();
		agent_emit(agent_thread(), OTHER, &r, sizeof(r), NULL);
		assert_int_equal(only_variable(count_of(OTHER)), MAP_VAR_UNSET ^ off);
		for (int i = 0; i < 2; i++) {
			agent_emit(agent_thread(), QUICK, &r, sizeof(r), NULL);
			assert_int_equal(only_variable(count_of(QUICK)), AGE);
			assert_int_equal(only_variable(count_of(OTHER)), 0);
			assert_int_equal(total(QUICK, "Hits: "), WARM + 1);
		}
		assert_int_equal(taken() - before, 3);
		removed(QUICK, SINCE1);
		removed(OTHER, BEGIN1);
	}
}

/* onmax() sees the difference that the shortcut took, and saves fields of its hit. */
static void actions_see_the_difference(void **state)
{
	static const uint64_t ages[] = { 500, 900, 700 };
	const uint64_t long_ago = 1ull << 40;	/* longer than the first hits take */
	const char *max = SINCE1 ":onmax($lat).save(u64)";
	uint32_t seed = 5;
	uint64_t before;
	struct rec r;

	if (!possible())
		skip();
	command(OTHER, "trigger", BEGIN1);
	command(QUICK, "trigger", max);
	fill(&r, &seed);
	for (int i = 0; i < 3; i++) {
		agent_emit(agent_thread(), OTHER, &r, sizeof(r), NULL);
		agent_emit(agent_thread(), QUICK, &r, sizeof(r), NULL);
	}
	assert_int_equal(count_of(QUICK)->shortcut, SHORTCUT_ACTIONS);
	before = taken();
	stop_clock(OTHER, long_ago);
	for (uint64_t i = 0; i < 3; i++) {
		stop_clock(QUICK, 2 * long_ago + ages[i]);
		r.u64 = i;
		agent_emit(agent_thread(), OTHER, &r, sizeof(r), NULL);
		agent_emit(agent_thread(), QUICK, &r, sizeof(r), NULL);
	}
	assert_int_equal(taken() - before, 6);
	assert_int_equal(total(QUICK, "max: "), long_ago + ages[1]);
	assert_int_equal(total(QUICK, "u64: "), 1);
	removed(QUICK, max);
	removed(OTHER, BEGIN1);
}

/* ---- when something has changed ---- */

static void a_short_record_goes_the_long_way(void **state)
{
	struct rec r;
	uint32_t seed = 1;
	uint64_t before;

	if (!possible())
		skip();
	command(QUICK, "trigger", "hist:keys=u64");
	for (int i = 0; i < 3; i++)
		hit_one(QUICK, &seed);
	before = taken();
	fill(&r, &seed);
	agent_emit(agent_thread(), QUICK, &r, offsetof(struct rec, u64), NULL);
	assert_int_equal(taken(), before);
	assert_int_equal(total(QUICK, "Hits: "), 4);
	removed(QUICK, "hist:keys=u64");
}

/*
 * Two events whose numbers share a place: both are counted, and usually one of them still takes its
 * shortcut.
 */
static void two_events_of_one_place(void **state)
{
	uint64_t before = taken();
	uint32_t seed = 1;

	if (!possible())
		skip();
	command(QUICK, "trigger", "hist:keys=s32");
	command(NEIGHBOUR, "trigger", "hist:keys=s32");
	for (int i = 0; i < HITS; i++)
		hit_one(i % 2 ? QUICK : NEIGHBOUR, &seed);
	assert_int_equal(total(QUICK, "Hits: ") + total(NEIGHBOUR, "Hits: "), HITS);
	assert_true(taken() - before > HITS / 3);
	removed(QUICK, "hist:keys=s32");
	removed(NEIGHBOUR, "hist:keys=s32");
}

/* ---- threads and handlers ---- */

static _Atomic uint64_t nr_hits;

static void on_alarm(int sig)
{
	static _Atomic uint32_t n;
	uint32_t seed = n++;

	/* A handler that interrupts the thread's first hit makes no hit. */
	nr_hits += hit_one(QUICK, &seed);
}

static void *hits(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < THREAD_HITS; i++)
		nr_hits += hit_one(QUICK, &seed);
	return NULL;
}

static void nothing_is_lost_between_threads_and_handlers(void **state)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct attach_losses lost;
	pthread_t t[THREADS];

	command(QUICK, "trigger", "hist:keys=s32,u32:vals=hitcount");
	nr_hits = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, hits, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	attach_losses(session, &lost);
	assert_int_equal(total(QUICK, "Hits: ") + total(QUICK, "Dropped: ") + lost.deep, nr_hits);
	removed(QUICK, "hist:keys=s32,u32:vals=hitcount");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_key),
		cmocka_unit_test(two_keys_and_a_value),
		cmocka_unit_test(a_map_that_is_full),
		cmocka_unit_test(a_log2_key),
		cmocka_unit_test(one_comparison),
		cmocka_unit_test(texts),
		cmocka_unit_test(others),
		cmocka_unit_test(both_ends_of_a_latency),
		cmocka_unit_test(a_rare_time),
		cmocka_unit_test(a_difference),
		cmocka_unit_test(actions_see_the_difference),
		cmocka_unit_test(a_short_record_goes_the_long_way),
		cmocka_unit_test(two_events_of_one_place),
		cmocka_unit_test(nothing_is_lost_between_threads_and_handlers),
	};

	return cmocka_run_group_tests_name("shortcuts", tests, set_up, tear_down);
}
