/* SPDX-License-Identifier: MIT */
/*
 * planted_part.c - a library that planted_program.c loads and unloads
 */
#include "../apart.h"

long part_sum(long n);

APART long part_sum(long n)
{
	long all = 0;

	for (long i = 0; i <= n; i++) {
		all += i;
		__asm__ volatile("" : "+r"(all));
	}
	return all;
}
