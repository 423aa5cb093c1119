/* SPDX-License-Identifier: MIT */
/*
 * image.c - an ELF file in memory: headers, sections, functions' starts, GOT entries and PLT stubs of names
 */
#include "elf/image.h"

enum { NAME_ROOM = 256 };	/* no name that is looked for is as long */

static const void *at_offset(const struct image *im, uint64_t offset, uint64_t len)
{
	return offset <= im->size && len <= im->size - offset ? im->file + offset : NULL;
}

const unsigned char *image_address(const struct image *im, uint64_t at, size_t *want, uint32_t *flags)
{
	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdrs[i];

		if (p->p_type != PT_LOAD || at - p->p_vaddr >= p->p_filesz || at < p->p_vaddr)
			continue;
		if (*want > p->p_filesz - (at - p->p_vaddr))
			*want = p->p_filesz - (at - p->p_vaddr);
		*flags = p->p_flags;
		return at_offset(im, p->p_offset + (at - p->p_vaddr), *want);
	}
	return NULL;
}

const void *image_section(const struct image *im, const Elf64_Shdr *s, size_t *size)
{
	*size = s->sh_size;
	return s->sh_type == SHT_NOBITS ? NULL : at_offset(im, s->sh_offset, s->sh_size);
}

const char *image_string(const struct image *im, const Elf64_Shdr *table, uint32_t offset)
{
	size_t size;
	const char *text = image_section(im, table, &size);

	if (!text || offset >= size)
		return "";
	size -= offset;
	return memchr(text + offset, 0, size < NAME_ROOM ? size : NAME_ROOM) ? text + offset : "";
}

/*
 * Sections of a file that a linker made have places of their own. One byte in many of them
 * would be looked at once for each, and for each of their relocations.
 */
static bool sections_overlap(const struct image *im)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];

		if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL)
			continue;
		if (s->sh_size > im->size - all)
			return true;
		all += s->sh_size;
	}
	return false;
}

/* Only the form that all linkers write: 4 bytes each, relative to the section. */
static void starts_open(struct image *im)
{
	static const unsigned char form[4] = { 1, 0x1b, 0x03, 0x3b };
	uint32_t nr, flags;

	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		size_t size = im->phdrs[i].p_filesz;
		const unsigned char *b;

		if (im->phdrs[i].p_type != PT_GNU_EH_FRAME)
			continue;
		b = image_address(im, im->phdrs[i].p_vaddr, &size, &flags);
		if (!b || size < 12 || memcmp(b, form, 4) || (uintptr_t)b % 4)
			return;
		memcpy(&nr, b + 8, 4);
		if (nr > (size - 12) / 8)
			return;
		im->starts = (const int32_t *)(b + 12);
		im->nr_starts = nr;
		im->starts_base = im->phdrs[i].p_vaddr;
		return;
	}
}

bool image_open(struct image *im, const void *file, size_t size)
{
	const Elf64_Ehdr *h = file;

	*im = (struct image){ .file = file, .size = size };
	if (size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_machine != EM_X86_64 || h->e_phentsize != sizeof(Elf64_Phdr) ||
	    h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shstrndx >= h->e_shnum || h->e_shoff % 8 || h->e_phoff % 8)
		return false;
	im->phdrs = at_offset(im, h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr));
	im->shdrs = at_offset(im, h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr));
	if (!im->phdrs || !im->shdrs)
		return false;
	im->nr_phdrs = h->e_phnum;
	im->nr_shdrs = h->e_shnum;
	im->names = &im->shdrs[h->e_shstrndx];
	if (sections_overlap(im))
		return false;
	starts_open(im);
	return true;
}

uint64_t image_function_start(const struct image *im, size_t number)
{
	return im->starts_base + (uint64_t)(int64_t)im->starts[2 * number];
}

