/* SPDX-License-Identifier: MIT */
/*
 * heap.c - `tracefuse heap`: where a program allocates memory, and what lives still
 *
 *     kmem:kmalloc -> variables by ptr: where, how much     -> allocated, by place
 *     kmem:kfree   -> what they were -> synthetic heap_free -> released, by place
 *
 * A place is the address call_site, or with --stacks a stack.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/answer/answer.h"
#include "cli/draw/table.h"
#include "cli/draw/tally.h"
#include "model/hist/hist.h"

enum { COLUMN_CALLS, COLUMN_BYTES, COLUMN_AVG, COLUMN_LIVE, COLUMN_LEFT, COLUMN_FROM, COLUMNS };

static const struct table_column columns[COLUMNS] = {
	{ "calls", TABLE_COUNT }, { "bytes", TABLE_BYTES }, { "avg", TABLE_BYTES },
	{ "live", TABLE_COUNT }, { "left", TABLE_BYTES }, { "from", TABLE_TEXT },
};

/* Of the histograms of kmalloc: the one by pointers, the one by places. */
enum { BY_POINTER, BY_PLACE };

static const char alloc_file[] = "events/kmem/kmalloc/hist";
static const char free_file[] = "events/synthetic/heap_free/hist";

enum { OPT_STACKS = ANSWER_OWN };

static const struct option long_options[] = {
	ANSWER_TABLE_OPTIONS,
	{ "stacks", no_argument, NULL, OPT_STACKS },
	{ NULL, 0, NULL, 0 },
};

/* How the lines name a place. `a->own` is one of the two. */
struct heap_place {
	const char	*type;		/* of the synthetic event's field */
	const char	*field;		/* of kmalloc */
	const char	*modifier;	/* of both as keys; "": the field is a stack by itself */
	const char	*site_modifier;
};

static const struct heap_place heap_address = {
	.type = "unsigned long", .field = "call_site", .modifier = ".sym-offset",
	.site_modifier = ".sym-offset",
};

static const struct heap_place heap_stack = {
	.type = "unsigned long[]", .field = "common_stacktrace", .modifier = "",
	.site_modifier = ".stacktrace",
};

/* ---- the table ---- */

/* An address, or an array of them. */
static const json_t *heap_site_of(const struct tally_row *r)
{
	return json_object_get(json_array_get(r->keys, 0), "raw");
}

static int compare_numbers(const json_t *a, const json_t *b)
{
	const double x = json_number_value(a), y = json_number_value(b);

	return x < y ? -1 : x > y;
}

/*
 * Of a place that is a stack. The variable that carries it to the release has one function less
 * than the key: its first word is their number.
 */
enum { SITE_DEPTH = HIST_STACK_DEPTH - 1 };

static size_t site_depth(const json_t *site)
{
	const size_t n = json_array_size(site);

	return n < SITE_DEPTH ? n : SITE_DEPTH;
}

/* Places are compared by their addresses: the names of two may be equal. */
static int compare_sites(const void *a, const void *b)
{
	const json_t *x = heap_site_of(a), *y = heap_site_of(b);
	const size_t n = site_depth(x), m = site_depth(y);
	int c = n < m ? -1 : n > m;

	for (size_t i = 0; !c && i < n; i++)
		c = compare_numbers(json_array_get(x, i), json_array_get(y, i));
	return c ? c : compare_numbers(x, y);
}

static void sort_sites(struct tally *t)
{
	if (t->nr)
		qsort(t->v, t->nr, sizeof(*t->v), compare_sites);
}

/* Sorts, too. Keys that differ behind what a place has become one. -> hits of keys with more */
static double merge_sites(struct tally *t)
{
	double longer = 0;
	size_t nr = 0;

	sort_sites(t);
	for (size_t i = 0; i < t->nr; i++) {
		struct tally_row *r = &t->v[i], *last = nr ? &t->v[nr - 1] : NULL;

		longer += json_array_size(heap_site_of(r)) > SITE_DEPTH ? r->hits : 0;
		if (last && !compare_sites(last, r)) {
			last->hits += r->hits;
			last->sum += r->sum;
			free(r->text);
		} else {
			t->v[nr++] = *r;
		}
	}
	t->nr = nr;
	return longer;
}

/* The first functions of a stack, a line each. */
static void cut_site(char *text)
{
	for (unsigned int i = 0; text && i < SITE_DEPTH; i++) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (text)
		text[-1] = '\0';
}

static const struct tally_row *heap_site_find(const struct tally *t, const struct tally_row *like)
{
	return t->nr ? bsearch(like, t->v, t->nr, sizeof(*t->v), compare_sites) : NULL;
}

static int add_place(struct table *t, const struct tally_row *got, const struct tally_row *freed)
{
	struct table_row *to = table_add(t);
	char *name = to ? tally_key_text(got, 0) : NULL;

	if (!name)
		return -1;
	cut_site(name);
	to->cell[COLUMN_CALLS].number = got->hits;
	to->cell[COLUMN_BYTES].number = got->sum;
	to->cell[COLUMN_AVG].number = got->hits ? got->sum / got->hits : 0;
	to->cell[COLUMN_LIVE].number = got->hits - (freed ? freed->hits : 0);
	to->cell[COLUMN_LEFT].number = got->sum - (freed ? freed->sum : 0);
	to->cell[COLUMN_FROM].text = name;
	return 0;
}

