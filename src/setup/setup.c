/* SPDX-License-Identifier: MIT */
/*
 * setup.c - the setup reader: runs what parse.c made of a script
 *
 * A command prints into memory. When it has ended, what it printed goes to its
 * target as bash's builtins write: a line a write(2), for cat all at once. An
 * error of such a write is the command's error, and error_log is looked at.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/links.h"
#include "setup/state.h"
#include "model/text_memory.h"

enum { MAX_ROUNDS = 1000000 };

void setup_error(struct setup *s, FILE *err, const char *format, ...)
{
	va_list ap;

	fflush(s->out);
	fprintf(err, "%s: line %u: ", s->params->name, s->line);
	va_start(ap, format);
	vfprintf(err, format, ap);
	va_end(ap);
	fputc('\n', err);
	s->failed++;
}

/* ---- targets of redirections ---- */

struct target {
	struct access_file *file;	/* in the session */
	struct access	*keeper;	/* the setting is kept: its event is not there yet */
	FILE		*host;
	char		path[1024];
	char		*mark;		/* of error_log, before the write */
};

/* Of an event that is to come the settings are kept. */
static int open_kept(struct setup *s, const char *word, bool append, struct target *t)
{
	struct access *a = s->params->access;
	int ret = access_keep(a, t->path, !append, "", 0);

	if (ret)
		return ret;
	t->keeper = a;
	fprintf(s->err, "%s: line %u: %s: kept until a program defines the event\n", s->params->name, s->line, word);
	return 0;
}

/* A file outside of the session. */
static int open_host(struct target *t, bool append)
{
	int fd = links_open(t->path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), 0666);

	if (fd < 0)
		return fd;
	t->host = fdopen(fd, append ? "a" : "w");
	if (!t->host)
		close(fd);
	return t->host ? 0 : -ENOMEM;
}

static int open_target(struct setup *s, const char *word, bool append, struct target *t)
{
	struct access *a = s->params->access;

	memset(t, 0, sizeof(*t));
	if (setup_path(s, word, t->path, sizeof(t->path))) {
		int ret;

		t->mark = access_errors_mark(a, t->path);
		ret = access_create(a, t->path, O_WRONLY | (append ? O_APPEND : O_TRUNC), &t->file);
		return ret == -ENOENT ? open_kept(s, word, append, t) : ret;
	}
	if (setup_is_kernels(t->path))
		return -EPERM;
	return open_host(t, append);
}

static int write_all(struct access_file *f, const char *text, size_t len)
{
	ssize_t n = 0;

	while (len && (n = f->access->ops->write(f, text, len)) > 0) {
		text += n;
		len -= (size_t)n;
	}
	return n < 0 ? (int)n : 0;
}

/* As a shell's builtins do: each line is a write, and the lines behind a refused one are written too. */
static int write_lines(struct access_file *f, const char *text, size_t len)
{
	int ret = 0;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) + 1 : len;
		int one = write_all(f, text, n);

		if (one)
			ret = one;
		text += n;
		len -= n;
	}
	return ret;
}

/* Returns 0 or the -errno of the write; the target is closed. */
static int close_target(struct target *t, const char *text, size_t len, bool by_lines)
{
	int ret = 0;

	if (t->file) {
		ret = by_lines ? write_lines(t->file, text, len) : write_all(t->file, text, len);
		t->file->access->ops->release(t->file);
	} else if (t->keeper) {
		ret = len ? access_keep(t->keeper, t->path, false, text, len) : 0;
	} else if (t->host) {
		if (fwrite(text, 1, len, t->host) != len)
			ret = -errno;
		if (fclose(t->host))
			ret = -errno;
	}
	return ret;
}

/* ---- simple commands ---- */

struct running {
	struct target	target;		/* of stdout */
	bool		redirected;
	bool		quiet;		/* 2>/dev/null */
	bool		errors_out;	/* 2>&1 */
	bool		out_errors;	/* >&2 */
	char		in[1024];
	const char	*text;		/* what came through a pipe; NULL: there is none */
	size_t		len;
};

static void drop_target(struct running *r)
{
	if (r->redirected) {
		close_target(&r->target, "", 0, false);
		free(r->target.mark);
	}
	r->redirected = false;
}

/* The script ends, as a shell does: what follows may use what is not there. */
static int no_memory(struct setup *s, FILE *err)
{
	setup_error(s, err, "%s", setup_no_memory);
	s->status = 1;
	s->exiting = s->no_memory = true;
	return -ENOMEM;
}

