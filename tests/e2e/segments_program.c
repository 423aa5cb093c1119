/* SPDX-License-Identifier: MIT */
/*
 * segments_program.c - 400 blocks, each by a call of work()
 *
 * It is linked so that there are holes between its segments.
 */
#include <stdlib.h>

__attribute__((noinline)) void *work(size_t n);

void *work(size_t n)
{
	char *block = malloc(n);

	if (block)
		block[n - 1] = 1;
	return block;
}

int main(void)
{
	for (size_t i = 0; i < 400; i++)
		free(work(100 + i));
	return 0;
}
