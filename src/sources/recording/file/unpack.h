/* SPDX-License-Identifier: MIT */
/*
 * unpack.h - decompression of a recording's blocks (version 7: zlib, zstd)
 *
 * An unpacker belongs to one thread and is used for one block after another.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_UNPACK_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

struct unpacker;

enum {
	/* A block that is larger than this when unpacked counts as damaged. */
	UNPACK_MAX = 256 << 20,
};

/* `algorithm`: as in the file's header. -ENOTSUP: unknown. */
int unpacker_create(const char *algorithm, struct unpacker **out);
void unpacker_destroy(struct unpacker *u);
bool unpacker_knows(const char *algorithm);

/* Unpacks one block into exactly out_size bytes. -EPROTO: it has another size. */
int unpacker_run(struct unpacker *u, const void *in, size_t in_size, void *out, size_t out_size);

#endif
