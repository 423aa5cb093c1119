/* SPDX-License-Identifier: MIT */
/* error.h - errors in recordings: a text, the file and the offset */
#ifndef TRACEFUSE_SOURCES_RECORDING_ERROR_H
#define TRACEFUSE_SOURCES_RECORDING_ERROR_H

#include "sources/recording/source.h"

/* Fill *err, which may be NULL. Both return `ret`, so that a caller can return the call. */
int error_set(struct source_error *err, int ret, const char *file, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int error_set_at(struct source_error *err, int ret, const char *file, uint64_t offset,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif
