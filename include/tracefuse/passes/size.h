/* SPDX-License-Identifier: MIT */
/*
 * size.h - pass 4 of define_trace.h: tf_size_CLASS(), which notes the places of the dynamic parts
 * as length << 16 | offset
 */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <tracefuse/passes/none.h>
#include <tracefuse/passes/made_of.h>

#define __field_ext(type, item, filter)
#define __field_struct_ext(type, item, filter)
#define __array(type, item, len)
#define TF_PART_(type, item, bytes)							\
	tf_at = TF_ALIGNED_(tf_at, type);						\
	tf_len = (bytes);								\
	__data_offsets->item = (uint32_t)(tf_len << 16 | tf_at);			\
	tf_at += tf_len;
#define __dynamic_array(type, item, len) TF_PART_(type, item, (size_t)(len) * sizeof(type))
#define __rel_dynamic_array(type, item, len) __dynamic_array(type, item, len)
#define __string(item, src)								\
	__data_offsets->item##_ptr_ = (const char *)(src);				\
	TF_PART_(char, item, tf_text_size_(__data_offsets->item##_ptr_))
#define __string_len(item, src, len)							\
	__data_offsets->item##_ptr_ = (const char *)(src);				\
	TF_PART_(char, item, (size_t)(len) + 1)
#define __vstring(item, format, args) TF_PART_(char, item, tf_vstring_size_(format, args))
#define __rel_string(item, src) __string(item, src)
#define __rel_string_len(item, src, len) __string_len(item, src, len)

#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)			\
	static inline __attribute__((always_inline, unused)) size_t			\
	tf_size_##name(struct tf_data_##name *__data_offsets, proto)			\
	{										\
		size_t tf_at = offsetof(struct tf_raw_##name, __data), tf_len = 0;	\
		__data_offsets->tf_none = 0;						\
		(void)tf_len;								\
		tstruct									\
		return tf_at > sizeof(struct tf_raw_##name) ? tf_at : \
							      sizeof(struct tf_raw_##name); \
	}										\
	struct tf_event
