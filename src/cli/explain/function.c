/* SPDX-License-Identifier: MIT */
/*
 * function.c - explains a function of a program: its prototype, and the probes for it
 *
 *     PROGRAM FUNCTION -> symbol -> src/debug -> "int add(int a, char *text)"
 *                                             -> p:... a=%di:s32 text=+0(%si):string
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/explain/explain.h"
#include "cli/list/list.h"
#include "cli/run/libraries.h"
#include "debug/prototype.h"
#include "elf/file.h"
#include "host/message.h"
#include "model/demangle/demangle.h"

enum { OVERLOADS = 8, EVENT_NAME = 56, ARGUMENT_NAME = 32 };

struct explained {
	struct explain	*e;
	char		path[PATH_MAX];
	const char	*symbol;
	struct elf_function function;
	struct prototype p;
};

/* ---- Names for events and arguments ---- */

static void make_identifier(const char *text, char *out, size_t size)
{
	size_t at = 0;

	if (!*text || isdigit((unsigned char)*text))
		out[at++] = '_';
	for (; *text && at < size - 1; text++)
		out[at++] = isalnum((unsigned char)*text) ? *text : '_';
	out[at] = '\0';
}

/* Behind "x:": the program's name, then the function's. */
static void print_event_name(const struct explained *x, const char *more)
{
	const char *slash = strrchr(x->path, '/'), *file = slash ? slash + 1 : x->path;
	const char *name = *x->p.name && x->symbol[0] == '_' && x->symbol[1] == 'Z' ?
			   x->p.name : x->symbol;
	char group[EVENT_NAME], event[EVENT_NAME], base[EVENT_NAME];

	snprintf(base, sizeof(base), "%.*s", (int)strcspn(file, "."), file);
	make_identifier(base, group, sizeof(group));
	make_identifier(name, event, sizeof(event));
	fprintf(x->e->out, "%s/%s%s", group, event, more);
}

/* ---- Probes ---- */

static void print_label(const struct explained *x, const char *label)
{
	fprintf(x->e->out, "  %-9s ", label);
}

static void print_value(const struct explained *x, const struct prototype_value *v,
			const char *name, const char *word)
{
	const char *type = prototype_probe_type(v);

	if (v->kind == PROTOTYPE_STRING)
		fprintf(x->e->out, " %s=+0(%s):string", name, word);
	else
		fprintf(x->e->out, " %s=%s%s%s", name, word, *type ? ":" : "", type);
}

static void argument_name(const struct prototype_value *v, unsigned int nr, char *out)
{
	if (*v->name)
		make_identifier(v->name, out, ARGUMENT_NAME);
	else
		snprintf(out, ARGUMENT_NAME, "arg%u", nr + 1);
}

static void print_entry_probe(const struct explained *x)
{
	char name[ARGUMENT_NAME];

	print_label(x, "probe");
	fputs("p:", x->e->out);
	print_event_name(x, "");
	fprintf(x->e->out, " %s:%s", x->path, x->symbol);
	for (unsigned int i = 0; !x->p.changed && i < x->p.nr; i++) {
		const struct prototype_value *v = &x->p.parameters[i];

		argument_name(v, i, name);
		if (prototype_word(v))
			print_value(x, v, name, v->place);
	}
	fputc('\n', x->e->out);
}

static void print_return_probe(const struct explained *x)
{
	print_label(x, "return");
	fputs("r:", x->e->out);
	print_event_name(x, "_return");
	fprintf(x->e->out, " %s:%s", x->path, x->symbol);
	if (prototype_word(&x->p.result))
		print_value(x, &x->p.result, "result", "$retval");
	fputc('\n', x->e->out);
}

/* No line for a probe that would be refused. */
static void print_probes(const struct explained *x)
{
	const uint64_t at = x->function.address;
	char why[160];

	if (list_refuses(x->path, at, false, why, sizeof(why))) {
		explain_say(x->e, "probe", "none: %s", why);
		return;
	}
	print_entry_probe(x);
	if (list_refuses(x->path, at, true, why, sizeof(why)))
		explain_say(x->e, "return", "none: %s", why);
	else
		print_return_probe(x);
}

/* ---- What cannot be fetched ---- */

static void say_not_known(const struct explained *x, const char *name,
			  const struct prototype_value *v)
{
	if (v->kind == PROTOTYPE_STRUCT && !v->size)
		explain_say(x->e, name, "not fetched: the file only declares its type, and does "
			    "not say how large it is and how it is passed");
	else if (x->p.loose)
		explain_say(x->e, name, "not fetched: the language may pass it, or one before it, "
			    "in several ways, and the file does not say in which one");
	else
		explain_say(x->e, name, "not fetched: the file does not say how it is passed, or "
			    "one before it, so its place is not known");
}

