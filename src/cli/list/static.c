/* SPDX-License-Identifier: MIT */
/*
 * static.c - the events that a file defines itself, and those that every program has
 *
 * The events of a file are found as the agent finds them, by its note, but in the file: a pointer
 * is what the dynamic linker would make of it.
 *
 *     note -> tf_events -> event --+--> system, name
 *                                  +--> class --> fields --> type, name
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/providers/table.h"
#include "cli/list/list.h"
#include "elf/image.h"

enum { TEXT_MOST = 256, EVENTS_MOST = 1 << 16, FIELDS_MOST = 1024 };

/* As in include/tracefuse/base.h, with addresses of the file. */
struct file_event {
	uint64_t	plan;
	uint32_t	id, version;
	uint64_t	system, name, cls, print;
};

struct file_class {
	uint64_t	fields;
	uint32_t	nr_fields, unused;
};

struct file_field {
	uint64_t	type, name;
	uint32_t	align, size;
	int32_t		is_signed, kind;
};

/* A pointer that the dynamic linker fills in. */
struct filled {
	uint64_t	at, value;
};

struct static_events {
	struct list	*list;
	const struct image *image;
	struct filled	*filled;	/* in order of address */
	size_t		nr_filled;
};

/* ---- pointers ---- */

static int filled_compare(const void *a, const void *b)
{
	const struct filled *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* What a relocation stores; false: it is no pointer into this file. */
static bool filled_value(const struct image *im, const Elf64_Shdr *section, const Elf64_Rela *r,
			 uint64_t *value)
{
	struct image_symbols symbols;
	Elf64_Sym sym;

	*value = (uint64_t)r->r_addend;
	if (ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE)
		return true;
	if (ELF64_R_TYPE(r->r_info) != R_X86_64_64 || section->sh_link >= im->nr_shdrs ||
	    !image_symbols(im, &im->shdrs[section->sh_link], &symbols) ||
	    ELF64_R_SYM(r->r_info) >= symbols.nr)
		return false;
	sym = image_symbol(&symbols, ELF64_R_SYM(r->r_info));
	*value += sym.st_value;
	return sym.st_shndx != SHN_UNDEF;
}

static bool filled_read(struct static_events *s, const Elf64_Shdr *section)
{
	const struct image *im = s->image;
	size_t size, nr;
	const unsigned char *bytes = image_section(im, section, &size);
	struct filled *more;

	nr = bytes ? size / sizeof(Elf64_Rela) : 0;
	more = nr ? reallocarray(s->filled, s->nr_filled + nr, sizeof(*more)) : NULL;
	if (!more)
		return !nr;
	s->filled = more;
	for (size_t i = 0; i < nr; i++) {
		struct filled *f = &s->filled[s->nr_filled];
		Elf64_Rela r;

		memcpy(&r, bytes + i * sizeof(r), sizeof(r));
		f->at = r.r_offset;
		s->nr_filled += filled_value(im, section, &r, &f->value);
	}
	return true;
}

static bool file_bytes(const struct static_events *s, uint64_t at, void *out, size_t size)
{
	size_t want = size;
	uint32_t flags;
	const unsigned char *bytes = at ? image_address(s->image, at, &want, &flags) : NULL;

	if (!bytes || want < size)
		return false;
	memcpy(out, bytes, size);
	return true;
}

static uint64_t file_pointer(const struct static_events *s, uint64_t at)
{
	const struct filled key = { .at = at };
	const struct filled *f = s->nr_filled ? bsearch(&key, s->filled, s->nr_filled, sizeof(key),
							filled_compare)
					      : NULL;
	uint64_t value = 0;

	if (f)
		return f->value;
	return file_bytes(s, at, &value, sizeof(value)) ? value : 0;
}

/* The text that the pointer at an address points to. False: there is none. */
static bool file_text(const struct static_events *s, uint64_t at, char out[TEXT_MOST])
{
	size_t want = TEXT_MOST;
	uint32_t flags;
	const uint64_t where = file_pointer(s, at);
	const unsigned char *bytes = where ? image_address(s->image, where, &want, &flags) : NULL;

	if (!bytes || !memchr(bytes, 0, want < TEXT_MOST ? want : TEXT_MOST))
		return false;
	strcpy(out, (const char *)bytes);
	list_clean(out, strlen(out));
	return true;
}

/* ---- events ---- */

/* An array's length comes behind the name, as in format. */
static void field_print(const char *type, const char *name)
{
	const char *bracket = strncmp(type, "__data_loc", 10) ? strchr(type, '[') : NULL;

	printf("    %.*s %s%s\n", (int)(bracket ? (size_t)(bracket - type) : strlen(type)), type,
	       name, bracket ? bracket : "");
}

static void file_fields(const struct static_events *s, uint64_t cls)
{
	struct file_class c;
	uint64_t at;

	if (!file_bytes(s, cls, &c, sizeof(c)))
		return;
	at = file_pointer(s, cls + offsetof(struct file_class, fields));
	for (uint32_t i = 0; i < c.nr_fields && i < FIELDS_MOST; i++) {
		char type[TEXT_MOST], name[TEXT_MOST];

		if (!file_text(s, at + offsetof(struct file_field, type), type) ||
		    !file_text(s, at + offsetof(struct file_field, name), name))
			return;
		field_print(strncmp(type, "_Bool", 5) ? type : "bool", name);
		at += sizeof(struct file_field);
	}
}

/* Whether the event is to be printed, with its fields. */
static bool event_line(struct list *l, const char *system, const char *name)
{
	char full[2 * TEXT_MOST];

	snprintf(full, sizeof(full), "%s:%s", system, name);
	if (!list_wants(l, "event", full))
		return false;
	list_count_line(l);
	l->events++;
	if (!l->summary)
		printf("event:%s\n", full);
	return !l->summary && l->details;
}

static void file_event(const struct static_events *s, uint64_t at)
{
	char system[TEXT_MOST], name[TEXT_MOST];

	if (!file_text(s, at + offsetof(struct file_event, system), system) ||
	    !file_text(s, at + offsetof(struct file_event, name), name))
		return;
	if (event_line(s->list, system, name))
		file_fields(s, file_pointer(s, at + offsetof(struct file_event, cls)));
}

static bool event_seen(const uint64_t *seen, size_t nr, uint64_t event)
{
	for (size_t i = 0; i < nr; i++)
		if (seen[i] == event)
			return true;
	return false;
}

/* The section has an entry of 0, and may name an event several times. */
static void file_events(const struct static_events *s, uint64_t start, uint64_t end)
{
	const size_t room = end > start ? (end - start) / 8 : 0;
	uint64_t *seen = room && room <= EVENTS_MOST ? calloc(room, sizeof(*seen)) : NULL;
	size_t nr = 0;

	for (uint64_t at = start; seen && at + 8 <= end; at += 8) {
		const uint64_t event = file_pointer(s, at);

		if (!event || event_seen(seen, nr, event))
			continue;
		seen[nr++] = event;
		file_event(s, event);
	}
	free(seen);
}

/* ---- the note ---- */

static void note_follow(const struct static_events *s, const Elf64_Phdr *p)
{
	const unsigned char *notes = image_bytes(s->image, p->p_offset, p->p_filesz), *word;
	int32_t words[2];
	size_t len;
	uint64_t at;

	if (!notes || p->p_type != PT_NOTE || p->p_align > 4)
		return;
	word = image_note(notes, p->p_filesz, 4, "tracefuse", 1, &len);
	if (!word || len < sizeof(words))
		return;
	memcpy(words, word, sizeof(words));
	at = p->p_vaddr + (uint64_t)(word - notes);
	file_events(s, at + (uint64_t)(int64_t)words[0], at + 4 + (uint64_t)(int64_t)words[1]);
}

bool list_static(struct list *l, const struct image *im)
{
	struct static_events s = { .list = l, .image = im };
	bool done = true;

	for (unsigned int i = 0; done && i < im->nr_shdrs; i++)
		if (im->shdrs[i].sh_type == SHT_RELA && im->shdrs[i].sh_flags & SHF_ALLOC)
			done = filled_read(&s, &im->shdrs[i]);
	if (s.nr_filled)
		qsort(s.filled, s.nr_filled, sizeof(*s.filled), filled_compare);
	for (unsigned int i = 0; done && i < im->nr_phdrs; i++)
		note_follow(&s, &im->phdrs[i]);
	free(s.filled);
	return done;
}

/* ---- every program's ---- */

void list_provided(struct list *l)
{
	for (unsigned int nr = 0; nr < provider_kernel(); nr++) {
		struct provider_event e;

		provider_event(nr, false, &e);
		if (event_line(l, e.system, e.name))
			for (unsigned int i = 0; i < PROVIDER_FIELDS && e.fields[i].decl; i++)
				printf("    %s\n", e.fields[i].decl);
	}
}
