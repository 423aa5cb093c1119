/* SPDX-License-Identifier: MIT */
/*
 * second.c - libtracefuse.so in a program that was started with the agent preloaded
 *
 * The dynamic linker knows the preloaded agent by its soname (providers/meson.build). A program
 * that needs libtracefuse.so.0 gets that one. For a path the linker opens the file. The agent of
 * that file leaves everything to the first one, because both would switch the program's functions.
 */
#include "agent/state.h"

/*
 * Before agent_load(). Only the preloaded library has that function. Another name space (dlmopen)
 * has another agent.
 */
static __attribute__((constructor(101))) void second_look(void)
{
	agent.first = agent_first_attach;
}
