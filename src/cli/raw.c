/* SPDX-License-Identifier: MIT */
/* raw.c - see raw.h */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/access.h"
#include "cli/raw.h"

enum { PIECE = 256 * 1024 };

static int raw_choose(struct access_file *f, const struct raw_part *part)
{
	char text[64];
	const int n = snprintf(text, sizeof(text), "%d %" PRIu64 " %" PRIu64, part->snapshot,
			       part->from, part->to);
	const ssize_t ret = f->access->ops->write(f, text, (size_t)n);

	return ret < 0 ? (int)ret : 0;
}

int raw_stream(struct access *a, const char *path, const struct raw_part *part,
	       int (*take)(void *to, const char *buf, size_t n), void *to)
{
	char *buf = malloc(PIECE);
	struct access_file *f;
	ssize_t n;
	int ret = buf ? a->ops->open(a, path, part ? O_RDWR : O_RDONLY, &f) : -ENOMEM;

	if (ret) {
		free(buf);
		return ret;
	}
	if (part)
		ret = raw_choose(f, part);
	for (off_t off = 0; !ret && (n = a->ops->read(f, buf, PIECE, off)); off += n)
		ret = n < 0 ? (int)n : take(to, buf, (size_t)n);
	a->ops->release(f);
	free(buf);
	return ret;
}
