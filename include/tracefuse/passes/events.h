/* SPDX-License-Identifier: MIT */
/* events.h - pass 6 of define_trace.h: tf_event_NAME, tf_emit_NAME(), print formats as texts */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <tracefuse/passes/none.h>

#undef TP_printk
#undef DEFINE_EVENT
#undef DEFINE_EVENT_PRINT

#define __entry REC
#define TP_printk(format, args...) "\"" format "\", " TF_TEXT_(args)

#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)			\
	static const char tf_print_##name[] __attribute__((unused)) = print

#define TF_DEFINE_(cls, name, proto, args, print)					\
	struct tf_event tf_event_##name = {						\
		&tf_dso_.never, 0, TF_VERSION_, TF_TEXT_(TRACE_SYSTEM), #name, &tf_class_##cls, \
		print \
	};										\
	static struct tf_event *tf_event_at_##name TF_KEEP_("tf_events") = &tf_event_##name; \
	__attribute__((noinline)) void tf_emit_##name(proto)				\
	{										\
		tf_fill_##cls(&tf_event_##name, __builtin_frame_address(0), args);	\
	}										\
	struct tf_event

#define DEFINE_EVENT(cls, name, proto, args)						\
	TF_DEFINE_(cls, name, PARAMS(proto), PARAMS(args), tf_print_##cls)
#define DEFINE_EVENT_PRINT(cls, name, proto, args, print)				\
	static const char tf_own_print_##name[] = print;				\
	TF_DEFINE_(cls, name, PARAMS(proto), PARAMS(args), tf_own_print_##name)
