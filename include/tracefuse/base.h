/* SPDX-License-Identifier: MIT */
/*
 * base.h - how a program or shared library and libtracefuse find each other
 *
 * Included by tracefuse.h and event.h; nothing here is for direct use.
 *
 * Each shared object (program or library) that includes one of them has
 *
 *     tf_dso_       one struct tf_dso: the agent stores its functions here
 *     tf_events     a section: pointers to the events that are defined in the object
 *     tf_enums      a section: pointers to the names of TRACE_DEFINE_ENUM
 *     an ELF note   which contains the places of these three
 *
 * The agent reads the notes of all shared objects when it attaches, before their
 * constructors run. An object that dlopen() loads reports itself. So nothing has to
 * be linked: without libtracefuse in the process the events are never armed.
 *
 * With TRACEFUSE_DISABLED nothing of this exists: no code, no data, no note.
 */
#ifndef TRACEFUSE_BASE_H
#define TRACEFUSE_BASE_H

#ifdef __GNUC__
#pragma GCC system_header
#endif

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The function tracers must not trace the functions of these headers: they are not the program's
 * own.
 */
#if __has_attribute(patchable_function_entry)
#define TF_NOTRACE_ __attribute__((no_instrument_function, patchable_function_entry(0, 0)))
#else
#define TF_NOTRACE_ __attribute__((no_instrument_function))
#endif

#ifndef TRACEFUSE_DISABLED

