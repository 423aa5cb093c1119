/* SPDX-License-Identifier: MIT */
/*
 * static_plugin.c - loaded by dlopen(); one of its events differs from the program's event of the
 * same name
 */
#include <tracefuse/tracefuse.h>

TF_EVENT(plugin, go, (int, nr));
TF_EVENT(app, tick, (long, other));

void plugin_go(int nr);

void plugin_go(int nr)
{
	trace_go(nr);
	trace_tick(nr);
}
