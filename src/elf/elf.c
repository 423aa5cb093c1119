/* SPDX-License-Identifier: MIT */
/*
 * elf.c - symbols of one ELF file, by libelf
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf.h"

enum { SYMBOLS_MAX = 8 << 20, NAME_MAX_LEN = 1024, PHDRS_MAX = 256, SEGMENT_MAX = 1 << 20 };

#define NAMES_MAX (1ull << 31)		/* bytes, also of any other section */

void elf_file_close(struct elf_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

/* Before libelf makes room for them: more sections than the header has a number for are in no DSO. */
static bool header_fits(int fd)
{
	Elf64_Ehdr h;

	return pread(fd, &h, sizeof(h), 0) == sizeof(h) && !memcmp(h.e_ident, ELFMAG, SELFMAG) &&
	       h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_ident[EI_DATA] == ELFDATA2LSB && h.e_phnum <= PHDRS_MAX &&
	       (h.e_shnum || !h.e_shoff);
}

/* Devices and pipes must not hold the server up. */
static int file_open(const char *path, struct elf_file *f)
{
	struct stat st;

	f->elf = NULL;
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return -errno;
	if (fstat(f->fd, &st) || !S_ISREG(st.st_mode) || !header_fits(f->fd)) {
		elf_file_close(f);
		return -EINVAL;
	}
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF) {
		elf_file_close(f);
		return -EINVAL;
	}
	return 0;
}

/* ---- is it the one? ---- */

static bool note_is_id(Elf_Data *data, const struct elf_want *want, bool *found)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while ((at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name, "GNU", 4))
			continue;
		*found = true;
		return note.n_descsz == want->id_len && !memcmp((char *)data->d_buf + desc, want->id, want->id_len);
	}
	return false;
}

/* Whether its build-id is the one wanted; *found: it has one. */
static bool has_id(Elf *elf, const struct elf_want *want, bool *found)
{
	size_t nr = 0;
	GElf_Phdr ph;

	*found = false;
	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr && !*found; i++) {
		Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_NOTE || ph.p_filesz > SEGMENT_MAX)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
					    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (data && note_is_id(data, want, found))
			return true;
	}
	return false;
}

/* Without a build-id: it spans the same addresses. */
static bool has_span(Elf *elf, const struct elf_want *want)
{
	uint64_t low = UINT64_MAX, high = 0;
	size_t nr = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		low = ph.p_vaddr < low ? ph.p_vaddr : low;
		high = ph.p_vaddr + ph.p_memsz > high ? ph.p_vaddr + ph.p_memsz : high;
	}
	low &= ~4095ull;
	return low == want->load && ((high - low + 4095) & ~4095ull) == ((want->size + 4095) & ~4095ull);
}

static bool is_wanted(Elf *elf, const struct elf_want *want)
{
	bool found;

	return has_id(elf, want, &found) || (!found && has_span(elf, want));
}

/* ---- symbols ---- */

bool elf_section_fits(Elf *elf, size_t index)
{
	Elf_Scn *scn = elf_getscn(elf, index);
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_size <= NAMES_MAX;
}

bool elf_table_fits(Elf *elf, const GElf_Shdr *table)
{
	return table->sh_size <= NAMES_MAX && elf_section_fits(elf, table->sh_link);
}

struct reader {
	struct elf_symbols *out;
	size_t		room;
	size_t		names_len, names_room;
};

static int names_add(struct reader *r, const char *name, size_t len, uint32_t *at)
{
	if (r->names_len + len + 1 > r->names_room) {
		size_t room = (r->names_len + len + 1) * 2 + 65536;
		char *more = room < NAMES_MAX ? realloc(r->out->names, room) : NULL;

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

static char type_of(const GElf_Sym *sym)
{
	bool function = GELF_ST_TYPE(sym->st_info) != STT_OBJECT;

	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		return function ? 't' : 'd';
	case STB_WEAK:
		return function ? 'W' : 'V';
	default:
		return function ? 'T' : 'D';
	}
}

static bool is_wanted_symbol(const GElf_Sym *sym, const char *name)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || !name || !*name)
		return false;
	if (*name == '$' || !strncmp(name, ".L", 2))
		return false;
	return type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC ||
	       (type == STT_NOTYPE && GELF_ST_BIND(sym->st_info) != STB_LOCAL);
}

/* A name ends before its version; what would break a line of kallsyms is none. */
static size_t name_length(const char *name)
{
	size_t len = 0;

	while (len < NAME_MAX_LEN && (unsigned char)name[len] > ' ' && name[len] != '@' && name[len] != 0x7f)
		len++;
	return len;
}

/* What lies in a section that is mapped; warnings for the linker and the like do not. */
static bool is_mapped(Elf *elf, const GElf_Sym *sym)
{
	Elf_Scn *scn = sym->st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym->st_shndx) : NULL;
	GElf_Shdr sh;

	return !scn || !gelf_getshdr(scn, &sh) || (sh.sh_flags & SHF_ALLOC);
}

