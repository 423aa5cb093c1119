/* SPDX-License-Identifier: MIT */
/*
 * glob.c - parses and matches the patterns that name functions
 */
#include <string.h>

#include "model/demangle/demangle.h"
#include "model/ftrace/glob.h"
#include "model/text.h"

/*
 * Patterns with stars only at the ends are plain comparisons. For all others the pattern is walked.
 */
static enum ftrace_glob_type glob_type_of(const char *s, size_t len)
{
	const char *star;
	bool head = len && *s == '*';
	size_t inner = head ? 1 : 0;

	star = len > inner ? memchr(s + inner, '*', len - inner) : NULL;
	if (strpbrk(s, "?[\\"))
		return FTRACE_GLOB_ANY;
	if (!star)
		return head ? FTRACE_GLOB_END : FTRACE_GLOB_FULL;
	if (star != s + len - 1)
		return FTRACE_GLOB_ANY;
	return head ? FTRACE_GLOB_MIDDLE : FTRACE_GLOB_FRONT;
}

void ftrace_glob_parse(struct ftrace_glob *g, char *text)
{
	size_t len;

	g->not = *text == '!';
	if (g->not)
		text++;
	g->demangled = *text == '"';
	if (g->demangled)
		demangle_shorten(++text);
	len = strlen(text);
	g->type = text_is_digit(*text) && !g->demangled ? FTRACE_GLOB_INDEX :
		  glob_type_of(text, len);
	if (g->type == FTRACE_GLOB_FRONT || g->type == FTRACE_GLOB_MIDDLE)
		text[--len] = '\0';
	if (g->type == FTRACE_GLOB_END || g->type == FTRACE_GLOB_MIDDLE) {
		text++;
		len--;
	}
	g->text = text;
	g->len = len;
}

/*
 * Matches one set; p is behind its '['. Returns what follows the ']', or NULL: there is none (then
 * the bracket is an ordinary character). A ']' that comes first is a member.
 */
static const char *match_set(const char *p, char c, bool *hit)
{
	const unsigned char u = (unsigned char)c;
	bool inverted = *p == '!', found = false;

	if (inverted)
		p++;
	do {
		unsigned char lo = (unsigned char)*p++, hi = lo;

		if (!lo)
			return NULL;
		if (p[0] == '-' && p[1] != ']') {
			hi = (unsigned char)p[1];
			if (!hi)
				return NULL;
			p += 2;
		}
		found |= lo <= u && u <= hi;
	} while (*p != ']');
	*hit = found != inverted;
	return p + 1;
}

/* Whether the pattern's next element matches c. *p moves behind it. Not for '*'. */
static bool match_one(const char **p, char c)
{
	const char *s = *p, *behind;
	bool hit = false;

	if (*s == '[') {
		behind = match_set(s + 1, c, &hit);
		*p = behind ? behind : s + 1;
		return behind ? hit : c == '[';
	}
	if (*s == '?') {
		*p = s + 1;
		return true;
	}
	if (*s == '\\' && !*++s)
		return false;
	*p = s + 1;
	return *s == c;
}

/* A backslash at the end matches nothing. */
static bool at_end(const char *p)
{
	return !*p || (*p == '\\' && !p[1]);
}

/* At a mismatch, the last star takes one more character. */
static bool match_any(const char *p, const char *name)
{
	const char *star = NULL, *taken = NULL;

	while (*name || !at_end(p)) {
		if (*p == '*') {
			star = ++p;
			taken = name;
			continue;
		}
		if (*name && *p && match_one(&p, *name)) {
			name++;
			continue;
		}
		if (!star || !*taken)
			return false;
		name = ++taken;
		p = star;
	}
	return true;
}

bool ftrace_glob_match(const struct ftrace_glob *g, const char *name)
{
	size_t len;

	switch (g->type) {
	case FTRACE_GLOB_FULL:
		return !strcmp(name, g->text);
	case FTRACE_GLOB_FRONT:
		return !strncmp(name, g->text, g->len);
	case FTRACE_GLOB_MIDDLE:
		return strstr(name, g->text) != NULL;
	case FTRACE_GLOB_END:
		len = strlen(name);
		return len >= g->len && !memcmp(name + len - g->len, g->text, g->len);
	case FTRACE_GLOB_ANY:
		return match_any(g->text, name);
	default:
		return false;
	}
}
