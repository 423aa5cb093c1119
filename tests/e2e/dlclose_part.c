/* SPDX-License-Identifier: MIT */
/* dlclose_part.c - compiled twice: two objects that differ only in the name of a function */
#include <stdlib.h>

void part(void);
void PART(void);
static void *volatile keep;

void PART(void)
{
	keep = malloc(SIZE);
	free(keep);
}

void part(void)
{
	PART();
	__asm__ volatile("");	/* no jump */
}
