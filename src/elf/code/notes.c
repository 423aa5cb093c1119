/* SPDX-License-Identifier: MIT */
/*
 * notes.c - probes that a program's author has put in: USDT, notes of type 3 in .note.stapsdt
 *
 *     address, base, semaphore | provider 0 name 0 arguments 0
 *
 * Prelinking moves a file's addresses, but not those in notes. The section .stapsdt.base is moved
 * with the code, so its distance from `base` says how far.
 *
 * A symbol of an argument has the address that the file's tables of symbols say. A name of several
 * variables (static ones of several sources) has none: the note does not say which one is meant.
 *
 * A note has an operand as the compiler wrote it. The linker may have had no need of its word in
 * the GOT: then the file has no relocation for it, and the argument is what the word would be.
 *
 * Source: systemtap's wiki, UserSpaceProbeImplementation.
 */
#include "elf/code/code.h"

enum {
	NOTE_TYPE	= 3,
	WORDS		= 24,
	LOOKS_MAX	= 1 << 24,	/* symbols that are compared for the notes of a file */
};

/* ---- Notes ---- */

static const Elf64_Shdr *section_named(const struct image *im, unsigned int *from, const char *name)
{
	for (unsigned int i = *from; i < im->nr_shdrs; i++) {
		*from = i + 1;
		if (!strcmp(image_string(im, im->names, im->shdrs[i].sh_name), name))
			return &im->shdrs[i];
	}
	return NULL;
}

static void base_find(struct code_notes *w)
{
	unsigned int from = 0;
	const Elf64_Shdr *s = section_named(w->image, &from, ".stapsdt.base");

	w->base = s ? s->sh_addr : 0;
	w->has_base = true;
}

/* Goes on to the next section. False: there is none. */
static bool section_next(struct code_notes *w)
{
	const Elf64_Shdr *s = section_named(w->image, &w->section, ".note.stapsdt");

	if (!s)
		return false;
	w->at = 0;
	w->bytes = s->sh_type == SHT_NOTE ? image_section(w->image, s, &w->size) : NULL;
	if (!w->bytes)
		w->size = 0;
	return true;
}

/* Takes a text that ends with 0 from the bytes at *at. NULL: it does not end. */
static const char *text_take(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));

	*at = zero ? zero + 1 : end;
	return zero ? text : NULL;
}

static bool contents_read(const struct code_notes *w, const unsigned char *b, size_t size,
			  struct code_note *out)
{
	const char *at = (const char *)b + WORDS, *end = (const char *)b + size;
	uint64_t words[3];

	if (size < WORDS)
		return false;
	memcpy(words, b, sizeof(words));
	out->address = words[0] + (w->base ? w->base - words[1] : 0);
	out->semaphore = words[2] ? words[2] + (w->base ? w->base - words[1] : 0) : 0;
	out->provider = text_take(&at, end);
	out->name = text_take(&at, end);
	out->arguments = text_take(&at, end);
	if (!out->arguments)
		out->arguments = "";
	return out->provider && out->name;
}

/* Reads the note at w->at, and steps over it. *good: it is one of USDT. False: no more. */
static bool note_read(struct code_notes *w, struct code_note *out, bool *good)
{
	const unsigned char *b = w->bytes + w->at;
	const size_t room = w->size - w->at;
	size_t contents;
	Elf64_Nhdr n;

	if (room < sizeof(n))
		return false;
	memcpy(&n, b, sizeof(n));
	contents = sizeof(n) + (((size_t)n.n_namesz + 3) & ~(size_t)3);
	if (contents > room || n.n_descsz > room - contents)
		return false;
	*good = n.n_type == NOTE_TYPE && n.n_namesz == sizeof("stapsdt") &&
		!memcmp(b + sizeof(n), "stapsdt", sizeof("stapsdt")) &&
		contents_read(w, b + contents, n.n_descsz, out);
	contents += ((size_t)n.n_descsz + 3) & ~(size_t)3;
	w->at += contents < room ? contents : room;
	return true;
}

/* ---- Symbols of arguments ---- */

static bool is_of_thread(const struct code_argument *a)
{
	return a->symbol_kind >= CODE_SYMBOL_THREAD;
}

