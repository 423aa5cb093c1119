/* SPDX-License-Identifier: MIT */
/*
 * usdt.c - events of the USDT probes in the files of running programs
 *
 * Notes of one provider and name are places of one event. They may differ in the types of their
 * arguments: the event has the widest type of each.
 *
 * Most programs have no such probes, and many live for a moment. So programs say which file they
 * execute, and one that was seen costs nothing. One that does not say it costs a stat().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/attach_wire.h"
#include "model/event/format.h"
#include "model/event/module.h"
#include "model/event/program.h"
#include "model/text.h"
#include "model/text_memory.h"
#include "session/array.h"
#include "sources/program/probes.h"
#include "sources/program/usdt.h"

enum {
	SEEN		= 4096,		/* files and programs that are remembered; a power of two */
	EVENTS_MAX	= 8192,
	HEAD		= 16,		/* bytes of a record before its arguments */
	NAME_ROOM	= 128,
};

struct usdt {
	struct programs	*programs;
	struct list_head events;
	unsigned int	nr_events;
	uint64_t	nr_notes;
	uint64_t	seen[SEEN];	/* hashes of what was seen; 0: free */
	unsigned int	nr_seen;
};

/* ---- arguments ---- */

struct usdt_argument {
	uint8_t		size;		/* 0: it cannot be fetched */
	bool		is_signed;
};

static unsigned int argument_size(const struct code_argument *a)
{
	return a->size ? a->size : 8;
}

/* Makes the types as wide as those of one more note. */
static void widen(const struct code_note *n, struct usdt_argument types[CODE_ARGUMENTS])
{
	struct code_argument arguments[CODE_ARGUMENTS];
	const unsigned int nr = code_note_arguments(n, arguments);

	for (unsigned int i = 0; i < nr; i++) {
		const struct code_argument *a = &arguments[i];

		if (!code_argument_is_fetched(a))
			continue;
		if (argument_size(a) > types[i].size)
			types[i].size = (uint8_t)argument_size(a);
		types[i].is_signed |= a->is_signed;
	}
}

static void emit_add(struct fetch_builder *b, uint8_t reg, uint8_t scale)
{
	struct fetch_op *op = fetch_emit(b, FETCH_ADD);

	op->reg = reg;
	op->imm = scale;
}

/* The address of memory, but for the displacement. */
static void emit_address(struct fetch_builder *b, const struct code_argument *a)
{
	const bool has_base = a->base != CODE_NO_REGISTER && a->base != CODE_RIP;

	if (a->symbol_len)
		fetch_emit(b, FETCH_IN_FILE)->imm = (int64_t)a->symbol_at;
	else if (has_base)
		fetch_emit(b, FETCH_REGISTER)->reg = a->base;
	else
		fetch_emit(b, FETCH_NUMBER);
	if (a->symbol_len && has_base)
		emit_add(b, a->base, 1);
	if (a->index != CODE_NO_REGISTER)
		emit_add(b, a->index, a->scale);
	if (a->segment == 'f')
		fetch_emit(b, FETCH_THREAD);
}

/* The value of an argument, or the address of its memory. */
static void emit_place(struct fetch_builder *b, const struct code_argument *a)
{
	switch (a->kind) {
	case CODE_ARGUMENT_CONSTANT:
		fetch_emit(b, FETCH_NUMBER)->imm = a->value;
		break;
	case CODE_ARGUMENT_REGISTER:
		fetch_emit(b, FETCH_REGISTER)->reg = a->reg;
		break;
	case CODE_ARGUMENT_ADDRESS:
		fetch_emit(b, FETCH_IN_FILE)->imm =
			(int64_t)(a->symbol_at + (uint64_t)a->value);
		break;
	default:
		emit_address(b, a);
	}
}

/* Its bytes, extended to a word. */
static struct fetch_op *emit_width(struct fetch_builder *b, const struct code_argument *a)
{
	struct fetch_op *op;

	if (a->kind == CODE_ARGUMENT_MEMORY) {
		op = fetch_emit(b, FETCH_LOAD);
		op->imm = a->value;
		b->flags |= FETCH_READS_MEMORY | FETCH_CLEARS;
	} else {
		op = fetch_emit(b, FETCH_PART);
		op->bit = a->is_high ? 8 : 0;
	}
	op->size = (uint8_t)argument_size(a);
	op->is_signed = a->is_signed;
	return op;
}

