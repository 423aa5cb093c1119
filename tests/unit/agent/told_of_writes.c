/* SPDX-License-Identifier: MIT */
/*
 * told_of_writes.c - stands for the providers' library, which reports what the program does with
 * its code
 */
#include "agent/agent.h"

uint64_t agent_providers_table(void)
{
	return 0;
}
