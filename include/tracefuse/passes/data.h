/* SPDX-License-Identifier: MIT */
/*
 * data.h - pass 2 of define_trace.h: struct tf_data_CLASS, the places of the dynamic parts and
 * their sources
 */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <tracefuse/passes/none.h>
#include <tracefuse/passes/made_of.h>

#define __field_ext(type, item, filter)
#define __field_struct_ext(type, item, filter)
#define __array(type, item, len)
#define __dynamic_array(type, item, len) uint32_t item;
#define __rel_dynamic_array(type, item, len) uint32_t item;
#define __string(item, src) uint32_t item; const char *item##_ptr_;
#define __string_len(item, src, len) uint32_t item; const char *item##_ptr_;
#define __vstring(item, format, args) uint32_t item;
#define __rel_string(item, src) uint32_t item; const char *item##_ptr_;
#define __rel_string_len(item, src, len) uint32_t item; const char *item##_ptr_;

/* The struct is never empty: C and C++ give an empty one different sizes. */
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)	\
	struct tf_data_##name {						\
		uint32_t tf_none;					\
		tstruct							\
	}
