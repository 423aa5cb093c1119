/* SPDX-License-Identifier: MIT */
/*
 * symbols.c - the symbols of one ELF file
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"

enum {
	SYMBOLS_MAX	= 8 << 20,
	/* Each outweighs all that come before it */
	OLD_RANK	= 1 << 24,
	SIZELESS_RANK	= 1 << 25,
	UNTYPED_RANK	= 1 << 26,
};

#define TABLE_MAX (1ull << 31)		/* bytes of a table, and of all names */

/* ---- the symbols that are read ---- */

struct reader {
	struct elf_symbols *out;
	size_t		room;
	size_t		names_len, names_room;
};

static int names_add(struct reader *r, const char *name, size_t len, uint32_t *at)
{
	if (r->names_len + len + 1 > r->names_room) {
		size_t room = (r->names_len + len + 1) * 2 + 65536;
		char *more = room < TABLE_MAX ? realloc(r->out->names, room) : NULL;

		if (!more)
			return -ENOMEM;
		r->out->names = more;
		r->names_room = room;
	}
	*at = (uint32_t)r->names_len;
	memcpy(r->out->names + r->names_len, name, len);
	r->names_len += len;
	r->out->names[r->names_len++] = '\0';
	return 0;
}

static int symbols_room(struct reader *r)
{
	size_t room = r->room ? r->room * 2 : 1024;
	struct elf_symbol *more;

	if (r->out->nr < r->room)
		return 0;
	if (room > SYMBOLS_MAX)
		return -E2BIG;
	more = realloc(r->out->v, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	r->out->v = more;
	r->room = room;
	return 0;
}

static char type_of(const Elf64_Sym *sym)
{
	bool function = ELF64_ST_TYPE(sym->st_info) != STT_OBJECT;

	switch (ELF64_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		return function ? 't' : 'd';
	case STB_WEAK:
		return function ? 'W' : 'V';
	default:
		return function ? 'T' : 'D';
	}
}

/* A name ends before its version. A name that would break a line of kallsyms has length 0. */
static size_t name_length(const char *name, size_t max)
{
	size_t len = 0;

	while (len < max && (unsigned char)name[len] > ' ' && name[len] != '@' && name[len] != 0x7f)
		len++;
	return len;
}

static bool is_name(const char *name, size_t len)
{
	return len && *name != '$' && (len < 2 || memcmp(name, ".L", 2));
}

/*
 * Whether the symbol is in a section that is mapped. Warnings for the linker and similar symbols
 * are not.
 */
static bool is_mapped(const struct image *im, const Elf64_Sym *sym)
{
	return sym->st_shndx >= im->nr_shdrs || (im->shdrs[sym->st_shndx].sh_flags & SHF_ALLOC);
}

static bool is_wanted(const struct image *im, const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS)
		return false;
	if (type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC &&
	    (type != STT_NOTYPE || ELF64_ST_BIND(sym->st_info) == STB_LOCAL))
		return false;
	return is_mapped(im, sym);
}

/* "name@VERSION"; the version that programs are linked with has two @. */
static bool is_old_name(const char *name, size_t len, size_t max)
{
	return len + 1 < max && name[len] == '@' && name[len + 1] != '@';
}

/*
 * The code at an IFUNC is not the function of that name: it returns the address of it. So it gets
 * the name that compilers give it when they make one.
 */
static int resolver_add(struct reader *r, const char *name, size_t len, uint32_t *at)
{
	int err = names_add(r, name, len, at);
	uint32_t more;

	if (err)
		return err;
	r->names_len--;
	return names_add(r, ELF_RESOLVER, sizeof(ELF_RESOLVER) - 1, &more);
}

/* max: the length of the name and of its version. */
static int add_symbol(struct reader *r, const Elf64_Sym *sym, const char *name, size_t max,
		      bool old)
{
	const size_t len = name_length(name, max);
	struct elf_symbol *s;
	int err = len ? symbols_room(r) : 0;

	if (err || !len)
		return err;
	s = &r->out->v[r->out->nr];
	*s = (struct elf_symbol){
		.value = sym->st_value, .size = sym->st_size, .type = type_of(sym),
		.old = old || is_old_name(name, len, max),
		.chooses = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC,
		.untyped = ELF64_ST_TYPE(sym->st_info) == STT_NOTYPE,
	};
	err = s->chooses ? resolver_add(r, name, len, &s->name) : names_add(r, name, len, &s->name);
	r->out->nr += !err;
	return err;
}

/* The versions of the symbols of .dynsym, two bytes each. NULL: it has none. */
static const char *versions_of(const struct image *im, const Elf64_Shdr *table, size_t *nr)
{
	size_t size;

	for (unsigned int i = 0; table->sh_type == SHT_DYNSYM && i < im->nr_shdrs; i++)
		if (im->shdrs[i].sh_type == SHT_GNU_versym) {
			const char *bytes = image_section(im, &im->shdrs[i], &size);

			*nr = size / sizeof(Elf64_Versym);
			return bytes;
		}
	return NULL;
}

static bool is_old_version(const char *versions, size_t nr, size_t i)
{
	Elf64_Versym version;

	if (!versions || i >= nr)
		return false;
	memcpy(&version, versions + i * sizeof(version), sizeof(version));
	return version & 0x8000;
}

