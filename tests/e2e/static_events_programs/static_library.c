/* SPDX-License-Identifier: MIT */
/* static_library.c - a shared library with events of its own; its program has one of them, too */
#include <tracefuse/tracefuse.h>
#include "static_library.h"

TF_EVENT(app, number, (int, nr));
TF_EVENT(library, call, (int, nr), (const char *, name));

void library_go(int nr)
{
	trace_number(nr);
	trace_call(nr, "library");
}
