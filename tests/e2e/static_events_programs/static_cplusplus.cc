// SPDX-License-Identifier: MIT
// static_cplusplus.cc - the same header of events in C++17, and one-line events with C++ types
#include <cstdio>
#include <cstring>
#include <ctime>
#define CREATE_TRACE_POINTS
#include "shop_events.h"
#include <tracefuse/tracefuse.h>
#include "shop_use.h"

enum class color : short { red = -1, blue };
namespace app { enum kind { one, two }; }

TF_EVENT(cplus, event, (color, col), (app::kind, kind), (bool, yes), (const char *, text),
	(unsigned long, ul),
	 (char, c), (const int *, p));

int main()
{
	int i = 0;

	shop_use();
	trace_event(color::red, app::two, true, "text", 5, 'c', &i);
	tf_printk("from %s\n", "C++");
	return 0;
}
