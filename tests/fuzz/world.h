/* SPDX-License-Identifier: MIT */
/*
 * world.h - a session with one event of a field of each kind; for the fuzzers of texts that a record then meets
 *
 *     input:  text  0  record
 */
#ifndef TRACEFUSE_TESTS_FUZZ_WORLD_H
#define TRACEFUSE_TESTS_FUZZ_WORLD_H

#include <stddef.h>
#include <stdint.h>
#include "model/model.h"
#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORLD_CPUS = 4, WORLD_EVENT_ID = 100 };

/* The event "all": the fields that all have, then `more` of them from offset 48 on. */
#define WORLD_FORMAT(more)								\
	"name: all\nID: 100\nformat:\n"							\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"		\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"		\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"	\
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"			\
	"\tfield:s8 a;\toffset:8;\tsize:1;\tsigned:1;\n"				\
	"\tfield:u16 b;\toffset:10;\tsize:2;\tsigned:0;\n"				\
	"\tfield:int c;\toffset:12;\tsize:4;\tsigned:1;\n"				\
	"\tfield:u64 d;\toffset:16;\tsize:8;\tsigned:0;\n"				\
	"\tfield:char s[16];\toffset:24;\tsize:16;\tsigned:0;\n"			\
	"\tfield:__data_loc char[] y;\toffset:40;\tsize:4;\tsigned:0;\n"		\
	"\tfield:__rel_loc char[] r;\toffset:44;\tsize:4;\tsigned:0;\n"			\
	more "\nprint fmt: \"\"\n"

struct world {
	struct session	*session;
	struct model	*model;
	struct event	*event;
	struct slot	*slot;
};

/* Made at the first input; a process of libFuzzer has no last one. */
const struct world *world(const char *system, const char *format);
/* What the input retired is freed. */
void world_reclaim(const struct world *w);

struct input {
	char		*text;		/* the caller frees */
	const uint8_t	*record;
	size_t		size;		/* of the record: at most what the fuzzer takes */
};

struct input input_split(const uint8_t *data, size_t size, size_t record_max);

/* Hits of the event: the record at its full and at every shorter length, from memory of just that size. */
void world_hits(const struct world *w, const struct input *in);

#endif
