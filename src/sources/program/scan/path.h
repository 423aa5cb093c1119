/* SPDX-License-Identifier: MIT */
/*
 * path.h - finds the file that a path names, or that of a DSO, and reads its code, in a process of
 * its own
 *
 *     server: probed_path --clone-> stat()                                (tracefs/path_look.h)
 *             is it a file that the server knows?
 *                         --fork--> else open(), headers, code.h
 *             probed_file <--pipe-- which file it is | segments | packed_code.h
 *
 * Each look at the path may take for ever, because its file system may not answer. The same holds
 * for each use of a descriptor, also for close(). So the server itself does none of it.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_SCAN_PATH_H
#define TRACEFUSE_SOURCES_PROGRAM_SCAN_PATH_H

#include "sources/program/probed.h"
#include "tracefs/printer.h"

/* Points wait for the file of a path. */
struct probed_path {
	struct list_head node;
	char		*path;		/* of a uprobe; NULL: it is the DSO's, of a kprobe */
	struct program_dso dso;
	struct program_owners owners;
	struct list_head *files;	/* those that the server knows */
	struct awaited	awaited;
	struct probed_file *found;
	struct elf_status status;	/* of what `path` led to */
	bool		looking;	/* only whether it is one of them */
	bool		looked;
	bool		again;		/* what was found was gone meanwhile */
};

/* inode: that of the file, as far as is known. NULL: no memory */
struct probed_path *probed_path_create(struct list_head *files, const char *path, uint64_t inode);
/* The same for a DSO. */
struct probed_path *probed_path_of_dso(struct programs *programs, struct list_head *files,
				       const struct program_dso *d);
void probed_path_destroy(struct probed_path *p);
/* 0; -errno: there can be no process. */
int probed_path_start(struct printers *ps, struct probed_path *p);
/* Finds it at once, where there can be no process. 0: p->found; -errno for reading_why() */
int probed_path_here(struct probed_path *p);
/* 1: it is still being looked for; 0: p->found; -EAGAIN: start again; -errno for reading_why() */
int probed_path_take(struct probed_path *p);

#endif
