/* SPDX-License-Identifier: MIT */
/*
 * dlopen_part.c - compiled with several names: functions with sites, called at load, at unload and
 * in between
 */
int part(int times);
int part_spin(int times);

#define NAME_(part, name) part##_##name
#define NAME(part, name) NAME_(part, name)
#define APART __attribute__((noinline))

static APART int NAME(PART, inner)(int a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 1;
}

static APART int NAME(PART, spun)(int a)
{
	__asm__ volatile("" : "+r"(a));
	return a + 2;
}

static __attribute__((constructor)) void NAME(PART, begin)(void)
{
	NAME(PART, inner)(1);
}

static __attribute__((destructor)) void NAME(PART, end)(void)
{
	NAME(PART, inner)(2);
}

int part(int times)
{
	int all = 0;

	for (int i = 0; i < times; i++)
		all += NAME(PART, inner)(i);
	return all;
}

int part_spin(int times)
{
	int all = 0;

	for (int i = 0; i < times; i++)
		all += NAME(PART, spun)(i);
	return all;
}
