/* SPDX-License-Identifier: MIT */
/*
 * main.c - tracefuse-dwarf PATH: answers questions about functions (prototype.h has the answer)
 *
 * Each question is a line with the address of a function. The first line of the output is "ready",
 * or "none" if neither the file nor an installed debug file has debug information.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <elfutils/libdwelf.h>

#include "debug/reader/reader.h"
#include "elf/file.h"

enum { SECONDS = 20, FILES = 32 };

#define MEMORY	(1ull << 30)

static unsigned long budget;

bool reader_may(void)
{
	if (budget)
		budget--;
	return budget;
}

/* ---- Limits ---- */

static void limit(int what, rlim_t to)
{
	struct rlimit l;

	if (getrlimit(what, &l))
		return;
	if (l.rlim_max < to)
		to = l.rlim_max;
	setrlimit(what, &(struct rlimit){ to, to });
}

static void limits_set(void)
{
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, SECONDS);
	limit(RLIMIT_DATA, MEMORY);
	limit(RLIMIT_NOFILE, FILES);
	limit(RLIMIT_FSIZE, 0);
}

/* ---- The file ---- */

static bool has_debug(const struct image *im)
{
	for (unsigned int i = 0; im->names && i < im->nr_shdrs; i++) {
		const char *name = image_string(im, im->names, im->shdrs[i].sh_name);

		if (im->shdrs[i].sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			return true;
	}
	return false;
}

static void find_dir(struct reader_file *f, int fd)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, f->dir, sizeof(f->dir) - 1);
	f->has_dir = n >= 0;
	f->dir[f->has_dir ? n : 0] = '\0';
	*(strrchr(f->dir, '/') ?: f->dir) = '\0';
}

bool reader_may_open(const struct reader_file *f, const char *dir, const char *name)
{
	char path[3 * PATH_MAX];
	struct stat st;

	if (*name != '/' && *dir != '/' && !f->has_dir)
		return false;
	snprintf(path, sizeof(path), "%s/%s/%s", *name == '/' || *dir == '/' ? "" : f->dir,
		 *name == '/' ? "" : dir, name);
	return stat(path, &st) || S_ISREG(st.st_mode);
}

/* The other file that the debug information may name (dwz): libdw opens it if it is needed. */
static bool other_is_file(const struct reader_file *f)
{
	const char *name;
	const void *id;

	return dwelf_dwarf_gnu_debugaltlink(f->dw, &name, &id) <= 0 ||
	       reader_may_open(f, "", name);
}

static bool dwarf_of(struct reader_file *f, int fd)
{
	f->dw = dwarf_begin(fd, DWARF_C_READ);
	find_dir(f, fd);
	return f->dw && other_is_file(f);
}

/* The file itself, or its debug file. */
static bool open_file(struct reader_file *f, const char *path)
{
	struct elf_file file, debug;

	if (elf_file_open(path, NULL, &file))
		return false;
	if (has_debug(&file.image))
		return dwarf_of(f, file.fd);
	if (elf_file_open_debug(&file, &debug) || !has_debug(&debug.image))
		return false;
	return dwarf_of(f, debug.fd);
}

/* ---- Answers ---- */

/* Prints a word of a line. Tabs and newlines would end it. */
static void print_word(const char *text, size_t max)
{
	for (size_t i = 0; text[i] && i < max - 1; i++)
		putchar((unsigned char)text[i] < ' ' ? '?' : text[i]);
}

static void print_value(const char *what, const struct reader_value *v)
{
	printf("%s\t%c\t%u\t%s\t", what, (int)v->kind, v->size, v->place);
}

static void print_result(Dwarf_Die *function, struct reader_places *places)
{
	char text[PROTOTYPE_TEXT];
	struct reader_value value;
	Dwarf_Die type;
	const bool has = reader_type(function, &type);

	reader_place_result(places, has ? &type : NULL, &value);
	print_value("result", &value);
	reader_declare(has ? &type : NULL, "", text);
	print_word(text, sizeof(text));
	putchar('\n');
}

static void print_parameter(Dwarf_Die *die, struct reader_places *places)
{
	char text[PROTOTYPE_TEXT];
	struct reader_value value;
	Dwarf_Die type;
	const bool has = reader_type(die, &type);

	reader_place(places, die, has ? &type : NULL, &value);
	print_value("parameter", &value);
	print_word(reader_name(die), PROTOTYPE_NAME);
	putchar('\t');
	reader_declare(has ? &type : NULL, reader_name(die), text);
	print_word(text, sizeof(text));
	putchar('\n');
}

/* Where the parameters are: in the entry, or in the one that it is an instance of. */
static bool has_parameters(Dwarf_Die *function)
{
	Dwarf_Die die;

	for (int err = dwarf_child(function, &die); !err && reader_may();
	     err = dwarf_siblingof(&die, &die))
		if (dwarf_tag(&die) == DW_TAG_formal_parameter)
			return true;
	return false;
}

