/* SPDX-License-Identifier: MIT */
/*
 * probed.h - private to the source of running programs: files with probes, and where these stand
 *
 *     path, or a DSO of the table -> probed_file: identity, code -> probed_plan() of each place
 *
 * A file stays open while a probe names it, and a few others do for probes that are armed again.
 * Its code is read when the first probe is planned.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_PROBED_H
#define TRACEFUSE_SOURCES_PROGRAM_PROBED_H

#include "elf/code/code.h"
#include "elf/file.h"
#include "model/lookup.h"
#include "sources/program/programs_state.h"

/* A place that was planned. It keeps its bytes until probed_forget(). */
struct probed_place {
	struct lookup_node node;	/* in probed_file.by_address */
	struct list_head in_file;
	uint64_t	at;
	bool		needed;		/* by the points that are being collected */
	struct probe_plan plan;
};

struct probed_file {
	struct list_head node;
	char		*path;		/* as it was first named */
	struct elf_file	file;
	uint64_t	device, inode;
	uint64_t	low, size;	/* first mapped address, a page's begin; mapped bytes */
	uint8_t		id[sizeof(((struct probe_file *)0)->id)];
	uint32_t	id_len;
	struct code_file code;
	void		*memory;	/* of code; NULL: not read yet, or there is no code */
	bool		read;
	struct site	*sites;		/* the compiler's */
	size_t		nr_sites;
	struct list_head places;	/* struct probed_place */
	struct lookup	by_address;	/* the same */

	/* probes.c */
	uint32_t	number;		/* 1 + its number in the table; 0: none yet */
	bool		needed;
	bool		has_notes;	/* of USDT: it stays open */
	config_ref	block;		/* struct probe_file, with its codes; 0: none */
	size_t		block_size;
	char		*relative;	/* a copy of it, with references from its own start */
};

/*
 * 0, or -errno. A file that is in `list` already is not opened again, unless it has changed and no
 * probe needs it.
 */
int probed_open(struct list_head *list, const char *path, struct probed_file **out);
int probed_open_dso(struct programs *p, struct list_head *list, const struct program_dso *d,
		    struct probed_file **out);
void probed_close(struct probed_file *f);
/* The file that was first named `path` is better known as `name`. */
void probed_rename(struct probed_file *f, const char *path, const char *name);

/* Plans a probe, or one of the return of the function that begins there. 0, -ENOMEM */
int probed_plan(struct probed_file *f, uint64_t at, bool is_return, struct probe_plan *out);
/* The place is needed. False: it was not planned before. */
bool probed_need(struct probed_file *f, uint64_t at);
/* Gives back the bytes of places that are not needed. */
void probed_forget(struct probed_file *f);

/* The p_vaddr of a byte of the file. False: it is not loaded, or not where code is. */
bool probed_at_offset(const struct probed_file *f, uint64_t offset, bool is_code, uint64_t *at);

#endif
