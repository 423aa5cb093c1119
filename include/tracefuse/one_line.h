/* SPDX-License-Identifier: MIT */
/*
 * one_line.h - TF_EVENT(): an event in one line
 *
 *     TF_EVENT(system, name, (type, field), ...);       at file scope, also in a header
 *
 * defines trace_NAME(field, ...), which makes one event system:name, and
 * trace_NAME_enabled(), for work that only the event needs. An event has 12 fields
 * at most. Types are integers, enums, pointers, and texts: a `const char *` is
 * recorded as the text that it points to, 1,000 bytes at most, "(null)" for NULL.
 * Floating point numbers cannot be recorded: use an integer of a smaller unit.
 *
 * The same line in several files, or in several programs, is the same event.
 * Another event with this name is refused and stays off. While the event is
 * off, trace_NAME() is two loads, a compare and a branch; its arguments are
 * evaluated all the same.
 *
 * Included by tracefuse.h.
 */
#ifndef TRACEFUSE_ONE_LINE_H
#define TRACEFUSE_ONE_LINE_H

#ifdef __GNUC__
#pragma GCC system_header
#endif

/* ---- Lists of fields: M_(event, index, type, field) for each ---- */

#define TF_TYPE_(type_, name_) type_
#define TF_NAME_(type_, name_) name_
#define TF_APPLY_(m_, id_, i_, pair_) TF_APPLY2_(m_, id_, i_, TF_TYPE_ pair_, TF_NAME_ pair_)
#define TF_APPLY2_(m_, ...) m_(__VA_ARGS__)

#define TF_COUNT_(...) TF_COUNT2_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define TF_COUNT2_(a0_, a1_, a2_, a3_, a4_, a5_, a6_, a7_, a8_, a9_, a10_, a11_, a12_, n_, ...) n_

#define TF_EACH_0_(m_, id_)
#define TF_EACH_1_(m_, id_, f1_) TF_APPLY_(m_, id_, 0, f1_)
#define TF_EACH_2_(m_, id_, f1_, f2_) \
	TF_EACH_1_(m_, id_, f1_) TF_APPLY_(m_, id_, 1, f2_)
#define TF_EACH_3_(m_, id_, f1_, f2_, f3_) \
	TF_EACH_2_(m_, id_, f1_, f2_) TF_APPLY_(m_, id_, 2, f3_)
#define TF_EACH_4_(m_, id_, f1_, f2_, f3_, f4_) \
	TF_EACH_3_(m_, id_, f1_, f2_, f3_) TF_APPLY_(m_, id_, 3, f4_)
#define TF_EACH_5_(m_, id_, f1_, f2_, f3_, f4_, f5_) \
	TF_EACH_4_(m_, id_, f1_, f2_, f3_, f4_) TF_APPLY_(m_, id_, 4, f5_)
#define TF_EACH_6_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_) \
	TF_EACH_5_(m_, id_, f1_, f2_, f3_, f4_, f5_) TF_APPLY_(m_, id_, 5, f6_)
#define TF_EACH_7_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_) \
	TF_EACH_6_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_) TF_APPLY_(m_, id_, 6, f7_)
#define TF_EACH_8_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_) \
	TF_EACH_7_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_) TF_APPLY_(m_, id_, 7, f8_)
#define TF_EACH_9_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_) \
	TF_EACH_8_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_) TF_APPLY_(m_, id_, 8, f9_)
#define TF_EACH_10_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_) \
	TF_EACH_9_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_) TF_APPLY_(m_, id_, 9, f10_)
#define TF_EACH_11_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_, f11_) \
	TF_EACH_10_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_) \
	TF_APPLY_(m_, id_, 10, f11_)
#define TF_EACH_12_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_, f11_, f12_) \
	TF_EACH_11_(m_, id_, f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_, f11_) \
	TF_APPLY_(m_, id_, 11, f12_)

#define TF_PARAM_FIRST_(id_, i_, type_, name_) type_ name_ __attribute__((unused))
#define TF_PARAM_NEXT_(id_, i_, type_, name_) , type_ name_ __attribute__((unused))
#define TF_ARG_FIRST_(id_, i_, type_, name_) name_
#define TF_ARG_NEXT_(id_, i_, type_, name_) , name_

