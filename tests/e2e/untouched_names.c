/* SPDX-License-Identifier: MIT */
/*
 * untouched_names.c - a program's library whose functions have names that the agent uses itself
 */
#include "untouched_names.h"

int agent_mapped(void)
{
	return 1;
}

int agent_enter(void)
{
	return 2;
}

int agent_process(void)
{
	return 3;
}
