/* SPDX-License-Identifier: MIT */
/* fields.h - pass 3 of define_trace.h: tf_class_CLASS, and the constants that print formats name */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <tracefuse/passes/none.h>
#include <tracefuse/passes/made_of.h>

#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF
#undef __sockaddr
#undef __rel_sockaddr

#define TF_LOC_(prefix, type, item, sign) \
	{ prefix " " #type "[]", #item, __alignof__(uint32_t), sizeof(uint32_t), sign, \
	  TF_KIND_OTHER },
#define __field_ext(type, item, filter) \
	{ #type, #item, __alignof__(type), sizeof(type), TF_SIGNED_(type), TF_KIND_OTHER },
#define __field_struct_ext(type, item, filter) \
	{ #type, #item, __alignof__(type), sizeof(type), 0, TF_KIND_OTHER },
#define __array(type, item, len) \
	{ #type "[" TF_TEXT_(len) "]", #item, __alignof__(type), sizeof(type[len]), \
	  TF_SIGNED_(type), TF_KIND_OTHER },
#define __dynamic_array(type, item, len) TF_LOC_("__data_loc", type, item, TF_SIGNED_(type))
#define __rel_dynamic_array(type, item, len) TF_LOC_("__rel_loc", type, item, TF_SIGNED_(type))
#define __string(item, src) __dynamic_array(char, item, -1)
#define __string_len(item, src, len) __dynamic_array(char, item, -1)
#define __vstring(item, format, args) __dynamic_array(char, item, -1)
#define __rel_string(item, src) __rel_dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len) __rel_dynamic_array(char, item, -1)
#define __sockaddr(item, len) TF_LOC_("__data_loc", __u8, item, 0)
#define __rel_sockaddr(item, len) TF_LOC_("__rel_loc", __u8, item, 0)

/* The last entry is no field: an event may have none. */
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)		\
	static const struct tf_field tf_fields_##name[] = {			\
		tstruct								\
		{ NULL, NULL, 0, 0, 0, 0 }					\
	};									\
	static const struct tf_class tf_class_##name = {			\
		tf_fields_##name, sizeof(tf_fields_##name) / sizeof(tf_fields_##name[0]) - 1 \
	}

#define TF_ENUM_(id, text, value)								\
	static struct tf_enum TF_CAT_(tf_enum_, id) = { TF_TEXT_(TRACE_SYSTEM), text, \
							(int64_t)(value) }; \
	static struct tf_enum *TF_CAT_(tf_enum_at_, id) TF_KEEP_("tf_enums") = \
		&TF_CAT_(tf_enum_, id);
#define TF_ENUM2_(id, text, value) TF_ENUM_(id, text, value)
#define TRACE_DEFINE_ENUM(a) TF_ENUM2_(__COUNTER__, #a, a)
#define TRACE_DEFINE_SIZEOF(a) TF_ENUM2_(__COUNTER__, "sizeof(" #a ")", sizeof(a))
