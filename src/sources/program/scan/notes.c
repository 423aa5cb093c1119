/* SPDX-License-Identifier: MIT */
/*
 * notes.c - see notes.h
 *
 *     a part: head | path 0 | padding | program headers | notes | texts | padding
 *
 * The name of a file is said before it is looked at, so that the server knows which one does not
 * answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/program.h"
#include "layout/attach_wire.h"
#include "session/array.h"
#include "sources/program/scan/notes.h"

enum { NOTES_MAX = 8192 };		/* of a file */

struct notes_head {
	uint64_t	hash;
	uint32_t	kind, pid;
	uint32_t	path;		/* bytes, with its 0 */
	uint32_t	nr_phdrs, nr;
	uint32_t	texts;		/* bytes */
	struct probed_is is;
};

/* Its texts are offsets. */
struct packed_note {
	uint64_t	address, semaphore;
	uint64_t	symbols[CODE_ARGUMENTS];
	uint32_t	provider, name, arguments;
	uint32_t	has_symbol, has_slot, pad;
};

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* ---- what was seen ---- */

enum { SEEN_IS = 1, SEEN_NOTES = 2, SEEN_FLAGS = SEEN_IS | SEEN_NOTES };

uint64_t notes_hash_program(uint64_t key)
{
	return (key & ~(uint64_t)SEEN_FLAGS) | SEEN_IS;
}

