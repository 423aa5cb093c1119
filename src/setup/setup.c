/* SPDX-License-Identifier: MIT */
/*
 * setup.c - the setup reader: the part of a shell that pages of documentation use
 *
 *     script    list
 *     list      line (NEWLINE | ";" line)*
 *     line      NAME=WORD ... | for | command ("|" command)* [redirect]
 *     for       "for" NAME "in" WORD* (NEWLINE | ";") "do" list "done"
 *     command   echo [-n] | cat | mkdir [-p] | rmdir | cd | ls, with WORDs;
 *               behind "|" also grep, head, sort, tail, wc
 *     redirect  (">" | ">>") WORD, the WORD perhaps in the next line; "<<" WORD
 *     WORD      with '...', "...", \C, $NAME, ${NAME}; "#" begins a comment
 *
 * A script is read twice. The first reading checks the whole script. If there is anything else in
 * it, the whole script goes to a real shell; without a real shell, no line is run. The second
 * reading runs the script from its text: a loop returns to the start of its body.
 *
 * A command prints into memory. When it has ended, its output is written to its target as bash's
 * builtins write: a write(2) for each line; cat writes all at once. An error of such a write is the
 * command's error, and the new entries of error_log are printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/access.h"
#include "host/input.h"
#include "host/links.h"
#include "host/namespace.h"
#include "model/text_memory.h"
#include "setup/state.h"

enum {
	MAX_DEPTH	= 64,
	/* Of a text from elsewhere: bytes that are expanded and printed, and what a step counts */
	ROOM		= 4 << 20,
	STEP		= 256,
};

/* The reader cannot go on: it does not know the token at `at`, or something is `missing`. */
static void stop_at(struct setup *s, const struct setup_cursor *at, const char *missing)
{
	if (s->c.token == SETUP_BAD)
		return;
	s->c = *at;
	s->c.token = SETUP_BAD;
	s->c.missing = missing;
}

static void stop_here(struct setup *s, const char *missing)
{
	struct setup_cursor here = s->c;

	stop_at(s, &here, missing);
}

static void skip_newlines(struct setup *s)
{
	while (s->c.token == SETUP_NEWLINE)
		setup_advance(&s->c);
}

/* Ends the script, as a shell does, because later lines may depend on this one. */
static void end_without_memory(struct setup *s)
{
	setup_complain(s, true, s->variables.room ? "out of memory" :
			"these lines do too much; the rest was not run");
	s->ending = true;
}

/* A text from elsewhere must not go on for ever, nor fill the memory. */
static void spend(struct setup *s, size_t room)
{
	if (!s->params->inside || s->checking || s->ending)
		return;
	s->variables.room -= room < s->variables.room ? room : s->variables.room;
	if (!s->variables.room)
		end_without_memory(s);
}

/* ---- targets of redirections ---- */

struct target {
	char		*word;		/* as the script has it; NULL: the reader's own output */
	bool		append;
	struct access_file *file;	/* a file of the session */
	bool		pending;	/* a setting whose event does not exist yet */
	FILE		*host;		/* a file outside of the session */
	char		*mark;		/* error_log before the write */
	char		path[SETUP_PATH_MAX];
	bool		in_session;	/* the path is one of the session's */
};

/* Settings of an event that does not exist yet are pending. */
static int open_pending(struct setup *s, struct target *t)
{
	int ret = access_pend(s->params->access, t->path, !t->append, "", 0);
	char near[SETUP_NEAR_MAX];

	t->pending = !ret;
	if (ret)
		return ret;
	setup_near_files(s->params->access, t->path, near, sizeof(near));
	fprintf(s->err, "%s: line %u: %s: pending until a program defines the event%s%s%s\n",
		s->params->name, s->line, t->word, *near ? " (there is " : "", near,
		*near ? ")" : "");
	return 0;
}

static int open_host(struct target *t)
{
	int fd = links_open(t->path, O_WRONLY | O_CREAT | (t->append ? O_APPEND : O_TRUNC), 0666);

	if (fd < 0)
		return fd;
	t->host = fdopen(fd, t->append ? "a" : "w");
	if (!t->host)
		close(fd);
	return t->host ? 0 : -ENOMEM;
}