static int read_table(struct reader *r, const struct image *im, const Elf64_Shdr *table)
{
	struct image_symbols symbols;
	size_t nr_versions = 0;
	const char *versions = versions_of(im, table, &nr_versions);
	int err = 0;

	if (table->sh_size > TABLE_MAX || !image_symbols(im, table, &symbols))
		return 0;
	for (size_t i = 1; !err && i < symbols.nr && i < SYMBOLS_MAX; i++) {
		Elf64_Sym sym = image_symbol(&symbols, i);
		size_t len;
		const char *name = image_symbol_text(&symbols, &sym, &len);

		if (is_name(name, len) && is_wanted(im, &sym))
			err = add_symbol(r, &sym, name, len,
					 is_old_version(versions, nr_versions, i));
	}
	return err;
}

/* Reads the table of that type. A file has one at most; *has: it has one. */
static int read_tables(struct reader *r, const struct image *im, uint32_t type, bool *has)
{
	for (unsigned int i = 0; i < im->nr_shdrs; i++) {
		if (im->shdrs[i].sh_type != type)
			continue;
		*has = true;
		return read_table(r, im, &im->shdrs[i]);
	}
	*has = false;
	return 0;
}

static int read_debug(struct reader *r, const struct elf_file *f, bool *has)
{
	struct elf_file debug;
	int err;

	*has = false;
	if (elf_file_open_debug(f, &debug))
		return 0;
	err = read_tables(r, &debug.image, SHT_SYMTAB, has);
	elf_file_close(&debug);
	return err;
}

/* ---- order ---- */

/* A label at the begin of a function, such as camlO__code_begin, is not its name. */
static int kind_rank(const struct elf_symbol *s)
{
	return (s->untyped ? UNTYPED_RANK : 0) + (s->size ? 0 : SIZELESS_RANK);
}

/*
 * Ranks aliases as people name a function: one that programs can be linked with, no leading
 * underscores, global before weak before local.
 */
static int name_rank(const struct elf_symbol *s, const char *names)
{
	const char *name = names + s->name;
	int binding = s->type == 'T' || s->type == 'D' ? 0 :
		      s->type == 'W' || s->type == 'V' ? 1 : 2;

	return kind_rank(s) + (s->old ? OLD_RANK : 0) + (int)strspn(name, "_") * 3 + binding;
}

static int compare(const void *a, const void *b, void *names)
{
	const struct elf_symbol *x = a, *y = b;
	int rank;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	rank = name_rank(x, names) - name_rank(y, names);
	return rank ? rank : strcmp((char *)names + x->name, (char *)names + y->name);
}

static int read_all(struct reader *r, struct elf_file *f)
{
	bool has;
	int err = read_tables(r, &f->image, SHT_SYMTAB, &has);

	if (!err && !has)
		err = read_debug(r, f, &has);
	if (!err && !has)
		err = read_tables(r, &f->image, SHT_DYNSYM, &has);
	return err;
}

/* ---- executable or library ---- */

struct traits {
	bool	interpreter, named, marked;
};

static void look_at_dynamic(const struct image *im, const Elf64_Phdr *p, struct traits *t)
{
	const char *bytes = p->p_filesz <= ELF_SEGMENT_MAX ?
			    image_bytes(im, p->p_offset, p->p_filesz) : NULL;
	Elf64_Dyn d;

	for (size_t at = 0; bytes && at + sizeof(d) <= p->p_filesz; at += sizeof(d)) {
		memcpy(&d, bytes + at, sizeof(d));
		if (d.d_tag == DT_NULL)
			return;
		t->named |= d.d_tag == DT_SONAME;
		t->marked |= d.d_tag == DT_FLAGS_1 && (d.d_un.d_val & DF_1_PIE);
	}
}

/* A library that can be executed has an interpreter, too. Old linkers do not mark PIE programs. */
static bool is_program(const struct image *im)
{
	struct traits t = { .marked = im->head.e_type == ET_EXEC };

	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		t.interpreter |= im->phdrs[i].p_type == PT_INTERP;
		if (im->phdrs[i].p_type == PT_DYNAMIC)
			look_at_dynamic(im, &im->phdrs[i], &t);
	}
	return t.marked || (t.interpreter && !t.named);
}

/* ---- the whole file ---- */

int elf_symbols_of(struct elf_file *f, struct elf_symbols *out)
{
	struct reader r = { .out = out };
	int err;

	*out = (struct elf_symbols){ 0 };
	err = read_all(&r, f);
	if (err) {
		elf_symbols_free(out);
		return err;
	}
	out->names_len = r.names_len;
	out->is_program = is_program(&f->image);
	elf_symbols_sort(out);
	return 0;
}

void elf_symbols_sort(struct elf_symbols *s)
{
	if (s->nr)
		qsort_r(s->v, s->nr, sizeof(*s->v), compare, s->names);
}

int elf_symbols_read(const char *path, const struct elf_want *want, struct elf_symbols *out)
{
	struct elf_file f;
	int err = elf_file_open(path, want, &f);

	*out = (struct elf_symbols){ 0 };
	if (err)
		return err;
	err = elf_symbols_of(&f, out);
	elf_file_close(&f);
	return err;
}

void elf_symbols_free(struct elf_symbols *s)
{
	free(s->v);
	free(s->names);
	*s = (struct elf_symbols){ 0 };
}
