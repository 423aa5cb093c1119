/* SPDX-License-Identifier: MIT */
/*
 * refer.c - what refers to code from outside of it: symbols, relocations, words of data
 *
 * A jump through a register or through memory takes an address that something has put there: a
 * relocation, an instruction (sweep.c), or the linker if the file is not moved when it is loaded.
 */
#include "elf/code/state.h"

enum {
	RELR = 19,		/* SHT_RELR */
	WORDS = 512,		/* words of data that are read at once */
	SEQUENCE = 32,		/* struct rseq_cs: its start, its length, where an abort leads */
	SEQUENCE_START = 8, SEQUENCE_LENGTH = 16, SEQUENCE_MAX = 4096,
};

/* ---- Names ---- */

struct named {
	const char	*name;
	uint8_t		returns;	/* enum code_return */
};

static const struct named by_name[] = {
	{ "setjmp", CODE_RETURN_TWICE }, { "_setjmp", CODE_RETURN_TWICE },
	{ "__setjmp", CODE_RETURN_TWICE }, { "sigsetjmp", CODE_RETURN_TWICE },
	{ "__sigsetjmp", CODE_RETURN_TWICE }, { "savectx", CODE_RETURN_TWICE },
	{ "vfork", CODE_RETURN_TWICE }, { "__vfork", CODE_RETURN_TWICE },
	{ "__libc_vfork", CODE_RETURN_TWICE }, { "getcontext", CODE_RETURN_TWICE },
	{ "__getcontext", CODE_RETURN_TWICE }, { "setcontext", CODE_RETURN_TWICE },
	{ "__setcontext", CODE_RETURN_TWICE }, { "swapcontext", CODE_RETURN_TWICE },
	{ "__swapcontext", CODE_RETURN_TWICE }, { "__start_context", CODE_RETURN_TWICE },
	{ "dlsym", CODE_RETURN_READ }, { "__dlsym", CODE_RETURN_READ },
	{ "dlvsym", CODE_RETURN_READ }, { "__dlvsym", CODE_RETURN_READ },
	{ "dlopen", CODE_RETURN_READ }, { "__dlopen", CODE_RETURN_READ },
	{ "dlmopen", CODE_RETURN_READ }, { "__dlmopen", CODE_RETURN_READ },
	{ "dl_iterate_phdr", CODE_RETURN_READ }, { "__dl_iterate_phdr", CODE_RETURN_READ },
	{ "mcount", CODE_RETURN_READ }, { "_mcount", CODE_RETURN_READ },
	{ "__fentry__", CODE_RETURN_READ },
};

static uint8_t returns_by_name(const char *name)
{
	if (!strncmp(name, "_Unwind_", 8))
		return CODE_RETURN_UNWINDS;
	/* Its callers expect all registers but one to stay. */
	if (!strncmp(name, "_dl_tlsdesc_", 12))
		return CODE_RETURN_FLAGS;
	for (size_t i = 0; i < sizeof(by_name) / sizeof(by_name[0]); i++)
		if (!strcmp(name, by_name[i].name))
			return by_name[i].returns;
	return CODE_RETURN_GOOD;
}

/* ---- Symbols ---- */

static bool is_table(const Elf64_Shdr *s)
{
	return s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM;
}

static bool symbol_is_code(const Elf64_Sym *y)
{
	const unsigned int type = ELF64_ST_TYPE(y->st_info);

	return y->st_shndx != SHN_UNDEF && y->st_shndx != SHN_ABS &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC);
}

size_t refer_count(const struct image *im)
{
	struct image_symbols symbols;
	size_t nr = 0;

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		if (!is_table(&im->shdrs[i]) || !image_symbols(im, &im->shdrs[i], &symbols))
			continue;
		for (size_t k = 0; k < symbols.nr; k++) {
			const Elf64_Sym y = image_symbol(&symbols, k);

			nr += symbol_is_code(&y);
		}
	}
	return nr;
}

