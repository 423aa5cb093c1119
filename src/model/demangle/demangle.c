/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - demangles with the machine's C++ library, which is loaded at the first name
 *
 * A machine that runs C++ programs has one. So nothing is linked to it, and its rules are not
 * repeated here. It does not know Rust's names; rust.c reads those. It has no bound of memory, so
 * expansion.c refuses hostile names first.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/demangle/demangle.h"
#include "model/demangle/expansion.h"
#include "model/demangle/rust.h"

enum { RUST_LONGEST = 8192 };

typedef char *(*demangle_fn)(const char *name, char *out, size_t *len, int *status);

struct demangler {
	void		*library;
	demangle_fn	fn;		/* NULL: there is no C++ library */
	char		*out;		/* from malloc(); it grows when needed */
	size_t		len;
	char		rust[RUST_LONGEST];
};

struct demangler *demangler_create(void)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1" };
	struct demangler *d = calloc(1, sizeof(*d));

	for (unsigned int i = 0; d && !d->library && i < 2; i++)
		d->library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
	if (d && d->library)
		d->fn = (demangle_fn)(uintptr_t)dlsym(d->library, "__cxa_demangle");
	return d;
}

void demangler_destroy(struct demangler *d)
{
	if (!d)
		return;
	if (d->library)
		dlclose(d->library);
	free(d->out);
	free(d);
}

/* ---- std::string ---- */

static const char string_name[] = "std::string";

/* How many bytes of the text are a library's own name of std::string. 0: it does not begin so. */
static size_t string_length(const char *s)
{
	static const char *const names[] = {
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>",
		"std::__1::basic_string<char, std::__1::char_traits<char>, "
		"std::__1::allocator<char> >",
		"std::__1::basic_string<char, std::__1::char_traits<char>, "
		"std::__1::allocator<char>>",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(s, names[i], strlen(names[i])))
			return strlen(names[i]);
	return 0;
}

void demangle_shorten(char *text)
{
	char *to = text;

	while (*text) {
		const size_t n = string_length(text);

		if (n) {
			memcpy(to, string_name, sizeof(string_name) - 1);
			to += sizeof(string_name) - 1;
			text += n;
		} else if (text[0] == ' ' && text[1] == '>') {
			text++;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

const char *demangle(struct demangler *d, const char *name)
{
	int status = 0;
	char *out;

	if (!d || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	if (demangle_rust(name, d->rust, sizeof(d->rust)))
		return d->rust;
	if (!d->fn || name[1] != 'Z' || demangle_is_too_long(name))
		return NULL;
	out = d->fn(name, d->out, &d->len, &status);
	if (!out || status)
		return NULL;
	d->out = out;
	demangle_shorten(out);
	return out;
}

char *demangle_text(struct demangler *d, const char *text)
{
	const size_t blanks = strspn(text, " "), n = strcspn(text + blanks, "+ ");
	char *name = text[blanks] == '_' ? strndup(text + blanks, n) : NULL, *made;
	const char *readable = name ? demangle(d, name) : NULL;

	if (!readable || asprintf(&made, "%*s%s%s", (int)blanks, "", readable,
				  text + blanks + n) < 0)
		made = NULL;
	free(name);
	return made;
}

/* ---- names that leave something out ---- */

/* Behind the list that begins here with <. NULL: it does not end. "->" is no end of one. */
static const char *generics_end(const char *s)
{
	unsigned int depth = 0;

	for (const char *at = s; *at; at++) {
		if (*at == '<')
			depth++;
		else if (*at == '>' && at[-1] != '-' && !--depth)
			return at + 1;
	}
	return NULL;
}

/* Behind what a name may leave out here: NULL: nothing. */
static const char *name_omitted(const char *s)
{
	const char *end;

	if (*s == '<')
		return generics_end(s);
	if (!strncmp(s, "::<", 3))
		return generics_end(s + 2);
	end = strncmp(s, "[abi:", 5) ? NULL : strchr(s, ']');
	return end ? end + 1 : NULL;
}

/* Whether the name, and nothing but what it may leave out, is here before the arguments. */
static bool demangled_is_here(const char *full, const char *name)
{
	while (full) {
		while (*name && *full == *name) {
			full++;
			name++;
		}
		if (!*name && (!*full || *full == '('))
			return true;
		full = name_omitted(full);
	}
	return false;
}

/* A function of a template begins with what it returns. The next word before the arguments. */
static const char *demangle_next_word(const char *s)
{
	while (s && *s && *s != '(' && *s != ' ')
		s = *s == '<' ? generics_end(s) : s + 1;
	return s && *s == ' ' ? s + 1 : NULL;
}

bool demangled_is_called(const char *full, const char *name)
{
	for (; full; full = demangle_next_word(full))
		if (demangled_is_here(full, name))
			return true;
	return false;
}

bool demangle_is_called(struct demangler *d, const char *symbol, const char *name)
{
	return demangled_is_called(demangle(d, symbol), name);
}

char *demangle_find_called(const char *functions, const char *name)
{
	char *word = strndup(name, strcspn(name, "*")), *symbol, *found = NULL;
	struct demangler *d = demangler_create();

	if (word)
		demangle_shorten(word);
	for (; word && d && *word && !found && *functions; functions += *functions == '\n') {
		symbol = strndup(functions, strcspn(functions, " \n"));
		if (symbol && demangle_is_called(d, symbol, word))
			found = strdup(demangle(d, symbol));
		free(symbol);
		functions += strcspn(functions, "\n");
	}
	demangler_destroy(d);
	free(word);
	return found;
}
