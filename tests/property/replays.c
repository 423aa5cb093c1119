/* SPDX-License-Identifier: MIT */
/*
 * replays.c - random histograms over recordings: the files are the same in order and in any order
 *
 * usage: replays CASES RECORDING...
 *
 * Each case gives random triggers to events of a recording, and replays it once in order and then
 * with 1, 2, 4 and 8 threads. It compares the files `hist` of these events, the rings and the
 * recording's position, byte for byte. SEED=N runs only that case.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "language.h"
#include "model/model.h"
#include "sources/recording/tally.h"

enum { FILES_MAX = 16, EVENTS_MAX = 256, COMMANDS_MAX = 4, FILE_MAX = 8 << 20 };

/* The events of a recording's records, by their ids in the model. */
struct recording {
	const char	*path;
	unsigned int	nr;
	uint16_t	ids[EVENTS_MAX];
};

struct command {
	char		path[256], text[512];
};

struct trial {
	const struct recording *recording;
	unsigned int	nr;
	struct command	commands[COMMANDS_MAX];
};

/* The results of a replay. */
struct outcome {
	bool		any_order;	/* the records passed in any order */
	int		ret;
	struct source_position position;
	char		*hists[COMMANDS_MAX];
	char		*rings;
};

static bool one_in(struct random *r, unsigned int n)
{
	return random_below(r, n) == 0;
}

/* ---- what a recording has ---- */

static void note_type(struct recording *rec, uint16_t type)
{
	for (unsigned int i = 0; i < rec->nr; i++)
		if (rec->ids[i] == type)
			return;
	if (rec->nr < EVENTS_MAX)
		rec->ids[rec->nr++] = type;
}

static bool look(struct recording *rec)
{
	struct source_params params = { .files = &rec->path, .nr_files = 1 };
	struct source_error err = { .text = "" };
	struct window w;
	int ret = window_open(&w, &params, &err);

	if (!ret)
		ret = window_rewind(&w);
	while (!ret && window_first(&w)) {
		note_type(rec, (uint16_t)window_first(&w)->record.type);
		if (window_pull(&w) > 0)
			window_settle(&w);
		else
			window_drop(&w);
	}
	if (ret)
		printf("# %s: %s\n", rec->path, err.text);
	else
		window_close(&w);
	return !ret && rec->nr;
}

/* ---- random triggers ---- */

static const char *key_modifier(struct random *r, const struct field *f)
{
	static const char *const of_numbers[] = { "", "", "", ".hex", ".log2", ".buckets=7",
						  ".exp=3", ".sym" };

	if (f->kind != FIELD_OTHER)
		return "";
	if (!strcmp(f->name, "common_pid") && one_in(r, 4))
		return ".execname";
	return of_numbers[random_below(r, 8)];
}

static const struct field *random_field(struct random *r, struct event *e)
{
	unsigned int nr;
	const struct field *fields = event_fields(e, &nr);

	return &fields[random_below(r, nr)];
}

static void add(char *text, size_t size, const char *a, const char *b, const char *c)
{
	const size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s%s", a, b, c);
}

static void add_key(struct random *r, struct event *e, char *text, size_t size,
		    const char *before)
{
	static const char *const others[] = { "common_cpu", "common_timestamp.usecs",
					      "common_timestamp", "common_stacktrace" };
	const struct field *f = random_field(r, e);
	const bool other = one_in(r, 5);

	if (other)
		add(text, size, before, others[random_below(r, 4)], "");
	else
		add(text, size, before, f->name, key_modifier(r, f));
}

static void add_condition(struct random *r, struct event *e, char *text, size_t size)
{
	static const char *const ops[] = { " > ", " < ", " == ", " != ", " & " };
	const struct field *f = random_field(r, e);
	char number[32];

	snprintf(number, sizeof(number), "%u", random_below(r, one_in(r, 2) ? 4 : 2000));
	if (one_in(r, 8)) {
		add(text, size, " if comm ~ \"", one_in(r, 2) ? "*a*" : "t*", "\"");
	} else if (one_in(r, 6)) {
		add(text, size, " if common_cpu", ops[random_below(r, 4)], number);
	} else if (f->kind != FIELD_OTHER) {
		add(text, size, " if ", f->name, one_in(r, 2) ? " ~ \"*s*\"" : " != \"task-7\"");
	} else {
		add(text, size, " if ", f->name, ops[random_below(r, 5)]);
		add(text, size, number, "", "");
	}
}

