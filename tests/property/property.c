/* SPDX-License-Identifier: MIT */
/*
 * property.c - compares random triggers over random events with a simple interpreter
 *
 * usage: property [CASES]
 *
 * With one writer, the files `hist` of all events are compared byte for byte. So they are with
 * several threads or processes, which have keys of their own or operations that commute. Each case
 * has a seed; SEED=N runs only that case. A failure is printed as its commands and as few events as
 * possible.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "property_fixture.h"
#include "model/text.h"

enum { STREAM_MAX = 900, BATCH = 500, SCENES_A_STAGE = 200 };

struct play {
	struct script	script;
	unsigned int	writers;
	bool		processes;
	struct stimulus	streams[WRITERS_MAX][STREAM_MAX];
	unsigned int	nr[WRITERS_MAX];
	bool		matched;	/* a reference found a variable */
	bool		made;		/* there were synthetic events */
};

static void generate_play(uint64_t seed, struct play *p)
{
	struct random r = { .state = seed };
	uint64_t time = 1000000;

	*p = (struct play){ .writers = seed % 8 ? 1 : 2 + random_below(&r, WRITERS_MAX - 1) };
	p->processes = p->writers > 1 && seed % 32 == 0;
	generate_script(&r, p->writers, &p->script);
	p->script.seed = seed;
	for (unsigned int w = 0; w < p->writers; w++) {
		p->nr[w] = 10 + random_below(&r, seed % 16 == 3 ? STREAM_MAX - 10 : 80);
		for (unsigned int i = 0; i < p->nr[w]; i++) {
			time += random_below(&r, 5000);
			p->streams[w][i] = generate_stimulus(&r, &p->script, w, p->writers, time);
		}
	}
}

/* ---- One case ---- */

struct writer {
	struct property_fixture	*st;
	const struct play *play;
	unsigned int	nr;
};

static void *write_stream(void *arg)
{
	const struct writer *w = arg;

	for (unsigned int i = 0; i < w->play->nr[w->nr]; i++)
		property_stimulus(w->st, &w->play->script, w->nr, 0, &w->play->streams[w->nr][i],
				  stdout);
	return NULL;
}

static void run_threads(struct writer *writers, unsigned int nr)
{
	pthread_t threads[WRITERS_MAX];

	for (unsigned int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, write_stream, &writers[i]))
			abort();
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

static bool run_processes(struct writer *writers, unsigned int nr)
{
	bool ok = true;

	fflush(stdout);
	for (unsigned int i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			write_stream(&writers[i]);
			_exit(0);
		}
		ok &= pid > 0;
	}
	for (unsigned int i = 0; i < nr; i++) {
		int status;

		ok &= wait(&status) > 0 && status == 0;
	}
	return ok;
}

static bool run_writers(struct property_fixture *st, const struct play *p, FILE *log)
{
	struct writer writers[WRITERS_MAX];

	for (unsigned int i = 0; i < p->writers; i++)
		writers[i] = (struct writer){ st, p, i };
	if (p->processes)
		return run_processes(writers, p->writers);
	if (p->writers > 1)
		run_threads(writers, p->writers);
	else
		for (unsigned int i = 0; i < p->nr[0]; i++)
			property_stimulus(st, &p->script, 0, p->script.seed & 1, &p->streams[0][i],
					  log);
	return true;
}

static void see_hits(struct play *p, const struct expected *w)
{
	for (unsigned int i = 0; i < p->script.nr; i++) {
		if (i == 1 && p->script.triggers[0].event == EVENT_A && expected_hits(w, 1))
			p->matched = true;
		if (p->script.triggers[i].event == EVENT_SYN && expected_hits(w, (int)i))
			p->made = true;
	}
}

static bool run_play(struct property_fixture *st, struct play *p, FILE *log)
{
	struct expected *w = expected_create(&p->script);
	bool ok = property_set(st, &p->script, log);

	if (ok && !run_writers(st, p, log)) {
		fprintf(log, "# a writer died\n");
		ok = false;
	}
	for (unsigned int k = 0; k < p->writers; k++)
		for (unsigned int i = 0; i < p->nr[k]; i++)
			expected_stimulus(w, &p->streams[k][i]);
	see_hits(p, w);
	if (ok)
		ok = property_compare(st, &p->script, w, log);
	if (!property_unset(st, &p->script, log))
		ok = false;
	expected_destroy(w);
	return ok;
}

/* ---- What fails ---- */

static bool fails(struct play *p)
{
	struct property_fixture st;
	FILE *none = fopen("/dev/null", "w");
	bool ok = property_open(&st) == 0 && run_play(&st, p, none);

	fclose(none);
	property_close(&st);
	return !ok;
}

