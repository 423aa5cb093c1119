/* SPDX-License-Identifier: MIT */
/*
 * text_memory.c - see text_memory.h
 *
 * open_memstream() drops bytes for which it has no memory, and neither ferror() nor fclose()
 * reports it: a text with missing parts looks complete. Here, closing such a stream fails, and its
 * text is freed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/text_memory.h"

enum { FIRST_ROOM = 256 };

struct text_memory {
	char	**text;
	size_t	*size;
	char	*bytes;
	size_t	len, room;
	bool	failed;
};

/* Makes room for so many more bytes and a 0 behind them. */
static bool text_memory_grow(struct text_memory *t, size_t more)
{
	size_t room = t->room ? t->room : FIRST_ROOM;
	char *bytes;

	if (t->len + more < t->room)
		return true;
	while (room <= t->len + more)
		room *= 2;
	bytes = realloc(t->bytes, room);
	if (!bytes)
		return false;
	t->bytes = bytes;
	t->room = room;
	return true;
}

static ssize_t text_memory_put(void *cookie, const char *bytes, size_t n)
{
	struct text_memory *t = cookie;

	if (t->failed || !text_memory_grow(t, n)) {
		t->failed = true;
		errno = ENOMEM;
		return 0;
	}
	memcpy(t->bytes + t->len, bytes, n);
	t->len += n;
	t->bytes[t->len] = '\0';
	return (ssize_t)n;
}

/* Only for ftell(). */
static int text_memory_tell(void *cookie, off64_t *at, int whence)
{
	struct text_memory *t = cookie;

	if (*at || whence == SEEK_SET)
		return -1;
	*at = (off64_t)t->len;
	return 0;
}

static int text_memory_finish(void *cookie)
{
	struct text_memory *t = cookie;
	const bool failed = t->failed || !text_memory_grow(t, 0);

	if (failed) {
		free(t->bytes);
		t->bytes = NULL;
		t->len = 0;
	} else {
		t->bytes[t->len] = '\0';
	}
	*t->text = t->bytes;
	*t->size = t->len;
	free(t);
	errno = failed ? ENOMEM : errno;
	return failed ? -1 : 0;
}

FILE *text_memory_open(char **text, size_t *size)
{
	static const cookie_io_functions_t functions = {
		.write = text_memory_put, .seek = text_memory_tell, .close = text_memory_finish,
	};
	struct text_memory *t = calloc(1, sizeof(*t));
	FILE *out = t ? fopencookie(t, "w", functions) : NULL;

	*text = NULL;
	*size = 0;
	if (!out) {
		free(t);
		return NULL;
	}
	t->text = text;
	t->size = size;
	return out;
}
