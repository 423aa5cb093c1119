/* SPDX-License-Identifier: MIT */
/* calls.c - see calls.h */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer/calls.h"
#include "session/array.h"

enum call_end { CALL_RETURNED, CALL_LEFT, CALL_OPEN };

struct call {
	const char	*name;
	double		ns, self;
	uint32_t	thread;		/* its index */
	bool		nested;		/* it was called while the same function ran */
	uint8_t		end;		/* enum call_end */
	bool		backward;
};

/* A call that goes on. */
struct level {
	const char	*name;		/* NULL: its begin is not in the recording */
	double		begin;		/* as calls_line.at */
	double		below;		/* the time of the calls that have returned there */
	size_t		first;		/* what has returned there: calls.v from here on */
};

/* A thread, and where it is: levels[0] stands for what is around its calls. */
struct thread {
	long		pid;
	struct level	*levels;
	size_t		depth;
	double		last;		/* as calls_line.at, of its last line */
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

static int level_open(const struct calls *c, struct thread *t, const char *name, double at)
{
	if (array_room(&t->levels, t->depth + 1, sizeof(*t->levels)))
		return -ENOMEM;
	t->levels[++t->depth] = (struct level){ .name = name, .begin = at, .first = c->nr };
	return 0;
}

/* Whether one of those that it has not returned to has the name. */
static bool is_running(const struct thread *t, const char *name)
{
	for (size_t i = t->depth; i; i--)
		if (t->levels[i].name && !strcmp(t->levels[i].name, name))
			return true;
	return false;
}

/* Its begin is missing, so nobody knew that it ran when these were called. */
static void was_running(struct calls *c, uint32_t thread, const char *name, size_t first)
{
	for (size_t i = first; i < c->nr; i++)
		if (c->v[i].thread == thread && !strcmp(c->v[i].name, name))
			c->v[i].nested = true;
}

/* The innermost call is over. */
static int level_close(struct calls *c, struct thread *t, const char *name, double ns,
		       enum call_end end)
{
	const uint32_t thread = (uint32_t)(t - c->threads);
	const struct level *l = &t->levels[t->depth--];

	if (array_room(&c->v, c->nr, sizeof(*c->v)))
		return -ENOMEM;
	if (!l->name)
		was_running(c, thread, name, l->first);
	c->v[c->nr++] = (struct call){ name, ns, l->below < ns ? ns - l->below : 0, thread,
				       is_running(t, name), (uint8_t)end, false };
	t->levels[t->depth].below += ns;
	return 0;
}

/* It ended some time before, or it goes on. If its begin is not known, only what is below it is. */
static int level_leave(struct calls *c, struct thread *t, double at, enum call_end end)
{
	const struct level *l = &t->levels[t->depth];
	const double ns = at - l->begin;

	if (l->name)
		return level_close(c, t, l->name, ns < l->below ? l->below : ns, end);
	t->depth--;
	t->levels[t->depth].below += l->below;
	return 0;
}

/* Makes the thread that deep. */
static int thread_settle(struct calls *c, struct thread *t, size_t depth, double at)
{
	int err = 0;

	t->last = at;
	while (!err && t->depth > depth)
		err = level_leave(c, t, at, CALL_LEFT);
	while (!err && t->depth < depth)
		err = level_open(c, t, NULL, at);
	return err;
}

static int call_begins(void *arg, const struct calls_line *line)
{
	struct thread *t = thread_get(arg, line->pid);
	const int err = t ? thread_settle(arg, t, line->depth, line->at) : -ENOMEM;

	return err ? err : level_open(arg, t, line->name, line->at);
}

static int call_ends(void *arg, const struct calls_line *line)
{
	struct calls *c = arg;
	struct thread *t = thread_get(arg, line->pid);
	int err = t ? thread_settle(arg, t, line->depth + 1, line->at) : -ENOMEM;

	if (!err && t->levels[t->depth].name && strcmp(t->levels[t->depth].name, line->name)) {
		/* The begin of this call is missing, and the end of one with another name. */
		err = level_leave(arg, t, calls_begin(line), CALL_LEFT);
		if (!err)
			err = level_open(arg, t, NULL, line->at);
	}
	if (!err)
		err = level_close(arg, t, line->name, line->ns, CALL_RETURNED);
	if (!err)
		c->v[c->nr - 1].backward = line->backward;
	return err;
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
static int read_function(const struct calls_reader *r, struct calls_line *line, char *text)
{
	const size_t indent = strspn(text, " ");
	int ret;

	line->depth = indent < 2 ? 0 : (indent - 2) / 2;
	line->name = text += indent;
	if (!strncmp(text, "} /* ", 5)) {
		line->name = text + 5;
		return cut_last(text + 5, " */") ? r->ends(r->arg, line) : 0;
	}
	if (!strncmp(text, "/*", 2))
		return 0;
	if (cut_last(text, "() {"))
		return r->begins(r->arg, line);
	if (!cut_last(text, "();"))
		return 0;
	ret = r->begins(r->arg, line);
	/* The line is its begin's. */
	if (line->at > 0)
		line->at += line->ns;
	return ret ? ret : r->ends(r->arg, line);
}

/* "TIME |": seconds. NULL: the line does not begin so, else what is behind it. */
static char *read_time(char *text, double *at)
{
	char *end = text + strspn(text, " .0123456789");

	if (*end != '|' || end == text)
		return NULL;
	*at = strtod(text, NULL) * 1e9;
	return end + 1;
}

/* Whether the text up to its next bar is a duration, or blank. */
static bool is_duration(const char *text)
{
	const size_t len = strcspn(text, "|");

	return text[len] == '|' && strspn(text, " 0123456789.us+!#*@$") == len;
}

/* The bar behind "-PID": the name of a thread may have bars, too. */
static char *bar_of_pid(char *text)
{
	for (char *bar = strchr(text, '|'); bar; bar = strchr(bar + 1, '|')) {
		const char *at = bar;

		while (at > text && at[-1] == ' ')
			at--;
		while (at > text && isdigit((unsigned char)at[-1]))
			at--;
		if (at > text && at[-1] == '-' && isdigit((unsigned char)*at) &&
		    is_duration(bar + 1))
			return bar;
	}
	return NULL;
}

/* "TIME | CPU) comm-pid | duration us | function"; there may be no time. */
static int read_call(const struct calls_reader *r, char *text)
{
	struct calls_line line = { 0 };
	char *behind = read_time(text, &line.at), *time, *function, *pid;

	text = behind ? behind : text;
	time = *text == '#' ? NULL : bar_of_pid(text);
	function = time ? strchr(time + 1, '|') : NULL;
	if (!function)
		return 0;
	*time = '\0';
	pid = strrchr(text, '-');
	line.ns = strtod(time + 1, NULL) * 1000;
	/* The difference of two times is printed as it is, without a sign. */
	line.backward = line.ns >= 0x1p63;
	line.ns = line.backward ? 0 : line.ns;
	line.pid = strtol(pid + 1, NULL, 10);
	if (!line.pid)
		line.pid = -1 - strtol(text, NULL, 10);
	return read_function(r, &line, function + 1);
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
		s.left += v[i].end == CALL_LEFT;
		s.open += v[i].end == CALL_OPEN;
		s.backward += v[i].backward;
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

	for (size_t i = 0; i < c.nr_threads; i++)
		while (!ret && c.threads[i].depth)
			ret = level_leave(&c, &c.threads[i], c.threads[i].last, CALL_OPEN);
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
