/* SPDX-License-Identifier: MIT */
/*
 * hit_function.c - calls of functions: when an arm has nothing to do
 */
#include "plane/hit.h"

bool hit_function_refuse(const struct run *r, const struct arm *arm, struct instance_state *inst)
{
	if ((arm->flags & ARM_SECTION) && !r->h->section)
		return true;
	return (arm->flags & ARM_FUNC_PIDS) && hit_function_pids_refuse(r, inst);
}
