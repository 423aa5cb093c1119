/* SPDX-License-Identifier: MIT */
/* function_args_program.c - calls whose arguments are known, for function_args */
#include <stdint.h>

#define KEEP __attribute__((noinline, noclone, noipa))

struct point { int64_t x, y; };
typedef int small_t;

KEEP int a_leaf(small_t number, const char *text, unsigned char byte);
KEEP double a_mixed(double d, short s, struct point p, char c);
KEEP long a_many(long a, long b, long c, long d, long e, long f, int g);
KEEP int a_varargs(const char *format, ...);

KEEP int a_leaf(small_t number, const char *text, unsigned char byte)
{
	return number + byte + *text;
}

KEEP double a_mixed(double d, short s, struct point p, char c)
{
	return d + (double)p.y + a_leaf(s, "x", (unsigned char)c);
}

KEEP long a_many(long a, long b, long c, long d, long e, long f, int g)
{
	return (long)a_mixed(1.5, -3, (struct point){ 1, 2 }, 'c') + a + b + c + d + e + f + g;
}

KEEP int a_varargs(const char *format, ...)
{
	return a_leaf(-1, format, 255);
}

int main(void)
{
	return a_many(1, 2, 3, 4, 5, -6, 7) + a_varargs("x", 1) == 0;
}
