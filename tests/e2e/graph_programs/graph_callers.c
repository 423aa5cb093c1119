/* SPDX-License-Identifier: MIT */
/*
 * graph_callers.c - asks each of its objects who comes next, and what is found by its RUNPATH
 */
#include <stdio.h>
#include "graph_callers.h"

static void say(const char *part, const char *what, const char *got)
{
	printf("%s, %s: %s\n", part, what, got);
}

int main(void)
{
	program_ask(say, 1);
	first_ask(say, 1);
	second_ask(say, 0);
	return 0;
}