static bool is_its_name(const struct image_symbols *t, const Elf64_Sym *s,
			const struct code_argument *a)
{
	size_t len;
	const char *name = image_symbol_text(t, s, &len);

	return len == a->symbol_len && !memcmp(name, a->symbol, len);
}

/* A variable or a function that the file has. */
static bool symbol_is(const struct image_symbols *t, const Elf64_Sym *s,
		      const struct code_argument *a)
{
	const unsigned int type = ELF64_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF || s->st_shndx >= SHN_LORESERVE ||
	    (is_of_thread(a) ? type != STT_TLS : type > STT_FUNC))
		return false;
	return is_its_name(t, s, a);
}

/* False: too many symbols, relocations or sections have been looked at. */
static bool looks_take(struct code_notes *w, size_t nr)
{
	w->spent |= w->nr_looked + nr > LOOKS_MAX;
	if (!w->spent)
		w->nr_looked += nr;
	return !w->spent;
}

/* What tables say of a name. */
struct meaning {
	uint64_t	value;
	bool		found;
	bool		is_own;		/* no other file's symbol takes its place */
};

/* False: the table has the name with another value, or there are too many symbols. */
static bool table_look(struct code_notes *w, const struct image_symbols *t,
		       const struct code_argument *a, struct meaning *m)
{
	if (!looks_take(w, t->nr))
		return false;
	for (size_t i = 1; i < t->nr; i++) {
		const Elf64_Sym s = image_symbol(t, i);

		if (!symbol_is(t, &s, a))
			continue;
		if (m->found && s.st_value != m->value)
			return false;
		m->value = s.st_value;
		m->found = true;
		m->is_own |= ELF64_ST_BIND(s.st_info) == STB_LOCAL ||
			     ELF64_ST_VISIBILITY(s.st_other) != STV_DEFAULT;
	}
	return true;
}

static bool symbol_find(struct code_notes *w, const struct code_argument *a, struct meaning *m)
{
	const struct image *im = w->image;
	struct image_symbols table;

	*m = (struct meaning){ 0 };
	if (!looks_take(w, im->nr_shdrs))
		return false;
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const uint32_t type = im->shdrs[i].sh_type;

		if ((type == SHT_SYMTAB || type == SHT_DYNSYM) &&
		    image_symbols(im, &im->shdrs[i], &table) && !table_look(w, &table, a, m))
			return false;
	}
	return m->found;
}

/* Looks at the first PT_DYNAMIC, once. PT_INTERP alone is no proof: libc.so.6 has it. */
static void dynamic_look(struct code_notes *w)
{
	const struct image *im = w->image;
	bool has_name = false, is_pie = false, has_loader = false;
	const Elf64_Phdr *p = NULL;
	const char *bytes;
	Elf64_Dyn d;

	if (w->looked_dynamic)
		return;
	w->looked_dynamic = true;
	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		has_loader |= im->phdrs[i].p_type == PT_INTERP;
		if (!p && im->phdrs[i].p_type == PT_DYNAMIC)
			p = &im->phdrs[i];
	}
	bytes = p ? image_bytes(im, p->p_offset, p->p_filesz) : NULL;
	for (uint64_t at = 0; bytes && at + sizeof(d) <= p->p_filesz; at += sizeof(d)) {
		memcpy(&d, bytes + at, sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		has_name |= d.d_tag == DT_SONAME;
		is_pie |= d.d_tag == DT_FLAGS_1 && (d.d_un.d_val & DF_1_PIE);
		w->is_symbolic |= d.d_tag == DT_SYMBOLIC ||
				  (d.d_tag == DT_FLAGS && (d.d_un.d_val & DF_SYMBOLIC));
	}
	w->is_program = im->head.e_type == ET_EXEC || is_pie || (has_loader && !has_name);
}

/* From the thread's pointer to a variable of the program: its block ends there. */
static bool thread_distance(const struct image *im, uint64_t value, uint64_t *out)
{
	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		const Elf64_Phdr *p = &im->phdrs[i];
		const uint64_t end = p->p_vaddr + p->p_memsz;
		const uint64_t align = p->p_align ? p->p_align : 1;

		if (p->p_type != PT_TLS)
			continue;
		*out = value - p->p_memsz - ((0 - end) & (align - 1));
		return true;
	}
	return false;
}

