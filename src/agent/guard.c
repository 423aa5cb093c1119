/* SPDX-License-Identifier: MIT */
#include "agent/state.h"

void guard_start(void)
{
}
