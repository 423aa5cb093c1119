/* SPDX-License-Identifier: MIT */
/* text_memory.h - a FILE that prints into memory, and reports when memory is exhausted */
#ifndef TRACEFUSE_MODEL_TEXT_MEMORY_H
#define TRACEFUSE_MODEL_TEXT_MEMORY_H

#include <stdio.h>

/*
 * As open_memstream(), with two differences. Only fclose() sets *text and *size; the caller frees
 * the text. If memory was exhausted for some part of it, fclose() returns EOF with ENOMEM, *text is
 * NULL and *size is 0. NULL: no memory for the stream.
 */
FILE *text_memory_open(char **text, size_t *size);

#endif