/* Whether the relocation fills the word of the GOT that the argument names. */
static bool is_its_word(const struct image_symbols *t, const Elf64_Rela *e,
			const struct code_argument *a, const struct meaning *m)
{
	const uint32_t type = is_of_thread(a) ? R_X86_64_TPOFF64 : R_X86_64_GLOB_DAT;
	const uint64_t i = ELF64_R_SYM(e->r_info);
	Elf64_Sym s;

	if (ELF64_R_TYPE(e->r_info) != type || i >= t->nr)
		return false;
	/* A variable that no other file sees has no name there. */
	if (!i)
		return m->found && (uint64_t)e->r_addend == m->value;
	s = image_symbol(t, i);
	return is_its_name(t, &s, a);
}

static bool section_slot(struct code_notes *w, const Elf64_Shdr *section,
			 const struct code_argument *a, const struct meaning *m, uint64_t *at)
{
	struct image_symbols table;
	const char *rela;
	size_t size = 0;
	Elf64_Rela e;

	if (!image_symbols(w->image, &w->image->shdrs[section->sh_link], &table))
		return false;
	rela = image_section(w->image, section, &size);
	if (!rela || !looks_take(w, size / sizeof(e)))
		return false;
	for (size_t k = 0; k + sizeof(e) <= size; k += sizeof(e)) {
		memcpy(&e, rela + k, sizeof(e));
		if (is_its_word(&table, &e, a, m)) {
			*at = e.r_offset;
			return true;
		}
	}
	return false;
}

static bool slot_find(struct code_notes *w, const struct code_argument *a, const struct meaning *m,
		      uint64_t *at)
{
	const struct image *im = w->image;

	if (!looks_take(w, im->nr_shdrs))
		return false;
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];

		if (s->sh_type == SHT_RELA && (s->sh_flags & SHF_ALLOC) &&
		    s->sh_link < im->nr_shdrs && section_slot(w, s, a, m, at))
			return true;
	}
	return false;
}

/*
 * What the symbol of an argument stands for. A thread's variable is at a distance that the linker
 * knows in a program only. There it may have changed the code: behind an argument with @dtpoff the
 * register is the thread's pointer or the block, which the note does not say.
 */
static bool meaning_find(struct code_notes *w, const struct code_argument *a, uint64_t *at,
			 bool *is_slot)
{
	struct meaning m;

	if (!symbol_find(w, a, &m))
		m.found = false;
	*is_slot = code_argument_is_word(a) && slot_find(w, a, &m, at);
	if (*is_slot || !m.found || w->spent)
		return *is_slot;
	*at = m.value;
	dynamic_look(w);
	switch (a->symbol_kind) {
	case CODE_SYMBOL_GOT:
		return m.is_own || w->is_program || w->is_symbolic;
	case CODE_SYMBOL_THREAD:
	case CODE_SYMBOL_GOT_THREAD:
		return w->is_program && thread_distance(w->image, m.value, at);
	case CODE_SYMBOL_BLOCK:
		return !w->is_program;
	default:
		return true;
	}
}

static void symbols_find(struct code_notes *w, struct code_note *n)
{
	struct code_argument arguments[CODE_ARGUMENTS];
	unsigned int nr;
	bool is_slot;

	n->has_symbol = n->has_slot = 0;
	nr = code_note_arguments(n, arguments);
	for (unsigned int i = 0; i < nr; i++) {
		if (!arguments[i].symbol_len ||
		    !meaning_find(w, &arguments[i], &n->symbols[i], &is_slot))
			continue;
		n->has_symbol |= 1u << i;
		n->has_slot |= (uint32_t)is_slot << i;
	}
}

bool code_note_next(struct code_notes *w, struct code_note *out)
{
	bool good;

	if (!w->has_base)
		base_find(w);
	while (1) {
		while (w->at < w->size) {
			if (!note_read(w, out, &good))
				break;
			if (!good)
				continue;
			symbols_find(w, out);
			return true;
		}
		if (!section_next(w))
			return false;
	}
}