/* An FDE in the form that compilers write: length, CIE, distance to the start, size of the function. */
uint64_t image_function_end(const struct image *im, size_t number)
{
	const uint64_t start = image_function_start(im, number);
	const uint64_t entry = im->starts_base + (uint64_t)(int64_t)im->starts[2 * number + 1];
	size_t size = 16;
	uint32_t flags, range;
	const unsigned char *b = image_address(im, entry, &size, &flags);

	if (b && size == 16 && relative(b + 8, entry + 8) == start) {
		memcpy(&range, b + 12, 4);
		return start + range;
	}
	return number + 1 < im->nr_starts && image_function_start(im, number + 1) > start ?
	       image_function_start(im, number + 1) : start;
}

/* How many begin at or before `at`. */
static size_t starts_before(const struct image *im, uint64_t at)
{
	size_t low = 0, high = im->nr_starts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image_function_start(im, middle) <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t image_function(const struct image *im, uint64_t at)
{
	size_t nr = starts_before(im, at);

	return nr && at < image_function_end(im, nr - 1) ? nr - 1 : im->nr_starts;
}

uint64_t image_start(const struct image *im, uint64_t at)
{
	size_t nr = starts_before(im, at);

	return nr ? image_function_start(im, nr - 1) : 0;
}

const unsigned char *image_code(const struct image *im, unsigned int i, size_t *size)
{
	const Elf64_Phdr *p = &im->phdrs[i];
	uint32_t flags;

	*size = p->p_filesz;
	return p->p_type == PT_LOAD && (p->p_flags & PF_X) ? image_address(im, p->p_vaddr, size, &flags) : NULL;
}

static void target_add(uint64_t *list, unsigned int *nr, uint64_t at, bool *more)
{
	*more |= *nr == MAX_TARGETS;
	if (*nr < MAX_TARGETS)
		list[(*nr)++] = at;
}

static void got_find(const struct image *im, bool (*is)(const char *name), struct targets *t)
{
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *r = &im->shdrs[i], *symbols;
		size_t size, symbols_size;
		const char *rela, *sym;

		if (r->sh_type != SHT_RELA || !(r->sh_flags & SHF_ALLOC) || r->sh_link >= im->nr_shdrs)
			continue;
		symbols = &im->shdrs[r->sh_link];
		rela = image_section(im, r, &size);
		sym = image_section(im, symbols, &symbols_size);
		for (size_t k = 0; rela && sym && symbols->sh_link < im->nr_shdrs && k + sizeof(Elf64_Rela) <= size;
		     k += sizeof(Elf64_Rela)) {
			Elf64_Rela e;
			Elf64_Sym s;
			size_t at;

			memcpy(&e, rela + k, sizeof(e));
			at = ELF64_R_SYM(e.r_info) * sizeof(s);
			if (!at || at + sizeof(s) > symbols_size)
				continue;
			memcpy(&s, sym + at, sizeof(s));
			if (is(image_string(im, &im->shdrs[symbols->sh_link], s.st_name)))
				target_add(t->got, &t->nr_got, e.r_offset, &t->more);
		}
	}
}

/* A stub is [endbr64] [bnd] jmp *GOT; it is called at its first byte. */
static void stub_add(struct targets *t, const unsigned char *b, size_t i, uint64_t at)
{
	if (i >= 1 && b[i - 1] == 0xf2) {
		i--;
		at--;
	}
	if (i >= ENDBR && !memcmp(b + i - ENDBR, endbr64, ENDBR))
		at -= ENDBR;
	target_add(t->stub, &t->nr_stubs, at, &t->more);
}

void image_targets(const struct image *im, bool (*is)(const char *name), struct targets *t)
{
	const unsigned char *b;
	size_t size;

	*t = (struct targets){ .nr_got = 0 };
	got_find(im, is, t);
	for (unsigned int i = 0; t->nr_got && i < im->nr_phdrs; i++) {
		b = image_code(im, i, &size);
		for (size_t k = 0; b && k + 6 <= size; k++)
			if (b[k] == 0xff && b[k + 1] == 0x25 &&
			    is_got(t, relative(b + k + 2, im->phdrs[i].p_vaddr + k + 6)))
				stub_add(t, b, k, im->phdrs[i].p_vaddr + k);
	}
}