static int open_target(struct setup *s, struct target *t)
{
	struct access *a = s->params->access;
	int ret;

	t->in_session = setup_path(s, t->word, t->path);
	if (!t->in_session)
		return setup_is_kernels(t->path) || s->params->inside ? -EPERM : open_host(t);
	t->mark = access_errors_mark(a, t->path);
	ret = access_create(a, t->path, O_WRONLY | (t->append ? O_APPEND : O_TRUNC), &t->file);
	return ret == -ENOENT ? open_pending(s, t) : ret;
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

/* Writes each line by itself. If one is refused, the next ones are written nevertheless. */
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

/* Returns 0 or the -errno of the write. */
static int write_target(struct access *a, struct target *t, const char *text, size_t len,
			bool by_lines)
{
	bool lost;

	if (t->file)
		return by_lines ? write_lines(t->file, text, len) : write_all(t->file, text, len);
	if (t->pending)
		return len ? access_pend(a, t->path, false, text, len) : 0;
	lost = fwrite(text, 1, len, t->host) != len;
	lost |= fclose(t->host) != 0;
	t->host = NULL;
	return lost ? -errno : 0;
}

static void close_target(struct target *t)
{
	if (t->file)
		t->file->access->ops->release(t->file);
	if (t->host)
		fclose(t->host);
	free(t->mark);
	free(t->word);
}

/* ---- commands ---- */

struct command {
	const struct setup_command *is;	/* NULL: there are only assignments and redirections */
	struct setup_cursor name;
	struct setup_words words;	/* expanded */
	/* Arguments as written; of these, those that are no options */
	unsigned int	nr, operands;
	unsigned int	line;
	bool		assigns;
	bool		piped;		/* its input comes through a pipe */
	bool		here;		/* ... from a here-document */
	bool		redirected;	/* its output goes to `target` */
	bool		ambiguous;	/* `target` expands to no word, or to several */
	char		*text;		/* input */
	size_t		len;
	struct target	target;
};

static void destroy_command(struct command *cmd)
{
	setup_words_destroy(&cmd->words);
	close_target(&cmd->target);
	free(cmd->text);
}

/* Writes a command's output, `text`, to the command's target. */
static void finish_output(struct setup *s, struct command *cmd, const char *text, size_t len)
{
	struct access *a = s->params->access;
	bool builtin = !cmd->is || cmd->is->builtin;
	int ret = write_target(a, &cmd->target, text, len, builtin);

	if (!ret)
		return;
	setup_complain(s, builtin, "%s: write error: %s",
		       cmd->is ? cmd->is->name : cmd->target.word, strerror(-ret));
	access_errors_print(a, cmd->target.path, cmd->target.mark, s->err);
	if (ret == -EINVAL) {
		setup_functions_explain(a, cmd->target.path, text, s->err);
		setup_near_fields_explain(a, cmd->target.path, text, s->err);
	}
	cmd->target.mark = NULL;
}

/* Checks the arguments with their variables expanded. The first reading could not do that. */
static bool has_arguments(const struct command *cmd)
{
	const struct setup_command *is = cmd->is;
	unsigned int operands = 0;

	for (unsigned int i = 1; i < cmd->words.nr; i++) {
		const char *arg = cmd->words.v[i];

		if (!setup_command_takes(is, i - 1, arg, strlen(arg), &operands))
			return false;
	}
	return operands >= is->least && (operands || !is->reads || cmd->text);
}

/* Runs the command. With `pipe` it returns the text that the command printed. */
static char *run_command(struct setup *s, struct command *cmd, bool pipe, size_t *len)
{
	char *text = NULL;
	int ret;

	s->line = cmd->line;
	s->text = cmd->text;
	s->len = cmd->len;
	*len = 0;
	fflush(s->out);
	ret = cmd->target.word && !cmd->ambiguous ? open_target(s, &cmd->target) : 0;
	if (ret || cmd->ambiguous) {
		setup_complain(s, true, "%s: %s", cmd->target.word,
			       ret ? strerror(-ret) : "ambiguous redirect");
		/* The kernel's directory makes no files: EACCES. */
		if (cmd->target.in_session && (ret == -ENOENT || ret == -EACCES))
			setup_near_files_explain(s->params->access, cmd->target.path, s->err);
		return NULL;
	}
	s->printed = text_memory_open(&text, len);
	if (s->printed && cmd->is && !has_arguments(cmd))
		setup_complain(s, true, "%s: such arguments need a real shell", cmd->is->name);
	else if (s->printed && cmd->is)
		cmd->is->run(s, cmd->words.nr, cmd->words.v);
	if (!s->printed || fclose(s->printed))
		end_without_memory(s);
	else if (cmd->target.word)
		finish_output(s, cmd, text, *len);
	else if (!pipe)
		fwrite(text, 1, *len, s->out);
	fflush(s->err);
	if (pipe)
		return text;
	free(text);
	return NULL;
}

/* The length of "NAME=" at the start of a word; 0: the word is no assignment. */
static size_t assignment_length(const struct setup_cursor *c)
{
	size_t n = setup_name_length(c->word);

	return n && n < c->len && c->word[n] == '=' ? n + 1 : 0;
}

static void assign(struct setup *s, size_t n)
{
	char *value = setup_expand_one(&s->variables, s->c.word + n, s->c.len - n, false);

	if (!value || !setup_variable_set(&s->variables, s->c.word, n - 1, value))
		end_without_memory(s);
	free(value);
}

static bool is_redirect(enum setup_token token)
{
	return token == SETUP_TO || token == SETUP_APPEND || token == SETUP_HERE;
}

static void read_word(struct setup *s, struct command *cmd)
{
	struct setup_cursor *c = &s->c;
	size_t n = cmd->is ? 0 : assignment_length(c);
	bool first = false;

	if (n) {
		cmd->assigns = true;
		if (setup_is_shells_own(c->word, n - 1))
			stop_here(s, NULL);
		if (!s->checking)
			assign(s, n);
		setup_advance(c);
		return;
	}
	if (!cmd->is) {
		first = true;
		cmd->name = *c;
		cmd->is = setup_command_find(c->word, c->len);
		if (!cmd->is || cmd->assigns)
			stop_here(s, NULL);
	} else if (!setup_command_takes(cmd->is, cmd->nr++, c->word, c->len, &cmd->operands)) {
		stop_here(s, NULL);
	}
	if (!s->checking)
		setup_expand(&s->variables, c->word, c->len, &cmd->words);
	if (first)
		cmd->line = c->line;
	setup_advance(c);
	/* A command's line in bash is the one where the word or sign behind its name ends. */
	if (first && (c->token == SETUP_WORD || is_redirect(c->token)))
		cmd->line = c->line;
}

static void read_target(struct setup *s, struct command *cmd, const struct setup_cursor *sign)
{
	struct setup_words words = { 0 };

	if (cmd->redirected)
		stop_at(s, sign, NULL);
	skip_newlines(s);
	if (s->c.token != SETUP_WORD)
		stop_at(s, sign, "the target of a redirection");
	cmd->redirected = true;
	cmd->target.append = sign->token == SETUP_APPEND;
	if (s->checking)
		return;
	setup_expand(&s->variables, s->c.word, s->c.len, &words);
	cmd->words.failed |= words.failed;
	cmd->ambiguous = words.nr != 1;
	cmd->target.word = cmd->ambiguous ? strndup(s->c.word, s->c.len) : strdup(words.v[0]);
	cmd->words.failed |= !cmd->target.word;
	setup_words_destroy(&words);
}

static void read_redirect(struct setup *s, struct command *cmd)
{
	struct setup_cursor sign = s->c;

	setup_advance(&s->c);
	if (sign.token != SETUP_HERE) {
		read_target(s, cmd, &sign);
	} else if (cmd->here || cmd->piped || s->c.token != SETUP_WORD) {
		stop_at(s, &sign, NULL);
	} else {
		cmd->here = true;
		setup_begin_here(&s->c);
	}
	setup_advance(&s->c);
}

/* The present token is the newline of a command with a here-document. */
static void take_here(struct setup *s, struct command *cmd)
{
	const struct setup_cursor *c = &s->c;

	cmd->text = c->raw ? strndup(c->body, c->body_len) :
			     setup_expand_one(&s->variables, c->body, c->body_len, true);
	cmd->len = cmd->text ? strlen(cmd->text) : 0;
	cmd->words.failed |= !cmd->text;
}

/* Whether the command has all that it needs and needs nothing that the reader lacks. */
static bool is_complete(const struct command *cmd, bool pipe)
{
	const struct setup_command *is = cmd->is;

	if (cmd->piped || cmd->here ? !is->reads : is->filter || (is->reads && !cmd->operands))
		return false;
	if (is->alone && (pipe || cmd->piped))
		return false;
	return cmd->operands >= is->least;
}

/* Checks that are possible only when the whole command has been read. */
static void check_command(struct setup *s, const struct command *cmd, bool pipe)
{
	bool any = cmd->is || cmd->assigns || cmd->redirected;

	if (!any)
		stop_here(s, s->c.token == SETUP_END ? "a command" : NULL);
	else if (!cmd->is && (pipe || cmd->piped || cmd->here))
		stop_here(s, NULL);
	else if (cmd->is && !is_complete(cmd, pipe))
		stop_at(s, &cmd->name, NULL);
	else if ((pipe && cmd->redirected) || (cmd->here && s->c.token != SETUP_NEWLINE))
		stop_here(s, NULL);
}

/* Runs commands with pipes between them. The text that one prints is the next one's input. */
static void run_line(struct setup *s)
{
	bool pipe = false;
	char *text = NULL;
	size_t len = 0;

	do {
		struct command cmd = { .line = s->c.line, .text = text, .len = len, .piped = pipe };

		text = NULL;
		while (s->c.token == SETUP_WORD || is_redirect(s->c.token)) {
			if (s->c.token == SETUP_WORD)
				read_word(s, &cmd);
			else
				read_redirect(s, &cmd);
		}
		pipe = s->c.token == SETUP_PIPE;
		if (s->checking)
			check_command(s, &cmd, pipe);
		else if (cmd.here)
			take_here(s, &cmd);
		if (cmd.words.failed && !s->ending)
			end_without_memory(s);
		spend(s, STEP);
		if (!s->checking && !s->ending)
			text = run_command(s, &cmd, pipe, &len);
		spend(s, len);
		destroy_command(&cmd);
		if (pipe) {
			setup_advance(&s->c);
			skip_newlines(s);
		}
	} while (pipe && !s->ending);
	free(text);
}

/* ---- loops ---- */

static void run_list(struct setup *s);

/* Reads from "for" to "do". Adds the words of the loop to `words`. */
static void read_for(struct setup *s, struct setup_cursor *name, struct setup_words *words)
{
	struct setup_cursor *c = &s->c, start = *c;

	setup_advance(c);
	*name = *c;
	if (c->token != SETUP_WORD || setup_name_length(c->word) != c->len ||
	    setup_is_shells_own(c->word, c->len))
		stop_at(s, &start, NULL);
	setup_advance(c);
	if (!setup_at(c, "in"))
		stop_at(s, &start, NULL);
	for (setup_advance(c); c->token == SETUP_WORD; setup_advance(c))
		if (!s->checking)
			setup_expand(&s->variables, c->word, c->len, words);
	if (c->token != SETUP_NEWLINE && c->token != SETUP_SEMICOLON)
		stop_at(s, &start, NULL);
	setup_advance(c);
	skip_newlines(s);
	if (!setup_at(c, "do"))
		stop_at(s, &start, NULL);
	setup_advance(c);
}

/* If the loop has no words, its body is only read. */
static void run_for(struct setup *s)
{
	struct setup_cursor start = s->c, name, body;
	struct setup_words words = { 0 };
	bool checking = s->checking;

	if (s->depth++ == MAX_DEPTH)
		stop_here(s, NULL);
	read_for(s, &name, &words);
	body = s->c;
	if (words.failed)
		end_without_memory(s);
	s->checking |= !words.nr;
	for (unsigned int i = 0; !s->ending && (i < words.nr || !i); i++) {
		s->c = body;
		spend(s, STEP);
		if (words.nr && !setup_variable_set(&s->variables, name.word, name.len, words.v[i]))
			end_without_memory(s);
		run_list(s);
	}
	s->checking = checking;
	s->depth--;
	setup_words_destroy(&words);
	if (s->ending)
		return;
	if (!setup_at(&s->c, "done"))
		stop_at(s, &start, s->c.token == SETUP_END ? "the done of a loop" : NULL);
	setup_advance(&s->c);
}

/* Runs lines up to the end of the script, or of a loop's body. */
static void run_list(struct setup *s)
{
	struct setup_cursor *c = &s->c;

	for (skip_newlines(s); !s->ending; skip_newlines(s)) {
		if (c->token == SETUP_END || c->token == SETUP_BAD || setup_at(c, "done"))
			return;
		if (setup_at(c, "for"))
			run_for(s);
		else
			run_line(s);
		if (c->token == SETUP_SEMICOLON)
			setup_advance(c);
		else if (c->token != SETUP_NEWLINE && c->token != SETUP_END)
			stop_here(s, NULL);
	}
}

/* ---- scripts ---- */

/* False: the reader does not know the text at s->c. */
static bool read_script(struct setup *s, const char *text, bool checking)
{
	s->checking = checking;
	s->c = (struct setup_cursor){ .at = text, .line = 1 };
	setup_advance(&s->c);
	run_list(s);
	if (!s->ending && s->c.token != SETUP_END)
		stop_here(s, NULL);
	return s->c.token != SETUP_BAD;
}

static int refuse(const struct setup *s, const char *why, const char *reason)
{
	const struct setup_cursor *c = &s->c;

	if (c->missing)
		fprintf(s->err, "%s: line %u: %s is missing", s->params->name, c->line, c->missing);
	else
		fprintf(s->err, "%s: line %u: '%.*s' needs a real shell%s%s", s->params->name,
			c->line, (int)c->len, c->word, why, reason);
	fputs("; no line was run\n", s->err);
	return -ENOEXEC;
}

static int run_in_shell(struct setup *s, const char *text)
{
	const struct setup_params *p = s->params;
	char *mark;
	int ret;

	if (s->c.missing)
		return refuse(s, "", "");
	if (!p->shell)
		return refuse(s, ": see `tracefuse shell`", "");
	fflush(s->out);
	mark = access_errors_mark(p->access, "");
	ret = p->shell(p->shell_arg, p->name, text);
	access_errors_print(p->access, "", mark, s->err);
	return ret < 0 ? refuse(s, ", and there can be none: ", namespace_error(ret)) : ret > 0;
}

/* Makes the text that the reader reads; of a pasted text only the commands. NULL: no memory. */
static char *prepare(const struct setup_params *params, const char *text, size_t len)
{
	char *copy = strndup(text, len), *pasted;

	if (copy && params->document)
		setup_straighten(copy);
	if (!copy || !setup_is_paste(copy, params->document))
		return copy;
	pasted = setup_paste(copy);
	free(copy);
	return pasted;
}

int setup_run_text(const struct setup_params *params, const char *text, size_t len)
{
	struct setup s = {
		.params = params, .out = params->out ? params->out : stdout,
		.err = params->err ? params->err : stderr, .cwd = NAMESPACE_TRACING,
		.variables = { .closed = params->inside,
			       .room = params->inside ? ROOM : SIZE_MAX },
	};
	char *script = prepare(params, text, len);
	int ret;

	if (!script)
		return -ENOMEM;
	if (!read_script(&s, script, true)) {
		ret = run_in_shell(&s, script);
	} else {
		read_script(&s, script, false);
		ret = s.failed;
	}
	fflush(s.out);
	free(script);
	setup_words_destroy(&s.variables.set);
	return ret;
}

int setup_run_file(const struct setup_params *params, const char *file)
{
	size_t len;
	char *text;
	int ret = input_read_all(file, &text, &len);

	if (!ret)
		ret = setup_run_text(params, text, len);
	free(text);
	return ret;
}
