/* SPDX-License-Identifier: MIT */
/* error.c - see error.h */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "sources/recording/error.h"

static void fill(struct source_error *err, const char *file, const char *fmt, va_list args)
{
	snprintf(err->file, sizeof(err->file), "%s", file);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	/* Words of a file may have any bytes. */
	for (char *c = err->text; *c; c++)
		if (((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') || *c == 0x7f)
			*c = '?';
	err->located = false;
	err->offset = 0;
}

int error_set(struct source_error *err, int ret, const char *file, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return ret;
	va_start(args, fmt);
	fill(err, file, fmt, args);
	va_end(args);
	return ret;
}

int error_set_at(struct source_error *err, int ret, const char *file, uint64_t offset,
		 const char *fmt, ...)
{
	va_list args;

	if (!err)
		return ret;
	va_start(args, fmt);
	fill(err, file, fmt, args);
	va_end(args);
	err->located = true;
	err->offset = offset;
	return ret;
}

void source_error_print(const struct source_error *err, FILE *out)
{
	if (err->file[0])
		fprintf(out, "%s: ", err->file);
	fputs(err->text, out);
	if (err->located)
		fprintf(out, " (at offset %" PRIu64 ")", err->offset);
}
