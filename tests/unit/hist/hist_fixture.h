/* SPDX-License-Identifier: MIT */
/*
 * hist_fixture.h - what the tests of src/model/hist share: commands to an event, hits, what the
 * files say
 *
 * On top of tests/unit/model/fixture.h: its events, one private session a test.
 */
#ifndef TRACEFUSE_TESTS_HIST_FIXTURE_H
#define TRACEFUSE_TESTS_HIST_FIXTURE_H

#include "fixture.h"
#include "model/hist/hist.h"
#include "plane/plane.h"

/* One line to the file `trigger` of an event in the top instance. */
int command(struct event *e, const char *text);
struct event_file *top_file(struct event *e);

/* The record as a hit of the task "comm" on CPU 0 at `time`. */
void hit_record(struct fixture *f, const void *record, size_t size, uint64_t time,
		const char *comm);
/* A hit of test:all: s32 and u64, the rest as fixture_record() has it. */
void hit_all(struct fixture *f, int32_t s32, uint64_t u64);

/* The entries of `hist` alone: the lines that begin with "{", of all hists of the event. */
#define assert_entries(e, expected) do {					\
	char *entries_ = entries_of(e);						\
	assert_string_equal(entries_, expected);				\
	free(entries_);								\
} while (0)
char *entries_of(struct event *e);

/* The triggers of the event as the file `trigger` lists them. */
#define assert_triggers(e, expected) \
	assert_prints(event_file_trigger_print(top_file(e), out), expected)

/*
 * The command is refused with `err` and the newest error_log entry says `text` with the caret at
 * `at`.
 */
void assert_refused(struct fixture *f, struct event *e, const char *cmd, int err, const char *text,
		    int at);

#endif
