/* SPDX-License-Identifier: MIT */
/* hex.h - a number as "0x1f", without libc: for hits */
#ifndef TRACEFUSE_PLANE_HEX_H
#define TRACEFUSE_PLANE_HEX_H

#include <stdint.h>

enum { HEX_TEXT = 18 };			/* bytes of the longest */

/* Writes the number so that it ends before `end`. Returns its first byte. */
static inline char *hex_put(char *end, uint64_t v)
{
	static const char digits[] = "0123456789abcdef";

	do {
		*--end = digits[v & 15];
		v >>= 4;
	} while (v);
	*--end = 'x';
	*--end = '0';
	return end;
}

#endif