static int redirect(struct setup *s, const struct setup_redirect *d, struct running *r, FILE *err)
{
	char *word = setup_expand_one(s, d->word);
	int ret = 0;

	if (!word)
		return no_memory(s, err);
	if (d->mode == '<') {
		snprintf(r->in, sizeof(r->in), "%s", word);
	} else if (d->mode == '&') {
		r->errors_out |= d->fd == 2;
		r->out_errors |= d->fd == 1 && !strcmp(word, "2");
	} else if (d->fd == 2) {
		r->quiet = true;
	} else {
		drop_target(r);
		r->redirected = true;
		ret = open_target(s, word, d->mode == 'a', &r->target);
		if (ret)
			setup_error(s, err, "%s: %s", word, strerror(-ret));
	}
	free(word);
	return ret;
}

static void finish_output(struct setup *s, struct running *r, const char *name, char *text, size_t len, FILE *err)
{
	int ret = 0;

	if (r->redirected) {
		bool external = strcmp(name, "echo") && strcmp(name, "printf");

		ret = close_target(&r->target, text, len, !external);
		if (ret && external)
			fprintf(err, "%s: write error: %s\n", name, strerror(-ret));
		if (ret && external)
			s->failed++;
		else if (ret)
			setup_error(s, err, "%s: write error: %s", name, strerror(-ret));
		if (ret) {
			access_errors_print(s->params->access, r->target.path, r->target.mark, err);
			s->status = 1;
		} else {
			free(r->target.mark);
		}
	} else {
		fwrite(text, 1, len, r->out_errors ? err : s->out);
	}
}

/* NAME=VALUE words before any command. Without memory words->failed is set. */
static bool assign(struct setup *s, const char *word, struct setup_words *words)
{
	size_t n = 0;
	char name[64], *value;

	while (isalnum((unsigned char)word[n]) || word[n] == '_')
		n++;
	if (!n || word[n] != '=' || n >= sizeof(name) || isdigit((unsigned char)*word))
		return false;
	memcpy(name, word, n);
	name[n] = '\0';
	value = setup_expand_one(s, word + n + 1);
	if (!value || !setup_set(s, name, value))
		words->failed = true;
	free(value);
	return true;
}

static int run_command(struct setup *s, struct setup_words *words, struct setup_io *io)
{
	int status = setup_builtin(s, words->nr, words->v, io);

	if (status < 0 && s->params->programs)
		status = setup_filter(s, words->nr, words->v, io);
	if (status >= 0)
		return status;
	setup_error(s, io->err, "%s: not a command of the setup reader: see `tracefuse shell`", words->v[0]);
	return 127;
}

static void run_words(struct setup *s, struct setup_words *words, struct running *r, FILE *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = text_memory_open(&text, &len);
	struct setup_io io = {
		.out = out, .err = r->errors_out && out ? out : err, .in = *r->in ? r->in : NULL,
		.text = r->text, .len = r->len,
	};

	if (out)
		s->status = words->nr ? run_command(s, words, &io) : 0;
	if (!out || fclose(out)) {
		no_memory(s, err);
		drop_target(r);
	} else {
		finish_output(s, r, words->nr ? words->v[0] : "", text, len, err);
	}
	free(text);
}

static bool drops_errors(const struct setup_node *n)
{
	for (const struct setup_redirect *d = n->redirects; d; d = d->next)
		if (d->fd == 2 && d->mode != '&')
			return true;
	return false;
}

/* `text` is what came through a pipe. */
static void run_one(struct setup *s, const struct setup_node *n, const char *text, size_t len)
{
	struct running r = { .text = text, .len = len };
	struct setup_words words = { 0 };
	FILE *null = drops_errors(n) ? fopen("/dev/null", "we") : NULL, *err = null ? null : s->err;
	unsigned int i = 0;

	while (i < n->words.nr && assign(s, n->words.v[i], &words))
		i++;
	for (; i < n->words.nr; i++)
		setup_expand(s, n->words.v[i], &words);
	s->status = s->no_memory;	/* of $(...) */
	if (words.failed)
		no_memory(s, err);
	for (struct setup_redirect *d = n->redirects; d && !s->status; d = d->next)
		if (redirect(s, d, &r, err))
			s->status = 1;
	if (!s->status)
		run_words(s, &words, &r, err);
	else
		drop_target(&r);
	fflush(err);
	if (null)
		fclose(null);
	setup_words_destroy(&words);
}

