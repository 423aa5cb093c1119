/* SPDX-License-Identifier: MIT */
/* text_memory.h - a FILE that prints into memory, and says when the memory was not enough */
#ifndef TRACEFUSE_MODEL_TEXT_MEMORY_H
#define TRACEFUSE_MODEL_TEXT_MEMORY_H

#include <stdio.h>

/*
 * As open_memstream(), with two differences. *text and *size are set by fclose() alone; the caller
 * frees the text. When something that was printed found no memory, fclose() returns EOF with ENOMEM
 * and *text is NULL, *size 0. NULL: no memory for the stream.
 */
FILE *text_memory_open(char **text, size_t *size);

#endif
