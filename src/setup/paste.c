/* SPDX-License-Identifier: MIT */
/*
 * paste.c - takes the commands from a pasted terminal session or document
 *
 *     # echo 'hist:keys=pid' >>            a prompt and a command: taken
 *         events/sched/sched_waking/trigger    the rest of it: taken
 *     # cat events/sched/sched_waking/hist
 *     # event histogram                    output: dropped
 *
 * A prompt may contain a place ("root:/d/tracing # "). The text behind it must look like a command,
 * because many lines of tracing files begin with "# ". A command continues in the next line while a
 * quote is open, behind a backslash, and behind a redirection without its target; an empty line
 * ends it. A here-document continues to its own end, and loses the command's indentation. Dropped
 * lines become empty lines, so that errors have the right line number.
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
	} quotes[] = {
		{ "\xe2\x80\x98", '\'' }, { "\xe2\x80\x99", '\'' },
		{ "\xe2\x80\x9c", '"' }, { "\xe2\x80\x9d", '"' },
	};
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

/*
 * If a line without a prompt begins with one of these, the text is a script. "for" and "if" are not
 * here, because prose has them.
 */
static const char *const plain_commands[] = {
	"echo", "cat", "mkdir", "rmdir", "cd", "printf", "export", NULL,
};
/*
 * Words that make a prompt's text a command. The reader does not know all of them; it refuses
 * those.
 */
static const char *const prompted_commands[] = {
	"echo", "cat", "mkdir", "rmdir", "cd", "for", "if", "while", "printf", "set", "export",
	"ls", "grep", "head", "tail", "sort", "wc", "cut", "sed", "awk", "sudo", NULL,
};

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* Skips the part of a prompt before its # or $, such as "root@host:/d/tracing" or "[tracing]". */
static const char *skip_place(const char *s)
{
	size_t n = strcspn(s, " \t\n#$");

	if (*s == '[')
		n = strcspn(s, "]\n") + 1;
	else if (!memchr(s, ':', n) && !memchr(s, '@', n))
		return s;
	return memchr(s, '\n', n) || memchr(s, '\0', n) ? s : skip_blanks(s + n);
}

/* Returns the text behind the prompt. NULL: there is no prompt with a command. */
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

/* What a line leaves open for the next one. */
struct open_state {
	char	quote;		/* ' or ", 0: none */
	bool	backslash;	/* the line ends in one */
	bool	redirect;	/* ... in > or >> */
	size_t	indent;		/* of the line that the command begins in */
	const char *here;	/* the end of its here-document, NULL */
	size_t	here_len;
};

static bool is_open(const struct open_state *o)
{
	return o->quote || o->backslash || o->redirect || o->here;
}

/* s is behind "<<". */
static void begin_here(struct open_state *o, const char *s)
{
	s = skip_blanks(s);
	s += *s == '\'' || *s == '"';
	o->here_len = setup_name_length(s);
	o->here = o->here_len ? s : NULL;
}

static void scan_line(struct open_state *o, const char *line, size_t len)
{
	if (o->here) {
		if (len == o->here_len && !strncmp(line, o->here, len))
			o->here = NULL;
		return;
	}
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
		} else if (c == '<' && line[i + 1] == '<') {
			begin_here(o, line + ++i + 1);
		} else if (c == '>') {
			o->redirect = true;
		} else if (!isblank((unsigned char)c)) {
			o->redirect = false;
		}
	}
}

/* The length without blanks at the end, and without the border of a box around the text. */
static size_t trimmed_length(const char *line, size_t len)
{
	size_t end = len;

	while (end && (isblank((unsigned char)line[end - 1]) || line[end - 1] == '\r' ||
		       (line[end - 1] == '|' && end > 1 && isblank((unsigned char)line[end - 2]))))
		end--;
	return end;
}

/* The part of a line that belongs to a command. */
struct piece {
	const char	*at;		/* NULL: none */
	size_t		len;
	bool		begins;		/* a command begins here, or the one before has ended */
};

static struct piece take_here(struct open_state *o, const char *line, size_t len)
{
	size_t skip = strspn(line, " \t");

	if (skip > o->indent)
		skip = o->indent;
	return (struct piece){ .at = line + skip, .len = len - skip };
}

static struct piece take_line(struct open_state *o, const char *line, size_t len)
{
	size_t keep = trimmed_length(line, len);
	const char *command = behind_prompt(line);
	struct piece p = { .at = line, .len = keep };

	if (o->here)
		return take_here(o, line, len);
	p.begins = command || !keep || !is_open(o);
	if (p.begins)
		p.at = command && command <= line + keep ? command : NULL;
	if (p.at)
		p.len = (size_t)(line + keep - p.at);
	return p;
}

bool setup_is_paste(const char *text, bool any)
{
	struct open_state open = { 0 };
	bool prompts = false;

	if (!any && !strncmp(text, "#!", 2))
		return false;
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		struct piece p = take_line(&open, text, strcspn(text, "\n"));

		if (!any && p.begins && starts_with_word(skip_blanks(text), plain_commands))
			return false;
		if (p.begins)
			open = (struct open_state){ .indent = strspn(text, " \t") };
		if (p.at)
			scan_line(&open, p.at, p.len);
		prompts |= p.at != NULL;
	}
	return prompts;
}

/*
 * A command ends here. If its quote is still open, a closing quote is put at the command's end, so
 * that the quote does not contain the next commands. The newlines behind that move by one.
 */
static char *close_quote(const struct open_state *open, char *end, char *at)
{
	if (open->quote) {
		memmove(end + 1, end, (size_t)(at - end));
		*end = open->quote;
		at++;
	}
	return at;
}

char *setup_paste(const char *text)
{
	char *out, *at, *end;
	struct open_state open = { 0 };

	/* Each line adds at most one quote. */
	out = at = end = malloc(2 * strlen(text) + 2);
	if (!out)
		return NULL;
	while (*text) {
		size_t len = strcspn(text, "\n");
		struct piece p = take_line(&open, text, len);

		if (p.begins) {
			at = close_quote(&open, end, at);
			open = (struct open_state){ .indent = strspn(text, " \t") };
		}
		if (p.at) {
			memcpy(at, p.at, p.len);
			at += p.len;
			end = at;
			scan_line(&open, p.at, p.len);
		}
		*at++ = '\n';
		text += len + (text[len] == '\n');
	}
	*close_quote(&open, end, at) = '\0';
	return out;
}
