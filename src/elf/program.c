/* SPDX-License-Identifier: MIT */
/*
 * program.c - reads an executable's headers to find out whether a library can be preloaded into it
 */
#include <string.h>

#include "elf/program.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
#error "which machine is this?"
#endif

/* PIECE: entries of the dynamic section that are read at once. */
enum { SEGMENTS_MAX = 64, DYNAMIC_MAX = 512, PIECE = 16 };

/* ---- Names ---- */

const char *program_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool program_is_named(const char *path, const char *start)
{
	return !strncmp(program_base(path), start, strlen(start));
}

bool program_is_loader(const char *path)
{
	return program_is_named(path, "ld-linux") || program_is_named(path, "ld-2.") ||
	       program_is_named(path, "ld.so");
}

bool program_is_sanitizer(const char *library)
{
	static const char names[][8] = { "asan", "tsan", "lsan", "hwasan", "msan" };
	const char *base = program_base(library);
	const bool is_clang = !strncmp(base, "libclang_rt.", 12);

	if (!is_clang && strncmp(base, "lib", 3))
		return false;
	base += is_clang ? 12 : 3;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const size_t len = strlen(names[i]);

		if (!strncmp(base, names[i], len) && (is_clang || !strncmp(base + len, ".so", 3)))
			return true;
	}
	return false;
}

/* ---- Headers ---- */

static bool program_read_all(const struct program_file *p, void *buf, size_t size, uint64_t at)
{
	return p->read(p->fd, buf, size, at) == (long)size;
}

/* Program header number i, from a piece that is read at once. NULL: there are no more. */
static const Elf64_Phdr *segment(struct program_file *p, unsigned int i)
{
	const unsigned int first = i - i % PROGRAM_SEGMENTS;

	if (i >= p->head.e_phnum || i >= SEGMENTS_MAX)
		return NULL;
	if (p->first != first || !p->nr_segments) {
		const long n = p->read(p->fd, p->segments, sizeof(p->segments),
				       p->head.e_phoff + first * sizeof(p->segments[0]));

		p->first = first;
		p->nr_segments = n > 0 ? (unsigned int)((size_t)n / sizeof(p->segments[0])) : 0;
	}
	return i - first < p->nr_segments ? &p->segments[i - first] : NULL;
}

static const Elf64_Phdr *find_segment(struct program_file *p, uint32_t type)
{
	const Elf64_Phdr *s;

	for (unsigned int i = 0; (s = segment(p, i)); i++)
		if (s->p_type == type)
			return s;
	return NULL;
}

/* The offset of an address in the file; 0: the file does not contain it. */
static uint64_t file_offset(struct program_file *p, uint64_t addr)
{
	const Elf64_Phdr *s;

	for (unsigned int i = 0; (s = segment(p, i)); i++)
		if (s->p_type == PT_LOAD && addr >= s->p_vaddr && addr - s->p_vaddr < s->p_filesz)
			return s->p_offset + (addr - s->p_vaddr);
	return 0;
}

enum program_kind program_open(struct program_file *p, program_reader read, int fd,
			       char loader[PROGRAM_PATH])
{
	const unsigned char *ident = p->head.e_ident;
	const Elf64_Phdr *s;
	long n;

	p->read = read;
	p->fd = fd;
	n = read(fd, &p->head, sizeof(p->head), 0);
	if (n < EI_NIDENT + 4 || memcmp(ident, ELFMAG, SELFMAG))
		return PROGRAM_NO_ELF;
	if (ident[EI_CLASS] == ELFCLASS32)
		return PROGRAM_32_BIT;
	if (ident[EI_CLASS] != ELFCLASS64 || p->head.e_machine != MACHINE)
		return PROGRAM_FOREIGN;
	if (n != sizeof(p->head) || p->head.e_phentsize != sizeof(*s))
		return PROGRAM_DAMAGED;
	p->nr_segments = 0;
	s = find_segment(p, PT_INTERP);
	if (!s)
		return PROGRAM_STATIC;
	if (!s->p_filesz || s->p_filesz >= PROGRAM_PATH ||
	    !program_read_all(p, loader, s->p_filesz, s->p_offset))
		return PROGRAM_DAMAGED;
	loader[s->p_filesz] = 0;
	return PROGRAM_DYNAMIC;
}

/* ---- Libraries ---- */

struct dynamic {
	struct program_file *p;
	uint64_t	at, size;	/* of the dynamic section in the file */
	unsigned int	next;
	Elf64_Dyn	piece[PIECE];
};

/* Takes the next entry. False: there are no more. */
static bool dynamic_next(struct dynamic *d, Elf64_Dyn *out)
{
	const unsigned int i = d->next++, at = i % PIECE;

	if (i >= DYNAMIC_MAX || i >= d->size / sizeof(*out))
		return false;
	if (!at) {
		memset(d->piece, 0, sizeof(d->piece));
		d->p->read(d->p->fd, d->piece, sizeof(d->piece),
			   d->at + i * sizeof(*out));
	}
	*out = d->piece[at];
	return out->d_tag != DT_NULL;
}

/* The offset of the table of names in the file; 0: there is none. */
static uint64_t find_names(struct program_file *p, struct dynamic *d)
{
	Elf64_Dyn e;

	d->next = 0;
	while (dynamic_next(d, &e))
		if (e.d_tag == DT_STRTAB)
			return file_offset(p, e.d_un.d_ptr);
	return 0;
}

bool program_needs(struct program_file *p, bool (*is)(void *arg, const char *library), void *arg)
{
	const Elf64_Phdr *s = find_segment(p, PT_DYNAMIC);
	struct dynamic d = { .p = p, .at = s ? s->p_offset : 0, .size = s ? s->p_filesz : 0 };
	char name[PROGRAM_PATH];
	uint64_t names;
	Elf64_Dyn e;
	long n;

	names = find_names(p, &d);
	d.next = 0;
	while (names && dynamic_next(&d, &e)) {
		if (e.d_tag != DT_NEEDED)
			continue;
		n = p->read(p->fd, name, sizeof(name) - 1, names + e.d_un.d_val);
		name[n > 0 ? n : 0] = 0;
		if (*name && is(arg, name))
			return true;
	}
	return false;
}