/* Removes runs of events that are not needed for the failure, from long to short ones. */
static void shrink(struct play *p)
{
	struct play *smaller = malloc(sizeof(*smaller));

	for (unsigned int w = 0; w < p->writers; w++)
		for (unsigned int run = p->nr[w]; run; run /= 2)
			for (unsigned int at = 0; at + run <= p->nr[w];) {
				*smaller = *p;
				memmove(&smaller->streams[w][at], &p->streams[w][at + run],
					(p->nr[w] - at - run) * sizeof(p->streams[w][0]));
				smaller->nr[w] -= run;
				if (fails(smaller))
					*p = *smaller;
				else
					at += run;
			}
	free(smaller);
}

static void print_stimulus(const struct play *p, unsigned int writer, const struct stimulus *e)
{
	const struct record *r = &e->record;

	if (e->command)
		printf("#   trigger %d: %s\n", e->trigger, e->command);
	else
		printf("#   writer %u cpu %u time %" PRIu64
		       " prop:%c pid=%d xx=%d uu=%u ww=%" PRIu64 " name=%s o=%d\n",
		       writer, e->cpu, e->time, 'a' + r->type - ID_A, r->pid, r->x, r->u, r->w,
		       r->name, r->own);
}

static void print_play(const struct play *p)
{
	printf("# SEED=%" PRIu64 "\n#   ", p->script.seed);
	if (p->script.nr_syn)
		print_definition(&p->script, stdout);
	for (unsigned int i = 0; i < p->script.nr; i++) {
		char path[64];

		printf("\n#   %s %s: ", p->script.triggers[i].hidden ? "(made)" : "echo",
		       property_path(p->script.triggers[i].event, "trigger", path, sizeof(path)));
		print_command(&p->script, &p->script.triggers[i], false, stdout);
	}
	printf("\n");
	for (unsigned int w = 0; w < p->writers; w++)
		for (unsigned int i = 0; i < p->nr[w]; i++)
			print_stimulus(p, w, &p->streams[w][i]);
}

static void print_log(const char *log)
{
	for (const char *s = log; *s; s = text_next_line(s))
		printf("#   %.*s\n", (int)strcspn(s, "\n"), s);
}

static void report(struct play *p)
{
	struct property_fixture st;
	char *log;
	size_t size;
	FILE *out = open_memstream(&log, &size);

	if (fails(p))
		shrink(p);
	else
		printf("# fails only behind other cases, or not always\n");
	print_play(p);
	if (!property_open(&st))
		run_play(&st, p, out);
	property_close(&st);
	fclose(out);
	print_log(log);
	free(log);
}

/* ---- All of them ---- */

static bool run_seed(struct property_fixture *st, uint64_t seed, struct play *p)
{
	char *log;
	size_t size;
	FILE *out = open_memstream(&log, &size);
	bool ok;

	generate_play(seed, p);
	ok = run_play(st, p, out);
	fclose(out);
	if (!ok) {
		print_log(log);
		report(p);
	}
	free(log);
	return ok;
}

/* The numbers of a batch's cases that tested anything. */
struct tally {
	unsigned int	matched, made;
};

static unsigned int run_batch(uint64_t first, uint64_t end, struct play *p, struct tally *tally)
{
	unsigned int failed = 0;
	struct property_fixture st;
	bool open = false;

	for (uint64_t seed = first; seed < end && failed < 3; seed++) {
		if (!open && property_open(&st)) {
			printf("# no session\n");
			return failed + 1;
		}
		open = true;
		if (!run_seed(&st, seed, p))
			failed++;
		tally->matched += p->matched;
		tally->made += p->made;
		if (failed || seed % SCENES_A_STAGE == SCENES_A_STAGE - 1) {
			property_close(&st);
			open = false;
		}
	}
	if (open)
		property_close(&st);
	return failed;
}

int main(int argc, char **argv)
{
	const char *one = getenv("SEED");
	uint64_t cases = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000;
	struct play *p = malloc(sizeof(*p));
	struct tally tally = { 0 };
	unsigned int nr = 0, failed = 0;

	if (one)
		return run_batch(strtoull(one, NULL, 0), strtoull(one, NULL, 0) + 1, p, &tally) !=
		       0;
	for (uint64_t first = 1; first <= cases; first += BATCH) {
		uint64_t end = first + BATCH <= cases + 1 ? first + BATCH : cases + 1;
		unsigned int bad = run_batch(first, end, p, &tally);

		printf("%sok %u - seeds %" PRIu64 " to %" PRIu64 "\n", bad ? "not " : "", ++nr,
		       first, end - 1);
		fflush(stdout);
		failed += bad;
	}
	/* Cases without a match prove little. */
	if (!failed && (tally.matched < cases / 5 || tally.made < cases / 5))
		failed++;
	printf("%sok %u - %u cases with matched variables, %u with synthetic events\n",
	       failed ? "not " : "", ++nr, tally.matched, tally.made);
	printf("1..%u\n", nr);
	free(p);
	return failed != 0;
}