static void emit_argument(struct fetch_builder *b, const struct code_argument *a,
			  const struct field *f)
{
	struct fetch_op *op;
	unsigned int load;

	emit_place(b, a);
	emit_width(b, a);
	load = b->nr - 1;
	op = fetch_emit(b, FETCH_STORE);
	op->off = f->offset;
	op->size = (uint8_t)f->size;
	if (!b->failed)
		b->ops[load].next = (uint16_t)b->nr;
}

/* The number in "arg3", from 0 on; CODE_ARGUMENTS: it is no argument. */
static unsigned int argument_number(const char *name)
{
	uint64_t number;

	if (strncmp(name, "arg", 3) || text_to_u64(name + 3, 10, &number) || !number ||
	    number > CODE_ARGUMENTS)
		return CODE_ARGUMENTS;
	return (unsigned int)number - 1;
}

struct fetch_code *usdt_code(const struct usdt_note *n)
{
	struct code_argument arguments[CODE_ARGUMENTS];
	const unsigned int nr = code_note_arguments(&n->note, arguments);
	struct fetch_builder b = { 0 };
	unsigned int nr_fields, size = HEAD;
	const struct field *f = event_fields(n->of->event, &nr_fields);

	for (unsigned int i = 0; f && i < nr_fields; i++) {
		const unsigned int number = argument_number(f[i].name);

		if (number == CODE_ARGUMENTS || f[i].offset < HEAD)
			continue;
		if (f[i].offset + f[i].size > size)
			size = f[i].offset + f[i].size;
		if (number < nr && code_argument_is_fetched(&arguments[number]))
			emit_argument(&b, &arguments[number], &f[i]);
		else
			b.flags |= FETCH_CLEARS;	/* this note has none */
	}
	return fetch_finish(&b, HEAD, size);
}

/* ---- the format ---- */

static void print_arguments(const struct usdt_argument types[CODE_ARGUMENTS], FILE *out)
{
	unsigned int at = HEAD;

	for (unsigned int i = 0; i < CODE_ARGUMENTS; i++) {
		if (!types[i].size)
			continue;
		fprintf(out, "\tfield:%c%u arg%u;\toffset:%u;\tsize:%u;\tsigned:%d;\n",
			types[i].is_signed ? 's' : 'u', 8u * types[i].size, i + 1, at,
			types[i].size, types[i].is_signed);
		at += types[i].size;
	}
}

/* A word without a sign is a pointer more often than a number. */
static const char *conversion_of(const struct usdt_argument *type)
{
	if (type->size == 8)
		return type->is_signed ? "%Ld" : "0x%Lx";
	return type->is_signed ? "%d" : "%u";
}

static char *make_body(const struct usdt_argument types[CODE_ARGUMENTS])
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	fputs(format_common_fields, out);
	fprintf(out, "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n");
	print_arguments(types, out);
	fputs("\nprint fmt: \"(%lx)", out);
	for (unsigned int i = 0; i < CODE_ARGUMENTS; i++)
		if (types[i].size)
			fprintf(out, " arg%u=%s", i + 1, conversion_of(&types[i]));
	fputs("\", REC->__probe_ip", out);
	for (unsigned int i = 0; i < CODE_ARGUMENTS; i++)
		if (types[i].size)
			fprintf(out, ", REC->arg%u", i + 1);
	fputc('\n', out);
	fclose(out);
	return text;
}

/* ---- events ---- */

