/* SPDX-License-Identifier: MIT */
/*
 * graph_calls.c - arguments, results and registers of every kind of call
 *
 * Each function has a site. If a tracer changes a register or the stack there, the sums change.
 */
#include <complex.h>
#include <fenv.h>
#include <immintrin.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "../../apart.h"

struct mixed { long a; double b; };
struct two { double a, b; };
struct bytes { char a[3]; };
struct large { long a[9]; double b; };

static volatile long zero;

APART static long six(long a, long b, long c, long d, long e, long f)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

APART static long ten(char a, short b, int c, long d, unsigned char e, unsigned short f, unsigned g,
		      long h, char i, long j)
{
	return six(a, b, c, d, e, f) * 7 + g * 11 + h * 13 + i * 17 + j;
}

APART static double eight(double a, float b, double c, float d, double e, float f, double g,
			  float h, double on_stack)
{
	return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + on_stack * 9;
}

APART static long double x87(long double a, long double b)
{
	return a * b + 1;
}

APART static long double complex x87_pair(long double complex a)
{
	return a * a;
}

APART static double complex sse_pair(double complex a, float complex b)
{
	return a * 2 + b;
}

APART static __int128 wide(__int128 a, __int128 b)
{
	return a * 3 + b;
}

APART static struct mixed mixed(struct mixed m)
{
	return (struct mixed){ m.a + 1, m.b * 2 };
}

APART static struct two two(struct two t)
{
	return (struct two){ t.b, t.a };
}

APART static struct bytes bytes(struct bytes b)
{
	return (struct bytes){ { b.a[2], b.a[0], b.a[1] } };
}

APART static struct large large(struct large l, int n)
{
	l.a[n] += n;
	l.b /= 2;
	return n ? large(l, n - 1) : l;
}

/* al has the number of vector registers. */
APART static double variadic(const char *kinds, ...)
{
	double sum = 0;
	va_list ap;

	va_start(ap, kinds);
	for (; *kinds; kinds++)
		sum = sum * 3 + (*kinds == 'd'	 ? va_arg(ap, double)
				 : *kinds == 'L' ? (double)va_arg(ap, long double)
				 : *kinds == 'l' ? (double)va_arg(ap, long)
						 : (double)va_arg(ap, int));
	va_end(ap);
	return sum;
}

/* Leaf functions store data below the stack pointer. */
APART static long red_zone(long a)
{
	volatile long t[14];

	for (int i = 0; i < 14; i++)
		t[i] = a + i;
	return t[0] + t[7] * 3 + t[13];
}

/* r10 has the static chain. */
APART static long nested(long a)
{
#if defined(__GNUC__) && !defined(__clang__)
	APART long inner(long b)
	{
		return b ? inner(b - 1) + a : a;
	}

	return inner(5);
#else
	return a * 6;
#endif
}

/* Functions that align the stack, with and without alloca (where r10 is the argument pointer). */
APART static long aligned(long a, long b, long c, long d, long e, long f, long on_stack)
{
	_Alignas(64) volatile long v[8] = { a, b, c, d, e, f, on_stack };

	return ((uintptr_t)v & 63) ? -1 : v[0] + v[5] * 2 + v[6] * 3;
}

APART static long aligned_alloca(int n, long b, long c, long d, long e, long f, long on_stack)
{
	_Alignas(64) volatile long v[8] = { n, b, c, d, e, f, on_stack };
	volatile char *p = __builtin_alloca((size_t)n);

	memset((void *)p, n, (size_t)n);
	return ((uintptr_t)v & 63) ? -1 : p[n - 1] + v[6] + six(v[0], v[1], v[2], v[3], v[4], v[5]);
}

__attribute__((target("avx"))) APART static __m256d vector(__m256d a, __m256d b, double c)
{
	return _mm256_add_pd(_mm256_mul_pd(a, b), _mm256_set1_pd(c));
}

__attribute__((target("avx"))) APART static double vectors(int n)
{
	__m256d v = _mm256_set_pd(1, 2, 3, 4);
	double d[4], sum = 0;

	for (int i = 0; i < n; i++)
		v = vector(v, _mm256_set_pd(0.5, 0.25, 1, 2), i);
	_mm256_storeu_pd(d, v);
	for (int i = 0; i < 4; i++)
		sum = sum * 2 + d[i];
	return sum;
}

__attribute__((target("avx512f"))) APART static __m512d vector_512(__m512d a, __m512d b)
{
	return _mm512_add_pd(a, b);
}

__attribute__((target("avx512f"))) APART static double vectors_512(int n)
{
	__m512d v = _mm512_set1_pd(1);

	for (int i = 0; i < n; i++)
		v = vector_512(v, v);
	return _mm512_reduce_add_pd(v);
}

/* With this ABI the called function preserves other registers: rdi, rsi, xmm6 to xmm15. */
__attribute__((ms_abi)) APART static double windows(long a, double b, long c, double d, long e)
{
	return (double)a + b * 2 + (double)c * 3 + d * 4 + (double)e * 5 + (double)zero;
}

