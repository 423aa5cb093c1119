/* SPDX-License-Identifier: MIT */
/* no_probes.c - what sites ask of src/agent/probes, for tests in whose process there are none */
#include <string.h>
#include "agent/probes/probes.h"

bool place_carries(uintptr_t at, const uint8_t jump[NEAR_JUMP])
{
	return false;
}

void places_bytes(uintptr_t at, uint8_t *out, size_t size)
{
	memcpy(out, (const void *)at, size);
}

bool probes_can_carry(uintptr_t at)
{
	return false;
}

bool probes_carry(uintptr_t at, const uint8_t jump[NEAR_JUMP])
{
	return false;
}
