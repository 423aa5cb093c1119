/* SPDX-License-Identifier: MIT */
/*
 * notes.h - looks for notes of USDT in the files that processes have mapped, in a process of its
 * own
 *
 *     server: notes_start() --fork--> /proc/PID/maps -> each file that was not seen -> its notes
 *             notes_take()  <--pipe-- a part for each file: notes_next()
 *
 * A program is looked at when it begins, and waits for that. Most programs have no such notes, and
 * many live for a moment. So what was seen is remembered.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_SCAN_NOTES_H
#define TRACEFUSE_SOURCES_PROGRAM_SCAN_NOTES_H

#include "elf/code/code.h"
#include "session/attach/attach.h"
#include "sources/program/probed.h"

enum { NOTES_SEEN = 4096 };		/* files and programs; a power of two */

/* Hashes of what was seen, and whether it has notes. */
struct notes_seen {
	uint64_t	v[NOTES_SEEN];	/* 0: free */
	unsigned int	nr;
};

enum notes_answer { NOTES_UNSEEN, NOTES_NONE, NOTES_SOME };

/* The hash of a program, by attach_file_key(). */
uint64_t notes_hash_program(uint64_t key);
enum notes_answer notes_of(const struct notes_seen *seen, uint64_t hash);
void notes_see(struct notes_seen *seen, uint64_t hash, bool some);

/* Processes that are looked at. */
struct notes_search {
	struct list_head node;
	struct attach_peer peer;	/* who waits; process 0: nobody */
	uint64_t	program;	/* attach_request.program; 0: not known */
	pid_t		*pids;
	size_t		nr;
	const struct notes_seen *seen;
	const char	*own_mounts;	/* where this process would wait for itself */
	struct reading	reading;
};

/* 0; -errno: there can be no process. */
int notes_start(struct printers *ps, struct notes_search *s);
/* The same at once, where there can be no process. 0, -errno. Then the reading has ended. */
int notes_here(struct notes_search *s);

enum notes_kind {
	NOTES_AT,		/* the path is going to be looked at */
	NOTES_PROGRAM,		/* all files of a program were; hash: of the program */
	NOTES_KNOWN,		/* a file that was seen */
	NOTES_FILE,		/* one that was not; nr 0: it has no notes, and no more is said */
};

/* A part of what the process has said. */
struct notes_part {
	enum notes_kind	kind;
	uint64_t	hash;
	const char	*path;		/* as the process that has mapped it sees it */
	uint32_t	pid;
	struct probed_is is;
	const Elf64_Phdr *phdrs;
	unsigned int	nr_phdrs;
	const char	*texts;		/* of the notes, texts_size bytes */
	size_t		texts_size;
	size_t		nr;
	size_t		at;		/* of the first note */
};

/*
 * Takes the part at *from apart, and steps over it. False: there is none, or it makes no sense. The
 * bytes are not trusted.
 */
bool notes_next(const struct reading *r, size_t *from, struct notes_part *out);
/* Note number i. Its texts begin at `texts`, which may be a copy. */
struct code_note notes_note(const struct reading *r, const struct notes_part *part, size_t i,
			    const char *texts);

#endif
