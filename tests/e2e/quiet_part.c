/* SPDX-License-Identifier: MIT */
/* quiet_part.c - a library with an event, which its program opens */
#include <tracefuse/tracefuse.h>

TF_EVENT(quiet, part, (int, nr));

int part(int times);

int part(int times)
{
	for (int i = 0; i < times; i++)
		trace_part(i);
	return times;
}
