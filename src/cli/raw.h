/* SPDX-License-Identifier: MIT */
/*
 * raw.h - the records of one CPU as sub-buffers: all of them, or those of some times, of the live
 * buffer or of the snapshot
 */
#ifndef TRACEFUSE_CLI_RAW_H
#define TRACEFUSE_CLI_RAW_H

#include <stddef.h>
#include <stdint.h>

struct access;

/* Which records: those of the live buffer (0) or of the snapshot (1), from a time to a time. */
struct raw_part {
	int		snapshot;
	uint64_t	from, to;
};

/*
 * Gives the file's bytes to take(), piece by piece, until that returns non-zero. part: of the file
 * trace_raw; NULL: the file as it is. Returns what take() returned, 0, or -errno.
 */
int raw_stream(struct access *a, const char *path, const struct raw_part *part,
	       int (*take)(void *to, const char *buf, size_t n), void *to);

#endif
