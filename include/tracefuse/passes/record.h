/* SPDX-License-Identifier: MIT */
/* record.h - pass 1 of define_trace.h: struct tf_raw_CLASS */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <tracefuse/passes/none.h>
#include <tracefuse/passes/made_of.h>

#define __field_ext(type, item, filter) type item;
#define __field_struct_ext(type, item, filter) type item;
#define __array(type, item, len) type item[len];
#define __dynamic_array(type, item, len) uint32_t __data_loc_##item;
#define __rel_dynamic_array(type, item, len) uint32_t __rel_loc_##item;
#define __string(item, src) __dynamic_array(char, item, -1)
#define __string_len(item, src, len) __dynamic_array(char, item, -1)
#define __vstring(item, format, args) __dynamic_array(char, item, -1)
#define __rel_string(item, src) __rel_dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len) __rel_dynamic_array(char, item, -1)

#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)	\
	struct tf_raw_##name {						\
		struct tf_common ent;					\
		tstruct							\
		char __data[0];						\
	} __attribute__((may_alias))
