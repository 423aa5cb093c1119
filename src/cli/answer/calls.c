/* SPDX-License-Identifier: MIT */
/* calls.c - see calls.h */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer/calls.h"
#include "session/array.h"

/* A call that has returned. */
struct call {
	const char	*name;
	double		ns, self;
	bool		nested;		/* it was called while the same function ran */
};

/* The function at a depth; NULL: its begin is not in the recording. */
struct level {
	const char	*name;
	double		below;		/* the time of the calls that have returned there */
};

/* A thread, and where it is. */
struct thread {
	long		pid;
	struct level	*levels;
	size_t		depth;
};

struct calls {
	struct call	*v;
	size_t		nr;
	struct thread	*threads;
	size_t		nr_threads;
};

static struct thread *thread_get(struct calls *c, long pid)
{
	struct thread *t;

	for (size_t i = 0; i < c->nr_threads; i++)
		if (c->threads[i].pid == pid)
			return &c->threads[i];
	if (array_room(&c->threads, c->nr_threads, sizeof(*c->threads)))
		return NULL;
	t = &c->threads[c->nr_threads];
	*t = (struct thread){ .pid = pid };
	if (array_room(&t->levels, 0, sizeof(*t->levels)))
		return NULL;
	t->levels[0] = (struct level){ 0 };
	c->nr_threads++;
	return t;
}

static int call_begins(void *arg, long pid, const char *name)
{
	struct thread *t = thread_get(arg, pid);

	if (!t || array_room(&t->levels, t->depth + 1, sizeof(*t->levels)))
		return -ENOMEM;
	t->levels[++t->depth] = (struct level){ .name = name };
	return 0;
}

/* Whether one of those that it has not returned to has the name. */
static bool is_running(const struct thread *t, const char *name)
{
	for (size_t i = t->depth; i; i--)
		if (!strcmp(t->levels[i].name, name))
			return true;
	return false;
}

/* The begin of the outermost one may not be in the recording: then all before was below it. */
static int call_ends(void *arg, long pid, const char *name, double ns)
{
	struct calls *c = arg;
	struct thread *t = thread_get(c, pid);
	double below;

	if (!t || array_room(&c->v, c->nr, sizeof(*c->v)))
		return -ENOMEM;
	below = t->levels[t->depth].below;
	t->levels[t->depth].below = 0;
	if (t->depth)
		t->depth--;
	c->v[c->nr++] = (struct call){ name, ns, below < ns ? ns - below : 0,
				       is_running(t, name) };
	t->levels[t->depth].below += ns;
	return 0;
}

/* ---- the text ---- */

/* Ends the text at the last part of that kind. NULL: there is none. */
static char *cut_last(char *text, const char *end)
{
	char *found = NULL;

	for (char *at = strstr(text, end); at; at = strstr(at + 1, end))
		found = at;
	if (found)
		*found = '\0';
	return found;
}

/* What is behind the second bar. A comment is no call. */
static int read_function(const struct calls_reader *r, long pid, char *text, double ns)
{
	int ret;

	text += strspn(text, " ");
	if (!strncmp(text, "} /* ", 5))
		return cut_last(text + 5, " */") ? r->ends(r->arg, pid, text + 5, ns) : 0;
	if (!strncmp(text, "/*", 2))
		return 0;
	if (cut_last(text, "() {"))
		return r->begins(r->arg, pid, text);
	if (!cut_last(text, "();"))
		return 0;
	ret = r->begins(r->arg, pid, text);
	return ret ? ret : r->ends(r->arg, pid, text, ns);
}

/* "comm-pid | duration us | function" */
static int read_call(const struct calls_reader *r, char *line)
{
	char *time = strchr(line, '|'), *function = time ? strchr(time + 1, '|') : NULL, *pid;

	if (!function || *line == '#')
		return 0;
	*time = '\0';
	pid = strrchr(line, '-');
	if (!pid)
		return 0;
	return read_function(r, strtol(pid + 1, NULL, 10), function + 1,
			     strtod(time + 1, NULL) * 1000);
}

int calls_read(char *text, const struct calls_reader *r)
{
	char *line;
	int ret = 0;

	while (!ret && (line = strsep(&text, "\n")))
		ret = read_call(r, line);
	return ret;
}

/* ---- the sums ---- */

static int compare_calls(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	const int names = strcmp(x->name, y->name);

	return names ? names : x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* The `nr` calls of one function, the shortest first. */
static struct calls_sum calls_sum_of(const struct call *v, size_t nr)
{
	struct calls_sum s = { .name = v->name, .calls = nr, .longest = v[nr - 1].ns,
			       .p50 = v[(nr * 50 + 99) / 100 - 1].ns,
			       .p99 = v[(nr * 99 + 99) / 100 - 1].ns };

	for (size_t i = 0; i < nr; i++) {
		s.total += v[i].nested ? 0 : v[i].ns;
		s.sum += v[i].ns;
		s.self += v[i].self;
	}
	return s;
}

static int sums_each(const struct calls *c, int (*fn)(void *arg, const struct calls_sum *sum),
		     void *arg)
{
	int ret = 0;

	for (size_t i = 0, n; !ret && i < c->nr; i += n) {
		struct calls_sum s;

		for (n = 1; i + n < c->nr && !strcmp(c->v[i + n].name, c->v[i].name);)
			n++;
		s = calls_sum_of(&c->v[i], n);
		ret = fn(arg, &s);
	}
	return ret;
}

int calls_each(char *text, int (*fn)(void *arg, const struct calls_sum *sum), void *arg)
{
	struct calls c = { 0 };
	const struct calls_reader reader = { .begins = call_begins, .ends = call_ends,
					     .arg = &c };
	int ret = calls_read(text, &reader);

	if (!ret && c.nr)
		qsort(c.v, c.nr, sizeof(*c.v), compare_calls);
	if (!ret)
		ret = sums_each(&c, fn, arg);
	for (size_t i = 0; i < c.nr_threads; i++)
		free(c.threads[i].levels);
	free(c.threads);
	free(c.v);
	return ret;
}
