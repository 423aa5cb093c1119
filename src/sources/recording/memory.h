/* SPDX-License-Identifier: MIT */
/*
 * memory.h - how much memory a recording may take, whatever its bytes say
 *
 * A packed byte may become thousands, and one piece of a file may be named any
 * number of times. So each place where the file decides how much is allocated
 * takes it from here first.
 *
 *     all that a replay may take (--memory)
 *     +-------------------+-------------------------------------------------+
 *     | the recording: 1/4| the session: rings, maps, scratch               |
 *     | pieces, chunks,   |   +---------------------+---------------------+ |
 *     | symbols, formats, |   | rings of a buffer:  | of its snapshot:    | |
 *     | names             |   | at most 5/16        | at most 5/16        | |
 *     +-------------------+---+---------------------+---------------------+-+
 *
 * The files themselves are mapped: the system takes their pages back when it needs them.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_MEMORY_H
#define TRACEFUSE_SOURCES_RECORDING_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* How an error says that there is too little. */
#define SOURCE_MEMORY_TEXT "more than a recording may take: see --memory"

struct source_memory {
	uint64_t	limit;		/* of the recording's share */
	uint64_t	used;
};

/*
 * Half of the memory that the machine has, or the control group may have: what a replay may take
 * when nobody says.
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

/* Whether there is so much left; then it is taken. */
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
