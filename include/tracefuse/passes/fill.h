/* SPDX-License-Identifier: MIT */
/*
 * fill.h - pass 5 of define_trace.h: tf_fill_CLASS(), which fills a record by TP_fast_assign() and
 * emits it
 */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <tracefuse/passes/none.h>
#include <tracefuse/passes/made_of.h>

#define __field_ext(type, item, filter)
#define __field_struct_ext(type, item, filter)
#define __array(type, item, len)
#define __dynamic_array(type, item, len) __entry->__data_loc_##item = __data_offsets.item;
/* The offset is counted from the end of the field. */
#define __rel_dynamic_array(type, item, len)						\
	__entry->__rel_loc_##item = __data_offsets.item -				\
		(uint32_t)((char *)&__entry->__rel_loc_##item - (char *)__entry + sizeof(uint32_t));
#define __string(item, src) __dynamic_array(char, item, -1)
#define __string_len(item, src, len) __dynamic_array(char, item, -1)
#define __vstring(item, format, args) __dynamic_array(char, item, -1)
#define __rel_string(item, src) __rel_dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len) __rel_dynamic_array(char, item, -1)

#define __get_dynamic_array(item) ((void *)((char *)__entry + (__data_offsets.item & 0xffff)))
#define __get_dynamic_array_len(item) (__data_offsets.item >> 16)
#define __get_str(item) ((char *)__get_dynamic_array(item))
#define __get_bitmask(item) __get_dynamic_array(item)
#define __get_cpumask(item) __get_dynamic_array(item)
#define __get_sockaddr(item) __get_dynamic_array(item)
#define __get_rel_dynamic_array(item) __get_dynamic_array(item)
#define __get_rel_dynamic_array_len(item) __get_dynamic_array_len(item)
#define __get_rel_str(item) __get_str(item)
#define __get_rel_bitmask(item) __get_dynamic_array(item)
#define __get_rel_cpumask(item) __get_dynamic_array(item)
#define __get_rel_sockaddr(item) __get_dynamic_array(item)

/* With the text again, as until Linux 6.9, or without it. */
#define __assign_str(item, text...)							\
	tf_text_assign_(__get_str(item), __get_dynamic_array_len(item), __data_offsets.item##_ptr_)
#define __assign_str_len(item, text...) __assign_str(item)
#define __assign_rel_str(item, text...) __assign_str(item)
#define __assign_rel_str_len(item, text...) __assign_str(item)
#define __assign_vstr(item, format, args)						\
	tf_vstring_assign_(__get_str(item), __get_dynamic_array_len(item), format, args)
#define __assign_bitmask(item, src, nr_bits)						\
	memcpy(__get_dynamic_array(item), (src), tf_bitmask_longs_(nr_bits) * sizeof(long))
#define __assign_cpumask(item, src) __assign_bitmask(item, src, TF_CPUMASK_BITS_)
#define __assign_sockaddr(item, src, len) memcpy(__get_dynamic_array(item), (src), (len))
#define __assign_rel_bitmask(item, src, nr_bits) __assign_bitmask(item, src, nr_bits)
#define __assign_rel_cpumask(item, src) __assign_cpumask(item, src)
#define __assign_rel_sockaddr(item, src, len) __assign_sockaddr(item, src, len)
#define __perf_addr(a) (a)
#define __perf_count(c) (c)
#define __perf_task(t) (t)

/* If the record is larger than the largest one, reserve() refuses it. */
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)			\
	static TF_NOTRACE_ __attribute__((unused)) void					\
	tf_fill_##name(const struct tf_event *tf_event, const void *tf_frame, proto)	\
	{										\
		char tf_stack[TF_RECORD_STACK] __attribute__((aligned(16)));		\
		struct tf_raw_##name *__entry = (struct tf_raw_##name *)(void *)tf_stack; \
		struct tf_data_##name __data_offsets;					\
		size_t tf_size = (tf_size_##name(&__data_offsets, args) + 3) & ~(size_t)3; \
		uint32_t tf_whole = tf_size > TF_RECORD_MAX ? UINT32_MAX : (uint32_t)tf_size; \
		if (__builtin_expect(tf_whole > TF_RECORD_STACK, 0))			\
			__entry = (struct tf_raw_##name *)tf_dso_.ops->reserve(tf_whole); \
		if (__builtin_expect(!__entry, 0))					\
			return;								\
		memset((char *)__entry + tf_whole - 4, 0, 4);				\
		tstruct									\
		{ assign }								\
		if (__builtin_expect(tf_whole > TF_RECORD_STACK, 0))			\
			tf_dso_.ops->emit_large(tf_event, __entry, tf_whole, tf_frame);	\
		else									\
			tf_dso_.ops->emit(tf_event, __entry, tf_whole, tf_frame);	\
	}										\
	struct tf_event