static void add_val(struct random *r, struct event *e, char *text, size_t size)
{
	static const char *const kept[] = { "", ".min", ".max", ".avg" };
	const struct field *f = random_field(r, e);

	add(text, size, ":vals=", f->name, f->kind == FIELD_OTHER ? kept[random_below(r, 4)] : "");
}

static void random_hist(struct random *r, struct event *e, char *text, size_t size)
{
	static const char *const sizes[] = { ":size=128", ":size=256", ":size=512", ":size=4096" };
	unsigned int keys = 1 + random_below(r, 3);

	snprintf(text, size, "hist:keys=");
	for (unsigned int i = 0; i < keys; i++)
		add_key(r, e, text, size, i ? "," : "");
	if (one_in(r, 2))
		add_val(r, e, text, size);
	if (one_in(r, 12))
		add(text, size, ":ts=common_timestamp", "", "");
	if (one_in(r, 3))
		add(text, size, sizes[random_below(r, 4)], "", "");
	if (one_in(r, 8))
		add(text, size, ":name=shared", "", "");
	if (one_in(r, 10))
		add(text, size, ":pause", "", "");
	if (one_in(r, 3))
		add_condition(r, e, text, size);
}

/* Makes histograms, and sometimes a command whose result depends on the order. */
static void random_command(struct random *r, struct event *e, struct command *c)
{
	static const char *const others[] = { "traceoff:3", "snapshot:1", "stacktrace:5" };

	snprintf(c->path, sizeof(c->path), "events/%s/%s/trigger", e->system->name, e->name);
	if (!one_in(r, 10)) {
		random_hist(r, e, c->text, sizeof(c->text));
	} else if (one_in(r, 2)) {
		snprintf(c->path, sizeof(c->path), "events/%s/%s/enable", e->system->name, e->name);
		snprintf(c->text, sizeof(c->text), "1");
	} else {
		snprintf(c->text, sizeof(c->text), "%s", others[random_below(r, 3)]);
	}
}

/*
 * Makes commands for events of the recording. A command that the session refuses is refused in each
 * replay.
 */
static void random_trial(struct random *r, const struct recording *rec, struct trial *t)
{
	unsigned int nr_fields;
	struct fixture h;

	*t = (struct trial){ .recording = rec };
	if (fixture_open(&rec->path, 1, &h))
		return;
	for (unsigned int n = 1 + random_below(r, COMMANDS_MAX); n; n--) {
		struct event *e = model_event_by_id(h.model, rec->ids[random_below(r, rec->nr)]);

		if (e && event_fields(e, &nr_fields) && nr_fields)
			random_command(r, e, &t->commands[t->nr++]);
	}
	fixture_close(&h);
}

/* ---- a replay ---- */

static char *file_of(struct fixture *h, const char *path)
{
	size_t len;
	int err;

	return fixture_read(h, path, FILE_MAX, &len, &err);
}

static void read_outcome(struct fixture *h, const struct trial *t, struct outcome *o)
{
	char path[256];

	source_position(h->source, &o->position);
	o->rings = file_of(h, "trace");
	for (unsigned int i = 0; i < t->nr; i++) {
		snprintf(path, sizeof(path), "%.*shist",
			 (int)(strrchr(t->commands[i].path, '/') + 1 - t->commands[i].path),
			 t->commands[i].path);
		o->hists[i] = file_of(h, path);
	}
}

/* threads 0: in order. */
static bool replay(const struct trial *t, unsigned int threads, struct outcome *o)
{
	struct fixture h;

	*o = (struct outcome){ 0 };
	if (fixture_open_threads(&t->recording->path, 1, threads, &h))
		return false;
	for (unsigned int i = 0; i < t->nr; i++)
		fixture_command(&h, "a", t->commands[i].path, t->commands[i].text,
			      strlen(t->commands[i].text));
	if (threads) {
		/* Makes the rings first, because tally_run() does not. */
		o->ret = source_seek(h.source, 0);
		o->any_order = !o->ret && !tally_run(h.source, threads, NULL, NULL);
		if (!o->ret && !o->any_order)
			o->ret = source_run(h.source, NULL, NULL);
	} else {
		o->ret = source_step(h.source, UINT64_MAX);
	}
	read_outcome(&h, t, o);
	fixture_close(&h);
	return true;
}

