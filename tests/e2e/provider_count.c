/* SPDX-License-Identifier: MIT */
/*
 * provider_count.c - an independent counter, preloaded without the agent: counts calls of malloc
 * and similar functions by caller
 *
 * The program calls count_report() at its end, if that function exists. It prints a line "FUNCTION
 * OBJECT CALLS" for each calling object.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MALLOC, CALLOC, REALLOC, FREE, POSIX_MEMALIGN, ALIGNED_ALLOC, MEMALIGN, VALLOC, NR };
enum { SITES = 4096 };

static const char *const names[NR] = { "malloc", "calloc", "realloc", "free",
				      "posix_memalign", "aligned_alloc", "memalign", "valloc" };
static struct {
	_Atomic uintptr_t addr;
	_Atomic uint64_t calls;
} sites[NR][SITES];

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *__libc_memalign(size_t, size_t);

void count_report(void);
int posix_memalign(void **out, size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);
void *valloc(size_t size);
void *reallocarray(void *old, size_t n, size_t size);

static void count(int what, void *site)
{
	uintptr_t addr = (uintptr_t)site;

	for (size_t i = addr * 31 % SITES;; i = (i + 1) % SITES) {
		uintptr_t there = 0;

		if (atomic_compare_exchange_strong(&sites[what][i].addr, &there, addr) ||
		    there == addr) {
			atomic_fetch_add(&sites[what][i].calls, 1);
			return;
		}
	}
}

#define COUNT(what) count(what, __builtin_return_address(0))

void *malloc(size_t size)
{
	COUNT(MALLOC);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	COUNT(CALLOC);
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	COUNT(REALLOC);
	return __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	COUNT(REALLOC);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : __libc_realloc(old, bytes);
}

void free(void *ptr)
{
	COUNT(FREE);
	__libc_free(ptr);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	COUNT(POSIX_MEMALIGN);
	*out = __libc_memalign(alignment, size);
	return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	COUNT(ALIGNED_ALLOC);
	return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
	COUNT(MEMALIGN);
	return __libc_memalign(alignment, size);
}

void *valloc(size_t size)
{
	COUNT(VALLOC);
	return __libc_memalign(4096, size);
}

static const char *object_of(uintptr_t addr)
{
	Dl_info info;
	const char *slash;

	if (!dladdr((void *)addr, &info) || !info.dli_fname)
		return "?";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

void count_report(void)
{
	char line[256];

	for (int what = 0; what < NR; what++)
		for (int i = 0; i < SITES; i++) {
			uint64_t n = sites[what][i].calls;
			int len;

			if (!n)
				continue;
			len = snprintf(line, sizeof(line), "count %s %s %llu\n", names[what],
				       object_of(sites[what][i].addr), (unsigned long long)n);
			if (write(1, line, (size_t)len) != len)
				_exit(9);
		}
}
