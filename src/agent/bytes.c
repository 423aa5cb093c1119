/* SPDX-License-Identifier: MIT */
/*
 * bytes.c - mem*() and str*() of the agent's own
 *
 * A program may define functions of these names: a sanitizer's runtime, or one that counts copies.
 * The agent's calls would go there, also before the program is ready for them, and the program
 * would see calls that it has not made. So what the compiler and the agent's code call is here,
 * hidden. The files of `plane` and `elf`, which the server has too, call these in the agent.
 *
 * None uses a vector register: a traced function has its arguments there. What is long or frequent
 * is made by the compiler in place (meson.build), so these are small instead.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OWN __attribute__((visibility("hidden"), used))

OWN void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
	return to;
}

OWN void *memset(void *to, int byte, size_t n)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
	return to;
}

OWN int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

#ifdef __clang__
/* It calls this where only equality matters. */
__asm__(".globl bcmp\n\t.hidden bcmp\n\t.set bcmp, memcmp");
#endif

OWN void *memchr(const void *in, int byte, size_t n)
{
	const unsigned char *at = in;

	for (; n; n--, at++)
		if (*at == (unsigned char)byte)
			return (void *)(uintptr_t)at;
	return NULL;
}

OWN void *memrchr(const void *in, int byte, size_t n)
{
	const unsigned char *at = in;

	while (n--)
		if (at[n] == (unsigned char)byte)
			return (void *)(uintptr_t)(at + n);
	return NULL;
}

OWN size_t strlen(const char *s)
{
	const char *end = s;

	while (*end)
		end++;
	return (size_t)(end - s);
}

OWN int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (*a != *b || !*a)
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

OWN int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

OWN char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)(uintptr_t)s;
		if (!*s)
			return NULL;
	}
}

OWN char *strrchr(const char *s, int c)
{
	return memrchr(s, c, strlen(s) + 1);
}

OWN size_t strspn(const char *s, const char *accept)
{
	size_t n = 0;

	while (s[n] && strchr(accept, s[n]))
		n++;
	return n;
}

OWN size_t strcspn(const char *s, const char *reject)
{
	size_t n = 0;

	while (s[n] && !strchr(reject, s[n]))
		n++;
	return n;
}

OWN char *strstr(const char *s, const char *part)
{
	const size_t len = strlen(part);

	for (; strncmp(s, part, len); s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

OWN char *strcpy(char *restrict to, const char *restrict from)
{
	return memcpy(to, from, strlen(from) + 1);
}

OWN char *strcat(char *restrict to, const char *restrict from)
{
	strcpy(to + strlen(to), from);
	return to;
}
