/* SPDX-License-Identifier: MIT */
/*
 * hist_fixture.h - shared by the tests of src/model/hist: commands for an event, hits, checks of
 * files
 *
 * It uses the events of tests/unit/model/fixture.h, with one private session for each test.
 */
#ifndef TRACEFUSE_TESTS_HIST_FIXTURE_H
#define TRACEFUSE_TESTS_HIST_FIXTURE_H

#include "fixture.h"
#include "model/hist/hist.h"
#include "plane/plane.h"

/* Writes a line to the file `trigger` of an event in the top instance. */
int command(struct event *e, const char *text);
struct event_file *top_file(struct event *e);

/* Makes a hit with the record, of the task "comm" on CPU 0 at `time`. */
void hit_record(struct fixture *f, const void *record, size_t size, uint64_t time,
		const char *comm);
/* Makes a hit of test:all with s32 and u64; the other fields are as in fixture_record(). */
void hit_all(struct fixture *f, int32_t s32, uint64_t u64);

/* Checks only the entries of `hist`: the lines that begin with "{", of all hists of the event. */
#define assert_entries(e, expected) do {					\
	char *entries_ = entries_of(e);						\
	assert_string_equal(entries_, expected);				\
	free(entries_);								\
} while (0)
char *entries_of(struct event *e);

/* Checks the triggers of the event as the file `trigger` lists them. */
#define assert_triggers(e, expected) \
	assert_prints(event_file_trigger_print(top_file(e), out), expected)

/*
 * Checks that the command is refused with `err`, and that the newest entry of error_log has `text`
 * and the caret at `at`.
 */
void assert_refused(struct fixture *f, struct event *e, const char *cmd, int err, const char *text,
		    int at);

#endif
