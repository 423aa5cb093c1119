/* SPDX-License-Identifier: MIT */
/* symbol.c - see symbol.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/answer/symbol.h"
#include "cli/command.h"
#include "elf/file.h"
#include "host/message.h"
#include "model/demangle/demangle.h"
#include "model/text_memory.h"
#include "server/nearest.h"

enum { NAMED = 3 };	/* of several */

struct called {
	const char	*path;
	char		*name;
	struct demangler *demangler;
	struct elf_symbols symbols;
};

bool symbol_is_readable(const char *name)
{
	return strstr(name, "::") || strpbrk(name, "<(");
}

/*
 * Mangled names have the words of the source as they are. So a symbol without a plain word has
 * another name, and need not be demangled: a program has up to a million.
 */
static bool symbol_may_be(const char *symbol, const char *name)
{
	const bool plain = !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
					      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];

	return !plain || strstr(symbol, name);
}

/* The next function of that name, from *i on. NULL: there is none. */
static const char *next_called(struct called *c, size_t *i)
{
	struct elf_function found;

	for (; *i < c->symbols.nr; ++*i) {
		const struct elf_symbol *y = &c->symbols.v[*i];
		const char *symbol = c->symbols.names + y->name;

		if ((*i && y->value == y[-1].value) || elf_name_is_part(symbol) ||
		    !symbol_may_be(symbol, c->name) ||
		    !demangle_is_called(c->demangler, symbol, c->name) ||
		    elf_function_find(c->path, symbol, &found))
			continue;
		++*i;
		return symbol;
	}
	return NULL;
}

/* False: the file has no symbols that can be read. */
static bool called_open(struct called *c, const char *path, const char *name)
{
	*c = (struct called){ .path = path, .name = strdup(name) };
	if (!c->name || elf_symbols_read(path, NULL, &c->symbols)) {
		free(c->name);
		return false;
	}
	demangle_shorten(c->name);
	c->demangler = demangler_create();
	return true;
}

static void called_close(struct called *c)
{
	demangler_destroy(c->demangler);
	elf_symbols_free(&c->symbols);
	free(c->name);
}

int symbol_find(const char *path, const char *name, char **symbol)
{
	struct called c;
	const char *found;
	size_t i = 0;
	int nr = 0;

	*symbol = NULL;
	if (!called_open(&c, path, name))
		return 0;
	while ((found = next_called(&c, &i))) {
		if (nr++)
			continue;
		*symbol = strdup(found);
		if (!*symbol) {
			nr = -ENOMEM;
			break;
		}
	}
	called_close(&c);
	return nr;
}

/* Whether the last part of a name of the source is this one: "put" of "Store<int>::put(long)". */
static bool ends_in(const char *full, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = strstr(full, name); at; at = strstr(at + 1, name))
		if (at - full > 2 && at[-1] == ':' && (!at[len] || strchr("(<[", at[len])))
			return true;
	return false;
}

static bool may_be_meant(const struct elf_symbol *y, const char *symbol)
{
	return strchr("tTwWiV", y->type) && !elf_name_is_part(symbol);
}

/* Prints the symbols of functions, a line each. Those of the source that end so go to `longer`. */
static void symbol_list_names(struct called *c, FILE *plain, FILE *longer)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < c->symbols.nr; i++) {
		const char *symbol = c->symbols.names + c->symbols.v[i].name, *full;

		if (!may_be_meant(&c->symbols.v[i], symbol))
			continue;
		full = symbol_may_be(symbol, c->name) ? demangle(c->demangler, symbol) : NULL;
		if (full && nr < NAMED && ends_in(full, c->name))
			fprintf(longer, "%s%s", nr++ ? ", " : "", full);
		fprintf(plain, "%s\n", symbol);
	}
}

char *symbol_near(const char *path, const char *name)
{
	char *symbols = NULL, *longer = NULL, near[256] = "";
	size_t size, longer_size;
	struct called c;
	FILE *out = text_memory_open(&symbols, &size);
	FILE *found = text_memory_open(&longer, &longer_size);

	if (out && found && called_open(&c, path, name)) {
		symbol_list_names(&c, out, found);
		called_close(&c);
	}
	if ((out && fclose(out)) || (found && fclose(found)))
		goto end;
	if (longer && *longer) {
		free(symbols);
		return longer;
	}
	if (symbols)
		nearest_names(name, symbols, near, sizeof(near));
end:
	free(symbols);
	free(longer);
	return *near ? strdup(near) : NULL;
}

int symbol_say_several(const char *path, const char *name, int nr)
{
	struct called c;
	const char *found;
	char *text = NULL;
	size_t i = 0, size;
	FILE *out = text_memory_open(&text, &size);

	if (out && called_open(&c, path, name)) {
		for (int n = 0; n < NAMED && (found = next_called(&c, &i)); n++)
			fprintf(out, "%s%s", n ? ", " : "", demangle(c.demangler, found));
		called_close(&c);
	}
	if (!out || fclose(out))
		return message_error("out of memory");
	message_error("%s has %d functions %s: name one of them as it is written here: %s%s", path,
		      nr, name, text, nr > NAMED ? " ..." : "");
	free(text);
	return COMMAND_FAILED;
}
