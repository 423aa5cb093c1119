/* SPDX-License-Identifier: MIT */
/*
 * sites.c - the sites of one ELF file, found as the program itself finds them
 *
 * sites_find() wants the file in memory. Of a large one most is debug
 * information, so only what is mapped at run time is read, and the headers; the
 * rest are zeros that take no memory.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/sites.h"
#include "elf/elf.h"

#define IMAGE_MAX (4ull << 30)		/* bytes that are read */

struct image {
	char		*bytes;
	size_t		size;
	uint64_t	taken;		/* of IMAGE_MAX */
};

/* ---- Whether it may have some ---- */

static bool is_list(const char *section)
{
	return section && (!strcmp(section, "__patchable_function_entries") || !strcmp(section, "__mcount_loc"));
}

static bool is_call(const char *symbol)
{
	return symbol && (!strcmp(symbol, "__fentry__") || !strcmp(symbol, "mcount") || !strcmp(symbol, "_mcount"));
}

static bool needs_call(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_table_fits(elf, sh) ? elf_getdata(scn, NULL) : NULL;
	GElf_Sym sym;

	for (size_t i = 1; data && sh->sh_entsize && i < sh->sh_size / sh->sh_entsize; i++)
		if (gelf_getsym(data, (int)i, &sym) && sym.st_shndx == SHN_UNDEF &&
		    is_call(elf_strptr(elf, sh->sh_link, sym.st_name)))
			return true;
	return false;
}

static bool may_have(Elf *elf)
{
	Elf_Scn *scn = NULL;
	bool looked = false;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &names) || !elf_section_fits(elf, names))
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		if (is_list(elf_strptr(elf, names, sh.sh_name)))
			return true;
		if (sh.sh_type != SHT_DYNSYM || looked)
			continue;
		looked = true;
		if (needs_call(elf, scn, &sh))
			return true;
	}
	return false;
}

/* ---- Its contents ---- */

static int image_take(struct image *im, int fd, uint64_t off, uint64_t len)
{
	if (off > im->size || len > im->size - off)
		return -EINVAL;
	im->taken += len;
	if (im->taken > IMAGE_MAX)
		return -E2BIG;
	while (len) {
		ssize_t n = pread(fd, im->bytes + off, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EINVAL;
		off += (uint64_t)n;
		len -= (uint64_t)n;
	}
	return 0;
}

static int image_fill(struct image *im, int fd)
{
	const Elf64_Phdr *ph;
	const Elf64_Shdr *sh;
	Elf64_Ehdr h;
	int err = image_take(im, fd, 0, sizeof(h));

	/* A copy: a segment that holds the headers is read over them, and the file may be another one by then. */
	memcpy(&h, im->bytes, sizeof(h));
	if (err || memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phoff % 8 ||
	    h.e_shoff % 8 || h.e_shstrndx >= h.e_shnum)
		return err ? err : -EINVAL;
	err = image_take(im, fd, h.e_phoff, h.e_phnum * sizeof(*ph));
	if (!err)
		err = image_take(im, fd, h.e_shoff, h.e_shnum * sizeof(*sh));
	ph = (const Elf64_Phdr *)(im->bytes + h.e_phoff);
	sh = (const Elf64_Shdr *)(im->bytes + h.e_shoff) + h.e_shstrndx;
	if (!err)
		err = image_take(im, fd, sh->sh_offset, sh->sh_size);
	for (unsigned int i = 0; !err && i < h.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			err = image_take(im, fd, ph[i].p_offset, ph[i].p_filesz);
	return err;
}

static int image_read(struct image *im, int fd)
{
	struct stat st;
	void *at;
	int err;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -EINVAL;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	*im = (struct image){ .bytes = at, .size = (size_t)st.st_size };
	err = image_fill(im, fd);
	if (err)
		munmap(im->bytes, im->size);
	return err;
}

static int find(struct elf_sites *out, const struct image *im)
{
	size_t room = sites_find(im->bytes, im->size, NULL, 0);

	if (!room)
		return 0;
	out->v = calloc(room, sizeof(*out->v));
	if (!out->v)
		return -ENOMEM;
	out->nr = sites_find(im->bytes, im->size, out->v, room);
	return 0;
}

static int read_all(struct elf_sites *out, struct elf_file *f, const struct elf_want *want)
{
	struct image im;
	int err = image_read(&im, f->fd);

	if (err)
		return err;
	err = find(out, &im);
	if (!err && out->nr)
		err = elf_file_symbols(f, want, &out->symbols);
	if (!err && out->nr)
		err = elf_names_make(im.bytes, im.size, out->v, out->nr, &out->symbols);
	munmap(im.bytes, im.size);
	return err;
}

int elf_sites_read(const char *path, const struct elf_want *want, struct elf_sites *out)
{
	struct elf_file f;
	int err = elf_file_open(path, want, &f);

	*out = (struct elf_sites){ 0 };
	if (err)
		return err;
	if (may_have(f.elf))
		err = read_all(out, &f, want);
	elf_file_close(&f);
	if (err)
		elf_sites_free(out);
	return err;
}

void elf_sites_free(struct elf_sites *s)
{
	free(s->v);
	elf_symbols_free(&s->symbols);
	*s = (struct elf_sites){ 0 };
}
