/* SPDX-License-Identifier: MIT */
/* sites_fixture.c - a library of three functions, compiled with sites */
int sites_first(int x);
int sites_second(int x);

static __attribute__((noinline, used)) int sites_static(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 3;
}

__attribute__((noinline)) int sites_first(int x)
{
	__asm__ volatile("" ::: "memory");
	return sites_static(x) + 1;
}

__attribute__((noinline)) int sites_second(int x)
{
	__asm__ volatile("" ::: "memory");
	return sites_first(x) + sites_static(x);
}
