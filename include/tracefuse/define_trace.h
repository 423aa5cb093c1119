/* SPDX-License-Identifier: MIT */
/*
 * define_trace.h - makes the events of the header that includes it, in the file that defines
 * CREATE_TRACE_POINTS
 *
 * The header is included again, once for each pass. In each pass TRACE_EVENT() and
 * the macros inside it have another meaning:
 *
 *     pass 1   struct tf_raw_CLASS      the record
 *     pass 2   struct tf_data_CLASS     where its dynamic parts are
 *     pass 3   tf_fields_CLASS[]        its fields, for the format file
 *     pass 4   tf_size_CLASS()          the size of a record
 *     pass 5   tf_fill_CLASS()          fills a record and emits it
 *     pass 6   tf_event_NAME            the event, and tf_emit_NAME()
 */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#if defined(CREATE_TRACE_POINTS) && !defined(TRACEFUSE_DISABLED)

/* In each pass the header includes this one, too. */
#undef CREATE_TRACE_POINTS

#define TF_TEXT2_(args...) #args
#define TF_TEXT_(args...) TF_TEXT2_(args)

#ifndef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE TRACE_SYSTEM
#define TF_UNDEF_INCLUDE_FILE_
#endif
#ifndef TRACE_INCLUDE_PATH
#define TF_INCLUDE2_(file) <trace/events/file.h>
#define TF_UNDEF_INCLUDE_PATH_
#else
#define TF_INCLUDE2_(file) TF_TEXT_(TRACE_INCLUDE_PATH/file.h)
#endif
#define TF_INCLUDE_(file) TF_INCLUDE2_(file)

#define TRACE_HEADER_MULTI_READ

#undef TRACE_EVENT
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_CLASS
#undef DECLARE_EVENT_CLASS_NOP
#undef DEFINE_EVENT
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_PRINT
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_NOP
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF

/* In all passes a whole event is a class, and one event of this class. */
#define TRACE_EVENT(name, proto, args, tstruct, assign, print)					\
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),	\
			    PARAMS(print));							\
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg)			\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),		\
		    PARAMS(print))
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg)	\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),		\
		    PARAMS(print))
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print)			\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),		\
		    PARAMS(print))
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print) struct tf_event
#define DECLARE_EVENT_CLASS_NOP(name, proto, args, tstruct, assign, print) struct tf_event
#define DEFINE_EVENT_NOP(template_, name, proto, args) struct tf_event
#define DEFINE_EVENT_FN(template_, name, proto, args, reg, unreg)				\
	DEFINE_EVENT(template_, name, PARAMS(proto), PARAMS(args))
#define DEFINE_EVENT_CONDITION(template_, name, proto, args, cond)				\
	DEFINE_EVENT(template_, name, PARAMS(proto), PARAMS(args))
#define DECLARE_TRACE(name, proto, args) struct tf_event
#define DECLARE_TRACE_CONDITION(name, proto, args, cond) struct tf_event

#define TP_STRUCT__entry(args...) args
#define TP_fast_assign(args...) args

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#ifndef __clang__
/* strncpy() into an array of a record, which needs no 0 at its end. */
#pragma GCC diagnostic ignored "-Wstringop-truncation"
#endif

#include <tracefuse/passes/record.h>
#include TF_INCLUDE_(TRACE_INCLUDE_FILE)
#include <tracefuse/passes/data.h>
#include TF_INCLUDE_(TRACE_INCLUDE_FILE)
#include <tracefuse/passes/fields.h>
#include TF_INCLUDE_(TRACE_INCLUDE_FILE)
#include <tracefuse/passes/size.h>
#include TF_INCLUDE_(TRACE_INCLUDE_FILE)
#include <tracefuse/passes/fill.h>
#include TF_INCLUDE_(TRACE_INCLUDE_FILE)
#include <tracefuse/passes/events.h>
#include TF_INCLUDE_(TRACE_INCLUDE_FILE)
#include <tracefuse/passes/none.h>

#pragma GCC diagnostic pop

#undef TP_STRUCT__entry
#undef TP_fast_assign
#undef TP_printk
#undef TRACE_EVENT
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_CLASS
#undef DECLARE_EVENT_CLASS_NOP
#undef DEFINE_EVENT
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_PRINT
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_NOP
#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF
#undef TRACE_HEADER_MULTI_READ
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#define DECLARE_TRACE(name, proto, args) TF_NOTHING_(name, PARAMS(proto)) struct tf_event
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)					\
	TF_NOTHING_(name, PARAMS(proto)) struct tf_event

#ifdef TF_UNDEF_INCLUDE_FILE_
#undef TF_UNDEF_INCLUDE_FILE_
#undef TRACE_INCLUDE_FILE
#endif
#ifdef TF_UNDEF_INCLUDE_PATH_
#undef TF_UNDEF_INCLUDE_PATH_
#undef TRACE_INCLUDE_PATH
#endif
#undef TF_INCLUDE_
#undef TF_INCLUDE2_
#undef TF_TEXT_
#undef TF_TEXT2_

/* The next header of events in the same file is to be made, too. */
#define CREATE_TRACE_POINTS

/* Declares the macros again, so that the file need not include event.h again. */
#include <tracefuse/event.h>

#endif
