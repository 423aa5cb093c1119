/* SPDX-License-Identifier: MIT */
/* graph.c - see graph.h */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/answer/graph.h"
#include "cli/answer/call_tree.h"
#include "cli/client.h"
#include "cli/draw/table.h"

static const char usual_size[] = "64M";
static const double usual_min = 0.5;

enum { COLUMN_TOTAL, COLUMN_SELF, COLUMN_CALLS, COLUMN_PERCENT, COLUMN_FUNCTION, COLUMNS };

static const struct table_column columns[COLUMNS] = {
	{ "total", TABLE_TIME }, { "self", TABLE_TIME }, { "calls", TABLE_COUNT },
	{ "%", TABLE_PERCENT }, { "function", TABLE_TEXT },
};

/* ---- the options ---- */

static int graph_check_size(const struct answer *a, const struct graph_asked *g)
{
	uint64_t bytes;

	if (!asked_size(g->buffer_size ? g->buffer_size : usual_size, &bytes) || !bytes ||
	    bytes > 1ull << 50)
		return command_usage(a->command, "--buffer-size %s: a size is like 512K or 16M",
				     g->buffer_size);
	return COMMAND_DONE;
}

int graph_check(const struct answer *a, struct graph_asked *g)
{
	const struct table t = { .columns = columns, .nr_columns = COLUMNS };
	char *end;

	if (!g->on)
		return g->depth_text || g->min_text || g->buffer_size ?
		       command_usage(a->command, "--depth, --min and --buffer-size are for "
				     "--graph") : COMMAND_DONE;
	g->min = usual_min;
	if (g->min_text) {
		g->min = strtod(g->min_text, &end);
		if (*end || end == g->min_text || !(g->min >= 0 && g->min <= 100))
			return command_usage(a->command, "--min %s: a percentage, from 0 to 100",
					     g->min_text);
	}
	g->depth = CALL_TREE_DEPTH;
	if (g->depth_text) {
		const unsigned long n = strtoul(g->depth_text, &end, 10);

		if (*g->depth_text < '1' || *g->depth_text > '9' || *end || n > CALL_TREE_DEPTH)
			return command_usage(a->command, "--depth %s: a number from 1 to %d",
					     g->depth_text, CALL_TREE_DEPTH);
		g->depth = (unsigned int)n;
	}
	if (graph_check_size(a, g))
		return COMMAND_USAGE;
	return answer_table_check(a, &t);
}

/* ---- the lines ---- */

char *graph_file(const struct answer *a, const char *name)
{
	char *file;

	return asprintf(&file, "%s%s", a->apart ? a->apart : "", name) < 0 ? NULL : file;
}

int graph_echo(struct answer *a, const char *value, const char *name, const char *undo)
{
	char *file = graph_file(a, name), *text = NULL, *back = NULL;
	int err = -ENOMEM;

	if (file && asprintf(&text, "echo %s > %s\n", value, file) >= 0 &&
	    (undo ? asprintf(&back, "echo %s > %s\n", undo, file) : asprintf(&back, "%s", "")) >= 0)
		err = answer_text(a, text, back);
	free(file);
	free(text);
	free(back);
	return err;
}

/* The size is for each CPU. A recording has room for all of its records. */
static int graph_buffer(struct answer *a)
{
	const struct graph_asked *g = a->own;
	uint64_t bytes;
	char kb[32];

	if (!g->buffer_size && a->recordings.nr)
		return 0;
	asked_size(g->buffer_size ? g->buffer_size : usual_size, &bytes);
	snprintf(kb, sizeof(kb), "%" PRIu64, (bytes + 1023) / 1024);
	return graph_echo(a, kb, "buffer_size_kb", NULL);
}

/* A fixed name: there is one profile, and two commands would share it. */
int graph_apart(struct answer *a)
{
	return answer_apart(a, "report-calls");
}

int graph_begin(struct answer *a)
{
	const int err = graph_apart(a);

	return err ? err : graph_buffer(a);
}

int graph_lines(struct answer *a)
{
	static const struct {
		const char	*value, *file, *undo;
	} lines[] = {
		{ "0", "options/funcgraph-overhead", NULL },
		{ "1", "options/funcgraph-proc", NULL }, { "1", "options/funcgraph-tail", NULL },
		{ "1", "options/funcgraph-abstime", NULL },
		{ "function_graph", "current_tracer", "nop" },
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(lines) / sizeof(*lines); i++)
		err = graph_echo(a, lines[i].value, lines[i].file, lines[i].undo);
	return err;
}

