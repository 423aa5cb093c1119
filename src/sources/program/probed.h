/* SPDX-License-Identifier: MIT */
/*
 * probed.h - private to the source of running programs: files with probes, and where these stand
 *
 *     path of a uprobe, DSO of a kprobe -> scan/path.h -+-> probed_file: identity,
 *     files of a program -> scan/notes.h, scan/code.h  -+   code -> probed_plan() of each place
 *
 * The server opens none of these files: their disks may not answer. A file is kept while a probe
 * names it, and a few others are for probes that are armed again.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_PROBED_H
#define TRACEFUSE_SOURCES_PROGRAM_PROBED_H

#include "elf/code/code.h"
#include "elf/file.h"
#include "model/lookup.h"
#include "sources/program/programs_state.h"
#include "tracefs/reading.h"

/* A place that was planned. It keeps its bytes until probed_forget(). */
struct probed_place {
	struct lookup_node node;	/* in probed_file.by_address */
	struct list_head in_file;	/* probed_file.places, or .idle */
	uint64_t	at;
	size_t		nr_points;	/* that stand there */
	struct probe_plan plan;
};

struct point_block;

/* Which file it is. */
struct probed_is {
	struct elf_status status;
	struct timespec	ctime;
	uint64_t	low, size;	/* first mapped address, a page's begin; mapped bytes */
	uint8_t		id[sizeof(((struct probe_file *)0)->id)];
	uint32_t	id_len;
};

/* A process of its own reads a file. Points wait for that, and commands. */
struct awaited {
	struct list_head node;		/* in program_probes.awaited; in itself: nobody waits */
	struct reading	reading;
	uint64_t	inode;		/* the file's; 0: not known */
	uint64_t	waiters;	/* commands, a bit each: program_probes_asked() */
	bool		wanted;		/* plan_points(): a point that waits was met */
	const char	*why;		/* it could not be read just now; NULL: it could */
};

struct probed_file {
	struct list_head node;
	char		*path;		/* as it was first named */
	pid_t		pid;		/* a process that sees it there; 0: the server does */
	struct probed_is is;
	Elf64_Phdr	*phdrs;
	unsigned int	nr_phdrs;
	struct awaited	code_awaited;
	bool		read;
	/* As it was read; no segment: there is no code. */
	struct code_file code;
	void		*memory;	/* of code */
	struct site	*sites;		/* the compiler's */
	size_t		nr_sites;
	struct list_head places;	/* struct probed_place with points */
	struct list_head idle;		/* those without */
	struct lookup	by_address;	/* all of them */

	/* probes.c */
	size_t		nr_points;	/* that were found in it */
	bool		needed;		/* by these, or by those that are being collected */
	bool		has_notes;	/* of USDT: it stays */
	char		*texts;		/* of the notes; NULL: it has none */
	/* points.c */
	uint32_t	number;		/* 1 + probe_file.number; 0: none yet */
	struct point_block *blocks;	/* POINT_BLOCKS of them; NULL: it has no points */
	uint32_t	nr_blocks;	/* those that programs read */
};

/* Reads what tells the file from others. 0, -errno */
int probed_identify(const struct elf_file *file, struct probed_is *out);
bool probed_is_same(const struct probed_is *a, const struct probed_is *b);
/* The file of the list that this is. NULL: there is none that is not stale. */
struct probed_file *probed_same(const struct list_head *list, const struct probed_is *is);
/* The same for what stat() says, without its build-id. */
struct probed_file *probed_find(const struct list_head *list, const struct stat *st);
/* Closes files of the list that have changed since they were read, and that no probe needs. */
void probed_close_stale(struct list_head *list, const struct probed_is *is);
/* A file that is not in the list yet. NULL: no memory */
struct probed_file *probed_add(struct list_head *list, const char *path, const struct probed_is *is,
			       const Elf64_Phdr *phdrs, unsigned int nr_phdrs);

void probed_close(struct probed_file *f);

/* The place stays planned for one more point. NULL: it was not planned before. */
struct probed_place *probed_keep(struct probed_file *f, uint64_t at);
/* Plans a place for its first point, in a file that is read. NULL: no memory */
struct probed_place *probed_plan(struct probed_file *f, uint64_t at);
/* What was planned; is_return: for the return of the function that begins there. */
void probed_plan_of(const struct probed_file *f, const struct probed_place *p, bool is_return,
		    struct probe_plan *out);
/* One point less. The place keeps its bytes until probed_forget(). */
void probed_leave(struct probed_file *f, struct probed_place *p);
/* Gives back the bytes of places without points. */
void probed_forget(struct probed_file *f);

/* The p_vaddr of a byte of the file. False: it is not loaded, or not where code is. */
bool probed_at_offset(const struct probed_file *f, uint64_t offset, bool is_code, uint64_t *at);

#endif
