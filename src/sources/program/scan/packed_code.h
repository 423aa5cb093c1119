/* SPDX-License-Identifier: MIT */
/*
 * packed_code.h - what code_open() makes of a file, and the file's code, as bytes for a pipe
 *
 *     head | functions | sites | bytes and marks of each segment
 *
 * Who takes them apart trusts none of them, as in packed.h: plans that are made of false ones are
 * false, but they stay inside of the bytes.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_SCAN_PACKED_CODE_H
#define TRACEFUSE_SOURCES_PROGRAM_SCAN_PACKED_CODE_H

#include <stddef.h>
#include <stdio.h>

#include "elf/code/code.h"
#include "elf/sites.h"

/* f->nr_segments 0: the file has no code that is understood. 0, -EIO */
int packed_code_write(const struct code_file *f, const struct site *sites, size_t nr, FILE *out);
/*
 * Fills *f, which points into the bytes: they come from malloc(), and stay. It has no image. The
 * caller frees *sites, which is NULL if there are none. 0; -EPROTO: something is wrong; -ENOMEM
 */
int packed_code_read(void *bytes, size_t size, struct code_file *f, struct site **sites,
		     size_t *nr);

#endif