/* All but the last one print into memory. */
static void run_simple(struct setup *s, const struct setup_node *n)
{
	FILE *before = s->out;
	char *text = NULL;
	size_t len = 0;
	bool lost;

	for (; n; n = n->pipe) {
		char *in = text;
		size_t in_len = len;

		text = NULL;
		if (n->pipe)
			s->out = text_memory_open(&text, &len);
		if (s->out)
			run_one(s, n, in, in_len);
		lost = !s->out || (n->pipe && fclose(s->out));
		s->out = before;
		free(in);
		if (lost) {
			no_memory(s, s->err);
			free(text);
			return;
		}
	}
}

/* ---- compound commands ---- */

static void run_for(struct setup *s, const struct setup_node *n)
{
	struct setup_words words = { 0 };

	for (unsigned int i = 0; i < n->words.nr; i++)
		setup_expand(s, n->words.v[i], &words);
	s->status = 0;
	if (words.failed)
		no_memory(s, s->err);
	for (unsigned int i = 0; !words.failed && i < words.nr && !s->exiting; i++) {
		if (!setup_set(s, n->variable, words.v[i])) {
			no_memory(s, s->err);
			break;
		}
		setup_run(s, n->body);
	}
	setup_words_destroy(&words);
}

static bool condition_holds(struct setup *s, const struct setup_node *n)
{
	const bool errexit = s->errexit;
	const int failed = s->failed;

	s->errexit = false;
	setup_run(s, n->condition);
	s->errexit = errexit;
	s->failed = failed;	/* what it asks may be answered with no */
	return !s->status && !s->exiting;
}

static void run_while(struct setup *s, const struct setup_node *n)
{
	int status = 0;

	for (int round = 0; round < MAX_ROUNDS && condition_holds(s, n); round++) {
		setup_run(s, n->body);
		status = s->status;
	}
	s->status = status;
}

static void run_if(struct setup *s, const struct setup_node *n)
{
	if (condition_holds(s, n)) {
		setup_run(s, n->body);
		return;
	}
	s->status = 0;
	if (!s->exiting)
		setup_run(s, n->otherwise);
}

static void run_compound(struct setup *s, const struct setup_node *n)
{
	if (n->kind == SETUP_FOR)
		run_for(s, n);
	else if (n->kind == SETUP_WHILE)
		run_while(s, n);
	else if (n->kind == SETUP_IF)
		run_if(s, n);
	else
		setup_run(s, n->body);
}

/* "{ ...; } > FILE": everything that is printed inside is written when it ends. */
static void run_redirected(struct setup *s, const struct setup_node *n)
{
	struct running r = { 0 };
	FILE *before = s->out;
	char *text = NULL;
	size_t len = 0;
	bool lost;

	s->line = n->line;
	for (struct setup_redirect *d = n->redirects; d; d = d->next) {
		if (redirect(s, d, &r, s->err)) {
			s->status = 1;
			drop_target(&r);
			return;
		}
	}
	s->out = text_memory_open(&text, &len);
	if (s->out)
		run_compound(s, n);
	lost = !s->out || fclose(s->out);
	s->out = before;
	if (lost) {
		no_memory(s, s->err);
		drop_target(&r);
	} else {
		finish_output(s, &r, "echo", text, len, s->err);
	}
	free(text);
}

/* The script has an answer to its failure: "|| ...", "!", 2>/dev/null. */
static bool is_answered(const struct setup_node *n)
{
	const struct setup_node *next = n->next;

	if (n->negated || drops_errors(n))
		return true;
	while (next && next->link == SETUP_AND)
		next = next->next;
	return next && next->link == SETUP_OR;
}

void setup_run(struct setup *s, const struct setup_node *n)
{
	for (; n && !s->exiting; n = n->next) {
		const int failed = s->failed;

		if ((n->link == SETUP_AND && s->status) || (n->link == SETUP_OR && !s->status))
			continue;
		s->line = n->line;
		if (n->kind == SETUP_SIMPLE)
			run_simple(s, n);
		else if (n->redirects)
			run_redirected(s, n);
		else
			run_compound(s, n);
		if (is_answered(n))
			s->failed = failed;
		if (n->negated)
			s->status = !s->status;
		else if (s->status && s->errexit && !(n->next && n->next->link != SETUP_ALWAYS))
			s->exiting = true;
	}
}
