/* SPDX-License-Identifier: MIT */
/*
 * program.c - the functions and the USDT notes of a file, with nothing executed
 *
 * The answers are those that the agent will give when the program runs, since both plan with
 * src/elf. A function has a symbol's name, or sub_ADDRESS. Parts of functions, which compilers
 * split off, are listed only if they are asked for with -v; the summary counts them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/list/list.h"
#include "elf/file.h"
#include "elf/moved.h"
#include "elf/program.h"
#include "host/message.h"

enum { NAME_MOST = 256 };

struct listed_file {
	struct elf_file	file;
	struct elf_symbols symbols;
	struct code_file code;
	void		*memory;	/* of code; NULL: none is understood */
	struct site	*sites;
	size_t		nr_sites;
	struct site	*moved;		/* of function tracers, in a file without sites */
	size_t		nr_moved;
	struct list_counts functions, notes;
};

/* ---- Reading ---- */

static int sites_read(struct listed_file *f)
{
	const struct image *im = &f->file.image;
	const size_t room = image_is_code(im) ? sites_in_image(im, NULL, 0) : 0;

	if (!room)
		return 0;
	f->sites = calloc(room, sizeof(*f->sites));
	if (!f->sites)
		return -ENOMEM;
	f->nr_sites = sites_in_image(im, f->sites, room);
	return 0;
}

static int code_read(struct listed_file *f)
{
	const size_t room = code_room(&f->file.image);

	if (!room)
		return 0;
	f->memory = calloc(1, room);
	if (!f->memory)
		return -ENOMEM;
	if (!code_open(&f->code, &f->file.image, f->memory, room)) {
		free(f->memory);
		f->memory = NULL;
	}
	return 0;
}

static int moved_read(struct listed_file *f)
{
	if (!f->memory || f->nr_sites || !f->code.nr_functions)
		return 0;
	f->moved = calloc(f->code.nr_functions, sizeof(*f->moved));
	if (!f->moved)
		return -ENOMEM;
	f->nr_moved = moved_sites(&f->code, f->moved);
	return 0;
}

static void listed_close(struct listed_file *f)
{
	free(f->moved);
	free(f->sites);
	free(f->memory);
	elf_symbols_free(&f->symbols);
	elf_file_close(&f->file);
}

static int listed_open(struct listed_file *f, const char *path)
{
	int err;

	*f = (struct listed_file){ .memory = NULL };
	err = elf_file_open(path, NULL, &f->file);
	if (err)
		return err;
	image_functions(&f->file.image);
	err = elf_symbols_of(&f->file, &f->symbols);
	err = err ? err : sites_read(f);
	err = err ? err : code_read(f);
	err = err ? err : moved_read(f);
	err = err ? err : f->file.err;
	if (err)
		listed_close(f);
	return err;
}

/* ---- Functions ---- */

static const char *function_name(const struct listed_file *f, struct elf_walk *w, uint64_t at,
				 char made[NAME_MOST])
{
	const struct elf_symbol *y = elf_walk_to(w, at);

	if (y && y->value == at)
		return f->symbols.names + y->name;
	snprintf(made, NAME_MOST, "sub_%" PRIx64, at);
	return made;
}

/* The site that is in the function. Both lists are in order of address. */
static const struct site *site_of(const struct site *sites, size_t nr,
				  const struct code_function *fn, size_t *next)
{
	while (*next < nr && sites[*next].at < fn->start)
		(*next)++;
	return *next < nr && sites[*next].at - fn->start < fn->size ? &sites[*next] : NULL;
}

static void item_list(struct list *l, const struct listed_file *f, struct list_item *item,
		      struct list_counts *counts)
{
	if (!list_wants(l, item->kind, item->name))
		return;
	list_plan(f->memory ? &f->code : NULL, item);
	list_count(counts, item);
	list_count_line(l);
	if (l->summary || (item->fn && item->fn->why == CODE_PART && !l->details))
		return;
	list_print(l, item);
}

static void functions_list(struct list *l, struct listed_file *f)
{
	struct elf_walk w = { .symbols = &f->symbols };
	char made[NAME_MOST];
	size_t next = 0, next_moved = 0;

	for (size_t i = 0; i < f->code.nr_functions; i++) {
		const struct code_function *fn = &f->code.functions[i];
		struct list_item item = { .kind = "function", .fn = fn };

		item.site = site_of(f->sites, f->nr_sites, fn, &next);
		item.moved = site_of(f->moved, f->nr_moved, fn, &next_moved);
		item.name = function_name(f, &w, fn->start, made);
		item_list(l, f, &item, &f->functions);
	}
}