int graph_may(const struct answer *a, struct access *access)
{
	char *file = graph_file(a, "current_tracer"), *text;
	size_t len;
	int ret = file ? access_read_all(access, file, &text, &len) : -ENOMEM;

	free(file);
	if (ret == -ENOENT)
		ret = access_read_all(access, "available_filter_functions", &text, &len);
	else if (!ret) {
		free(text);
		return message_error("%s: session %s has %s already: another one counts there, or "
				     "was killed (`tracefuse shell %s -- rmdir %s`)",
				     a->command->name, a->session, a->apart, a->session, a->apart);
	}
	if (ret == -ENOENT)
		return message_error("%s: session %s has no functions", a->command->name,
				     a->session);
	if (ret)
		return message_error("%s: %s", a->session, strerror(-ret));
	free(text);
	return COMMAND_DONE;
}

/* ---- the order ---- */

static int graph_by_name(const struct call_tree_node *x, const struct call_tree_node *y)
{
	return strcmp(x->name, y->name);
}

/* The larger one first; equal ones by their names. */
static int graph_by_number(const struct call_tree_node *x, const struct call_tree_node *y,
			   double a, double b)
{
	return a < b ? 1 : a > b ? -1 : graph_by_name(x, y);
}

static int graph_by_totals(const void *a, const void *b)
{
	const struct call_tree_node *x = *(struct call_tree_node *const *)a;
	const struct call_tree_node *y = *(struct call_tree_node *const *)b;

	return graph_by_number(x, y, x->total, y->total);
}

static int graph_by_selves(const void *a, const void *b)
{
	const struct call_tree_node *x = *(struct call_tree_node *const *)a;
	const struct call_tree_node *y = *(struct call_tree_node *const *)b;

	return graph_by_number(x, y, x->total - x->below, y->total - y->below);
}

static int graph_by_counts(const void *a, const void *b)
{
	const struct call_tree_node *x = *(struct call_tree_node *const *)a;
	const struct call_tree_node *y = *(struct call_tree_node *const *)b;

	return graph_by_number(x, y, (double)x->calls, (double)y->calls);
}

static int graph_in_letters(const void *a, const void *b)
{
	const struct call_tree_node *x = *(struct call_tree_node *const *)a;
	const struct call_tree_node *y = *(struct call_tree_node *const *)b;

	return graph_by_name(x, y);
}

static int (*graph_order(const struct answer *a))(const void *, const void *)
{
	const char *sort = a->sort ? a->sort : "total";

	return !strcmp(sort, "self") ? graph_by_selves : !strcmp(sort, "calls") ? graph_by_counts :
	       !strcmp(sort, "function") ? graph_in_letters : graph_by_totals;
}

/* ---- the table ---- */

struct graph_printing {
	const struct answer *answer;
	const struct graph_asked *asked;
	struct table	table;
	double		all;		/* ns of all threads */
	size_t		small, deep;	/* rows that are left out */
};

static size_t nodes_below(const struct call_tree_node *n)
{
	size_t nr = 0;

	for (const struct call_tree_node *c = n->children; c; c = c->next)
		nr += 1 + nodes_below(c);
	return nr;
}

static int graph_add_row(struct graph_printing *p, const struct call_tree_node *n,
			 unsigned int depth)
{
	struct table_row *r = table_add(&p->table);
	char *text;

	if (!r || asprintf(&text, "%*s%s", (int)depth * 2, "", n->name) < 0)
		return -ENOMEM;
	r->cell[COLUMN_TOTAL].number = n->total;
	r->cell[COLUMN_SELF].number = n->total - n->below;
	r->cell[COLUMN_CALLS].number = (double)n->calls;
	r->cell[COLUMN_PERCENT].number = p->all > 0 ? 100 * n->total / p->all : 0;
	r->cell[COLUMN_FUNCTION].text = text;
	return 0;
}

static int graph_add(struct graph_printing *p, struct call_tree_node *n, unsigned int depth)
{
	int err = call_tree_sort(n, graph_order(p->answer));

	for (struct call_tree_node *c = n->children; !err && c; c = c->next) {
		if (c->total < p->all * p->asked->min / 100) {
			p->small += 1 + nodes_below(c);
			continue;
		}
		err = graph_add_row(p, c, depth);
		if (!err && depth + 1 < p->asked->depth)
			err = graph_add(p, c, depth + 1);
		else
			p->deep += nodes_below(c);
	}
	return err;
}

/* What the tree does not show. */
static int graph_print_left(const struct graph_printing *p)
{
	char text[160] = "";

	if (p->small)
		snprintf(text, sizeof(text), "  ... and %zu with less than %g %% (--min)\n",
			 p->small, p->asked->min);
	if (p->deep)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "  ... and %zu deeper than %u (--depth)\n", p->deep, p->asked->depth);
	return message_print(text, strlen(text));
}

