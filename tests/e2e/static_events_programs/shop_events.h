/* SPDX-License-Identifier: MIT */
/*
 * shop_events.h - events as a header for the kernel has them: every kind of field and most helpers
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM shop

#if !defined(SHOP_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define SHOP_EVENTS_H

#include <linux/tracepoint.h>
#include <linux/types.h>

#ifndef SHOP_CONSTANTS
#define SHOP_CONSTANTS
enum shop_state { SHOP_OPEN, SHOP_BUSY = 7, SHOP_CLOSED };
#define SHOP_BITS 70
#endif

#undef S
#undef S_LAST
#define S(a, b) TRACE_DEFINE_ENUM(a);
#define S_LAST(a, b) TRACE_DEFINE_ENUM(a);
#define SHOP_STATES S(SHOP_OPEN, "open") S(SHOP_BUSY, "busy") S_LAST(SHOP_CLOSED, "closed")
SHOP_STATES
#undef S
#undef S_LAST
#define S(a, b) { a, b },
#define S_LAST(a, b) { a, b }

TRACE_DEFINE_SIZEOF(u64);

TRACE_EVENT(shop_sale,

	TP_PROTO(const char *customer, int nr, const u32 *items, size_t len,
		 const unsigned long *shelves),

	TP_ARGS(customer, nr, items, len, shelves),

	TP_STRUCT__entry(
		__array(	char,		label,	8	)
		__field(	int,		nr		)
		__dynamic_array(u32,		items,	len	)
		__string(	customer,	customer	)
		__bitmask(	shelves,	SHOP_BITS	)
		__string_len(	initials,	customer, 2	)
		__field(	enum shop_state, state		)
		__field_ext(	u16,		flags,	0	)
		__field(	bool,		cash		)
		__field(	const void *,	nothing		)
	),

	TP_fast_assign(
		strscpy(__entry->label, customer, 8);
		__entry->nr	= nr;
		memcpy(__get_dynamic_array(items), items, len * sizeof(u32));
		__assign_str(customer, customer);
		__assign_bitmask(shelves, shelves, SHOP_BITS);
		__assign_str(initials);
		__entry->state	= nr & 1 ? SHOP_BUSY : SHOP_OPEN;
		__entry->flags	= (u16)nr;
		__entry->cash	= nr > 2;
		__entry->nothing = NULL;
	),

	TP_printk("%s nr=%d items=%s of %u bytes customer=%s shelves=%s initials=%s state=%s "
		  "flags=%s cash=%d hex=%s long=%d",
		  __entry->label, __entry->nr,
		  __print_array(__get_dynamic_array(items),
				__get_dynamic_array_len(items) / sizeof(u32), sizeof(u32)),
		  __get_dynamic_array_len(items), __get_str(customer), __get_bitmask(shelves),
		  __get_str(initials),
		  __print_symbolic(__entry->state, SHOP_STATES),
		  __print_flags(__entry->flags, "|", { 1, "one" }, { 2, "two" }), __entry->cash,
		  __print_hex(__get_dynamic_array(items), 4), (int)sizeof(u64))
);

DECLARE_EVENT_CLASS(shop_door,
	TP_PROTO(int door),
	TP_ARGS(door),
	TP_STRUCT__entry(
		__field(int, door)
	),
	TP_fast_assign(
		__entry->door = door;
	),
	TP_printk("door=%d", __entry->door)
);

DEFINE_EVENT(shop_door, shop_enter, TP_PROTO(int door), TP_ARGS(door));
DEFINE_EVENT(shop_door, shop_leave, TP_PROTO(int which), TP_ARGS(which));
DEFINE_EVENT_PRINT(shop_door, shop_lock, TP_PROTO(int door), TP_ARGS(door),
	TP_printk("door %d is locked", __entry->door));

TRACE_EVENT_CONDITION(shop_big,
	TP_PROTO(int sum),
	TP_ARGS(sum),
	TP_CONDITION(sum > 100),
	TP_STRUCT__entry(__field(int, sum)),
	TP_fast_assign(__entry->sum = sum;),
	TP_printk("sum=%d", __entry->sum)
);

DECLARE_TRACE(shop_bare, TP_PROTO(int nobody), TP_ARGS(nobody));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE shop_events
#include <trace/define_trace.h>