static void say_why(const struct explained *x, const char *name, const struct prototype_value *v)
{
	const char *in = *v->place == '$' ? "on the stack, from " : "in ";
	char address[32];

	if (!strcmp(v->place, "?"))
		say_not_known(x, name, v);
	else if (prototype_address(v, address))
		explain_say(x->e, name, "not fetched: probes have no floating point type; its "
			    "address is in %s", address);
	else if (!*v->place)
		explain_say(x->e, name, "not fetched: it is empty, so nothing is passed");
	else if (*v->place == '$' && (v->kind == PROTOTYPE_FLOAT || v->kind == PROTOTYPE_STRUCT))
		explain_say(x->e, name, "not fetched: probes have no %s; it is on the stack, "
			    "from %s on", v->kind == PROTOTYPE_FLOAT ? "floating point type" :
			    "type for a structure", v->place);
	else if (v->kind == PROTOTYPE_FLOAT || strstr(v->place, "%xmm"))
		explain_say(x->e, name, "not fetched: it is in %s, and probes read no floating "
			    "point register", v->place);
	else if (v->kind == PROTOTYPE_STRUCT)
		explain_say(x->e, name, "not fetched: it is a structure of %u bytes, %s%s; "
			    "probes fetch words, for example %.*s", v->size, in, v->place,
			    (int)strcspn(v->place, "+"), v->place);
	else
		explain_say(x->e, name, "not fetched: it has %u bytes, %s%s, and probes fetch at "
			    "most 8", v->size, in, v->place);
}

static void say_unfetched(const struct explained *x)
{
	char name[ARGUMENT_NAME];

	if (x->p.changed) {
		explain_say(x->e, "arguments", "not fetched: the compiler has changed how this "
			    "function gets its arguments");
		return;
	}
	for (unsigned int i = 0; i < x->p.nr; i++) {
		argument_name(&x->p.parameters[i], i, name);
		if (!prototype_word(&x->p.parameters[i]))
			say_why(x, name, &x->p.parameters[i]);
	}
	if (x->p.varargs)
		explain_say(x->e, "...", "not fetched: nothing says how many further arguments "
			    "there are, and of which types; they follow in the next registers");
	if (x->p.result.kind != PROTOTYPE_VOID && !prototype_word(&x->p.result))
		say_why(x, "result", &x->p.result);
}

/* ---- The prototype ---- */

static void print_parameters(const struct explained *x)
{
	FILE *out = x->e->out;

	for (unsigned int i = 0; i < x->p.nr; i++)
		fprintf(out, "%s%s", i ? ", " : "", x->p.parameters[i].text);
	if (x->p.varargs)
		fputs(x->p.nr ? ", ..." : "...", out);
	else if (!x->p.nr)
		fputs("void", out);
}

static void print_prototype(const struct explained *x)
{
	const char *result = x->p.result.text;

	fprintf(x->e->out, "%s%s%s(", result, *result && result[strlen(result) - 1] != '*' ?
		" " : "", x->p.name);
	print_parameters(x);
	fputs(")\n", x->e->out);
	if (*x->p.file)
		explain_say(x->e, "declared", "%s:%u", x->p.file, x->p.line);
	if (x->p.unprototyped)
		explain_say(x->e, "style", "without a prototype, as in K&R's C: a float is "
			    "passed as a double");
}

/* ---- Without types ---- */

static void say_where_types_are(const struct explained *x)
{
	char debug[PATH_MAX];
	struct elf_file f;
	const uint8_t *id;
	size_t len;

	if (elf_file_open(x->path, NULL, &f))
		return;
	id = elf_build_id(&f.image, &len);
	if (id && elf_debug_path(id, len, debug, sizeof(debug)))
		explain_say(x->e, "types", "not known: the file has no debug information, and %s "
			    "is not installed. Distributions have it in a package whose name ends "
			    "in -dbgsym, -dbg or -debuginfo. Or compile the program with -g.",
			    debug);
	else
		explain_say(x->e, "types", "not known: the file has no debug information. "
			    "Compile the program with -g.");
	elf_file_close(&f);
}

/* Of -gsplit-dwarf. dwp packs such files into one, which libdw reads from elfutils 0.191 on. */
static void say_split(const struct explained *x)
{
	char packed[PATH_MAX + 8];

	snprintf(packed, sizeof(packed), "%s.dwp", x->path);
	if (access(packed, F_OK))
		explain_say(x->e, "types", "not known: the program was compiled with "
			    "-gsplit-dwarf, and its file %s is not there, or not the right one. "
			    "Keep the .dwo files, or compile the program with -g alone.",
			    x->p.elsewhere);
	else
		explain_say(x->e, "types", "not known: they are in %s, which cannot be read; that "
			    "needs elfutils 0.191. Keep the .dwo files (%s), or compile the "
			    "program without -gsplit-dwarf.", packed, x->p.elsewhere);
}

