/* SPDX-License-Identifier: MIT */
/*
 * usdt.c - events of the USDT probes in the files of running programs
 *
 * Notes of one provider and name are places of one event. They may differ in the types of their
 * arguments: the event has the widest type of each.
 *
 * Programs say which file they execute, and one that was seen costs nothing. For any other one a
 * process looks at its files (scan/notes.h), and the program waits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/event/format.h"
#include "model/event/module.h"
#include "model/event/program.h"
#include "model/text.h"
#include "model/text_memory.h"
#include "session/array.h"
#include "sources/program/probes.h"
#include "sources/program/scan/notes.h"
#include "sources/program/scan/scan.h"
#include "sources/program/sites.h"
#include "sources/program/usdt.h"

enum {
	EVENTS_MAX	= 8192,
	SEARCHES	= 16,		/* processes that look at files at the same time */
	HEAD		= 16,		/* bytes of a record before its arguments */
	NAME_ROOM	= 128,
};

struct usdt {
	struct programs	*programs;
	struct list_head events;
	unsigned int	nr_events;
	uint64_t	nr_notes;
	struct notes_seen seen;
	struct list_head searches;	/* struct notes_search, in the order in which they came */
};

/* ---- arguments ---- */

struct usdt_argument {
	uint8_t		size;		/* 0: it cannot be fetched */
	bool		is_signed;
	bool		is_float;	/* the field has its bits */
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
		types[i].is_float |= a->is_float;
		types[i].is_signed = (types[i].is_signed || a->is_signed) && !types[i].is_float;
	}
}

static void emit_add(struct fetch_builder *b, uint8_t reg, uint8_t scale)
{
	struct fetch_op *op = fetch_emit(b, FETCH_ADD);

	op->reg = reg;
	op->imm = scale;
}

/* From the thread's pointer, or from the block of a file. */
static bool is_distance(const struct code_argument *a)
{
	return a->symbol_kind == CODE_SYMBOL_THREAD || a->symbol_kind == CODE_SYMBOL_BLOCK ||
	       (a->symbol_kind == CODE_SYMBOL_GOT_THREAD && !a->is_slot);
}

/* The address of memory, but for the displacement. */
static void emit_address(struct fetch_builder *b, const struct code_argument *a)
{
	const bool has_base = a->base != CODE_NO_REGISTER && a->base != CODE_RIP;

	if (a->symbol_len)
		fetch_emit(b, is_distance(a) ? FETCH_NUMBER : FETCH_IN_FILE)->imm =
			(int64_t)a->symbol_at;
	else if (has_base)
		fetch_emit(b, FETCH_REGISTER)->reg = a->base;
	else
		fetch_emit(b, FETCH_NUMBER);
	if (a->symbol_len && has_base)
		emit_add(b, a->base, 1);
	if (a->index != CODE_NO_REGISTER)
		emit_add(b, a->index, a->scale);
	if (a->segment)
		fetch_emit(b, a->segment == 'f' ? FETCH_THREAD : FETCH_SEGMENT);
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
	case CODE_ARGUMENT_VECTOR:
		fetch_emit(b, FETCH_VECTOR)->reg = a->reg;
		break;
	case CODE_ARGUMENT_ADDRESS:
		fetch_emit(b, FETCH_IN_FILE)->imm =
			(int64_t)(a->symbol_at + (uint64_t)a->value);
		break;
	default:
		emit_address(b, a);
	}
}

/* Whether the value is the place itself: the linker needed no word of the GOT for it. */
static bool is_word_known(const struct code_argument *a)
{
	return code_argument_is_word(a) && !a->is_slot;
}

/* Its bytes, extended to a word. */
static struct fetch_op *emit_width(struct fetch_builder *b, const struct code_argument *a)
{
	struct fetch_op *op;

	if (a->kind == CODE_ARGUMENT_MEMORY && !is_word_known(a)) {
		op = fetch_emit(b, FETCH_LOAD);
		op->imm = a->value;
		b->flags |= FETCH_READS_MEMORY | FETCH_CLEARS;
	} else {
		op = fetch_emit(b, FETCH_PART);
		op->bit = a->is_high ? 8 : 0;
	}
	op->size = (uint8_t)argument_size(a);
	op->is_signed = a->is_signed && !a->is_float;
	return op;
}

