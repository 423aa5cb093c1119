/* SPDX-License-Identifier: MIT */
/* sites_library.c - a library of sites_program.c, and one that it loads: -DPLUGIN */
#define TRACED __attribute__((noinline))

#ifdef PLUGIN
int plugin_call(int n);

static TRACED int plugin_inner(int x)
{
	__asm__ volatile("" ::: "memory");
	return x * 2;
}

int plugin_call(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += plugin_inner(i);
	return sum;
}
#else
int sites_library(int n);

long sites_inner_calls, sites_library_calls;

static TRACED int sites_inner(int x)
{
	sites_inner_calls++;
	__asm__ volatile("" ::: "memory");
	return x * 3;
}

int sites_library(int n)
{
	int sum = 0;

	sites_library_calls++;
	for (int i = 0; i < n; i++)
		sum += sites_inner(i);
	return sum;
}
#endif
