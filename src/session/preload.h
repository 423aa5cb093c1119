/* SPDX-License-Identifier: MIT */
/*
 * preload.h - the names of the agent's libraries in LD_PRELOAD
 *
 * `tracefuse run` writes the list, and a program that executes another one passes it on.
 */
#ifndef TRACEFUSE_SESSION_PRELOAD_H
#define TRACEFUSE_SESSION_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PRELOAD_PROVIDERS	"libtracefuse-providers.so"
#define PRELOAD_CORE		"libtracefuse.so"	/* a version follows */

/*
 * Whether a word of the list, of `len` bytes, names one of the two, in any version and any
 * directory.
 */
static inline bool preload_is_agent(const char *word, size_t len)
{
	static const char *const names[] = { PRELOAD_PROVIDERS, PRELOAD_CORE };
	const char *slash = (const char *)memrchr(word, '/', len), *base = slash ? slash + 1 : word;
	const size_t left = (size_t)(word + len - base);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (left >= strlen(names[i]) && !memcmp(base, names[i], strlen(names[i])))
			return true;
	return false;
}

#endif
