/* SPDX-License-Identifier: MIT */
/*
 * event.h - events in the style of the kernel's TRACE_EVENT()
 *
 * A header of events, as in the kernel:
 *
 *     #undef TRACE_SYSTEM
 *     #define TRACE_SYSTEM app
 *
 *     #if !defined(APP_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
 *     #define APP_EVENTS_H
 *     #include <tracefuse/event.h>                    // or <linux/tracepoint.h>
 *
 *     TRACE_EVENT(request,
 *             TP_PROTO(int id, const char *path),
 *             TP_ARGS(id, path),
 *             TP_STRUCT__entry(
 *                     __field(int, id)
 *                     __string(path, path)
 *             ),
 *             TP_fast_assign(
 *                     __entry->id = id;
 *                     __assign_str(path);
 *             ),
 *             TP_printk("id=%d path=%s", __entry->id, __get_str(path))
 *     );
 *
 *     #endif
 *     #undef TRACE_INCLUDE_PATH
 *     #define TRACE_INCLUDE_PATH .
 *     #define TRACE_INCLUDE_FILE app_events
 *     #include <tracefuse/define_trace.h>             // or <trace/define_trace.h>
 *
 * One C or C++ file of each program or library has
 *
 *     #define CREATE_TRACE_POINTS
 *     #include "app_events.h"
 *
 * All files that include the header have trace_request(id, path), and
 * trace_request_enabled() for work that only the event needs. As with the
 * kernel's, the directory of the header has to be among those that the
 * compiler searches (-I), because define_trace.h includes it again.
 *
 * A header that was written for the kernel compiles as it is with
 * -I.../tracefuse/compat, which has <linux/tracepoint.h> and others. If TP_printk()
 * calls more than the kernel's own helpers, the calls are evaluated when the trace is
 * read, not in the program. Constants that it names have to be defined with
 * TRACE_DEFINE_ENUM(). Callbacks of TRACE_EVENT_FN() are not called.
 *
 * Any thread may make events, also in signal handlers. A record of more than 256
 * bytes is filled in memory of the thread. A record of more than 4,072 bytes cannot
 * be recorded, and counts as missed.
 *
 * With TRACEFUSE_DISABLED trace_NAME() is an empty inline function, and nothing
 * else is defined. C11 and C++17 with the usual extensions of gcc and clang.
 */
#ifndef TRACEFUSE_EVENT_H
#define TRACEFUSE_EVENT_H

#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <stdio.h>
#include <string.h>
#include <tracefuse/base.h>

#ifndef PARAMS
#define PARAMS(args...) args
#endif

#define TP_PROTO(args...) args
#define TP_ARGS(args...) args
#define TP_CONDITION(args...) args

#ifdef __cplusplus
#define TF_C_ extern "C"
#else
#define TF_C_ extern
#endif

#ifndef TRACEFUSE_DISABLED

/* For passes/fill.h. */
#define TF_CPUMASK_BITS_ 1024	/* of a cpu_set_t */

static inline TF_NOTRACE_ __attribute__((unused)) size_t tf_bitmask_longs_(size_t nr_bits)
{
	return (nr_bits + 8 * sizeof(long) - 1) / (8 * sizeof(long));
}

static inline TF_NOTRACE_ __attribute__((unused)) size_t tf_text_size_(const char *text)
{
	return (text ? strlen(text) : sizeof("(null)") - 1) + 1;
}

/* len counts the 0 at the end of the text. */
static inline TF_NOTRACE_ __attribute__((unused)) void
tf_text_assign_(char *to, size_t len, const char *from)
{
	if (!len)
		return;
	if (from)
		memcpy(to, from, len - 1);
	else
		strncpy(to, "(null)", len - 1);
	to[len - 1] = 0;
}

/* args is a va_list *, as in the kernel. */
static inline TF_NOTRACE_ __attribute__((unused)) size_t
tf_vstring_size_(const char *format, va_list *args)
{
	va_list copy;
	int n;

	va_copy(copy, *args);
	n = vsnprintf(NULL, 0, format, copy);
	va_end(copy);
	return n < 0 ? 1 : (size_t)n + 1;
}

static inline TF_NOTRACE_ __attribute__((unused)) void
tf_vstring_assign_(char *to, size_t len, const char *format, va_list *args)
{
	va_list copy;

	va_copy(copy, *args);
	vsnprintf(to, len, format, copy);
	va_end(copy);
}