static Dwarf_Die declaration_of(Dwarf_Die *function)
{
	static const unsigned int links[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Die at = *function;

	for (unsigned int i = 0; i < 2 && !has_parameters(&at); i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die next;

		if (dwarf_attr(&at, links[i], &attribute) && dwarf_formref_die(&attribute, &next))
			at = next;
	}
	return has_parameters(&at) ? at : *function;
}

static bool has_varargs(Dwarf_Die *function)
{
	Dwarf_Die die;

	for (int err = dwarf_child(function, &die); !err && reader_may();
	     err = dwarf_siblingof(&die, &die))
		if (dwarf_tag(&die) == DW_TAG_unspecified_parameters)
			return true;
	return false;
}

static bool has_flag(Dwarf_Die *function, unsigned int name)
{
	Dwarf_Attribute attribute;
	bool flag;

	return !dwarf_formflag(dwarf_attr_integrate(function, name, &attribute), &flag) && flag;
}

/* The compiler says so where it knows all callers of a function and has changed its parameters. */
static bool is_changed(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Word how;

	return !dwarf_formudata(dwarf_attr(function, DW_AT_calling_convention, &attribute), &how) &&
	       how == DW_CC_nocall;
}

/* dwarf_decl_file() aborts where a split unit has no table of files that can be read. */
static bool has_files(Dwarf_Die *function)
{
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t nr;

	return dwarf_diecu(function, &unit, NULL, NULL) && !dwarf_getsrcfiles(&unit, &files, &nr);
}

/* In DWARF 5 file 0 is that of the unit, which libdw takes for none. */
static const char *file_of(Dwarf_Die *function)
{
	const char *file = has_files(function) ? dwarf_decl_file(function) : NULL;
	Dwarf_Attribute attribute;
	Dwarf_Word nr;
	Dwarf_Die unit;

	if (!file && !dwarf_formudata(dwarf_attr_integrate(function, DW_AT_decl_file, &attribute),
				      &nr) && !nr && dwarf_diecu(function, &unit, NULL, NULL))
		file = dwarf_diename(&unit);
	return file ?: "";
}

static void print_function(Dwarf_Die *function, Dwarf_Die *parameters,
			   enum reader_convention convention)
{
	int line = 0;

	if (dwarf_decl_line(function, &line))
		line = 0;
	fputs("function\t", stdout);
	print_word(*reader_name(function) ? reader_name(function) : "?", PROTOTYPE_NAME);
	putchar('\t');
	print_word(file_of(function), PROTOTYPE_TEXT);
	printf("\t%d\t-%s%s%s%s\n", line > 0 ? line : 0, has_varargs(parameters) ? "v" : "",
	       reader_language(function) == READER_C && !has_flag(function, DW_AT_prototyped) &&
	       has_parameters(parameters) ? "k" : "", is_changed(function) ? "c" : "",
	       convention == READER_RUST || convention == READER_OWN ? "l" : "");
}

static bool contradicts(struct reader_places places, Dwarf_Die *function, Dwarf_Die *parameters)
{
	struct reader_value value;
	Dwarf_Die die, type;

	reader_place_result(&places, reader_type(function, &type) ? &type : NULL, &value);
	for (int err = dwarf_child(parameters, &die); !err && reader_may();
	     err = dwarf_siblingof(&die, &die))
		if (dwarf_tag(&die) == DW_TAG_formal_parameter && reader_type(&die, &type))
			reader_place(&places, &die, &type, &value);
	return places.contradicts;
}

static void print_prototype(Dwarf_Die *function)
{
	Dwarf_Die parameters = declaration_of(function), die;
	struct reader_places places;
	unsigned int nr = 0;

	reader_places_begin(&places, function);
	if (places.convention != READER_AS_C && contradicts(places, function, &parameters))
		reader_places_distrust(&places);
	print_function(function, &parameters, places.convention);
	print_result(function, &places);
	for (int err = dwarf_child(&parameters, &die); !err && reader_may();
	     err = dwarf_siblingof(&die, &die))
		if (dwarf_tag(&die) == DW_TAG_formal_parameter && nr++ < PROTOTYPE_PARAMETERS)
			print_parameter(&die, &places);
	puts("end");
}

static void print_none(const char *elsewhere)
{
	fputs("none", stdout);
	if (elsewhere) {
		putchar('\t');
		print_word(elsewhere, PROTOTYPE_TEXT);
	}
	putchar('\n');
}

static void print_answer(const struct reader_file *f, const char *question)
{
	const char *elsewhere;
	Dwarf_Die function;

	budget = READER_BUDGET;
	if (reader_find(f, strtoull(question, NULL, 16), &function, &elsewhere))
		print_prototype(&function);
	else
		print_none(elsewhere);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct reader_file file = { .dw = NULL };
	char question[64];
	bool ready;

	limits_set();
	ready = argc == 2 && open_file(&file, argv[1]);
	puts(ready ? "ready" : "none");
	fflush(stdout);
	while (ready && fgets(question, sizeof(question), stdin))
		print_answer(&file, question);
	return ready ? 0 : 1;
}
