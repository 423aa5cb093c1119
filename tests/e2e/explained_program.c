/* SPDX-License-Identifier: MIT */
/* explained_program.c - functions with all kinds of arguments, for explain_function */
#include <stdint.h>
#include <stdio.h>
#include "../apart.h"

struct point { int64_t x, y; };

APART int e_plain(int number, const char *text, void *memory)
{
	return printf("%d %s %p\n", number, text, memory);
}

APART double e_floats(double half, uint8_t byte, struct point where, char letter)
{
	return half + byte + (double)where.x + letter;
}

APART int e_varargs(const char *format, ...)
{
	return *format;
}

APART long e_stack(long a, long b, long c, long d, long e, long f, short seventh)
{
	return a + b + c + d + e + f + seventh;
}

int main(int argc, char **argv)
{
	return (int)e_floats(0.5, 1, (struct point){ argc, 2 }, 'c') +
	       e_plain(argc, argv[0], argv) + e_varargs("x", argc) +
	       (int)e_stack(1, 2, 3, 4, 5, 6, (short)argc);
}