static uint64_t key_of(const struct stat *st)
{
	return attach_file_key(st->st_dev, st->st_ino, (uint64_t)st->st_size,
			       (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec);
}

/* A file that is mapped: it may be a program, too, which has an entry of its own. */
static uint64_t hash_of_file(const struct stat *st)
{
	return notes_hash_program(~key_of(st));
}

/* The place of the hash, or a free one. */
static size_t seen_at(const struct notes_seen *seen, uint64_t h)
{
	uint64_t i = h >> 32;

	while (seen->v[i % NOTES_SEEN] && (seen->v[i % NOTES_SEEN] & ~(uint64_t)SEEN_NOTES) != h)
		i++;
	return i % NOTES_SEEN;
}

enum notes_answer notes_of(const struct notes_seen *seen, uint64_t hash)
{
	const uint64_t v = seen->v[seen_at(seen, hash)];

	return !v ? NOTES_UNSEEN : v & SEEN_NOTES ? NOTES_SOME : NOTES_NONE;
}

void notes_see(struct notes_seen *seen, uint64_t hash, bool some)
{
	/* A hash of a process that read a broken file may be any number. */
	hash = notes_hash_program(hash);
	if (notes_of(seen, hash) == NOTES_UNSEEN && seen->nr++ == NOTES_SEEN / 2) {
		memset(seen->v, 0, sizeof(seen->v));
		seen->nr = 1;
	}
	seen->v[seen_at(seen, hash)] = hash | (some ? SEEN_NOTES : 0);
}

/* ---- in the process ---- */

static void notes_put(const void *bytes, size_t size, FILE *out)
{
	static const char zeros[8];

	if (size)
		fwrite(bytes, 1, size, out);
	fwrite(zeros, 1, padded(size) - size, out);
}

static void part_print(struct notes_head *h, const char *path, FILE *out)
{
	h->path = (uint32_t)strlen(path) + 1;
	notes_put(h, sizeof(*h), out);
	notes_put(path, h->path, out);
}

static void at_print(const char *path, FILE *out)
{
	struct notes_head h = { .kind = NOTES_AT };

	part_print(&h, path, out);
	fflush(out);
}

static uint32_t text_put(const char *text, FILE *texts)
{
	const uint32_t at = (uint32_t)ftell(texts);

	fwrite(text, 1, strlen(text) + 1, texts);
	return at;
}

static struct packed_note note_pack(const struct code_note *n, FILE *texts)
{
	struct packed_note p = {
		.address = n->address, .semaphore = n->semaphore,
		.provider = text_put(n->provider, texts), .name = text_put(n->name, texts),
		.arguments = text_put(n->arguments, texts), .has_symbol = n->has_symbol,
		.has_slot = n->has_slot,
	};

	for (unsigned int i = 0; i < CODE_ARGUMENTS; i++)
		p.symbols[i] = n->has_symbol >> i & 1 ? n->symbols[i] : 0;
	return p;
}

/* *nr: how many. The caller frees. */
static struct packed_note *notes_pack(const struct image *im, size_t *nr, FILE *texts)
{
	struct code_notes walk = { .image = im };
	struct packed_note *v = NULL;
	struct code_note n;

	*nr = 0;
	while (*nr < NOTES_MAX && code_note_next(&walk, &n)) {
		if (array_room(&v, *nr, sizeof(*v)))
			break;
		v[(*nr)++] = note_pack(&n, texts);
	}
	return v;
}

static void open_print(const struct elf_file *file, struct notes_head *h, const char *path,
		       FILE *out)
{
	const struct image *im = &file->image;
	char *texts = NULL;
	size_t nr = 0, size = 0;
	FILE *memory = open_memstream(&texts, &size);
	struct packed_note *v = memory ? notes_pack(im, &nr, memory) : NULL;

	if (memory)
		fclose(memory);
	h->nr = probed_identify(file, &h->is) ? 0 : (uint32_t)nr;
	if (h->nr) {
		h->nr_phdrs = im->nr_phdrs;
		h->texts = (uint32_t)size;
	}
	part_print(h, path, out);
	if (h->nr) {
		notes_put(im->phdrs, im->nr_phdrs * sizeof(*im->phdrs), out);
		notes_put(v, nr * sizeof(*v), out);
		notes_put(texts, size, out);
	}
	free(texts);
	free(v);
}

/* `name` is its path as the process sees it. */
static void file_print(const struct notes_search *s, pid_t pid, const char *name, FILE *out)
{
	struct notes_head h = { .kind = NOTES_KNOWN, .pid = (uint32_t)pid };
	struct elf_file file;
	char path[LAYOUT_PATH + 64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, name);
	at_print(name, out);
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	h.hash = hash_of_file(&st);
	if (notes_of(s->seen, h.hash) != NOTES_UNSEEN) {
		part_print(&h, "", out);
		return;
	}
	h.kind = NOTES_FILE;
	if (elf_file_open(path, NULL, &file)) {
		part_print(&h, name, out);
		return;
	}
	open_print(&file, &h, name, out);
	elf_file_close(&file);
}

/* A line of /proc/PID/maps: code that is mapped from a file. NULL: another one. */
static const char *mapped_path(char *line)
{
	char *path = strchr(line, '/');

	line[strcspn(line, "\n")] = '\0';
	return path && strstr(line, "r-xp ") && strstr(line, "r-xp ") < path ? path : NULL;
}

static void maps_print(const struct notes_search *s, pid_t pid, FILE *out)
{
	const char *own = s->own_mounts;
	char name[64], line[LAYOUT_PATH + 256];
	FILE *in;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	in = fopen(name, "re");
	while (in && fgets(line, sizeof(line), in)) {
		const char *mapped = mapped_path(line);

		if (mapped && (!*own || strncmp(mapped, own, strlen(own))))
			file_print(s, pid, mapped, out);
	}
	if (in)
		fclose(in);
}

static bool exe_is_linker(const char *exe)
{
	char target[PROGRAM_PATH];
	const ssize_t n = readlink(exe, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	return program_is_loader(target);
}

/* The linker may run as many programs: what one of them has says nothing of the next. */
static void process_print(const struct notes_search *s, pid_t pid, FILE *out)
{
	struct notes_head h = { .kind = NOTES_PROGRAM };
	char exe[64];
	struct stat st;
	bool linker;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	at_print(exe, out);
	if (stat(exe, &st))
		return;
	linker = exe_is_linker(exe);
	h.hash = notes_hash_program(key_of(&st));
	if (linker || notes_of(s->seen, h.hash) == NOTES_UNSEEN)
		maps_print(s, pid, out);
	if (!linker)
		part_print(&h, "", out);
}

static int notes_print(void *arg, FILE *out)
{
	const struct notes_search *s = arg;

	for (size_t i = 0; i < s->nr; i++)
		process_print(s, s->pids[i], out);
	return 0;
}

static int notes_print_alone(void *arg, FILE *out)
{
	reading_begin("tracefuse-notes");
	return notes_print(arg, out);
}

/* ---- in the server ---- */

int notes_start(struct printers *ps, struct notes_search *s)
{
	return reading_start(ps, &s->reading, notes_print_alone, s, 0);
}

int notes_here(struct notes_search *s)
{
	return reading_here(&s->reading, notes_print, s);
}

/* The bytes that are not taken yet. NULL: there are fewer. */
static const void *notes_bytes(const struct reading *r, size_t *from, size_t nr, size_t each)
{
	const void *at = r->bytes + *from;

	if (nr > (r->nr - *from) / each || padded(nr * each) > r->nr - *from)
		return NULL;
	*from += padded(nr * each);
	return at;
}

static bool ends_in_zero(const char *text, size_t size)
{
	return size && !text[size - 1];
}

static bool notes_good(const struct packed_note *v, const struct notes_part *p)
{
	for (size_t i = 0; i < p->nr; i++)
		if (v[i].provider >= p->texts_size || v[i].name >= p->texts_size ||
		    v[i].arguments >= p->texts_size)
			return false;
	return !p->nr || ends_in_zero(p->texts, p->texts_size);
}

bool notes_next(const struct reading *r, size_t *from, struct notes_part *out)
{
	const struct notes_head *h = notes_bytes(r, from, 1, sizeof(*h));
	const struct packed_note *v;

	if (!h || h->kind > NOTES_FILE || h->is.id_len > sizeof(h->is.id))
		return false;
	*out = (struct notes_part){ .kind = (enum notes_kind)h->kind, .hash = h->hash,
				    .pid = h->pid, .is = h->is, .nr_phdrs = h->nr_phdrs,
				    .nr = h->nr, .texts_size = h->texts };
	out->path = notes_bytes(r, from, h->path, 1);
	out->phdrs = out->path ? notes_bytes(r, from, h->nr_phdrs, sizeof(*out->phdrs)) : NULL;
	out->at = *from;
	v = out->phdrs ? notes_bytes(r, from, h->nr, sizeof(*v)) : NULL;
	out->texts = v ? notes_bytes(r, from, h->texts, 1) : NULL;
	return out->texts && ends_in_zero(out->path, h->path) && notes_good(v, out);
}

struct code_note notes_note(const struct reading *r, const struct notes_part *part, size_t i,
			    const char *texts)
{
	const struct packed_note *n = (const struct packed_note *)(r->bytes + part->at) + i;

	struct code_note note = {
		.address = n->address, .semaphore = n->semaphore,
		.provider = texts + n->provider, .name = texts + n->name,
		.arguments = texts + n->arguments, .has_symbol = n->has_symbol,
		.has_slot = n->has_slot,
	};

	memcpy(note.symbols, n->symbols, sizeof(note.symbols));
	return note;
}
