/* SPDX-License-Identifier: MIT */
/*
 * file.h - what the server reads from the file of a DSO: its identity, its symbols, its sites
 *
 *     path -> file.c: the bytes that are asked for -> image.h -> symbols.c, sites.c, names.c
 *             debug_file.c: the file that has what was stripped from it
 *
 * The path came from a traced program, so the file may contain anything. It is read by pread() and
 * never mapped, so truncating it does no harm. Each byte is read at most once, so checked bytes do
 * not change.
 */
#ifndef TRACEFUSE_ELF_FILE_H
#define TRACEFUSE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "elf/image.h"

enum { ELF_SEGMENT_MAX = 1 << 20 };	/* bytes of notes, or of a dynamic section, that are read */

/* The DSO as the program describes it (struct dso_entry). */
struct elf_want {
	const uint8_t	*id;		/* build-id, or a hash of number, size and time */
	uint32_t	id_len;
	uint64_t	load, size;	/* lowest mapped address, bytes mapped */
};

/* Which file a path led to. inode 0: not known */
struct elf_status {
	uint64_t	device, inode;
	int64_t		bytes;
	struct timespec	mtime;
};

static inline struct elf_status elf_status_of(const struct stat *st)
{
	return (struct elf_status){ .device = st->st_dev, .inode = st->st_ino,
				    .bytes = st->st_size, .mtime = st->st_mtim };
}

/*
 * Whether it is another file, or has other bytes. Of a file that is unlinked and made again the
 * number can be the same, and some file systems of FUSE give a file a new number each time.
 */
static inline bool elf_status_changed(const struct elf_status *a, const struct elf_status *b)
{
	return a->bytes != b->bytes || a->mtime.tv_sec != b->mtime.tv_sec ||
	       a->mtime.tv_nsec != b->mtime.tv_nsec;
}

/* Reads the file if it is the right one. 0, or -errno. */
typedef int (*elf_reader)(const char *path, const struct elf_want *want, void *out);

/* An open file. It must not be moved, because its image points to it. */
struct elf_file {
	struct image	image;
	int		fd;
	struct stat	status;		/* before anything was read */
	uint8_t		*has;		/* a bit for each block that is read */
	uint64_t	taken;		/* bytes that are read */
	uint64_t	asked;		/* requests for blocks, repeated ones included */
	int		err;		/* why some bytes could not be read */
};

/* want NULL: any file. -EINVAL: it is no ELF file; -ESTALE: it is not the DSO that is wanted. */
int elf_file_open(const char *path, const struct elf_want *want, struct elf_file *out);
void elf_file_close(struct elf_file *f);

/* ---- debug_file.c ---- */

/*
 * Opens the file that has the symbols and the debug information of a stripped file. 0; -ENOENT: no
 * such file is installed.
 */
int elf_file_open_debug(const struct elf_file *f, struct elf_file *out);
/* The build-id; NULL: it has none. */
const uint8_t *elf_build_id(const struct image *im, size_t *len);
/* Where distributions install the debug file of a build-id. False: it is no such id. */
bool elf_debug_path(const uint8_t *id, size_t len, char *out, size_t size);

/* ---- symbols.c ---- */

/* What is behind the name of an IFUNC. */
#define ELF_RESOLVER ".resolver"

struct elf_symbol {
	uint64_t	value, size;
	uint32_t	name;		/* offset in names */
	char		type;		/* as nm has it */
	bool		old;		/* a version that programs linked today do not get */
	bool		chooses;	/* an IFUNC: it returns the function that is meant */
	bool		untyped;	/* neither function nor object, as labels of assembly are */
};

struct elf_symbols {
	/* In order of value; of aliases the best name comes first */
	struct elf_symbol *v;
	size_t		nr;
	char		*names;
	size_t		names_len;
	bool		is_program;	/* else a library */
};

/*
 * Reads the symbols of the file. If it has only those of .dynsym, and its debug file is installed,
 * reads the debug file's. 0, also if there are no symbols; -ESTALE: it is not the DSO that is
 * wanted; -ENOENT; -EINVAL: no ELF file; -ENOMEM. The caller frees with elf_symbols_free(). want
 * NULL: any file.
 */
int elf_symbols_read(const char *path, const struct elf_want *want, struct elf_symbols *out);
int elf_symbols_of(struct elf_file *f, struct elf_symbols *out);
void elf_symbols_free(struct elf_symbols *s);
/* Sorts the symbols. */
void elf_symbols_sort(struct elf_symbols *s);

/* ---- functions.c ---- */

/* A function of a file. */
struct elf_function {
	uint64_t	address;	/* as the file's symbols have it */
	uint64_t	offset;		/* in the file */
	uint64_t	size;		/* 0: the symbol does not say */
	bool		chooses;	/* an IFUNC: it returns the function that is meant */
	unsigned int	others;		/* functions of that name that it could be as well */
};

/* The functions of the file that was asked for last. */
struct elf_functions;

/*
 * The function that a symbol of the file names: of several, one of the version that programs are
 * linked with, and one that other files see, if there are such. Of an IFUNC it is the resolver. 0;
 * -ENOENT: there is no such symbol of a function; -EINVAL: no ELF file; -ENOMEM ... *kept (at first
 * NULL; the caller frees it) spares reading the file for the next function.
 */
int elf_functions_find(struct elf_functions **kept, const char *path, const char *name,
		       struct elf_function *out);
void elf_functions_free(struct elf_functions *k);
/* The same for one function. */
int elf_function_find(const char *path, const char *name, struct elf_function *out);

/*
 * The functions that an IFUNC may stand for, as words of a list: a name that leads to the function,
 * or the offset in the file. NULL: none is known, or no memory; the caller frees.
 */
char *elf_functions_choices(const struct elf_functions *k, const char *path,
			    const struct elf_function *f);

/* ---- choices.c ---- */

enum { ELF_CHOICES = 24 };

/* The addresses of functions that the resolver takes; returns how many. */
size_t elf_choices(const char *path, const struct elf_function *f, uint64_t out[ELF_CHOICES]);

/* ---- sites.c ---- */

struct elf_sites {
	struct site	*v;		/* as in elf/sites.h; programs find the same list */
	size_t		nr;
	/*
	 * Symbols of a file with sites. Functions without a symbol in the file have one here, too.
	 */
	struct elf_symbols symbols;
};

/*
 * Like elf_symbols_read(). It reads little of a file without sites. The caller frees with
 * elf_sites_free().
 */
int elf_sites_read(const char *path, const struct elf_want *want, struct elf_sites *out);
/* The same for a file without sites: those of moved code (elf/moved.h). */
int elf_moved_read(const char *path, const struct elf_want *want, struct elf_sites *out);
void elf_sites_free(struct elf_sites *s);

/* ---- names.c ---- */

/* Finds the function symbol of each address, for addresses in ascending order. NULL: none. */
struct elf_walk {
	const struct elf_symbols *symbols;
	size_t		next;
	const struct elf_symbol *last;
};

const struct elf_symbol *elf_walk_to(struct elf_walk *w, uint64_t at);

struct site;
/* Adds a symbol "sub_ADDRESS" for each function with a site that has none. 0, -ENOMEM */
int elf_names_make(const struct image *im, const struct site *sites, size_t nr,
		   struct elf_symbols *symbols);

#endif
