/* SPDX-License-Identifier: MIT */
/* demangle.c - any name as one of Rust: the text ends, has its room and no control characters */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/demangle/rust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { ROOM = 1024 };
	char *name = malloc(size + 1), *out = malloc(ROOM);

	if (!name || !out)
		abort();
	memcpy(name, data, size);
	name[size] = '\0';
	if (demangle_rust(name, out, ROOM)) {
		if (!memchr(out, '\0', ROOM))
			abort();
		for (const char *c = out; *c; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				abort();
	}
	free(name);
	free(out);
	return 0;
}
