/* SPDX-License-Identifier: MIT */
/*
 * web_program.c - asks for memory of different sizes about 500 times a second, from functions that
 * call each other, until its input ends
 */
#include <poll.h>
#include <stdlib.h>

#include "../apart.h"

static void *volatile kept;

APART static void take(size_t size)
{
	free(kept);
	kept = malloc(size);
}

APART static void web_small(unsigned int n)
{
	take(16 + n % 64);
}

APART static void web_large(unsigned int n)
{
	take((size_t)64 << n % 8);
}

APART static void web_work(unsigned int n)
{
	if (n % 3)
		web_small(n);
	else
		web_large(n);
}

int main(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	for (unsigned int n = 0; !poll(&p, 1, 2); n++)
		web_work(n * 2654435761u >> 7);
	free(kept);
	return 0;
}
