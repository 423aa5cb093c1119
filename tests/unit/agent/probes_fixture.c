/* SPDX-License-Identifier: MIT */
/*
 * probes_fixture.c - the functions of site_fixture.c between two names, in the order of the file
 */
void fixture_begin(void);
void fixture_end(void);

__attribute__((noinline, aligned(64))) void fixture_begin(void)
{
	__asm__ volatile("");
}

#include "site_fixture.c"

__attribute__((noinline, aligned(64))) void fixture_end(void)
{
	__asm__ volatile("");
}
