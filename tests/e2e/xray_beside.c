/* SPDX-License-Identifier: MIT */
/* xray_beside.c - a function with a site that is not XRay's, for xray_program.c */
long beside(long a);

__attribute__((noinline)) long beside(long a)
{
	return a + 1;
}
