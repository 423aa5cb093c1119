/* SPDX-License-Identifier: MIT */
/* fixture.c - functions of all kinds of arguments, for prototypes.c. Nothing runs it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define KEEP __attribute__((noinline, used))

struct two { int64_t a, b; };
struct mixed { double a; int b; };
struct floats { float x, y, z; };
struct large { int64_t v[3]; };
struct bits { unsigned int a : 3; unsigned int b : 20; };
struct __attribute__((packed)) packed { char c; int64_t v; };
struct __attribute__((aligned(16))) wide { char c[16]; int64_t more[2]; };
union either { float f; int i; };
typedef char text16[16];
struct text { text16 t; };
enum color { RED, GREEN };
enum sign { MINUS = -1, PLUS = 1 };
struct nothing { };
typedef int vector __attribute__((vector_size(16)));
typedef int (*compare_fn)(const void *a, const void *b);

int volatile fixture_sink;

KEEP void f_void(void)
{
	fixture_sink = 0;
}

KEEP int f_integers(int8_t a, uint16_t b, int c, uint32_t d, int64_t e, uint64_t f, int g, _Bool h)
{
	fixture_sink = a + b + c;
	return (int)(d + e + f + g + h);
}

KEEP char f_text(char *a, const char *b, char c, unsigned char *d, char **e, void *f)
{
	fixture_sink = c;
	return *a;
}

KEEP double f_floats(int a, double b, float c, long double d, int e)
{
	fixture_sink = a + e;
	return b + c + (double)d;
}

KEEP struct two f_structs(struct two a, struct mixed b, struct floats c, struct large d,
			  struct bits e, union either f, struct text g, int h)
{
	fixture_sink = h;
	return a;
}

KEEP struct large f_large(int a, struct packed b, struct wide c, struct nothing d, int e)
{
	struct large l = { { a, e } };

	fixture_sink = b.c;
	return l;
}

KEEP __int128 f_wide(__int128 a, int b, float _Complex c, vector d, int e)
{
	fixture_sink = b + e;
	return a;
}

KEEP long double f_long_double(long double a, enum color b, enum sign c)
{
	fixture_sink = (int)b + (int)c;
	return a;
}

KEEP int f_declarators(compare_fn a, int (*b)(char c, ...), int (*d)[4], int e[3],
		       const volatile int *restrict f, const char *const *g)
{
	fixture_sink = e[0];
	return *f;
}

KEEP int f_varargs(const char *format, ...)
{
	fixture_sink = *format;
	return 0;
}

KEEP int f_old(a, b, c)
	char a;
	float b;
	int c;
{
	fixture_sink = a + c;
	return (int)b;
}

static KEEP int f_static(int only)
{
	fixture_sink = only;
	return only;
}

static inline int f_inline(int number)
{
	return number * fixture_sink;
}

KEEP int f_calls(int a)
{
	int (*volatile copy)(int) = f_inline;

	return f_static(a) + f_inline(a) + copy(a);
}