#define TF_PARAMS_0_() void
#define TF_ARGS_0_()
#define TF_PARAMS_1_(f1_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_)
#define TF_ARGS_1_(f1_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_)
#define TF_PARAMS_2_(f1_, f2_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_)
#define TF_ARGS_2_(f1_, f2_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_)
#define TF_PARAMS_3_(f1_, f2_, f3_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_)
#define TF_ARGS_3_(f1_, f2_, f3_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_)
#define TF_PARAMS_4_(f1_, f2_, f3_, f4_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_)
#define TF_ARGS_4_(f1_, f2_, f3_, f4_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_)
#define TF_PARAMS_5_(f1_, f2_, f3_, f4_, f5_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f5_)
#define TF_ARGS_5_(f1_, f2_, f3_, f4_, f5_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f5_)
#define TF_PARAMS_6_(f1_, f2_, f3_, f4_, f5_, f6_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f6_)
#define TF_ARGS_6_(f1_, f2_, f3_, f4_, f5_, f6_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f6_)
#define TF_PARAMS_7_(f1_, f2_, f3_, f4_, f5_, f6_, f7_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f7_)
#define TF_ARGS_7_(f1_, f2_, f3_, f4_, f5_, f6_, f7_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f7_)
#define TF_PARAMS_8_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f8_)
#define TF_ARGS_8_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f8_)
#define TF_PARAMS_9_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f8_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f9_)
#define TF_ARGS_9_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f8_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f9_)
#define TF_PARAMS_10_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f8_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f9_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f10_)
#define TF_ARGS_10_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f8_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f9_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f10_)
#define TF_PARAMS_11_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_, f11_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f8_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f9_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f10_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f11_)
#define TF_ARGS_11_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_, f11_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f8_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f9_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f10_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f11_)
#define TF_PARAMS_12_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_, f11_, f12_) \
	TF_APPLY_(TF_PARAM_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f8_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f9_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f10_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f11_) \
	TF_APPLY_(TF_PARAM_NEXT_, 0, 0, f12_)
#define TF_ARGS_12_(f1_, f2_, f3_, f4_, f5_, f6_, f7_, f8_, f9_, f10_, f11_, f12_) \
	TF_APPLY_(TF_ARG_FIRST_, 0, 0, f1_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f2_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f3_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f4_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f5_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f6_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f7_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f8_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f9_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f10_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f11_) \
	TF_APPLY_(TF_ARG_NEXT_, 0, 0, f12_)