static bool is_name_character(char c)
{
	return text_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A name of an event or a system: letters, digits and '_'. */
static void make_valid(const char *prefix, const char *name, char out[NAME_ROOM])
{
	snprintf(out, NAME_ROOM, "%s%s%s", prefix,
		 text_is_digit(*name) && !*prefix ? "_" : "", name);
	for (char *c = out; *c; c++)
		if (!is_name_character(*c))
			*c = '_';
}

/* Whether the event has the form of ours: an older server may have made it. */
static bool is_usdt(struct event *e)
{
	unsigned int nr;
	const struct field *f = event_fields(e, &nr);

	if (!f || nr < 5 || strcmp(f[4].name, "__probe_ip"))
		return false;
	for (unsigned int i = 5; i < nr; i++)
		if (argument_number(f[i].name) == CODE_ARGUMENTS)
			return false;
	return !e->made;
}

/* NULL: another event has the name, or it cannot be made. */
static struct event *take_usdt(struct usdt *u, const char *system, const char *name,
				const char *body, bool *is_new)
{
	struct event *e = NULL;
	int err = model_add_program_event(u->programs->model, system, name, body, 0, &e, is_new);

	return err && (err != -EEXIST || !e || !is_usdt(e)) ? NULL : e;
}

static struct usdt_event *event_add(struct usdt *u, struct event *e)
{
	struct usdt_event *ue;

	list_each(ue, &u->events, node)
		if (ue->event == e)
			return ue;
	ue = calloc(1, sizeof(*ue));
	if (!ue)
		return NULL;
	ue->event = e;
	list_init(&ue->notes);
	list_add_tail(&ue->node, &u->events);
	u->nr_events++;
	return ue;
}

/* The event of a note. A name that is taken by another event is that of system usdt_PROVIDER. */
static struct usdt_event *event_of(struct usdt *u, const struct code_note *n, const char *body,
				   bool *is_new)
{
	char system[NAME_ROOM], name[NAME_ROOM];
	struct event *e;

	make_valid("", n->name, name);
	make_valid("", n->provider, system);
	e = take_usdt(u, system, name, body, is_new);
	if (!e) {
		make_valid("usdt_", n->provider, system);
		e = take_usdt(u, system, name, body, is_new);
	}
	return e ? event_add(u, e) : NULL;
}

static void note_add(struct usdt *u, struct usdt_event *ue, struct probed_file *f,
		     const struct code_note *note)
{
	struct usdt_note *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	n->of = ue;
	n->order = u->nr_notes++;
	n->file = f;
	n->note = *note;
	list_add_tail(&n->node, &ue->notes);
}

/* ---- a file ---- */

static bool same_event(const struct code_note *a, const struct code_note *b)
{
	return !strcmp(a->provider, b->provider) && !strcmp(a->name, b->name);
}

static bool note_is_first(const struct code_note *notes, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (same_event(&notes[k], &notes[i]))
			return false;
	return true;
}

/* Notes `i` and all that have its name. */
static void take_name(struct usdt *u, struct probed_file *f, const struct code_note *notes,
		      size_t nr, size_t i)
{
	const char *slash = strrchr(f->path, '/'), *module = slash ? slash + 1 : f->path;
	struct usdt_argument types[CODE_ARGUMENTS] = { { 0 } };
	struct usdt_event *ue;
	bool is_new = false;
	char *body;

	for (size_t k = i; k < nr; k++)
		if (same_event(&notes[k], &notes[i]))
			widen(&notes[k], types);
	body = make_body(types);
	ue = body ? event_of(u, &notes[i], body, &is_new) : NULL;
	for (size_t k = i; ue && k < nr; k++)
		if (same_event(&notes[k], &notes[i]))
			note_add(u, ue, f, &notes[k]);
	if (ue && is_new)
		program_pending_new(u->programs, ue->event);
	/* Without memory the event is of no module. */
	if (ue)
		event_module_add(ue->event, module);
	free(body);
}

static void take_notes(struct usdt *u, struct probed_file *f)
{
	struct code_notes walk = { .image = &f->file->image };
	struct code_note *notes = NULL, n;
	size_t nr = 0;

	if (f->has_notes)
		return;
	while (nr < EVENTS_MAX && code_note_next(&walk, &n)) {
		if (array_room(&notes, nr, sizeof(n)))
			break;
		notes[nr++] = n;
	}
	f->has_notes = nr != 0;
	for (size_t i = 0; i < nr && u->nr_events < EVENTS_MAX; i++)
		if (note_is_first(notes, i))
			take_name(u, f, notes, nr, i);
	free(notes);
	if (nr)
		u->programs->model->probes_stale = true;
}

/* ---- the files of a process ---- */

/* What is remembered of a file or a program: a hash, and whether it has notes. */
enum { SEEN_IS = 1, SEEN_NOTES = 2, SEEN_FLAGS = SEEN_IS | SEEN_NOTES };

static uint64_t key_of(const struct stat *st)
{
	return attach_file_key(st->st_dev, st->st_ino, (uint64_t)st->st_size,
			       (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec);
}

static uint64_t hash_of(uint64_t key)
{
	return (key & ~(uint64_t)SEEN_FLAGS) | SEEN_IS;
}

/* A file that is mapped: it may be a program, too, which has an entry of its own. */
static uint64_t hash_of_file(const struct stat *st)
{
	return hash_of(~key_of(st));
}

/* The entry of the hash, or a free one. */
static uint64_t *seen_at(struct usdt *u, uint64_t h)
{
	uint64_t i = h >> 32;

	while (u->seen[i % SEEN] && (u->seen[i % SEEN] & ~(uint64_t)SEEN_NOTES) != h)
		i++;
	return &u->seen[i % SEEN];
}

static void see(struct usdt *u, uint64_t h, bool has_notes)
{
	if (u->nr_seen++ == SEEN / 2) {
		memset(u->seen, 0, sizeof(u->seen));
		u->nr_seen = 1;
	}
	*seen_at(u, h) = h | (has_notes ? SEEN_NOTES : 0);
}

/* The file is opened as the process sees it. `name` is its path there. */
static bool file_has_notes(struct usdt *u, const char *path, const char *name)
{
	struct probed_file *f;
	bool has_notes;

	if (probed_open(probes_files(u->programs), path, &f))
		return false;
	probed_rename(f, path, name);
	take_notes(u, f);
	has_notes = f->has_notes;
	if (!has_notes && !f->needed)
		probed_close(f);
	return has_notes;
}

/* Returns whether it has notes. */
static bool look_at_file(struct usdt *u, const char *path, const char *name)
{
	struct stat st;
	uint64_t h;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	h = hash_of_file(&st);
	if (!*seen_at(u, h))
		see(u, h, file_has_notes(u, path, name));
	return *seen_at(u, h) & SEEN_NOTES;
}

/* A line of /proc/PID/maps: code that is mapped from a file. NULL: another one. */
static const char *mapped_path(char *line)
{
	char *path = strchr(line, '/');

	line[strcspn(line, "\n")] = '\0';
	return path && strstr(line, "r-xp ") && strstr(line, "r-xp ") < path ? path : NULL;
}

static bool look_at_maps(struct usdt *u, pid_t pid)
{
	/* The server would wait for itself in its own mounts. */
	const char *own = session_dir(u->programs->model->session);
	char name[64], line[512], path[600];
	bool has_notes = false;
	FILE *in;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	in = fopen(name, "re");
	while (in && fgets(line, sizeof(line), in)) {
		const char *mapped = mapped_path(line);

		if (!mapped || (*own && !strncmp(mapped, own, strlen(own))))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, mapped);
		has_notes |= look_at_file(u, path, mapped);
	}
	if (in)
		fclose(in);
	return has_notes;
}

bool usdt_look(struct usdt *u, pid_t pid, uint64_t program)
{
	char exe[64];
	struct stat st;
	uint64_t h = hash_of(program);

	if (program && *seen_at(u, h))
		return *seen_at(u, h) & SEEN_NOTES;
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	if (stat(exe, &st))
		return false;
	h = hash_of(key_of(&st));
	if (!*seen_at(u, h))
		see(u, h, look_at_maps(u, pid));
	return *seen_at(u, h) & SEEN_NOTES;
}

/* ---- life ---- */

struct list_head *usdt_events(struct usdt *u)
{
	return &u->events;
}

struct usdt *usdt_new(struct programs *p)
{
	struct usdt *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->programs = p;
	list_init(&u->events);
	return u;
}

void usdt_free(struct usdt *u)
{
	struct usdt_event *ue, *next_event;
	struct usdt_note *n, *next;

	if (!u)
		return;
	list_each_safe(ue, next_event, &u->events, node) {
		list_each_safe(n, next, &ue->notes, node)
			free(n);
		free(ue);
	}
	free(u);
}
