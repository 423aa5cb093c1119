/* SPDX-License-Identifier: MIT */
/*
 * image.c - the reader of ELF files: headers, sections, symbols, notes, functions, GOT and PLT
 */
#include "elf/image.h"

enum { PHDRS_MAX = 256 };

/* ---- Bytes ---- */

const void *image_bytes(const struct image *im, uint64_t offset, uint64_t len)
{
	if (offset > im->size || len > im->size - offset)
		return NULL;
	return !im->take || im->take(im->take_arg, offset, len) ? im->file + offset : NULL;
}

const unsigned char *image_address(const struct image *im, uint64_t at, size_t *want,
				   uint32_t *flags)
{
	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdrs[i];

		if (p->p_type != PT_LOAD || at - p->p_vaddr >= p->p_filesz || at < p->p_vaddr)
			continue;
		if (*want > p->p_filesz - (at - p->p_vaddr))
			*want = p->p_filesz - (at - p->p_vaddr);
		*flags = p->p_flags;
		return image_bytes(im, p->p_offset + (at - p->p_vaddr), *want);
	}
	return NULL;
}

const void *image_section(const struct image *im, const Elf64_Shdr *s, size_t *size)
{
	*size = s->sh_size;
	return s->sh_type == SHT_NOBITS ? NULL : image_bytes(im, s->sh_offset, *size);
}

const unsigned char *image_code(const struct image *im, unsigned int i, size_t *size)
{
	const Elf64_Phdr *p = &im->phdrs[i];
	uint32_t flags;

	*size = p->p_filesz;
	return p->p_type == PT_LOAD && (p->p_flags & PF_X) ?
	       image_address(im, p->p_vaddr, size, &flags) : NULL;
}

/* *len is 0 if the name has no end. */
static const char *text_at(const char *names, size_t size, uint32_t offset, size_t *len)
{
	const char *end;

	*len = 0;
	if (!names || offset >= size)
		return "";
	size -= offset;
	end = memchr(names + offset, 0, size < IMAGE_NAME_MAX ? size : IMAGE_NAME_MAX);
	if (end)
		*len = (size_t)(end - (names + offset));
	else if (size >= IMAGE_NAME_MAX)
		*len = IMAGE_NAME_MAX;
	return names + offset;
}

static const char *name_at(const char *names, size_t size, uint32_t offset)
{
	size_t len;
	const char *name = text_at(names, size, offset, &len);

	return len && len < IMAGE_NAME_MAX ? name : "";
}

const char *image_string(const struct image *im, const Elf64_Shdr *table, uint32_t offset)
{
	size_t size = 0;
	const char *names = table ? image_section(im, table, &size) : NULL;

	return name_at(names, size, offset);
}

/* ---- Symbols ---- */

bool image_symbols(const struct image *im, const Elf64_Shdr *table, struct image_symbols *out)
{
	size_t size;

	if (table->sh_link >= im->nr_shdrs)
		return false;
	out->table = image_section(im, table, &size);
	out->nr = size / sizeof(Elf64_Sym);
	out->names = image_section(im, &im->shdrs[table->sh_link], &out->names_size);
	return out->table && out->names;
}

Elf64_Sym image_symbol(const struct image_symbols *s, size_t i)
{
	Elf64_Sym sym;

	memcpy(&sym, s->table + i * sizeof(sym), sizeof(sym));
	return sym;
}

const char *image_symbol_text(const struct image_symbols *s, const Elf64_Sym *sym, size_t *len)
{
	return text_at(s->names, s->names_size, sym->st_name, len);
}

const char *image_symbol_name(const struct image_symbols *s, const Elf64_Sym *sym)
{
	return name_at(s->names, s->names_size, sym->st_name);
}

/* ---- Notes ---- */

const void *image_note(const void *notes, size_t size, uint64_t align, const char *name,
		       uint32_t type, size_t *len)
{
	const size_t mask = align == 8 ? 7 : 3, name_size = strlen(name) + 1;
	const char *bytes = notes;
	size_t at = 0, contents;
	Elf64_Nhdr n;

	while (at <= size && size - at >= sizeof(n)) {
		memcpy(&n, bytes + at, sizeof(n));
		contents = (at + sizeof(n) + n.n_namesz + mask) & ~mask;
		if (contents > size || n.n_descsz > size - contents)
			return NULL;
		*len = n.n_descsz;
		if (n.n_type == type && n.n_namesz == name_size &&
		    !memcmp(bytes + at + sizeof(n), name, name_size))
			return bytes + contents;
		at = (contents + n.n_descsz + mask) & ~mask;
	}
	return NULL;
}

/* ---- Headers ---- */

/*
 * In a file that a linker made, no two sections share a byte. In a crafted file many sections could
 * share bytes, which would then be read once for each section and for each of its relocations.
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

/* Whether this is a valid header whose program headers are in the first `size` bytes. */
static bool is_head(const Elf64_Ehdr *h, size_t size)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (h->e_phentsize == sizeof(Elf64_Phdr) || !h->e_phnum) &&
	       h->e_phnum <= PHDRS_MAX && h->e_phoff % 8 == 0 && h->e_phoff <= size &&
	       h->e_phnum * sizeof(Elf64_Phdr) <= size - h->e_phoff;
}

