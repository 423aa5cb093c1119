/* SPDX-License-Identifier: MIT */
/*
 * static_disabled.c - compiled with TRACEFUSE_DISABLED: only main() and its calls of libc may
 * remain
 */
#include <stdio.h>
#include <string.h>
#define CREATE_TRACE_POINTS
#include "shop_events.h"
#include <tracefuse/tracefuse.h>
#include "shop_use.h"

TF_EVENT(app, number, (int, nr), (const char *, text));

int main(void)
{
	shop_use();
	trace_number(1, "x");
	if (tf_printk("%d", 1) || tf_marker("x") || tf_attached() || trace_number_enabled() ||
	    trace_shop_sale_enabled())
		return 1;
	return 0;
}
