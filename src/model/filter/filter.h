/* SPDX-License-Identifier: MIT */
/*
 * filter.h - the event filter language: parse, print, compile
 *
 * filter_parse() takes the text after `if`, or the text written to `filter`, and an event's fields.
 * On error it still returns a filter with the text and the caret, because the kernel's file shows
 * them. Such a filter has no code: filter_compile() returns 0, and it matches nothing.
 */
#ifndef TRACEFUSE_MODEL_FILTER_FILTER_H
#define TRACEFUSE_MODEL_FILTER_FILTER_H

#include "model/event/file.h"
#include "plane/code.h"

struct filter;

/*
 * Returns 0, or -errno; *out then has the text with its error (it may be NULL). `log`: where the
 * error goes (NULL: nowhere).
 */
int filter_parse(struct event *e, const char *text, struct errlog *log, struct filter **out);
void filter_destroy(struct filter *f);
/* The text that the file prints, with caret lines if it has an error */
const char *filter_text(const struct filter *f);

/*
 * Bytes of the code, 0 for a filter with an error; and how to write the code into memory of that
 * size.
 */
size_t filter_code_size(const struct filter *f);
void filter_write_code(const struct filter *f, struct code *out);

/* Writes the code into the config region. *out is 0 for a filter with an error. */
int filter_compile(struct model *m, struct filter *f, config_ref *out, size_t *size);

#endif