#ifdef __cplusplus
extern "C" {
#endif

enum { TF_VERSION_ = 1 };

/* Every record begins with these fields; the agent fills them in. */
struct tf_common {
	uint16_t	type;
	uint8_t		flags;
	uint8_t		preempt_count;
	int32_t		pid;
};

/* A field of a record, for the event's format file. */
struct tf_field {
	const char	*type;		/* "int", "char[16]", "__data_loc char[]" */
	const char	*name;
	/* In bytes; each field comes behind the one before, where its alignment allows. */
	uint32_t	align, size;
	int32_t		is_signed;
	int32_t		kind;		/* enum tf_kind: how TF_EVENT() prints it */
};

enum tf_kind { TF_KIND_OTHER, TF_KIND_TEXT };

/* What events of one class have in common. */
struct tf_class {
	const struct tf_field *fields;
	uint32_t	nr_fields;
};

struct tf_event {
	const uint64_t	*plan;		/* the agent's; the event is armed while *plan is not 0 */
	/* The agent's; 0: no session knows the event, UINT32_MAX: it was refused. */
	uint32_t	id;
	uint32_t	version;
	const char	*system, *name;
	const struct tf_class *cls;
	const char	*print;		/* the print fmt; NULL: it is made from the fields */
};

/* The name of a constant, or of a size, that print formats of the system use. */
struct tf_enum {
	const char	*system, *name;
	int64_t		value;
};

/* The agent's functions. New ones are added at the end. */
struct tf_ops {
	uint32_t	size;		/* of this struct */
	uint32_t	version;
	/*
	 * One hit. The record begins with room for struct tf_common. frame is
	 * __builtin_frame_address(0) of the function that the program called.
	 */
	void (*emit)(const struct tf_event *event, void *record, uint32_t size, const void *frame);
	/*
	 * Memory for one record of more than TF_RECORD_STACK bytes, valid until emit_large(); 8
	 * bytes behind it may be written. NULL: too large.
	 */
	void	*(*reserve)(uint32_t size);
	void (*emit_large)(const struct tf_event *event, void *record, uint32_t size,
			   const void *frame);
	int	(*vprintk)(const void *ip, const char *format, va_list args);
	int	(*marker)(const void *ip, const char *text, size_t size);
	int	(*attached)(void);
	/*
	 * For tf_critical_start(), on 1, and tf_critical_stop(), on 0: the function itself, its
	 * caller, its frame. Older agents do not have it: see size.
	 */
	void	(*critical)(int on, const void *ip, const void *site, const void *frame);
	/* For tf_snapshot(): 0 or -errno. Older agents do not have it: see size. */
	int	(*snapshot)(const char *file);
};

enum {
	/* A record of this size or less is made on the caller's stack. */
	TF_RECORD_STACK	= 256,
	TF_RECORD_MAX	= 4072,		/* bytes of the largest record */
	TF_RECORD_SPARE_ = 8,		/* bytes behind each record that may be written */
};

struct tf_dso {
	uint32_t	version;
	uint32_t	told;		/* the agent's: it has sent the events to the server */
	const struct tf_ops *ops;	/* NULL: there is no agent */
	uint64_t	never;		/* `plan` of events that are not armed points here */
};

/* One in each shared object, although several of its files define it. */
__attribute__((weak, visibility("hidden"))) struct tf_dso tf_dso_ = { TF_VERSION_, 0, NULL, 0 };

/* Keeps a section that the linker would drop because nothing refers to it. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define TF_RETAIN_ "R"
#define TF_KEEP_(section_) __attribute__((used, retain, section(section_)))
#endif
#endif
#ifndef TF_KEEP_
#define TF_RETAIN_ ""
#define TF_KEEP_(section_) __attribute__((used, section(section_)))
#endif

/*
 * The note: name "tracefuse", type 1, and the places of the sections and of tf_dso_, each
 * as the distance from the word that contains it. Each file has the note, and an entry
 * of 0 in both sections, so that these exist. The note could be defined once for all
 * files (comdat), but linkers drop that more easily than this.
 */
__asm__(".pushsection tf_events,\"aw" TF_RETAIN_ "\",@progbits\n\t"
	".balign 8\n\t"
	".quad 0\n\t"
	".popsection\n\t"
	".pushsection tf_enums,\"aw" TF_RETAIN_ "\",@progbits\n\t"
	".balign 8\n\t"
	".quad 0\n\t"
	".popsection\n\t"
	".hidden __start_tf_events\n\t"
	".hidden __stop_tf_events\n\t"
	".hidden __start_tf_enums\n\t"
	".hidden __stop_tf_enums\n\t"
	".pushsection .note.tracefuse,\"a\",@note\n\t"
	".balign 4\n\t"
	".long 10, 20, 1\n\t"
	".asciz \"tracefuse\"\n\t"
	".balign 4\n\t"
	".long __start_tf_events - .\n\t"
	".long __stop_tf_events - .\n\t"
	".long __start_tf_enums - .\n\t"
	".long __stop_tf_enums - .\n\t"
	".long tf_dso_ - .\n\t"
	".popsection");

/* ---- A shared object that dlopen() loads ---- */

extern struct tf_event *__start_tf_events[] __attribute__((visibility("hidden")));
extern struct tf_event *__stop_tf_events[] __attribute__((visibility("hidden")));
extern struct tf_enum *__start_tf_enums[] __attribute__((visibility("hidden")));
extern struct tf_enum *__stop_tf_enums[] __attribute__((visibility("hidden")));

extern void tf_dso_opened_(struct tf_dso *dso, struct tf_event **events,
			   struct tf_event **events_end, struct tf_enum **enums,
			   struct tf_enum **enums_end) __attribute__((weak, visibility("default")));
extern void tf_dso_closed_(struct tf_dso *dso) __attribute__((weak, visibility("default")));

TF_NOTRACE_ __attribute__((weak, visibility("hidden"), constructor)) void tf_dso_begin_(void)
{
	if (tf_dso_opened_ && !tf_dso_.told)
		tf_dso_opened_(&tf_dso_, __start_tf_events, __stop_tf_events, __start_tf_enums,
			       __stop_tf_enums);
}

TF_NOTRACE_ __attribute__((weak, visibility("hidden"), destructor)) void tf_dso_end_(void)
{
	if (tf_dso_closed_)
		tf_dso_closed_(&tf_dso_);
}

/* The first address at or behind `at` that has the type's alignment. */
#define TF_ALIGNED_(at_, type_) (((at_) + __alignof__(type_) - 1) & ~(__alignof__(type_) - 1))

/* Two loads, a compare, a branch. */
static inline __attribute__((always_inline, unused)) int tf_armed_(const struct tf_event *event)
{
	const uint64_t *plan = __atomic_load_n(&event->plan, __ATOMIC_RELAXED);

	return __builtin_expect(__atomic_load_n(plan, __ATOMIC_RELAXED) != 0, 0);
}

#ifdef __cplusplus
}
#endif

/* Whether a field's numbers are signed. As in the kernel, char is not. */
#ifdef __cplusplus

extern "C++" {

template <typename T, bool is_enum> struct tf_sign_ {
	static constexpr int value = T(-1) < T(1);
};
template <typename T> struct tf_sign_<T, true> : tf_sign_<__underlying_type(T), false> { };
template <typename T> struct tf_sign_<T *, false> {
	static constexpr int value = 0;
};
template <> struct tf_sign_<char, false> {
	static constexpr int value = 0;
};

}

#define TF_SIGNED_(type_) (tf_sign_<type_, __is_enum(type_)>::value)

#else

#define TF_SIGNED_(type_) (!__builtin_types_compatible_p(type_, char) && (type_)-1 < (type_)1)

#endif

#endif /* TRACEFUSE_DISABLED */

#define TF_CAT2_(a, b) a##b
#define TF_CAT_(a, b) TF_CAT2_(a, b)

#endif
