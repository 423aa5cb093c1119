/* SPDX-License-Identifier: MIT */
/* ftrace_edit.h - writes a file of functions as a shell does */
#ifndef TESTS_UNIT_MODEL_FTRACE_EDIT_H
#define TESTS_UNIT_MODEL_FTRACE_EDIT_H

#include <string.h>
#include "model/ftrace/ftrace.h"

/* echo TEXT > FILE (or >>). Returns 0 or the error of the write. */
static inline int edit(struct instance *inst, enum ftrace_file file, bool truncate,
		       const char *text)
{
	struct ftrace_edit *e = ftrace_edit_open(inst, file, truncate);
	size_t len = strlen(text), off = 0;
	ssize_t n = 0;

	while (off < len && (n = ftrace_edit_write(e, text + off, len - off, false)) > 0)
		off += (size_t)n;
	ftrace_edit_close(e);
	return n < 0 ? (int)n : 0;
}

#endif
