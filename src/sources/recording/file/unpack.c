/* SPDX-License-Identifier: MIT */
/* unpack.c - see unpack.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "sources/recording/file/unpack.h"

struct unpacker {
	int		(*run)(struct unpacker *u, const void *in, size_t in_size, void *out,
			       size_t out_size);
	ZSTD_DCtx	*zstd;
};

static int run_zstd(struct unpacker *u, const void *in, size_t in_size, void *out, size_t out_size)
{
	size_t n = ZSTD_decompressDCtx(u->zstd, out, out_size, in, in_size);

	return ZSTD_isError(n) || n != out_size ? -EPROTO : 0;
}

static int run_zlib(struct unpacker *u, const void *in, size_t in_size, void *out, size_t out_size)
{
	uLongf n = out_size;

	(void)u;
	return uncompress(out, &n, in, in_size) != Z_OK || n != out_size ? -EPROTO : 0;
}

bool unpacker_knows(const char *algorithm)
{
	return !strcmp(algorithm, "zstd") || !strcmp(algorithm, "zlib");
}

int unpacker_create(const char *algorithm, struct unpacker **out)
{
	struct unpacker *u;

	if (!unpacker_knows(algorithm))
		return -ENOTSUP;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->run = run_zlib;
	if (!strcmp(algorithm, "zstd")) {
		u->run = run_zstd;
		u->zstd = ZSTD_createDCtx();
		if (!u->zstd) {
			free(u);
			return -ENOMEM;
		}
	}
	*out = u;
	return 0;
}

void unpacker_destroy(struct unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	free(u);
}

int unpacker_run(struct unpacker *u, const void *in, size_t in_size, void *out, size_t out_size)
{
	return u->run(u, in, in_size, out, out_size);
}