/* Nothing but the symbols says where functions are. */
static void symbols_list(struct list *l, struct listed_file *f)
{
	size_t next = 0;

	for (size_t i = 0; i < f->symbols.nr; i++) {
		const struct elf_symbol *y = &f->symbols.v[i];
		const struct code_function fn = { .start = y->value, .size = (uint32_t)y->size,
						  .why = CODE_NO_FDE };
		struct list_item item = { .kind = "function", .fn = &fn };

		if (!y->size || !strchr("tTW", y->type) ||
		    (i && f->symbols.v[i - 1].value == y->value))
			continue;
		item.site = site_of(f->sites, f->nr_sites, &fn, &next);
		item.name = f->symbols.names + y->name;
		item_list(l, f, &item, &f->functions);
	}
}

/* ---- Notes ---- */

static void notes_list(struct list *l, struct listed_file *f)
{
	struct code_notes w = { .image = &f->file.image };
	struct code_note n;

	while (code_note_next(&w, &n)) {
		struct list_item item = { .kind = "usdt", .note = &n };
		char name[NAME_MOST];

		snprintf(name, sizeof(name), "%s:%s", n.provider, n.name);
		list_clean(name, strlen(name));
		item.name = name;
		item_list(l, f, &item, &f->notes);
	}
}

/* ---- The file ---- */

static long header_read(int fd, void *buf, size_t size, uint64_t at)
{
	return pread(fd, buf, size, (off_t)at);
}

/* Why the file cannot be listed, by its header; NULL: the header is good. */
static const char *foreign(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum program_kind kind = PROGRAM_DYNAMIC;
	char loader[PROGRAM_PATH];
	struct program_file p;

	if (fd >= 0) {
		kind = program_open(&p, header_read, fd, loader);
		close(fd);
	}
	if (kind == PROGRAM_32_BIT)
		return "it is a 32-bit program";
	return kind == PROGRAM_FOREIGN ? "it is a program for another kind of machine" : NULL;
}

int list_program(struct list *l, const char *path)
{
	const char *why = foreign(path);
	struct listed_file f;
	int err;

	if (why)
		return message_error("list: %s: %s", path, why);
	err = listed_open(&f, path);
	if (err)
		return message_error("list: %s: %s", path,
				     err == -EINVAL ? "no ELF file" : strerror(-err));
	if (f.memory) {
		functions_list(l, &f);
	} else {
		if (f.file.image.names)
			message_error("list: %s: nothing says where its instructions begin "
				      "(.eh_frame_hdr), so only a compiler's sites can be traced",
				      path);
		else
			message_error("list: %s: it has no section headers, so no function can be "
				      "traced", path);
		symbols_list(l, &f);
	}
	notes_list(l, &f);
	if (!list_static(l, &f.file.image))
		message_error("list: %s: its events: out of memory", path);
	if (l->pattern)
		list_provided(l);
	if (l->summary) {
		list_print_counts("functions", &f.functions);
		list_print_counts("usdt", &f.notes);
		printf("%-52s %8zu\n", "events", l->events);
	}
	err = f.memory || l->printed || l->pattern ? COMMAND_DONE : COMMAND_FAILED;
	listed_close(&f);
	return err;
}

/* ---- One function ---- */

static const struct code_function *function_at(const struct listed_file *f, uint64_t address)
{
	for (size_t i = 0; i < f->code.nr_functions; i++)
		if (f->code.functions[i].start == address)
			return &f->code.functions[i];
	return NULL;
}

/* Opens the file, and plans the probe of the function. False: the file cannot be read. */
static bool item_plan(const char *path, uint64_t address, struct code_function *none,
		      struct listed_file *f, struct list_item *item)
{
	size_t next = 0;

	*none = (struct code_function){ .start = address, .why = CODE_NO_FDE };
	*item = (struct list_item){ .kind = "function", .fn = none };
	if (listed_open(f, path))
		return false;
	if (f->memory && function_at(f, address))
		item->fn = function_at(f, address);
	item->site = site_of(f->sites, f->nr_sites, item->fn, &next);
	list_plan(f->memory ? &f->code : NULL, item);
	return true;
}

void list_print_function(const char *path, uint64_t address, FILE *out)
{
	struct code_function none;
	struct list_item item;
	struct listed_file f;

	if (!item_plan(path, address, &none, &f, &item)) {
		fputs("not known", out);
		return;
	}
	list_answer(&item, out);
	if (item.fn->returns != CODE_RETURN_GOOD)
		fprintf(out, "; its return is not caught: %s",
			code_return_text((enum code_return)item.fn->returns));
	listed_close(&f);
}

bool list_refuses(const char *path, uint64_t address, bool returns, char *why, size_t size)
{
	struct code_function none;
	struct list_item item;
	struct listed_file f;
	bool refused;

	if (!item_plan(path, address, &none, &f, &item))
		return false;
	refused = !item.site && item.plan.tactic == CODE_REFUSED;
	if (refused)
		snprintf(why, size, "%s", code_why_text((enum code_why)item.plan.why));
	else if (returns && item.fn->returns != CODE_RETURN_GOOD)
		refused = snprintf(why, size, "%s",
				   code_return_text((enum code_return)item.fn->returns)) > 0;
	listed_close(&f);
	return refused;
}
