/* SPDX-License-Identifier: MIT */
/*
 * memory.h - limits the memory of a recording, whatever sizes the file contains
 *
 * A packed byte may become thousands of bytes, and a file may refer to one piece any number of
 * times. So each allocation whose size depends on the file is first taken from this limit.
 *
 *     all that a replay may take (--memory)
 *     +-------------------+-------------------------------------------------+
 *     | the recording: 1/4| the session: rings, maps, scratch               |
 *     | pieces, chunks,   |   +---------------------+---------------------+ |
 *     | symbols, formats, |   | rings of a buffer:  | of its snapshot:    | |
 *     | names             |   | at most 5/16        | at most 5/16        | |
 *     +-------------------+---+---------------------+---------------------+-+
 *
 * The files themselves are mapped, so the system can free their pages at any time.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_MEMORY_H
#define TRACEFUSE_SOURCES_RECORDING_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* The text of errors about too little memory. */
#define SOURCE_MEMORY_TEXT "more than a recording may take: see --memory"

struct source_memory {
	uint64_t	limit;		/* the recording's share */
	uint64_t	used;
};

/*
 * The default limit of a replay: half of the memory that the machine has, or that the control group
 * allows.
 */
uint64_t source_memory_usual(void);

static inline struct source_memory source_memory_of(uint64_t all)
{
	return (struct source_memory){ .limit = (all ? all : source_memory_usual()) / 4 };
}

static inline uint64_t source_memory_session(uint64_t all)
{
	return (all ? all : source_memory_usual()) / 4 * 3;
}

static inline uint64_t source_memory_rings(uint64_t all)
{
	return (all ? all : source_memory_usual()) / 16 * 5;
}

/* Takes memory. False: so much is not left. */
static inline bool source_memory_take(struct source_memory *m, uint64_t bytes)
{
	if (bytes > m->limit - m->used)
		return false;
	m->used += bytes;
	return true;
}

static inline void source_memory_give(struct source_memory *m, uint64_t bytes)
{
	m->used -= bytes;
}

#endif
