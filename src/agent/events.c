/* SPDX-License-Identifier: MIT */
#include "agent/state.h"

void events_start(void)
{
}