/* One event with n_ fields. */
#define TF_EVENT(system_, name_, ...) \
	TF_EVENT2_(TF_COUNT_(name_, ##__VA_ARGS__), system_, name_, ##__VA_ARGS__)
#define TF_EVENT2_(n_, system_, name_, ...) TF_EVENT3_(n_, system_, name_, ##__VA_ARGS__)
#define TF_EVENT3_(n_, system_, name_, ...) \
	TF_EVENT_(n_, system_, name_, system_##__##name_, TF_EACH_##n_##_, \
		  (TF_PARAMS_##n_##_(__VA_ARGS__)), (TF_ARGS_##n_##_(__VA_ARGS__)), ##__VA_ARGS__)

#ifdef TRACEFUSE_DISABLED

#define TF_EVENT_(n_, system_, name_, id_, each_, params_, args_, ...) \
	static inline __attribute__((unused)) void trace_##name_ params_ { } \
	static inline __attribute__((unused)) int trace_##name_##_enabled(void) { return 0; } \
	struct tf_event

#else

enum { TF_TEXT_MAX = 1000 };	/* a multiple of 4 */

static inline TF_NOTRACE_ __attribute__((unused)) uint32_t tf_text_len_(const char *text)
{
	uint32_t n = 0;

	if (!text)
		return sizeof("(null)");
	/* Four at once: most of what a hit with a text takes would be this loop. */
	for (; n < TF_TEXT_MAX; n += 4) {
		if (!text[n])
			return n + 1;
		if (!text[n + 1])
			return n + 2;
		if (!text[n + 2])
			return n + 3;
		if (!text[n + 3])
			return n + 4;
	}
	return TF_TEXT_MAX + 1;
}

/* The last bytes of a text, fewer than 8; `before` bytes come before them. */
static inline TF_NOTRACE_ __attribute__((unused)) uint64_t
tf_text_tail_(const char *from, uint32_t left, uint32_t before)
{
	uint64_t word = 0;
	uint32_t low, high;

	if (before >= 8) {
		__builtin_memcpy(&word, from + left - 8, 8);
		return word >> 1 >> (63 - 8 * left);
	}
	if (left < 4) {
		for (uint32_t i = 0; i < left; i++)
			word |= (uint64_t)(unsigned char)from[i] << 8 * i;
		return word;
	}
	__builtin_memcpy(&low, from, 4);
	__builtin_memcpy(&high, from + left - 4, 4);
	return low | (uint64_t)high << (8 * left - 32);
}

/*
 * Stores a text in words of 8 bytes, the last one with 0s behind the text: up to 7 bytes more than
 * len, for which there is room (TF_RECORD_SPARE_). A histogram by the text loads the same words: a
 * load that needs the bytes of two stores would wait until both are done.
 */
static inline TF_NOTRACE_ __attribute__((unused)) void
tf_text_put_(void *record, uint32_t at, uint32_t len, const char *text)
{
	const char *from = text ? text : "(null)";
	char *out = (char *)record + at;
	uint32_t left = len - 1;
	uint64_t word;

	for (; left >= 8; left -= 8, from += 8, out += 8) {
		__builtin_memcpy(&word, from, 8);
		__asm__("" : "+r"(word));	/* else the loop becomes a memcpy() */
		__builtin_memcpy(out, &word, 8);
	}
	word = tf_text_tail_(from, left, len - 1 - left);
	__builtin_memcpy(out, &word, 8);
}

/* What depends on a field's type: how it is stored, and its line in the format. */
#ifdef __cplusplus

extern "C++" {

template <typename T> struct tf_type_ {
	typedef T stored;
	static constexpr int is_text = 0;
	static constexpr const char *text(const char *name) { return name; }
};
template <> struct tf_type_<const char *> {
	typedef uint32_t stored;
	static constexpr int is_text = 1;
	static constexpr const char *text(const char *) { return "__data_loc char[]"; }
};
template <> struct tf_type_<char *> : tf_type_<const char *> { };
template <> struct tf_type_<float>;		/* floating point cannot be recorded */
template <> struct tf_type_<double>;
template <> struct tf_type_<long double>;

static inline TF_NOTRACE_ const char *tf_text_of_(const char *text) { return text; }
static inline TF_NOTRACE_ const char *tf_text_of_(char *text) { return text; }
template <typename T> static inline TF_NOTRACE_ const char *tf_text_of_(T) { return nullptr; }
static inline TF_NOTRACE_ uint32_t tf_store_(const char *, uint32_t place) { return place; }
static inline TF_NOTRACE_ uint32_t tf_store_(char *, uint32_t place) { return place; }
template <typename T> static inline TF_NOTRACE_ T tf_store_(T value, uint32_t) { return value; }

}

#define TF_STORED_(type_) tf_type_<type_>::stored
#define TF_IS_TEXT_(type_) tf_type_<type_>::is_text
#define TF_TYPE_TEXT_(type_) tf_type_<type_>::text(#type_)
#define TF_ASSERT_TYPE_(type_)
#define TF_EXTERN_C_ extern "C"

#else

#define TF_STORED_(type_) \
	__typeof__(_Generic((type_){ 0 }, char *: (uint32_t)0, const char *: (uint32_t)0, \
			    default: (type_){ 0 }))
#define TF_IS_TEXT_(type_) _Generic((type_){ 0 }, char *: 1, const char *: 1, default: 0)
#define TF_TYPE_TEXT_(type_) \
	_Generic((type_){ 0 }, char *: "__data_loc char[]", const char *: "__data_loc char[]", \
		 default: #type_)
#define TF_ASSERT_TYPE_(type_) \
	_Static_assert(_Generic((type_){ 0 }, float: 0, double: 0, long double: 0, default: 1), \
		       "floating point cannot be recorded: " #type_);
#define tf_text_of_(v_) _Generic((v_), char *: (v_), const char *: (v_), default: (const char *)0)
#define tf_store_(v_, place_) \
	_Generic((v_), char *: (place_), const char *: (place_), default: (v_))
#define TF_EXTERN_C_

#endif

#define TF_MEMBER_(id_, i_, type_, name_) TF_ASSERT_TYPE_(type_) TF_STORED_(type_) name_;
#define TF_LEN_(id_, i_, type_, name_) \
	tf_len[i_] = TF_IS_TEXT_(type_) ? tf_text_len_(tf_text_of_(name_)) : 0; \
	tf_size += tf_len[i_];
#define TF_FILL_(id_, i_, type_, name_) \
	tf_rec->name_ = tf_store_(name_, tf_len[i_] << 16 | tf_size); \
	if (TF_IS_TEXT_(type_)) \
		tf_text_put_(tf_rec, tf_size, tf_len[i_], tf_text_of_(name_)); \
	tf_size += tf_len[i_];
#define TF_FIELD_(id_, i_, type_, name_) \
	{ TF_TYPE_TEXT_(type_), #name_, __alignof__(TF_STORED_(type_)), sizeof(TF_STORED_(type_)), \
	  TF_SIGNED_(type_), TF_IS_TEXT_(type_) ? TF_KIND_TEXT : TF_KIND_OTHER },

#define TF_WEAK_ __attribute__((weak, visibility("hidden")))

#define TF_EVENT_(n_, system_, name_, id_, each_, params_, args_, ...) \
	struct tf_raw_##id_ { \
		struct tf_common tf_common; \
		each_(TF_MEMBER_, id_, ##__VA_ARGS__) \
	} __attribute__((may_alias)); \
	TF_EXTERN_C_ TF_WEAK_ struct tf_event tf_event_##id_; \
	/* A declaration, for -Wmissing-prototypes. */ \
	TF_EXTERN_C_ TF_WEAK_ TF_NOTRACE_ void tf_emit_##id_ params_; \
	TF_EXTERN_C_ TF_WEAK_ __attribute__((noinline)) void tf_emit_##id_ params_ \
	{ \
		struct tf_raw_##id_ *tf_rec; \
		char tf_stack[TF_RECORD_STACK + TF_RECORD_SPARE_] __attribute__((aligned(16))); \
		uint32_t tf_size = sizeof(*tf_rec), tf_len[(n_) + 1], tf_whole; \
		(void)tf_len; \
		each_(TF_LEN_, id_, ##__VA_ARGS__) \
		tf_whole = (tf_size + 3) & ~3u; \
		tf_rec = (struct tf_raw_##id_ *)(void *)tf_stack; \
		if (__builtin_expect(tf_whole > TF_RECORD_STACK, 0)) \
			tf_rec = (struct tf_raw_##id_ *)tf_dso_.ops->reserve(tf_whole); \
		if (__builtin_expect(!tf_rec, 0)) \
			return; \
		__builtin_memset((char *)tf_rec + tf_whole - 4, 0, 4); \
		tf_size = sizeof(*tf_rec); \
		each_(TF_FILL_, id_, ##__VA_ARGS__) \
		if (__builtin_expect(tf_whole > TF_RECORD_STACK, 0)) \
			tf_dso_.ops->emit_large(&tf_event_##id_, tf_rec, tf_whole, \
						 __builtin_frame_address(0)); \
		else \
			tf_dso_.ops->emit(&tf_event_##id_, tf_rec, tf_whole, \
						 __builtin_frame_address(0)); \
	} \
	static inline __attribute__((always_inline, unused)) void trace_##name_ params_ \
	{ \
		if (tf_armed_(&tf_event_##id_)) \
			tf_emit_##id_ args_; \
	} \
	static inline __attribute__((always_inline, unused)) int trace_##name_##_enabled(void) \
	{ \
		return tf_armed_(&tf_event_##id_); \
	} \
	/* One entry more, because an event may have no fields. */ \
	static const struct tf_field tf_fields_##id_[(n_) + 1] = { \
		each_(TF_FIELD_, id_, ##__VA_ARGS__) { NULL, NULL, 0, 0, 0, 0 } \
	}; \
	static const struct tf_class tf_class_##id_ = { tf_fields_##id_, n_ }; \
	TF_EXTERN_C_ TF_WEAK_ struct tf_event tf_event_##id_ = { \
		&tf_dso_.never, 0, TF_VERSION_, #system_, #name_, &tf_class_##id_, NULL \
	}; \
	static struct tf_event *tf_at_##id_ TF_KEEP_("tf_events") = &tf_event_##id_; \
	struct tf_event

#endif

#endif
