/* SPDX-License-Identifier: MIT */
/* stream.h - inside the drain process: instances, and a file of pages for each of their CPUs */
#ifndef TRACEFUSE_CLI_DRAIN_STREAM_H
#define TRACEFUSE_CLI_DRAIN_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access;
struct access_file;
struct drain_page;
struct output;

/* The pages of a CPU. */
struct stream_cpu {
	int		fd;		/* negative: no page yet */
	uint64_t	size;		/* bytes that the server knows to be written */
	uint64_t	written;	/* with those of the last answer */
	struct access_file *raw;	/* trace_pipe_raw; NULL: not needed yet */
};

struct stream_instance {
	char		*name;		/* "": the top */
	struct access_file *pages;	/* NULL: it is gone */
	bool		removed;	/* it was removed: one of its name is another one */
	bool		overwrote;	/* its option overwrite was on before */
	uint32_t	subbuf_size;	/* of its pages; 0: not known yet */
	char		*page;		/* one page, for pages that are merged */
	char		*zeros;		/* as many */
	struct stream_cpu *cpus;
};

struct streams {
	struct access	*access;
	const char	*file;		/* -o, for messages */
	struct output	*out;
	const char	*data;		/* the session's data region */
	size_t		data_size;
	uint32_t	nr_cpus;
	struct stream_instance *instances;
	unsigned int	nr;
	void		*answer;	/* what trace_pages says */
	bool		behind;		/* as the last round's answers say: drain_answer */
	bool		stopped;	/* an error was printed: nothing more is drained */
	uint64_t	unwritten;	/* records that were taken and could not be written */
};

/* ---- stream.c ---- */

/* Opens instances that are new. 0 or -errno */
int streams_find(struct streams *s);
/* Closes a file of the session, if it is open. */
void streams_close(struct access_file **f);
/* Closes the session's files, not those with pages: the server is gone, or all is drained. */
void streams_let_go(struct streams *s);
/* The end of draining: full rings overwrite again where they did before. */
void streams_overwrite_again(struct streams *s);
/* The file of a CPU's pages, made when it is needed. -errno */
int stream_file(struct streams *s, struct stream_cpu *c);
/*
 * The pages of the last answer stay in the files, too, though no answer will say that they were
 * taken. Full rings drop new records, so nothing was overwritten meanwhile.
 */
void streams_keep(struct streams *s);
/* Prints why no more is drained. Returns -errno. */
int streams_stop(struct streams *s, int err);
/*
 * For the exporter: the pages of per_cpu/cpuN/trace_raw. What take() has got is freed on disk, so
 * that the whole takes no more room than its pages.
 */
int streams_give(struct streams *s, const char *path,
		 int (*take)(void *to, const char *buf, size_t n), void *to);
/* How many bytes these are, of all CPUs. */
uint64_t streams_bytes(const struct streams *s);

/* ---- pages.c ---- */

/*
 * Writes the pages that all instances have now. Returns how many; -EPIPE: the server is gone;
 * another -errno was printed.
 */
int64_t streams_round(struct streams *s);
/* The same for what is on pages that are not full, too. */
int64_t streams_rest(struct streams *s);
/* How many records the buffers have that are in no file. Before streams_keep(). */
uint64_t streams_left(struct streams *s);

#endif
