/* SPDX-License-Identifier: MIT */
/*
 * site_kinds_main.c N - calls the functions of tests/unit/agent/site_fixture.c N times and prints
 * their results
 */
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C"
#endif
long site_run(long seed);

int main(int argc, char **argv)
{
	long all = 0;

	for (int i = 0; argc > 1 && i < atoi(argv[1]); i++)
		all += site_run(i);
	printf("%ld\n", all);
	return 0;
}