__attribute__((ms_abi)) APART static double windows_twice(long a, double b)
{
	return windows(a, b, a + 1, b + 1, a + 2) + windows(a + 3, b + 3, a, b, a) * b;
}

/*
 * Functions that preserve all registers, and callers that rely on it. (gcc's -fipa-ra would do that
 * for any function, but not for one with a site.)
 */
#ifdef __clang__
#define KEEPS_ALL __attribute__((preserve_most))
#else
#define KEEPS_ALL __attribute__((no_caller_saved_registers, target("general-regs-only")))
#endif

APART KEEPS_ALL static void keeps_all(const long *p, volatile long *to)
{
	*to += *p * 3;
}

APART static long relies(const long *p)
{
	volatile long to = 0;
	long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7],
	     i = p[8], j = p[9], k = p[10];

	keeps_all(p, &to);
	keeps_all(p + 1, &to);
	return to + a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10 +
	       k * 11;
}

APART static long leaf(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + zero;
}

APART static long many_live(const long *p)
{
	long a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7],
	     i = p[8], j = p[9], k = p[10];
	double x = (double)p[11], y = (double)p[12];
	long s = leaf(a);

	s += leaf(s + b) * a;
	s += leaf(s + c) * b;
	return s + a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10 +
	       k * 11 + (long)(x * y);
}

/* Tail calls: jumps from the end of one function to the start of another. */
static long tail_odd(long n, long sum);
APART static long tail_even(long n, long sum)
{
	return n ? tail_odd(n - 1, sum + n) : sum;
}

APART static long tail_odd(long n, long sum)
{
	return n ? tail_even(n - 1, sum * 3 % 1000003) : sum;
}

static long (*volatile indirect)(long, long) = tail_even;

APART static long tail_indirect(long n)
{
	return indirect(n, 5);
}

/* State of the thread: rounding, the x87's precision. */
APART static int modes(int n)
{
	unsigned short control;

	__asm__ volatile("fnstcw %0" : "=m"(control));
	return n ? modes(n - 1) : fegetround() * 3 + control + (int)(_mm_getcsr() & ~0x3fu);
}

/*
 * Across a call, x87 values are in memory. A value that a tracer leaves on the x87's stack would
 * show.
 */
APART static double registers(double a)
{
	long double l = a * 1.5L;

	for (int i = 0; i < 9; i++)
		l = x87(l, 0.5L) + (long double)red_zone(i);
	return (double)l;
}

static void sums(int n)
{
	struct large l = large((struct large){ { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 1000 }, 8);
	long p[13] = { n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	long double complex xp = x87_pair(n + 2.0L * I);
	double complex sp = sse_pair(n + I, 2 - 3 * I);
	__int128 w = wide((__int128)n << 70, -5);
	struct mixed m = mixed((struct mixed){ n, 1.5 });
	struct two t = two((struct two){ n, 2.5 });
	struct bytes b = bytes((struct bytes){ { 'a', 'b', (char)n } });

	printf("%ld %ld %.3f %.6Lf\n", six(n, 2, 3, 4, 5, 6),
	       ten(-1, -2, -3, n, 255, 65535, 7, 8, -9, 10), eight(n, 2, 3, 4, 5, 6, 7, 8, 9),
	       x87(n, 3.25L));
	printf("%.3Lf %.3Lf %.3f %.3f %lx %lx\n", creall(xp), cimagl(xp), creal(sp), cimag(sp),
	       (long)(w >> 64), (long)w);
	printf("%ld %.2f %.2f %.2f %d %d %d\n", m.a, m.b, t.a, t.b, b.a[0], b.a[1], b.a[2]);
	for (int i = 0; i < 9; i++)
		printf("%ld ", l.a[i]);
	printf("%.5f\n%.3f %.3f\n", l.b, variadic("dildLid", 1.5, 2, 3L, 4.5, 5.25L, 6, (double)n),
	       variadic("iil", 1, 2, 3L));
	printf("%ld %ld %ld %ld\n", red_zone(n), nested(n), aligned(n, 2, 3, 4, 5, 6, 7),
	       aligned_alloca(n + 1, 2, 3, 4, 5, 6, 7));
	printf("%.3f %ld %ld %ld %ld\n", windows_twice(n, 2.5), many_live(p), relies(p),
	       tail_even(1000 + n, 0), tail_indirect(n));
	printf("%d %.3f\n", modes(3), registers(n));
	if (__builtin_cpu_supports("avx"))
		printf("%.6f\n", vectors(n));
	if (__builtin_cpu_supports("avx512f"))
		printf("%.6f\n", vectors_512(n));
}

int main(void)
{
	for (int n = 1; n < 40; n++)
		sums(n);
	fesetround(FE_DOWNWARD);
	sums(40);
	fesetround(FE_UPWARD);
	sums(41);
	return 7;
}