static void forget(struct outcome *o)
{
	for (unsigned int i = 0; i < COMMANDS_MAX; i++)
		free(o->hists[i]);
	free(o->rings);
}

static bool texts_same(const char *what, const char *a, const char *b)
{
	if (!strcmp(a, b))
		return true;
	printf("# %s in order:\n%s\n# else:\n%s\n", what, a, b);
	return false;
}

static bool positions_same(const struct source_position *a, const struct source_position *b)
{
	return a->records == b->records && a->hits == b->hits && a->bytes == b->bytes &&
	       a->time == b->time && a->lost == b->lost && a->end == b->end;
}

static bool same(const struct trial *t, const struct outcome *a, const struct outcome *b)
{
	bool good = a->ret == b->ret && positions_same(&a->position, &b->position);

	if (!good)
		printf("# %d: %" PRIu64 " records, %" PRIu64 " hits, time %" PRIu64
		       ", else %d: %" PRIu64 ", %" PRIu64 ", %" PRIu64 "\n",
		       a->ret, a->position.records, a->position.hits, a->position.time, b->ret,
		       b->position.records, b->position.hits, b->position.time);
	good &= texts_same("trace", a->rings, b->rings);
	for (unsigned int i = 0; i < t->nr; i++)
		good &= texts_same(t->commands[i].path, a->hists[i], b->hists[i]);
	return good;
}

static bool run_trial(const struct trial *t, unsigned int *any_order)
{
	static const unsigned int threads[] = { 1, 2, 4, 8 };
	struct outcome ordered, other;
	bool good = replay(t, 0, &ordered);

	for (unsigned int i = 0; good && i < 4; i++) {
		good = replay(t, threads[i], &other) && same(t, &ordered, &other);
		*any_order += other.any_order;
		forget(&other);
	}
	forget(&ordered);
	return good;
}

static bool run_seed(uint64_t seed, const struct recording *recs, unsigned int nr,
		     unsigned int *any_order)
{
	struct random r = { .state = seed };
	struct trial t;
	bool good;

	random_trial(&r, &recs[random_below(&r, nr)], &t);
	good = run_trial(&t, any_order);
	if (good && !getenv("SEED"))
		return true;
	printf("# seed %" PRIu64 ": %s\n", seed, t.recording->path);
	for (unsigned int i = 0; i < t.nr; i++)
		printf("# echo '%s' >> %s\n", t.commands[i].text, t.commands[i].path);
	return good;
}

int main(int argc, char **argv)
{
	const char *one = getenv("SEED");
	const uint64_t cases = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
	struct recording recs[FILES_MAX] = { 0 };
	unsigned int nr = 0, tests = 0, bad = 0, any_order = 0;

	for (int i = 2; i < argc && nr < FILES_MAX; i++) {
		recs[nr].path = argv[i];
		nr += look(&recs[nr]);
	}
	if (nr != (unsigned int)argc - 2)
		printf("Bail out! a recording cannot be read\n");
	if (one)
		return !run_seed(strtoull(one, NULL, 0), recs, nr, &any_order);
	for (uint64_t seed = 1; seed <= cases; seed++) {
		bad += !run_seed(seed, recs, nr, &any_order);
		if (seed % 20 && seed != cases)
			continue;
		printf("%sok %u - up to seed %" PRIu64 "\n", bad ? "not " : "", ++tests, seed);
		fflush(stdout);
	}
	/* If all cases passed in order, nothing was compared. */
	bad += any_order < cases / 2;
	printf("%sok %u - %u of %" PRIu64 " replays passed in any order\n", bad ? "not " : "",
	       ++tests, any_order, 4 * cases);
	printf("1..%u\n", tests);
	return bad != 0;
}
