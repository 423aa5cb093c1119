/* SPDX-License-Identifier: MIT */
/*
 * format.h - the text of a static event's format file
 */
#ifndef TRACEFUSE_AGENT_EMIT_FORMAT_H
#define TRACEFUSE_AGENT_EMIT_FORMAT_H

#include <stdbool.h>
#include "tracefuse/base.h"

/* A text that grows in its caller's memory. It ends in a 0; `full`: it did not fit. */
struct text {
	char	*at;
	size_t	len, room;
	bool	full;
};

/* The constants of a DSO. */
struct enums {
	struct tf_enum **start, **end;
};

void text_add(struct text *t, const char *s, size_t len);
void text_number(struct text *t, int64_t value);
/* The body of struct attach_definition. False: it did not fit. */
bool format_body(struct text *t, const struct tf_event *ev, const struct enums *e);

#endif
