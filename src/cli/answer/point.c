/* SPDX-License-Identifier: MIT */
/* point.c - see point.h */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer/point.h"
#include "cli/answer/symbol.h"
#include "cli/event_names.h"
#include "cli/list/list.h"
#include "cli/run/libraries.h"
#include "elf/file.h"

static const char at_return[] = "%return";

enum { FUNCTION_MOST = 40 };	/* characters of a function in the name of an event */

/* ---- the file ---- */

/* The program of a process that runs, as it is called there. An exit status. */
static int process_file(const struct answer *a, char path[PATH_MAX])
{
	static const char removed[] = " (deleted)";
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%s/exe", a->process);
	n = readlink(link, path, PATH_MAX - 1);
	if (n < 0)
		return message_error("process %s: its program: %s", a->process, strerror(errno));
	path[n] = '\0';
	if (n > (ssize_t)sizeof(removed) - 1 && !strcmp(path + n - (sizeof(removed) - 1), removed))
		return message_error("process %s: its program was removed or replaced",
				     a->process);
	return COMMAND_DONE;
}

/* The file of the program that is to run; "": none, or a script. An exit status. */
static int program_file(const struct answer *a, const char *function, char path[PATH_MAX])
{
	if (a->process)
		return process_file(a, path);
	if (!a->program)
		return command_usage(a->command, "%s: of which file? Write FILE:FUNCTION",
				     function);
	switch (list_kind(a->program[0], path)) {
	case LISTED_PROGRAM:
		return COMMAND_DONE;
	case LISTED_SCRIPT:
		return message_error("%s is a script: write FILE:%s, with the file that has the "
				     "function", a->program[0], function);
	default:
		return message_error("%s: no such program", a->program[0]);
	}
}

/* Whether the library that the program needs is the one that is meant, and has the function. */
struct wanted {
	const char	*library;	/* NULL: any */
	const char	*function;
	char		*path;		/* the first one that has it */
	bool		seen;		/* there is such a library */
};

static bool library_is(const char *path, const char *name)
{
	const char *base = strrchr(path, '/');

	return !strcmp(base ? base + 1 : path, name);
}

static bool file_has_symbol(const char *path, const char *function)
{
	struct elf_function found;

	return !symbol_is_readable(function) && !elf_function_find(path, function, &found);
}

/* Also if it is named as in the source. */
static bool file_has(const char *path, const char *function)
{
	char *symbol = NULL;
	bool has = file_has_symbol(path, function);

	if (!has)
		has = symbol_find(path, function, &symbol) > 0;
	free(symbol);
	return has;
}

/* A library that was not named has many names of C++: one word is a symbol there. */
static bool library_has(const char *path, const struct wanted *w)
{
	return w->library || symbol_is_readable(w->function) ? file_has(path, w->function)
							     : file_has_symbol(path, w->function);
}

static int look_at_library(void *arg, const char *name, const char *path)
{
	struct wanted *w = arg;

	if (w->library && strcmp(name, w->library) && !library_is(path, w->library))
		return 0;
	w->seen = true;
	if (!library_has(path, w))
		return 0;
	w->path = strdup(path);
	return w->path ? 1 : -ENOMEM;
}

/* Of one file */
static int say_file_has_none(const char *path, const char *function)
{
	char *near = symbol_near(path, function);

	if (near)
		message_error("%s has no symbol of a function %s (there is %s)", path, function,
			      near);
	else
		message_error("%s has no symbol of a function %s; `tracefuse list %s` lists its "
			      "functions", path, function, path);
	free(near);
	return COMMAND_FAILED;
}

/* The name may be that of an event, without its system. */
static int say_no_function(const char *program, const char *function)
{
	const char *system;
	char *near;

	if (event_names_provider(function, false, &system) ||
	    event_names_provider(function, true, &system))
		return message_error("neither %s nor a library that it needs has a symbol of a "
				     "function %s; the event is %s:%s", program, function, system,
				     function);
	near = symbol_near(program, function);
	if (near)
		message_error("neither %s nor a library that it needs has a symbol of a function "
			      "%s (there is %s)", program, function, near);
	else
		message_error("neither %s nor a library that it needs has a symbol of a function "
			      "%s; `tracefuse list %s` lists its functions", program, function,
			      program);
	free(near);
	return COMMAND_FAILED;
}