static void say_no_types(const struct explained *x, int err)
{
	fprintf(x->e->out, "%s\n", x->symbol);
	if (err == -ENOENT)
		say_where_types_are(x);
	else if (err == -ESRCH && *x->p.elsewhere)
		say_split(x);
	else if (err == -ESRCH)
		explain_say(x->e, "types", "not known: the debug information has no function at "
			    "0x%" PRIx64, x->function.address);
	else if (err == -ENOSYS)
		explain_say(x->e, "types", "not known: tracefuse-dwarf, which reads them, is not "
			    "installed");
	else
		explain_say(x->e, "types", "not known: the debug information cannot be read");
	explain_say(x->e, "arguments", "integers and pointers are in %%di, %%si, %%dx, %%cx, "
		    "%%r8, %%r9, then in $stack1, $stack2 ...; they are $arg1, $arg2 ... if each "
		    "is one of these. Floating point numbers are in %%xmm0 to %%xmm7, which "
		    "probes do not read.");
	explain_say(x->e, "result", "$retval is %%ax, or %%xmm0 for a floating point number");
}

/* ---- The whole ---- */

/* -ENOENT: no debug information; -ESRCH: it does not have the function. */
static int ask(struct explained *x)
{
	struct debug *d;
	int err = debug_open(x->path, &d);

	if (err)
		return err;
	err = debug_ask(d, x->function.address, &x->p);
	debug_close(d);
	if (!err && prototype_is_clone(x->symbol))
		x->p.changed = true;
	return err == -ENOENT ? -ESRCH : err;
}

static void explain_symbol(struct explained *x)
{
	int err = ask(x);

	if (err)
		say_no_types(x, err);
	else
		print_prototype(x);
	if (*x->p.name && strcmp(x->symbol, x->p.name))
		explain_say(x->e, "symbol", "%s", x->symbol);
	print_label(x, "probed");
	list_print_function(x->path, x->function.address, x->e->out);
	fputc('\n', x->e->out);
	print_probes(x);
	if (!err)
		say_unfetched(x);
}

static unsigned int explain_called(struct explained *x, const char *name)
{
	struct elf_symbols symbols;
	struct demangler *d;
	unsigned int nr = 0;

	if (elf_symbols_read(x->path, NULL, &symbols))
		return 0;
	d = demangler_create();
	for (size_t i = 0; i < symbols.nr && nr < OVERLOADS; i++) {
		x->symbol = symbols.names + symbols.v[i].name;
		if ((i && symbols.v[i].value == symbols.v[i - 1].value) ||
		    !demangle_is_called(d, x->symbol, name) ||
		    elf_function_find(x->path, x->symbol, &x->function))
			continue;
		nr++;
		explain_symbol(x);
	}
	demangler_destroy(d);
	elf_symbols_free(&symbols);
	return nr;
}

static unsigned int explain_overloads(struct explained *x, const char *name)
{
	char *as = strdup(name);
	unsigned int nr;

	if (!as)
		return 0;
	demangle_shorten(as);
	nr = explain_called(x, as);
	free(as);
	return nr;
}

/* In one file. 0: it has no such function; else how many, or -errno. */
static int explain_in(struct explained *x, const char *path, const char *name)
{
	const int err = realpath(path, x->path) ? elf_function_find(x->path, name, &x->function)
						: -errno;

	x->symbol = name;
	if (!err)
		explain_symbol(x);
	return !err ? 1 : err == -ENOENT ? (int)explain_overloads(x, name) : err;
}

struct explained_library {
	struct explained *x;
	const char	*function;
};

/* One that cannot be read is passed over. */
static int explain_in_library(void *arg, const char *name, const char *path)
{
	const struct explained_library *l = arg;

	(void)name;
	return explain_in(l->x, path, l->function) > 0;
}

/* The function of the first library that the program needs and that has it. */
static bool explain_in_libraries(struct explained *x, const char *path, const char *name)
{
	struct explained_library l = { .x = x, .function = name };

	return run_libraries(path, explain_in_library, &l) > 0;
}

int explain_function(struct explain *e, const char *path, const char *name)
{
	struct explained *x = calloc(1, sizeof(*x));
	int nr, status = COMMAND_DONE;

	if (!x)
		return message_error("out of memory");
	x->e = e;
	nr = explain_in(x, path, name);
	if (nr < 0)
		status = message_error("explain: %s: %s", path, nr == -EINVAL ?
				       "no ELF file of 64 bits" : strerror(-nr));
	else if (!nr && !explain_in_libraries(x, path, name))
		status = message_error("explain: neither %s nor a library that it needs has a "
				       "symbol of a function %s; `tracefuse list %s` lists its "
				       "functions", path, name, path);
	free(x);
	return status;
}
