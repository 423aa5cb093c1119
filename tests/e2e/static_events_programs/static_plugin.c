/* SPDX-License-Identifier: MIT */
/*
 * static_plugin.c - comes by dlopen(); one of its events is another than the program's of that name
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