/* Looks in the libraries that the program needs. An exit status. */
static int find_in_libraries(const char *program, struct wanted *w, char path[PATH_MAX])
{
	const int ret = run_libraries(program, look_at_library, w);

	if (ret < 0)
		return message_error("%s: its libraries cannot be listed: %s", program,
				     strerror(-ret));
	if (w->path)
		snprintf(path, PATH_MAX, "%s", w->path);
	else if (w->library && !w->seen)
		return message_error("%s needs no library %s: give a path", program, w->library);
	else
		return say_no_function(program, w->function);
	return COMMAND_DONE;
}

/* ---- the function ---- */

static int refuse_choice(const char *path, const char *function, const struct elf_functions *k,
			 const struct elf_function *found)
{
	char *choices = elf_functions_choices(k, path, found);

	message_error("%s of %s cannot be measured: the program chooses one for its processor when "
		      "it starts (IFUNC), and that has another name%s%s", function, path,
		      choices ? ", one of: " : "", choices ? choices : "");
	free(choices);
	return COMMAND_FAILED;
}

static int check_function(const char *path, const char *function, bool returns)
{
	struct elf_functions *kept = NULL;
	struct elf_function found;
	char why[160];
	int status = COMMAND_DONE;
	const int err = elf_functions_find(&kept, path, function, &found);

	if (!err && found.chooses)
		status = refuse_choice(path, function, kept, &found);
	elf_functions_free(kept);
	if (status)
		return status;
	if (err == -ENOENT)
		return say_file_has_none(path, function);
	if (err)
		return message_error("%s: %s", path, err == -EINVAL ? "no ELF file of 64 bits"
								    : strerror(-err));
	if (list_refuses(path, found.address, returns, why, sizeof(why)))
		return message_error("%s%s of %s cannot be probed: %s", function,
				     returns ? at_return : "", path, why);
	if (found.others && !returns)
		message_error("%s has %u functions %s: only the one at %#llx is measured", path,
			      found.others + 1, function, (unsigned long long)found.address);
	return COMMAND_DONE;
}

/* A name without a slash, where no program is named: as of `tracefuse list`. */
static int named_file(const char *name, char path[PATH_MAX])
{
	switch (list_kind(name, path)) {
	case LISTED_PROGRAM:
		return COMMAND_DONE;
	case LISTED_SCRIPT:
		return message_error("%s is a script", name);
	default:
		return message_error("%s is no program of $PATH and no library: give a path", name);
	}
}

/* library: as written before the colon; NULL: not given. */
static int point_file(const struct answer *a, const char *library, const char *function,
		     char path[PATH_MAX])
{
	struct wanted w = { .library = library, .function = function };
	char program[PATH_MAX];
	int status;

	if (library && strchr(library, '/')) {
		snprintf(path, PATH_MAX, "%s", library);
		return COMMAND_DONE;
	}
	if (library && !a->program)
		return named_file(library, path);
	status = program_file(a, function, program);
	if (status)
		return status;
	snprintf(path, PATH_MAX, "%s", program);
	if (!library && file_has(program, function))
		return COMMAND_DONE;
	status = find_in_libraries(program, &w, path);
	free(w.path);
	return status;
}

/* "latency:FUNCTION", with what a name of an event may have. */
static int make_event(struct answer_point *p)
{
	char *text;

	if (asprintf(&text, "latency:%.*s%s", FUNCTION_MOST, p->called ? p->called : p->function,
		     p->returns ? "_return" : "") < 0)
		return message_error("out of memory");
	p->event.system = text;
	p->event.name = strchr(text, ':') + 1;
	p->event.name[-1] = '\0';
	for (char *c = p->event.name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	return COMMAND_DONE;
}

/* Replaces a name of the source by the symbol. An exit status. */
static int set_symbol(struct answer_point *p, const char *path)
{
	char *symbol;
	int nr;

	if (p->called || file_has_symbol(path, p->function))
		return COMMAND_DONE;
	nr = symbol_find(path, p->function, &symbol);
	if (nr == 1) {
		p->called = p->function;
		p->function = symbol;
		return COMMAND_DONE;
	}
	free(symbol);
	if (nr > 1)
		return symbol_say_several(path, p->function, nr);
	return nr < 0 ? message_error("out of memory") : say_file_has_none(path, p->function);
}

/* A line of uprobe_events ends a word at a blank and itself at a #. */
static int check_name(const char *file)
{
	const char *bad = strpbrk(file, " \t\n\v\f\r#");

	return bad ? message_error("%s cannot be probed: its name has %s: rename it, or copy it to "
				   "another name", file, *bad == '#' ? "a #" : "a blank")
		   : COMMAND_DONE;
}

static int set_function(struct answer_point *p, const char *path)
{
	char whole[PATH_MAX];
	int status;

	/* The server has another directory. */
	if (!realpath(path, whole))
		return message_error("%s: %s", path, strerror(errno));
	status = check_name(whole);
	if (!status)
		status = set_symbol(p, whole);
	if (!status)
		status = check_function(whole, p->function, p->returns);
	if (status)
		return status;
	p->file = strdup(whole);
	return p->file ? make_event(p) : message_error("out of memory");
}

/* The colon between a file and a function; NULL: there is none. "::" belongs to a name. */
static const char *file_colon(const char *text, size_t len)
{
	const char *found = NULL;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != ':')
			continue;
		if (i + 1 < len && text[i + 1] == ':')
			i++;
		else
			found = text + i;
	}
	return found;
}

