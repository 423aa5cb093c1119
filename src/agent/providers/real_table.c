/* SPDX-License-Identifier: MIT */
/*
 * real_table.c - tells the rest of the agent (agent.h) the version of the providers' table of
 * events, in the first constructor
 */
#include "agent/providers/hooks.h"
#include "agent/providers/table_version.h"
#include "tracefuse/tracefuse.h"

uint64_t agent_providers_table(void)
{
	real_begin();
	return PROVIDER_TABLE_VERSION;
}

int agent_first_attach(const char *session)
{
	return tf_attach(session);
}