static void emit_argument(struct fetch_builder *b, const struct code_argument *a,
			  const struct field *f)
{
	const unsigned int first = b->nr;
	struct fetch_op *op;

	emit_place(b, a);
	emit_width(b, a);
	op = fetch_emit(b, FETCH_STORE);
	op->off = f->offset;
	op->size = (uint8_t)f->size;
	for (unsigned int i = first; !b->failed && i < b->nr; i++)
		b->ops[i].next = (uint16_t)b->nr;
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

/*
 * A word without a sign is a pointer more often than a number. Formats know no floating point
 * numbers: their bits are shown.
 */
static const char *conversion_of(const struct usdt_argument *type)
{
	if (type->size == 8)
		return type->is_signed ? "%Ld" : "0x%Lx";
	if (type->is_signed)
		return "%d";
	return type->is_float ? "0x%x" : "%u";
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

static void take_notes(struct usdt *u, struct probed_file *f, const struct code_note *notes,
		       size_t nr)
{
	f->has_notes = true;
	for (size_t i = 0; i < nr && u->nr_events < EVENTS_MAX; i++)
		if (note_is_first(notes, i))
			take_name(u, f, notes, nr, i);
	u->programs->model->probes_stale = true;
}

/* The file as it is in the list. NULL: no memory. */
static struct probed_file *take_known(struct usdt *u, const struct notes_part *part)
{
	struct list_head *files = probes_files(u->programs);
	struct probed_file *f;

	probed_close_stale(files, &part->is);
	f = probed_same(files, &part->is);
	if (!f)
		f = probed_add(files, part->path, &part->is, part->phdrs, part->nr_phdrs);
	if (f && !f->pid)
		f->pid = (pid_t)part->pid;
	return f;
}

/* The notes point into a copy of their texts. */
static void take_file(struct usdt *u, const struct reading *r, const struct notes_part *part)
{
	struct code_note *notes = part->nr ? calloc(part->nr, sizeof(*notes)) : NULL;
	struct probed_file *f = notes ? take_known(u, part) : NULL;
	char *texts = f && !f->has_notes ? malloc(part->texts_size) : NULL;

	if (texts) {
		memcpy(texts, part->texts, part->texts_size);
		f->texts = texts;
		for (size_t i = 0; i < part->nr; i++)
			notes[i] = notes_note(r, part, i, texts);
		take_notes(u, f, notes, part->nr);
	}
	free(notes);
}

/* ---- looking at the files of processes ---- */

static void search_free(struct notes_search *s)
{
	list_del(&s->node);
	reading_end(&s->reading);
	free(s->pids);
	free(s);
}

static void search_refuse(struct usdt *u, const char *path, int err)
{
	char text[160];

	if (!*path)
		return;
	snprintf(text, sizeof(text), "The probes of this file are not known: %s",
		 err == -ETIMEDOUT ? "it does not answer" : reading_why(err));
	errlog_add(u->programs->model->top->errlog, "usdt", path, text, 0);
}

/* Takes what was said, up to the file that ended it. Returns whether the last program has notes. */
static bool search_take(struct usdt *u, struct notes_search *s, int err)
{
	struct notes_part part;
	const char *at = "";
	bool some = false, last = false;

	for (size_t from = 0; from < s->reading.nr && notes_next(&s->reading, &from, &part);) {
		switch (part.kind) {
		case NOTES_AT:
			at = part.path;
			break;
		case NOTES_FILE:
			take_file(u, &s->reading, &part);
			notes_see(&u->seen, part.hash, part.nr);
			some |= part.nr != 0;
			break;
		case NOTES_KNOWN:
			some |= notes_of(&u->seen, part.hash) == NOTES_SOME;
			break;
		case NOTES_PROGRAM:
			last = some || notes_of(&u->seen, part.hash) == NOTES_SOME;
			notes_see(&u->seen, part.hash, last);
			some = false;
		}
	}
	if (err)
		search_refuse(u, at, err);
	return last || some;
}

/* The program continues by attach_go(). */
static void search_end(struct usdt *u, struct notes_search *s, int err)
{
	const bool some = search_take(u, s, err);

	if (some && s->peer.process)
		attach_found_probes(u->programs->model->session, &s->peer);
	search_free(s);
}

static unsigned int searches(const struct usdt *u)
{
	const struct notes_search *s;
	unsigned int nr = 0;

	list_each(s, &u->searches, node)
		nr += s->reading.printer != NULL;
	return nr;
}

/* Whether the same program is being looked at already. */
static bool search_is_again(const struct usdt *u, const struct notes_search *of)
{
	const struct notes_search *s;

	list_each(s, &u->searches, node)
		if (s != of && of->program && s->program == of->program && s->reading.printer)
			return true;
	return false;
}

/* Returns whether it has ended. */
static bool search_begin(struct usdt *u, struct notes_search *s)
{
	const uint64_t h = notes_hash_program(s->program);

	if (s->program && notes_of(&u->seen, h) != NOTES_UNSEEN) {
		if (notes_of(&u->seen, h) == NOTES_SOME)
			attach_found_probes(u->programs->model->session, &s->peer);
		search_free(s);
		return true;
	}
	if (search_is_again(u, s) || searches(u) >= SEARCHES ||
	    !notes_start(scans_printers(u->programs->sites->scans), s))
		return false;
	/* There can be no process. */
	search_end(u, s, notes_here(s));
	return true;
}

/* NULL: no memory. */
static struct notes_search *search_add(struct usdt *u, const struct attach_peer *peer)
{
	struct notes_search *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->peer = *peer;
	s->seen = &u->seen;
	/* The server would wait for itself in its own mounts. */
	s->own_mounts = session_dir(u->programs->model->session);
	list_add_tail(&s->node, &u->searches);
	return s;
}

/* False: no memory. */
static bool search_pid(struct notes_search *s, pid_t pid)
{
	if (array_room(&s->pids, s->nr, sizeof(pid)))
		return false;
	s->pids[s->nr++] = pid;
	return true;
}

bool usdt_look(struct usdt *u, const struct attach_peer *peer, uint64_t program)
{
	const enum notes_answer seen =
		program ? notes_of(&u->seen, notes_hash_program(program)) : NOTES_UNSEEN;
	struct notes_search *s = seen == NOTES_UNSEEN ? search_add(u, peer) : NULL;

	if (seen == NOTES_NONE)
		attach_quiet(u->programs->model->session, program);
	if (!s)
		return seen == NOTES_SOME;
	s->program = program;
	if (search_pid(s, peer->pid))
		search_begin(u, s);
	else
		search_free(s);
	return false;
}

static void look_again(void *arg, pid_t pid, unsigned int slots)
{
	search_pid(arg, pid);
}

void usdt_look_at_all(struct usdt *u)
{
	const struct attach_peer nobody = { .process = 0 };
	struct notes_search *s = search_add(u, &nobody);

	if (!s)
		return;
	attach_processes(u->programs->model->session, look_again, s);
	if (s->nr)
		search_begin(u, s);
	else
		search_free(s);
}

bool usdt_looks(const struct usdt *u, pid_t pid)
{
	const struct notes_search *s;

	list_each(s, &u->searches, node)
		if (!pid || s->peer.pid == pid)
			return true;
	return false;
}

void usdt_tend(struct usdt *u)
{
	struct notes_search *s, *next;

	list_each_safe(s, next, &u->searches, node) {
		const int err = s->reading.printer ? reading_take(&s->reading) : 1;

		if (err <= 0)
			search_end(u, s, err);
	}
	list_each_safe(s, next, &u->searches, node)
		if (!s->reading.printer)
			search_begin(u, s);
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
	list_init(&u->searches);
	return u;
}

void usdt_free(struct usdt *u)
{
	struct usdt_event *ue, *next_event;
	struct notes_search *s, *next_search;
	struct usdt_note *n, *next;

	if (!u)
		return;
	list_each_safe(s, next_search, &u->searches, node)
		search_free(s);
	list_each_safe(ue, next_event, &u->events, node) {
		list_each_safe(n, next, &ue->notes, node)
			free(n);
		free(ue);
	}
	free(u);
}
