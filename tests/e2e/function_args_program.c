/* SPDX-License-Identifier: MIT */
/* function_args_program.c - calls whose arguments are known, for function_args */
#include <stdbool.h>
#include <stdint.h>
#include "../apart.h"

struct point { int64_t x, y; };
typedef int small_t;

APART_WHOLE int a_leaf(small_t number, const char *text, unsigned char byte);
APART_WHOLE double a_mixed(double d, short s, struct point p, char c);
APART_WHOLE long a_many(long a, long b, long c, long d, long e, long f, int g);
APART_WHOLE int a_varargs(const char *format, ...);
APART_WHOLE bool a_flag(long number);

APART_WHOLE int a_leaf(small_t number, const char *text, unsigned char byte)
{
	return number + byte + *text;
}

APART_WHOLE double a_mixed(double d, short s, struct point p, char c)
{
	return d + (double)p.y + a_leaf(s, "x", (unsigned char)c);
}

APART_WHOLE long a_many(long a, long b, long c, long d, long e, long f, int g)
{
	return (long)a_mixed(1.5, -3, (struct point){ 1, 2 }, 'c') + a + b + c + d + e + f + g;
}

APART_WHOLE int a_varargs(const char *format, ...)
{
	return a_leaf(-1, format, 255);
}

/* It sets %al alone. */
APART_WHOLE bool a_flag(long number)
{
	return number;
}

int main(void)
{
	return a_many(1, 2, 3, 4, 5, -6, 7) + a_flag(a_varargs("x", 1)) == 0;
}