static int read_function(const struct answer *a, const char *text, size_t len, bool returns,
			 struct answer_point *out)
{
	const char *colon = file_colon(text, len);
	const char *name = colon ? colon + 1 : text;
	char *library = colon ? strndup(text, (size_t)(colon - text)) : NULL;
	char path[PATH_MAX];
	int status;

	out->returns = returns;
	out->function = strndup(name, len - (size_t)(name - text));
	if (!out->function || (colon && !library))
		status = message_error("out of memory");
	else if (!*out->function || (library && !*library))
		status = command_usage(a->command, "%s: a function is written [FILE:]FUNCTION",
				       text);
	else
		status = point_file(a, library, out->function, path);
	free(library);
	return status ? status : set_function(out, path);
}

/* ---- which of them it is ---- */

static bool program_has(const struct answer *a, const char *function)
{
	struct elf_function found;
	char path[PATH_MAX];

	return a->program && list_kind(a->program[0], path) == LISTED_PROGRAM &&
	       !elf_function_find(path, function, &found);
}

/*
 * A file has a slash or is a library; "SYSTEM.EVENT" and "SYSTEM/EVENT" are events, too. No event
 * has two dots, but what a compiler makes of a function: "f.isra.0".
 */
static bool point_is_function(const struct answer *a, const char *text)
{
	const char *colon = file_colon(text, strlen(text)), *dot = strchr(text, '.');

	if (colon)
		return memchr(text, '/', (size_t)(colon - text)) ||
		       memmem(text, (size_t)(colon - text), ".so", 3);
	if (symbol_is_readable(text))
		return true;
	if (strchr(text, '/'))
		return false;
	return !dot || strchr(dot + 1, '.') || program_has(a, text);
}

int answer_point_read(const struct answer *a, const char *text, struct answer_point *out)
{
	const size_t len = strlen(text), end = sizeof(at_return) - 1;

	*out = (struct answer_point){ 0 };
	if (len > end && !strcmp(text + len - end, at_return))
		return read_function(a, text, len - end, true, out);
	if (point_is_function(a, text))
		return read_function(a, text, len, false, out);
	return answer_event_read(a, text, &out->event);
}

int answer_point_function(const struct answer *a, const char *text, struct answer_point *out)
{
	*out = (struct answer_point){ 0 };
	return read_function(a, text, strlen(text), false, out);
}

int answer_point_return(const struct answer *a, const struct answer_point *entry,
			struct answer_point *out)
{
	*out = (struct answer_point){ .returns = true, .function = strdup(entry->function) };
	if (entry->called)
		out->called = strdup(entry->called);
	if (!out->function || !out->called != !entry->called)
		return message_error("out of memory");
	return set_function(out, entry->file);
}

int answer_point_add(struct answer *a, const struct answer_point *p, const char *arguments)
{
	const struct answer_event *e = &p->event;
	char *text = NULL, *undo = NULL;
	int err = 0;

	if (!p->file)
		return 0;
	if (asprintf(&text, "%s:%s/%s %s:%s%s%s", p->returns ? "r" : "p", e->system, e->name,
		     p->file, p->function, *arguments ? " " : "", arguments) < 0 ||
	    asprintf(&undo, "-:%s/%s", e->system, e->name) < 0)
		err = -ENOMEM;
	err = err ? err : answer_line_undone(a, "uprobe_events", text, undo);
	free(text);
	free(undo);
	return err;
}

void answer_point_free(struct answer_point *p)
{
	answer_event_free(&p->event);
	free(p->file);
	free(p->function);
	free(p->called);
}
