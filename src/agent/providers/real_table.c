/* SPDX-License-Identifier: MIT */
/*
 * real_table.c - for the core (agent.h), which asks in the first constructor: which table of events
 * the providers have
 */
#include "agent/providers/hooks.h"
#include "agent/providers/table_version.h"

uint64_t agent_providers_table(void)
{
	real_begin();
	return PROVIDER_TABLE_VERSION;
}
