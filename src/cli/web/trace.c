/* SPDX-License-Identifier: MIT */
/*
 * trace.c - pages of `trace`, and the table of functions; see web.h
 *
 *     { "from": the first line's number, "more": there are later ones, "lines": [ ... ] }
 *
 *     { "there": functions can be profiled, "on": they are, "left_out": 0,
 *       "functions": [ [ name, hits, microseconds ] ... ] }
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/web/web.h"
#include "model/demangle/demangle.h"
#include "session/array.h"

enum { LINES = 2000, FUNCTIONS = 1000 };

/* ---- pages ---- */

struct page {
	FILE		*out;
	size_t		from, to;	/* numbers of lines */
	size_t		line;		/* the present one */
	char		*begun;		/* what is read of it */
	size_t		len, size;
};

static int add_bytes(struct page *p, const char *s, size_t n)
{
	if (p->len + n > p->size) {
		const size_t size = (p->len + n) * 2;
		char *more = realloc(p->begun, size);

		if (!more)
			return -ENOMEM;
		p->begun = more;
		p->size = size;
	}
	memcpy(p->begun + p->len, s, n);
	p->len += n;
	return 0;
}

static void end_line(struct page *p)
{
	if (p->line >= p->from) {
		fputs(p->line > p->from ? ",\n" : "", p->out);
		web_json_bytes(p->begun, p->len, p->out);
	}
	p->len = 0;
	p->line++;
}

/* 1: a line behind the last one of the page has begun. */
static int take_text(struct page *p, const char *s, size_t n)
{
	int err = 0;

	while (n && !err) {
		const char *end = memchr(s, '\n', n);
		const size_t part = end ? (size_t)(end - s) : n;

		if (p->line == p->to)
			return 1;
		if (p->line >= p->from)
			err = add_bytes(p, s, part);
		if (end)
			end_line(p);
		s += part + (end != NULL);
		n -= part + (end != NULL);
	}
	return err;
}

/* 1: there are more lines; 0; -errno. */
static int trace_read_page(struct access *a, const char *path, struct page *p)
{
	static char buf[65536];
	struct access_file *f;
	ssize_t n = a->ops->open(a, path, O_RDONLY, &f);
	off_t off = 0;
	int ret = 0;

	if (n < 0)
		return (int)n;
	while (!ret && (n = a->ops->read(f, buf, sizeof(buf), off)) > 0) {
		off += n;
		ret = take_text(p, buf, (size_t)n);
	}
	if (!ret && n < 0)
		ret = (int)n;
	if (!ret && p->len)
		end_line(p);
	a->ops->release(f);
	return ret;
}

int web_trace_print(struct web *w, const char *instance, size_t from, size_t lines, FILE *out)
{
	struct page p = { .out = out, .from = from };
	char path[300];
	int ret;

	if (!lines || lines > LINES || strchr(instance, '/') || strlen(instance) > 255)
		return -EINVAL;
	p.to = from + lines;
	snprintf(path, sizeof(path), "%s%s%strace", *instance ? "instances/" : "", instance,
		 *instance ? "/" : "");
	fprintf(out, "{\"from\":%zu,\"lines\":[", from);
	ret = trace_read_page(w->access, path, &p);
	fprintf(out, "],\"more\":%s}\n", ret == 1 ? "true" : "false");
	free(p.begun);
	return ret < 0 ? ret : 0;
}

/* ---- functions ---- */

struct function {
	char		*name;
	unsigned long long hits;
	double		us;
};

struct functions {
	struct web	*web;
	struct function	*v;
	size_t		nr;
	int		err;
};

/* "  name   hits   time us   avg us ...": a name may have single blanks. */
static int trace_add_function(struct functions *f, const char *line)
{
	struct function one = { 0 };
	const char *end;

	line += strspn(line, " ");
	end = strstr(line, "  ");
	if (!end || sscanf(end, " %llu %lf us", &one.hits, &one.us) < 1)
		return 0;
	if (array_room(&f->v, f->nr, sizeof(*f->v)))
		return -ENOMEM;
	one.name = strndup(line, (size_t)(end - line));
	if (!one.name)
		return -ENOMEM;
	f->v[f->nr++] = one;
	return 0;
}

static int trace_add_cpu(void *arg, const char *name, bool is_dir)
{
	struct functions *f = arg;
	char path[300], *text, *rest, *line;
	size_t len;

	/* "functions" has those of all CPUs again. */
	if (is_dir || strncmp(name, "function", 8) || !name[8] ||
	    name[8 + strspn(name + 8, "0123456789")])
		return 0;
	snprintf(path, sizeof(path), "trace_stat/%s", name);
	f->err = access_read_all(f->web->access, path, &text, &len);
	if (f->err)
		return 1;
	rest = text;
	while (!f->err && (line = strsep(&rest, "\n")))
		f->err = trace_add_function(f, line);
	free(text);
	return f->err != 0;
}

static int compare_name(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

static int compare_cost(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	if (a->us != b->us)
		return a->us > b->us ? -1 : 1;
	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The sums of all CPUs. */
static void join_functions(struct functions *f)
{
	size_t nr = 0;

	if (f->nr)
		qsort(f->v, f->nr, sizeof(*f->v), compare_name);
	for (size_t i = 0; i < f->nr; i++) {
		if (nr && !strcmp(f->v[nr - 1].name, f->v[i].name)) {
			f->v[nr - 1].hits += f->v[i].hits;
			f->v[nr - 1].us += f->v[i].us;
			free(f->v[i].name);
		} else {
			f->v[nr++] = f->v[i];
		}
	}
	f->nr = nr;
	if (nr)
		qsort(f->v, nr, sizeof(*f->v), compare_cost);
}

static void trace_print_functions(const struct functions *f, FILE *out)
{
	struct demangler *names = web_names(f->web);

	for (size_t i = 0; i < f->nr && i < FUNCTIONS; i++) {
		const struct function *one = &f->v[i];

		char *readable = demangle_text(names, one->name);
		const char *name = readable ? readable : one->name;

		fputs(i ? ",\n[" : "[", out);
		web_json_bytes(name, strlen(name), out);
		free(readable);
		fprintf(out, ",%llu,%.3f]", one->hits, one->us);
	}
}

int web_functions_print(struct web *w, FILE *out)
{
	struct functions f = { .web = w };
	char *on;
	size_t len;
	int err = access_read_all(w->access, "function_profile_enabled", &on, &len);
	const bool there = !err;

	if (err && err != -ENOENT)
		return err;
	err = there ? w->access->ops->list(w->access, "trace_stat", trace_add_cpu, &f) : 0;
	if (err >= 0 || err == -ENOENT)
		err = f.err;
	join_functions(&f);
	fprintf(out, "{\"there\":%s,\"on\":%s,\"left_out\":%zu,\"functions\":[",
		there ? "true" : "false", there && *on == '1' ? "true" : "false",
		f.nr > FUNCTIONS ? f.nr - FUNCTIONS : 0);
	trace_print_functions(&f, out);
	fputs("]}\n", out);
	for (size_t i = 0; i < f.nr; i++)
		free(f.v[i].name);
	free(f.v);
	if (there)
		free(on);
	return err;
}
