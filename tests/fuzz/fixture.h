/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - a session with one event that has a field of each kind, for fuzzers of texts that are
 * then used on a record
 *
 *     input:  text  0  record
 */
#ifndef TRACEFUSE_TESTS_FUZZ_FIXTURE_H
#define TRACEFUSE_TESTS_FUZZ_FIXTURE_H

#include <stddef.h>
#include <stdint.h>
#include "../unit/format_text.h"
#include "model/model.h"
#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORLD_CPUS = 4, WORLD_EVENT_ID = 100 };

/*
 * The format of an event "all": the common fields, one of each kind, and `more` fields from offset
 * 48 on.
 */
#define EVENT_FORMAT(more)				\
	"name: all\nID: 100\n" COMMON			\
	FIELD("s8 a", 8, 1, 1)				\
	FIELD("u16 b", 10, 2, 0)			\
	FIELD("int c", 12, 4, 1)			\
	FIELD("u64 d", 16, 8, 0)			\
	FIELD("char s[16]", 24, 16, 0)			\
	FIELD("__data_loc char[] y", 40, 4, 0)		\
	FIELD("__rel_loc char[] r", 44, 4, 0)		\
	more "\nprint fmt: \"\"\n"

struct fixture {
	struct session	*session;
	struct model	*model;
	struct event	*event;
	struct slot	*slot;
};

/*
 * Makes the fixture at the first input. It is never freed, because libFuzzer does not tell which
 * input is the last.
 */
const struct fixture *fixture(const char *system, const char *format);
/* Frees everything that the input retired. */
void fixture_reclaim(const struct fixture *w);

struct input {
	char		*text;		/* the caller frees */
	const uint8_t	*record;
	/* Bytes of the record, at most so many as the fuzzer takes */
	size_t		size;
};

struct input input_split(const uint8_t *data, size_t size, size_t record_max);

/*
 * Makes hits of the event with the record at each length from 0 to its full one, in memory of
 * exactly that size.
 */
void fixture_hits(const struct fixture *w, const struct input *in);

#endif