/* fdes: the functions of FDEs, which are in order. Those that are added here are behind them. */
static void function_by_symbol(struct code_file *f, const struct code_file *fdes,
			       const Elf64_Sym *y, const char *name)
{
	const struct code_function *found = code_function_at(fdes, y->st_value);
	const struct code_segment *s = code_segment_at(f, y->st_value);
	struct code_function fn = { .start = y->st_value, .has = CODE_HAS_SYMBOL,
				    .why = CODE_NO_FDE };
	struct code_function *known;

	if (!s || (found && found->start != y->st_value))
		return;
	if (!found) {
		fn.size = y->st_size > s->high - fn.start ? (uint32_t)(s->high - fn.start)
							  : (uint32_t)y->st_size;
		if (fn.size)
			code_function_add(f, fn);
		return;
	}
	known = &f->functions[found - f->functions];
	known->has |= CODE_HAS_SYMBOL;
	if (known->why == CODE_GOOD && elf_name_is_part(name))
		known->why = CODE_PART;
	if (known->returns == CODE_RETURN_GOOD)
		known->returns = returns_by_name(name);
}

/* The unwinder's own returns: when it unwinds, its frames are below those that it looks at. */
static bool is_unwinder(const struct image *im)
{
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];
		const unsigned char *b;
		size_t size;
		Elf64_Dyn d;

		if (s->sh_type != SHT_DYNAMIC || s->sh_link >= im->nr_shdrs)
			continue;
		b = image_section(im, s, &size);
		for (size_t at = 0; b && at + sizeof(d) <= size; at += sizeof(d)) {
			const char *name;

			memcpy(&d, b + at, sizeof(d));
			if (d.d_tag != DT_SONAME)
				continue;
			name = image_string(im, &im->shdrs[s->sh_link], (uint32_t)d.d_un.d_val);
			return !strncmp(name, "libgcc_s.", 9) || !strncmp(name, "libunwind", 9);
		}
	}
	return false;
}

/* Cold, so that it is short: the agent has it, and few programs need it. */
__attribute__((cold)) void refer_symbols(struct code_file *f)
{
	const struct image *im = f->image;
	const struct code_file fdes = *f;
	const bool unwinds = is_unwinder(im);
	struct image_symbols symbols;

	for (size_t i = 0; unwinds && i < f->nr_functions; i++)
		f->functions[i].returns = CODE_RETURN_UNWINDS;
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		if (!is_table(&im->shdrs[i]) || !image_symbols(im, &im->shdrs[i], &symbols))
			continue;
		for (size_t k = 0; k < symbols.nr; k++) {
			const Elf64_Sym y = image_symbol(&symbols, k);

			if (y.st_shndx != SHN_UNDEF)
				code_target(f, y.st_value);
			if (!symbol_is_code(&y))
				continue;
			function_by_symbol(f, &fdes, &y, image_symbol_name(&symbols, &y));
		}
	}
}

/* ---- Restartable sequences ---- */

/* The section of their descriptors. */
struct sequences {
	uint64_t	address, size;
	const unsigned char *b;		/* NULL: there is none */
};

static struct sequences sequences_find(const struct image *im)
{
	struct sequences q = { .b = NULL };
	size_t size;

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];

		if (!(s->sh_flags & SHF_ALLOC) ||
		    strcmp(image_string(im, im->names, s->sh_name), "__rseq_cs"))
			continue;
		q.b = image_section(im, s, &size);
		q.address = s->sh_addr;
		q.size = size;
		break;
	}
	return q;
}

/*
 * The descriptor's word at `offset` has that value: a sequence begins there. The kernel looks where
 * in it a thread is, so no instruction of it may be moved.
 */
static bool sequence_lock(struct code_file *f, const struct sequences *q, uint64_t offset,
			  uint64_t start)
{
	uint64_t len;
	uint8_t *marks;

	if (!q->b || offset >= q->size || offset % SEQUENCE != SEQUENCE_START ||
	    q->size - offset < 16)
		return true;
	memcpy(&len, q->b + offset + (SEQUENCE_LENGTH - SEQUENCE_START), 8);
	if (len > SEQUENCE_MAX)
		len = SEQUENCE_MAX;
	if (!code_spend(f, len))
		return false;
	for (uint64_t i = 0; i < len; i++) {
		marks = code_marks(f, start + i);
		if (marks)
			*marks |= CODE_LOCKED;
	}
	return true;
}

/* ---- Relocations ---- */

/* The value of a symbol that a relocation names; 0: it has none in this file. */
static uint64_t symbol_value(const struct image_symbols *s, uint64_t number)
{
	Elf64_Sym y;

	if (number >= s->nr)
		return 0;
	y = image_symbol(s, number);
	return y.st_shndx == SHN_UNDEF ? 0 : y.st_value;
}

