/* SPDX-License-Identifier: MIT */
/* shop_use.h - makes one of each event of shop_events.h; for C and C++ */
static void shop_use(void)
{
	const u32 items[] = { 10, 20, 30 };
	const unsigned long shelves[] = { 0x10f, 3 };
	char name[600];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	trace_shop_sale("alice", 3, items, 3, shelves);
	trace_shop_sale(name, 2, items, 1, shelves);
	trace_shop_sale("bo", 1, items, 0, shelves);
	trace_shop_enter(1);
	trace_shop_leave(2);
	trace_shop_lock(3);
	trace_shop_big(100);
	trace_shop_big(101);
	trace_shop_bare(1);
}
