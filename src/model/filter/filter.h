/* SPDX-License-Identifier: MIT */
/*
 * filter.h - the event filter language: parse, print, compile
 *
 * filter_parse() takes the text after `if`, or what was written to `filter`,
 * and an event's fields. On error it still returns a filter that keeps the
 * text and the caret, because the kernel keeps it readable in the file; such a
 * filter has no code (filter_compile gives 0 and it matches nothing).
 */
#ifndef TRACEFUSE_MODEL_FILTER_FILTER_H
#define TRACEFUSE_MODEL_FILTER_FILTER_H

#include "model/event/file.h"
#include "plane/code.h"

struct filter;

/*
 * Returns 0, or -errno with *out (may be NULL then) holding the text with its
 * error. `log`: where the error goes (NULL: nowhere).
 */
int filter_parse(struct event *e, const char *text, struct errlog *log, struct filter **out);
void filter_destroy(struct filter *f);
/* what the file prints, with caret lines when in error */
const char *filter_text(const struct filter *f);

/*
 * Bytes of the program, 0 for a filter in error; and the program itself into memory of that size.
 */
size_t filter_program_size(const struct filter *f);
void filter_write_program(const struct filter *f, struct code *out);

/* Writes the program into the config region; *out is 0 for a filter in error. */
int filter_compile(struct model *m, struct filter *f, config_ref *out, size_t *size);

#endif