#endif

/*
 * The declarations of an event for the rest of the program; define_trace.h makes the event itself.
 */
#ifdef TRACEFUSE_DISABLED

#define TF_DECLARE_(name_, proto_, args_, cond_) TF_NOTHING_(name_, PARAMS(proto_))

#else

#define TF_DECLARE_(name_, proto_, args_, cond_)						\
	TF_C_ __attribute__((visibility("hidden"))) struct tf_event tf_event_##name_;		\
	TF_C_ TF_NOTRACE_ __attribute__((visibility("hidden"))) void tf_emit_##name_(proto_);	\
	static inline __attribute__((always_inline, unused)) void trace_##name_(proto_)		\
	{											\
		if (tf_armed_(&tf_event_##name_) && (cond_))					\
			tf_emit_##name_(args_);							\
	}											\
	static inline __attribute__((always_inline, unused)) int trace_##name_##_enabled(void)	\
	{											\
		return tf_armed_(&tf_event_##name_);						\
	}

#endif

/* Tracepoints without an event: no tracer can use them here. */
#define TF_NOTHING_(name_, proto_)								\
	_Pragma("GCC diagnostic push")								\
	_Pragma("GCC diagnostic ignored \"-Wunused-parameter\"")				\
	static inline __attribute__((unused)) void trace_##name_(proto_) { }			\
	static inline __attribute__((unused)) int trace_##name_##_enabled(void) { return 0; }	\
	_Pragma("GCC diagnostic pop")

#define DECLARE_TRACE(name, proto, args) TF_NOTHING_(name, PARAMS(proto)) struct tf_event
#define DECLARE_TRACE_CONDITION(name, proto, args, cond) \
	TF_NOTHING_(name, PARAMS(proto)) struct tf_event
#define DEFINE_TRACE(name, proto, args) struct tf_event
#define DEFINE_TRACE_FN(name, reg, unreg, proto, args) struct tf_event
#define EXPORT_TRACEPOINT_SYMBOL(name) struct tf_event
#define EXPORT_TRACEPOINT_SYMBOL_GPL(name) struct tf_event

#endif /* TRACEFUSE_EVENT_H */

/*
 * Outside of the guard: define_trace.h undefines these, and the next header of
 * events defines them again.
 */
#ifndef TRACE_EVENT

#define TRACE_EVENT_FLAGS(event, flag)
#define TRACE_EVENT_PERF_PERM(event, expr...)
#define TRACE_DEFINE_ENUM(a)
#define TRACE_DEFINE_SIZEOF(a)

#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)	struct tf_event
#define DECLARE_EVENT_CLASS_NOP(name, proto, args, tstruct, assign, print) struct tf_event
#define DEFINE_EVENT(template_, name, proto, args) \
	TF_DECLARE_(name, PARAMS(proto), PARAMS(args), 1) struct tf_event
#define DEFINE_EVENT_FN(template_, name, proto, args, reg, unreg) \
	TF_DECLARE_(name, PARAMS(proto), PARAMS(args), 1) struct tf_event
#define DEFINE_EVENT_PRINT(template_, name, proto, args, print) \
	TF_DECLARE_(name, PARAMS(proto), PARAMS(args), 1) struct tf_event
#define DEFINE_EVENT_CONDITION(template_, name, proto, args, cond) \
	TF_DECLARE_(name, PARAMS(proto), PARAMS(args), cond) struct tf_event
#define DEFINE_EVENT_NOP(template_, name, proto, args) \
	TF_NOTHING_(name, PARAMS(proto)) struct tf_event
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print) \
	TF_NOTHING_(name, PARAMS(proto)) struct tf_event
#define TRACE_EVENT(name, proto, args, tstruct, assign, print) \
	TF_DECLARE_(name, PARAMS(proto), PARAMS(args), 1) struct tf_event
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg) \
	TF_DECLARE_(name, PARAMS(proto), PARAMS(args), 1) struct tf_event
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg) \
	TF_DECLARE_(name, PARAMS(proto), PARAMS(args), cond) struct tf_event
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print) \
	TF_DECLARE_(name, PARAMS(proto), PARAMS(args), cond) struct tf_event

#endif