static int graph_print_tree(struct graph_printing *p, struct call_tree *t)
{
	struct answer as = *p->answer;
	int status;

	p->all = t->root.total;
	if (graph_add(p, &t->root, 0)) {
		table_free(&p->table);
		return message_error("out of memory");
	}
	as.sort = NULL;
	status = answer_table_print(&as, &p->table, NULL);
	return status ? status : graph_print_left(p);
}

/* ---- what is missing ---- */

static int note_cpu(void *arg, const char *name, bool is_dir)
{
	unsigned int *cpus = arg, cpu;

	if (is_dir && sscanf(name, "cpu%u", &cpu) == 1 && cpu >= *cpus && cpu < INT_MAX)
		*cpus = cpu + 1;
	return 0;
}

/* The records of a CPU that found no room. */
static unsigned long long cpu_overrun(struct access *access, const char *dir, unsigned int cpu)
{
	unsigned long long nr = 0;
	char *path, *text;
	size_t len;

	if (asprintf(&path, "%s/cpu%u/stats", dir, cpu) < 0)
		return 0;
	if (!access_read_all(access, path, &text, &len)) {
		nr = client_stat(text, "\noverrun: ") + client_stat(text, "\ndropped events: ");
		free(text);
	}
	free(path);
	return nr;
}

/* Returns whether there was one. */
static bool say_overrun(const struct answer *a, struct access *access)
{
	char *dir = graph_file(a, "per_cpu");
	unsigned long long nr = 0;
	unsigned int cpus = 0;

	if (!dir)
		return false;
	access->ops->list(access, dir, note_cpu, &cpus);
	for (unsigned int cpu = 0; cpu < cpus; cpu++)
		nr += cpu_overrun(access, dir, cpu);
	if (nr)
		message_error("%llu records found no room: the tree has the last calls only; a "
			      "larger --buffer-size, or some FUNCTIONs, have all", nr);
	free(dir);
	return nr;
}

bool graph_has_lost(const char *text)
{
	return strstr(text, " [LOST ");
}

void graph_say_ends(size_t left, size_t open, bool lost)
{
	if (left)
		message_error("%zu %s left by an exception or longjmp()%s: %s with the next call "
			      "or return of the thread", left,
			      left == 1 ? "call was" : "calls were",
			      !lost ? "" : left == 1 ? ", or its end is lost" :
			      ", or their ends are lost",
			      left == 1 ? "its time ends" : "their times end");
	if (open)
		message_error("%zu %s not returned: %s with the last call or return of the thread",
			      open, open == 1 ? "call has" : "calls have",
			      open == 1 ? "its time ends" : "their times end");
}

void graph_say_backward(size_t nr)
{
	if (nr)
		message_error("%zu %s before %s by the times of the recording: %s as 0", nr,
			      nr == 1 ? "call ends" : "calls end",
			      nr == 1 ? "it begins" : "they begin",
			      nr == 1 ? "its time counts" : "their times count");
}

static void say_deep(const struct call_tree *t)
{
	if (t->deep)
		message_error("%zu calls below the %dth are part of their callers", t->deep,
			      CALL_TREE_DEPTH);
}

int graph_read(const struct answer *a, struct access *access, char **text, size_t *len)
{
	char *file;
	int ret = asprintf(&file, "%s_calls", a->file);

	if (ret < 0)
		return -ENOMEM;
	ret = access_read_all(access, file, text, len);
	free(file);
	return ret;
}

int graph_print(const struct answer *a, struct access *access)
{
	struct graph_printing p = { .answer = a, .asked = a->own,
				    .table = { .columns = columns, .nr_columns = COLUMNS } };
	struct call_tree t;
	char *text;
	size_t len;
	int ret = graph_read(a, access, &text, &len), status = COMMAND_DONE;
	bool lost;

	if (ret)
		return message_error("%s: %s", a->file, strerror(-ret));
	lost = graph_has_lost(text);
	if (call_tree_read(text, &t))
		status = message_error("out of memory");
	else if (!t.root.children)
		message_error(a->recordings.nr ? "the recording has no calls of function_graph" :
			      "no function was called that is traced (see `tracefuse list "
			      "PROGRAM`, and `tracefuse doctor`)");
	graph_say_ends(t.left, t.open, say_overrun(a, access) || lost);
	graph_say_backward(t.backward);
	say_deep(&t);
	if (!status)
		status = graph_print_tree(&p, &t);
	call_tree_free(&t);
	free(text);
	return status;
}
