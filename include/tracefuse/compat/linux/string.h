/* SPDX-License-Identifier: MIT */
/* linux/string.h - the kernel's strscpy() */
#ifndef TRACEFUSE_COMPAT_STRING_H
#define TRACEFUSE_COMPAT_STRING_H

#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <string.h>
#include <sys/types.h>

/* Copies as much as fits, and always ends it with a 0. -> the length, or -E2BIG */
static inline __attribute__((unused)) ssize_t tf_strscpy(char *to, const char *from, size_t size)
{
	size_t len = strnlen(from, size);

	if (!size)
		return -7;
	if (len == size) {
		memcpy(to, from, size - 1);
		to[size - 1] = 0;
		return -7;
	}
	memcpy(to, from, len + 1);
	return (ssize_t)len;
}

#ifndef strscpy
#define strscpy(to, from, size) tf_strscpy(to, from, size)
#endif

#endif