/* Adds up a column. What is below 0 counts as 0. -> how much that is */
static double heap_sum(const struct table *t, unsigned int column, double *sum)
{
	double below = 0;

	*sum = 0;
	for (size_t r = 0; r < t->nr; r++) {
		const double v = t->rows[r].cell[column].number;

		*sum += v > 0 ? v : 0;
		below += v < 0 ? -v : 0;
	}
	return below;
}

/* "4 of 18 blocks live still, 4000 of 33280 bytes" */
static int print_sum(const struct table *t, bool in_session)
{
	double sums[COLUMNS], twice;
	char *text;
	int n, status;

	heap_sum(t, COLUMN_CALLS, &sums[COLUMN_CALLS]);
	heap_sum(t, COLUMN_BYTES, &sums[COLUMN_BYTES]);
	heap_sum(t, COLUMN_LEFT, &sums[COLUMN_LEFT]);
	twice = heap_sum(t, COLUMN_LIVE, &sums[COLUMN_LIVE]);
	if (twice)
		message_error("%.0f blocks were freed again: %sparent and child of a fork() both "
			      "free what was allocated before it. What lives still is not exact",
			      twice, in_session ? "they were allocated while the counting began, "
						  "or " : "");
	/* Nothing was seen, perhaps because nothing was traced: stderr has what is known. */
	if (!in_session && sums[COLUMN_CALLS] <= 0)
		return COMMAND_DONE;
	n = asprintf(&text, "%.0f of %.0f blocks live still, %.0f of %.0f bytes\n\n",
		     sums[COLUMN_LIVE], sums[COLUMN_CALLS], sums[COLUMN_LEFT], sums[COLUMN_BYTES]);
	if (n < 0)
		return message_error("out of memory");
	status = message_print(text, (size_t)n);
	free(text);
	return status;
}

/* What found no room among the pointers counts as living. */
static void say_unknown(double nr)
{
	if (nr)
		message_error("%.0f blocks found no room among 131072 addresses: they count as "
			      "living, whether they were freed or not", nr);
}

static void say_cut_stacks(double nr)
{
	if (nr)
		message_error("%.0f stacks have more than the %d functions that a place has: their "
			      "outer functions are not shown, and they may share a place", nr,
			      SITE_DEPTH);
}

/* In a program each has one. */
static void say_no_stacks(const struct tally *t)
{
	double nr = 0;

	for (size_t i = 0; i < t->nr; i++)
		if (json_is_array(heap_site_of(&t->v[i])) && !site_depth(heap_site_of(&t->v[i])))
			nr += t->v[i].hits;
	if (nr)
		message_error("%.0f blocks were recorded without a stack (options/stacktrace)", nr);
}

static int make_table(const json_t *allocs, const json_t *frees, struct table *t)
{
	struct tally got = { 0 }, freed = { 0 };
	int err = tally_read_one(allocs, BY_PLACE, &got);
	const double longer = err ? 0 : merge_sites(&got);

	if (!err)
		err = tally_read_one(frees, 0, &freed);
	sort_sites(&freed);
	for (size_t i = 0; !err && i < got.nr; i++)
		err = add_place(t, &got.v[i], heap_site_find(&freed, &got.v[i]));
	tally_say_dropped(got.dropped, "calls");
	say_unknown(tally_dropped(allocs, BY_POINTER));
	say_cut_stacks(longer);
	say_no_stacks(&got);
	tally_free(&got);
	tally_free(&freed);
	return err;
}

/*
 * A function that all allocate by, as operator new, does not say who does: a hint, where there are
 * enough blocks to care.
 */
static void hint_at_stacks(const struct answer *a, const struct table *t)
{
	enum { BLOCKS = 1000 };
	double all;

	heap_sum(t, COLUMN_CALLS, &all);
	for (size_t r = 0; all >= BLOCKS && r < t->nr; r++)
		if (t->rows[r].cell[COLUMN_CALLS].number * 2 > all && a->own == &heap_address &&
		    !a->quiet)
			message_error("most blocks are from one place: `tracefuse heap --stacks` "
				      "says who called it");
}

static int heap_print(const struct answer *a, struct access *access)
{
	struct table t = { .columns = columns, .nr_columns = COLUMNS };
	json_t *allocs = tally_open(access, alloc_file);
	json_t *frees = allocs ? tally_open(access, free_file) : NULL;
	int status = COMMAND_FAILED;

	if (frees)
		status = make_table(allocs, frees, &t) ? message_error("out of memory")
						       : print_sum(&t, a->session);
	if (!status)
		hint_at_stacks(a, &t);
	json_decref(allocs);
	json_decref(frees);
	if (!status)
		return answer_table_print(a, &t, "left");
	table_free(&t);
	return status;
}

/* ---- the lines ---- */