static bool rela_mark(struct code_file *f, const Elf64_Shdr *s, const struct sequences *q)
{
	struct image_symbols symbols = { .nr = 0 };
	const Elf64_Shdr *table = s->sh_link < f->image->nr_shdrs ?
				  &f->image->shdrs[s->sh_link] : NULL;
	size_t size;
	const unsigned char *b = image_section(f->image, s, &size);
	uint64_t to;
	Elf64_Rela e;

	if (table && is_table(table) && !image_symbols(f->image, table, &symbols))
		symbols.nr = 0;
	for (size_t at = 0; b && at + sizeof(e) <= size; at += sizeof(e)) {
		memcpy(&e, b + at, sizeof(e));
		to = (uint64_t)e.r_addend;
		switch (ELF64_R_TYPE(e.r_info)) {
		case R_X86_64_64:
			to += symbol_value(&symbols, ELF64_R_SYM(e.r_info));
			break;
		case R_X86_64_RELATIVE: case R_X86_64_IRELATIVE:
			break;
		default:
			continue;
		}
		code_target(f, to);
		if (!sequence_lock(f, q, e.r_offset - q->address, to))
			return false;
	}
	return true;
}

/* The word at an address, and what it leads to. */
static bool word_mark(struct code_file *f, uint64_t at, const struct sequences *q)
{
	size_t size = 8;
	uint32_t flags;
	const unsigned char *b = image_address(f->image, at, &size, &flags);
	uint64_t word;

	if (!code_spend(f, 1 + f->image->nr_phdrs / 16))
		return false;
	if (!b || size < 8)
		return true;
	memcpy(&word, b, 8);
	code_target(f, word);
	return sequence_lock(f, q, at - q->address, word);
}

/* An even entry is the address of a word; an odd one has a bit for each of the next 63 words. */
static bool relr_mark(struct code_file *f, const Elf64_Shdr *s, const struct sequences *q)
{
	size_t size;
	const unsigned char *b = image_section(f->image, s, &size);
	uint64_t entry, next = 0;

	for (size_t at = 0; b && at + 8 <= size; at += 8) {
		memcpy(&entry, b + at, 8);
		if (!(entry & 1)) {
			if (!word_mark(f, entry, q))
				return false;
			next = entry + 8;
			continue;
		}
		for (unsigned int i = 0; i < 63; i++)
			if (entry >> (i + 1) & 1 && !word_mark(f, next + 8 * i, q))
				return false;
		next += 8 * 63;
	}
	return true;
}

/* ---- Words of data, without PIE ---- */

/*
 * The segment's words that are no code of a function. Data may lie between functions in an
 * executable segment.
 */
static void words_mark(struct code_file *f, const Elf64_Phdr *p, const struct sequences *q)
{
	uint64_t at = (p->p_vaddr + 7) & ~7ull, word;
	const uint64_t end = p->p_vaddr + p->p_filesz;
	const uint8_t *marks;
	uint32_t flags;

	while (at < end && at >= p->p_vaddr) {
		size_t size = WORDS * 8;
		const unsigned char *b = image_address(f->image, at, &size, &flags);

		if (!b || size < 8)
			return;
		for (size_t i = 0; i + 8 <= size; i += 8) {
			marks = code_marks(f, at + i);
			if (marks && *marks & CODE_COVERED)
				continue;
			memcpy(&word, b + i, 8);
			code_target(f, word);
			sequence_lock(f, q, at + i - q->address, word);
		}
		at += size & ~7ull;
	}
}

bool refer_mark(struct code_file *f)
{
	const struct image *im = f->image;
	const struct sequences q = sequences_find(im);

	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];

		if (!(s->sh_flags & SHF_ALLOC))
			continue;
		if (s->sh_type == SHT_RELA && !rela_mark(f, s, &q))
			return false;
		if (s->sh_type == RELR && !relr_mark(f, s, &q))
			return false;
	}
	for (unsigned int i = 0; f->is_fixed && i < im->nr_phdrs; i++) {
		if (im->phdrs[i].p_type != PT_LOAD)
			continue;
		if (!code_spend(f, im->phdrs[i].p_filesz / 8))
			return false;
		words_mark(f, &im->phdrs[i], &q);
	}
	return true;
}
