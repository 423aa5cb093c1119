/* SPDX-License-Identifier: MIT */
/*
 * paste.c - commands out of a pasted terminal session or document
 *
 *     # echo 'hist:keys=pid' >>            a prompt and a command: taken
 *         events/sched/sched_waking/trigger    the rest of it: taken
 *     # cat events/sched/sched_waking/hist
 *     # event histogram                    output: dropped
 *
 * A prompt may tell where one is ("root:/d/tracing # "), and what follows it must
 * look like a command: much of what tracing files print begins with "# ". A
 * command goes on in the next line while a quote is open, behind a backslash
 * and behind a redirection without its target, up to an empty line. Dropped lines stay as empty
 * ones, so that errors name the right line.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "setup/state.h"

void setup_straighten(char *text)
{
	/* U+2018, U+2019; U+201C, U+201D */
	static const struct {
		char	bytes[4], quote;
	} quotes[] = { { "\xe2\x80\x98", '\'' }, { "\xe2\x80\x99", '\'' }, { "\xe2\x80\x9c", '"' }, { "\xe2\x80\x9d", '"' } };
	char *to = text;

	while (*text) {
		char c = *text;
		size_t n = 1;

		for (size_t i = 0; i < sizeof(quotes) / sizeof(*quotes); i++)
			if (!strncmp(text, quotes[i].bytes, 3)) {
				c = quotes[i].quote;
				n = 3;
			}
		*to++ = c;
		text += n;
	}
	*to = '\0';
}

static bool starts_with_word(const char *s, const char *const *words)
{
	for (; *words; words++) {
		size_t n = strlen(*words);

		if (!strncmp(s, *words, n) && (s[n] == ' ' || s[n] == '\t'))
			return true;
	}
	return false;
}

static const char *const plain_commands[] = { "echo", "cat", "mkdir", "rmdir", "printf", "cd", NULL };
static const char *const prompted_commands[] = {
	"echo", "cat", "mkdir", "rmdir", "printf", "cd", "for", "if", "while", "ls", "grep", "head", "tail",
	"sort", "wc", "cut", "sed", "awk", "sync", "set", "export", "sudo", NULL,
};

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* "root@host:/d/tracing", "[tracing]": what a prompt has before its # or $. */
static const char *skip_place(const char *s)
{
	size_t n = strcspn(s, " \t\n#$");

	if (*s == '[')
		n = strcspn(s, "]\n") + 1;
	else if (!memchr(s, ':', n) && !memchr(s, '@', n))
		return s;
	return memchr(s, '\n', n) || memchr(s, '\0', n) ? s : skip_blanks(s + n);
}

/* Behind the prompt, or NULL: no prompt with a command. */
static const char *behind_prompt(const char *line)
{
	line = skip_place(skip_blanks(line));
	if ((*line != '#' && *line != '$') || (line[1] != ' ' && line[1] != '\t'))
		return NULL;
	line = skip_blanks(line + 1);
	if (!starts_with_word(line, prompted_commands))
		return NULL;
	return strncmp(line, "sudo ", 5) ? line : skip_blanks(line + 5);
}

/* What a line leaves open. */
struct open_state {
	char	quote;		/* ' or ", 0: none */
	bool	backslash;	/* the line ends in one */
	bool	redirect;	/* ... in > or >> */
};

static bool is_open(const struct open_state *o)
{
	return o->quote || o->backslash || o->redirect;
}

static void scan_line(struct open_state *o, const char *line, size_t len)
{
	o->backslash = o->redirect = false;
	for (size_t i = 0; i < len; i++) {
		char c = line[i];

		if (c == '\\' && o->quote != '\'') {
			if (i + 1 == len)
				o->backslash = true;
			i++;
		} else if (o->quote) {
			if (c == o->quote)
				o->quote = 0;
		} else if (c == '\'' || c == '"') {
			o->quote = c;
			o->redirect = false;
		} else if (c == '>') {
			o->redirect = true;
		} else if (!isblank((unsigned char)c)) {
			o->redirect = false;
		}
	}
}

/* Without blanks at the end, and without the border of a box that the line stood in. */
static size_t trimmed_length(const char *line, size_t len)
{
	size_t end = len;

	while (end && (isblank((unsigned char)line[end - 1]) || line[end - 1] == '\r' ||
		       (line[end - 1] == '|' && end > 1 && isblank((unsigned char)line[end - 2]))))
		end--;
	return end;
}

bool setup_is_paste(const char *text, bool any)
{
	struct open_state open = { 0 };
	bool prompts = false;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t len = strcspn(text, "\n");

		if (!any && !is_open(&open) && starts_with_word(skip_blanks(text), plain_commands))
			return false;
		if (is_open(&open) || behind_prompt(text)) {
			prompts = true;
			scan_line(&open, text, trimmed_length(text, len));
		}
	}
	return prompts;
}

/*
 * A command ends here. One whose quote is still open gets it closed where it ended, so that it does not
 * swallow those behind it; the newlines since then move on.
 */
static char *close_quote(struct open_state *open, char *end, char *at)
{
	if (open->quote) {
		memmove(end + 1, end, (size_t)(at - end));
		*end = open->quote;
		at++;
	}
	*open = (struct open_state){ 0 };
	return at;
}

char *setup_paste(const char *text)
{
	char *out, *at, *end;
	struct open_state open = { 0 };

	/* A line adds at most a quote. */
	out = at = end = malloc(2 * strlen(text) + 2);
	if (!out)
		return NULL;
	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t keep = trimmed_length(text, len);
		const char *command = behind_prompt(text);
		const char *from = command && command < text + len ? command : is_open(&open) ? text : NULL;

		if (from == command || !keep) {
			at = close_quote(&open, end, at);
			from = command;
		}
		if (from && from <= text + keep) {
			size_t n = (size_t)(text + keep - from);

			memcpy(at, from, n);
			at += n;
			end = at;
			scan_line(&open, from, n);
		}
		*at++ = '\n';
		text += len + (text[len] == '\n');
	}
	*close_quote(&open, end, at) = '\0';
	return out;
}