static int add_symbol(struct reader *r, const GElf_Sym *sym, const char *name)
{
	struct elf_symbol *s;
	size_t len = name_length(name);
	int err = len ? symbols_room(r) : 0;

	if (err || !len)
		return err;
	s = &r->out->v[r->out->nr];
	*s = (struct elf_symbol){ .value = sym->st_value, .size = sym->st_size, .type = type_of(sym) };
	err = names_add(r, name, len, &s->name);
	r->out->nr += !err;
	return err;
}

static int read_table(struct reader *r, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_table_fits(elf, sh) ? elf_getdata(scn, NULL) : NULL;
	GElf_Sym sym;
	int err = 0;

	if (!data || !sh->sh_entsize)
		return 0;
	for (size_t i = 1; !err && i < sh->sh_size / sh->sh_entsize && i < SYMBOLS_MAX; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (is_wanted_symbol(&sym, name) && is_mapped(elf, &sym))
			err = add_symbol(r, &sym, name);
	}
	return err;
}

/* The table of that type, of which a file has one at most; *has tells whether there is one. */
static int read_tables(struct reader *r, Elf *elf, uint32_t type, bool *has)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	*has = false;
	while (!*has && (scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == type) {
			*has = true;
			err = read_table(r, elf, scn, &sh);
		}
	}
	return err;
}

/* ---- the debug file ---- */

static int debug_open(const struct elf_want *want, struct elf_file *f)
{
	char path[128] = "/usr/lib/debug/.build-id/";
	size_t at = strlen(path);
	bool found;
	int err;

	if (want->id_len < 2 || want->id_len > 24)
		return -ENOENT;
	for (uint32_t i = 0; i < want->id_len; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, i == 1 ? "/%02x" : "%02x", want->id[i]);
	snprintf(path + at, sizeof(path) - at, ".debug");
	err = file_open(path, f);
	if (!err && !has_id(f->elf, want, &found)) {
		elf_file_close(f);
		err = -ESTALE;
	}
	return err;
}

static int read_debug(struct reader *r, const struct elf_want *want, bool *has)
{
	struct elf_file f;
	int err;

	*has = false;
	if (debug_open(want, &f))
		return 0;
	err = read_tables(r, f.elf, SHT_SYMTAB, has);
	elf_file_close(&f);
	return err;
}

/* ---- order ---- */

/* What people call it: no leading underscores, global before weak before local, short. */
static int name_rank(const struct elf_symbol *s, const char *names)
{
	const char *name = names + s->name;
	int binding = s->type == 'T' || s->type == 'D' ? 0 : s->type == 'W' || s->type == 'V' ? 1 : 2;

	return (int)strspn(name, "_") * 3 + binding;
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

static int read_all(struct reader *r, struct elf_file *f, const struct elf_want *want)
{
	bool has;
	int err = read_tables(r, f->elf, SHT_SYMTAB, &has);

	if (!err && !has)
		err = read_debug(r, want, &has);
	if (!err && !has)
		err = read_tables(r, f->elf, SHT_DYNSYM, &has);
	return err;
}

/* A library may have an interpreter, too, to be started as a program; and PIE programs of old linkers are not marked. */
static bool is_program(Elf *elf)
{
	bool interpreter = false, named = false, marked = false;
	GElf_Ehdr eh;
	GElf_Phdr ph;
	size_t nr = 0;

	if (!gelf_getehdr(elf, &eh) || elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		Elf_Data *data;
		GElf_Dyn dyn;

		if (!gelf_getphdr(elf, (int)i, &ph))
			continue;
		interpreter |= ph.p_type == PT_INTERP;
		data = ph.p_type == PT_DYNAMIC && ph.p_filesz <= SEGMENT_MAX ?
		       elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_DYN) : NULL;
		for (int k = 0; data && gelf_getdyn(data, k, &dyn) && dyn.d_tag != DT_NULL; k++) {
			named |= dyn.d_tag == DT_SONAME;
			marked |= dyn.d_tag == DT_FLAGS_1 && (dyn.d_un.d_val & DF_1_PIE);
		}
	}
	return eh.e_type == ET_EXEC || marked || (interpreter && !named);
}

int elf_file_open(const char *path, const struct elf_want *want, struct elf_file *out)
{
	int err = file_open(path, out);

	if (!err && !is_wanted(out->elf, want)) {
		elf_file_close(out);
		err = -ESTALE;
	}
	return err;
}

int elf_file_symbols(struct elf_file *f, const struct elf_want *want, struct elf_symbols *out)
{
	struct reader r = { .out = out };
	int err;

	*out = (struct elf_symbols){ 0 };
	err = read_all(&r, f, want);
	if (err) {
		elf_symbols_free(out);
		return err;
	}
	out->names_len = r.names_len;
	out->is_program = is_program(f->elf);
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
	err = elf_file_symbols(&f, want, out);
	elf_file_close(&f);
	return err;
}

void elf_symbols_free(struct elf_symbols *s)
{
	free(s->v);
	free(s->names);
	*s = (struct elf_symbols){ 0 };
}