/* A line of which a part depends on what a place is. */
__attribute__((format(printf, 3, 4)))
static int heap_line(struct answer *a, const struct answer_event *e, const char *format, ...)
{
	va_list args;
	char *text;
	int err;

	va_start(args, format);
	err = vasprintf(&text, format, args) < 0 ? -ENOMEM : 0;
	va_end(args);
	if (err)
		return err;
	err = e ? answer_trigger(a, e, text)
		: answer_line_undone(a, "synthetic_events", text, "!heap_free");
	free(text);
	return err;
}

static int add_heap_lines(struct answer *a, const struct heap_place *p)
{
	static const struct answer_event alloc = { (char *)"kmem", (char *)"kmalloc" };
	static const struct answer_event release = { (char *)"kmem", (char *)"kfree" };
	static const struct answer_event freed = { (char *)"synthetic", (char *)"heap_free" };
	int err = heap_line(a, NULL, "heap_free %s site; unsigned long bytes", p->type);

	if (!err)
		err = heap_line(a, &alloc, "hist:keys=ptr:heap_site=%s,"
				"heap_bytes=bytes_alloc:size=131072 if ptr != 0", p->field);
	if (!err)
		err = answer_trigger(a, &release, "hist:keys=ptr:size=131072:"
				     "onmatch(kmem.kmalloc).heap_free($heap_site,$heap_bytes)");
	if (!err)
		err = heap_line(a, &alloc, "hist:keys=%s%s:vals=bytes_alloc:"
				"size=16384 if ptr != 0", p->field, p->modifier);
	if (!err)
		err = heap_line(a, &freed, "hist:keys=site%s:vals=bytes:size=16384",
				p->site_modifier);
	return err;
}

static int heap_lines(struct answer *a)
{
	int err = add_heap_lines(a, a->own);

	if (!err)
		err = words_add(&a->more, free_file);
	if (!err)
		err = words_add(&a->run_options, "--kernel-names");
	a->file = strdup(alloc_file);
	return err || !a->file ? message_error("out of memory") : COMMAND_DONE;
}

/* Whether the session has the events, and nobody counts by them. */
static int heap_may(const struct answer *a, struct access *access)
{
	char *text;
	size_t len;
	int ret = access_read_all(access, "events/kmem/kmalloc/trigger", &text, &len);
	bool taken;

	if (ret == -ENOENT)
		return message_error("%s: session %s has no event kmem:kmalloc: begin it with "
				     "`tracefuse run --kernel-names`", a->command->name,
				     a->session);
	if (ret)
		return message_error("events/kmem/kmalloc/trigger: %s", strerror(-ret));
	taken = *text != '#';
	free(text);
	return taken ? message_error("%s: session %s has triggers of kmem:kmalloc already",
				     a->command->name, a->session) : COMMAND_DONE;
}

static int heap_parse(struct answer *a, int argc, char **argv)
{
	const struct table t = { .columns = columns, .nr_columns = COLUMNS };
	int opt, status = COMMAND_DONE;

	argc = answer_begin(a, argc, argv);
	a->own = &heap_address;
	while (!status && (opt = getopt_long(argc, argv, ANSWER_SHORT, long_options, NULL)) != -1)
		if (opt == OPT_STACKS)
			a->own = &heap_stack;
		else
			status = answer_option(a, opt, argv);
	if (!status)
		status = answer_arguments(a, argc, argv);
	if (!status && a->words.nr)
		status = command_usage(a->command, "%s: there is no such recording", a->words.v[0]);
	return status ? status : answer_table_check(a, &t);
}

static int heap_run(int argc, char **argv)
{
	struct answer a = {
		.command = &command_heap, .print = heap_print, .may = heap_may,
		.needs = "it needs kmem:kmalloc and kmem:kfree, as `tracefuse run --kernel-names "
			 "-e kmem -o FILE` records them",
	};

	return answer_make(&a, heap_parse(&a, argc, argv), heap_lines);
}

const struct command command_heap = {
	.name = "heap",
	.summary = "where a program allocates memory, and what lives still",
	.run = heap_run,
	.help =
"usage: tracefuse heap [options] -- PROGRAM ARGUMENTS...\n"
"       tracefuse heap [options] RECORDING...\n"
"       tracefuse heap [options] -s SESSION\n"
"\n"
"Prints each function that allocates memory: how often (calls), how much (bytes), the\n"
"average, and how many blocks (live) and bytes (left) were not freed until the program's\n"
"end. It knows 131,072 addresses; further blocks count as living, which is said. After\n"
"fork() the blocks of parent and child count as the same. In a session it counts until\n"
"Ctrl-C, and the session must have been made with --kernel-names.\n"
"\n"
"      --stacks            who called that function, too: each stack of calls has a place\n"
"                          of its own\n"
"      --sort COLUMN       the order: left (default), live, bytes, calls, avg, from\n"
"      --lines N           only the first N places\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the files hist as they are\n"
"  -s, --session NAME      count in a session that is there\n"
"      --for SECONDS       with -s: how long\n"
"  -q, --quiet             no summary of the program's session\n",
};