const Elf64_Phdr *image_segments(const void *bytes, size_t size, unsigned int *nr)
{
	Elf64_Ehdr h;

	if (size < sizeof(h))
		return NULL;
	memcpy(&h, bytes, sizeof(h));
	if (!is_head(&h, size))
		return NULL;
	*nr = h.e_phnum;
	return (const Elf64_Phdr *)((const char *)bytes + h.e_phoff);
}

bool image_span(const Elf64_Phdr *p, unsigned int nr, uint64_t *low, uint64_t *high)
{
	*low = UINT64_MAX;
	*high = 0;
	for (; nr--; p++) {
		if (p->p_type != PT_LOAD)
			continue;
		*low = p->p_vaddr < *low ? p->p_vaddr : *low;
		*high = p->p_vaddr + p->p_memsz > *high ? p->p_vaddr + p->p_memsz : *high;
	}
	return *low < *high;
}

static void sections_open(struct image *im)
{
	const Elf64_Ehdr *h = &im->head;

	if (h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shoff % 8 == 0)
		im->shdrs = image_bytes(im, h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr));
	im->nr_shdrs = im->shdrs ? h->e_shnum : 0;
	im->names = h->e_shstrndx < im->nr_shdrs ? &im->shdrs[h->e_shstrndx] : NULL;
}

bool image_headers(struct image *im)
{
	const void *head = image_bytes(im, 0, sizeof(im->head));

	if (!head)
		return false;
	/* The header is copied, because a mapped file may be written meanwhile. */
	memcpy(&im->head, head, sizeof(im->head));
	if (!is_head(&im->head, im->size))
		return false;
	im->phdrs = image_bytes(im, im->head.e_phoff, im->head.e_phnum * sizeof(Elf64_Phdr));
	im->nr_phdrs = im->phdrs ? im->head.e_phnum : 0;
	sections_open(im);
	return im->phdrs;
}

bool image_is_code(const struct image *im)
{
	return im->head.e_machine == EM_X86_64 && im->names && !sections_overlap(im);
}

bool image_open(struct image *im, const void *file, size_t size)
{
	*im = (struct image){ .file = file, .size = size };
	if (!image_headers(im) || !image_is_code(im))
		return false;
	image_functions(im);
	return true;
}

/* ---- Functions ---- */

/* Reads only the form that all linkers write: 4 bytes each, relative to the section. */
void image_functions(struct image *im)
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

uint64_t image_function_start(const struct image *im, size_t number)
{
	return im->starts_base + (uint64_t)(int64_t)im->starts[2 * number];
}

/* Compilers write an FDE as length, CIE, distance to the start, size of the function. */
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

/* How many functions begin at or before `at`. */
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

/* ---- Calls of other files' functions ---- */

static void target_add(uint64_t *list, unsigned int *nr, uint64_t at, bool *more)
{
	*more |= *nr == MAX_TARGETS;
	if (*nr < MAX_TARGETS)
		list[(*nr)++] = at;
}

/*
 * Whether the file refers to such a symbol. Most files do not; then relocations need not be read.
 */
static bool has_symbol(const struct image *im, bool (*is)(const char *name))
{
	struct image_symbols symbols;

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		if (im->shdrs[i].sh_type != SHT_DYNSYM ||
		    !image_symbols(im, &im->shdrs[i], &symbols))
			continue;
		for (size_t k = 1; k < symbols.nr; k++) {
			Elf64_Sym s = image_symbol(&symbols, k);

			if (s.st_shndx == SHN_UNDEF && is(image_symbol_name(&symbols, &s)))
				return true;
		}
	}
	return false;
}

static void got_add(const struct image_symbols *symbols, const Elf64_Rela *e,
		    bool (*is)(const char *name), struct targets *t)
{
	const uint64_t i = ELF64_R_SYM(e->r_info);
	Elf64_Sym s;

	if (!i || i >= symbols->nr)
		return;
	s = image_symbol(symbols, i);
	if (is(image_symbol_name(symbols, &s)))
		target_add(t->got, &t->nr_got, e->r_offset, &t->more);
}

static void got_find(const struct image *im, bool (*is)(const char *name), struct targets *t)
{
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *r = &im->shdrs[i];
		struct image_symbols symbols;
		const char *rela;
		Elf64_Rela e;
		size_t size;

		if (r->sh_type != SHT_RELA || !(r->sh_flags & SHF_ALLOC) ||
		    r->sh_link >= im->nr_shdrs ||
		    !image_symbols(im, &im->shdrs[r->sh_link], &symbols))
			continue;
		rela = image_section(im, r, &size);
		for (size_t k = 0; rela && k + sizeof(e) <= size; k += sizeof(e)) {
			memcpy(&e, rela + k, sizeof(e));
			got_add(&symbols, &e, is, t);
		}
	}
}

/* A stub is [endbr64] [bnd] jmp *GOT. Calls of it go to its first byte. */
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
	if (has_symbol(im, is))
		got_find(im, is, t);
	for (unsigned int i = 0; t->nr_got && i < im->nr_phdrs; i++) {
		b = image_code(im, i, &size);
		for (size_t k = 0; b && k + 6 <= size; k++)
			if (b[k] == 0xff && b[k + 1] == 0x25 &&
			    is_got(t, relative(b + k + 2, im->phdrs[i].p_vaddr + k + 6)))
				stub_add(t, b, k, im->phdrs[i].p_vaddr + k);
	}
}
