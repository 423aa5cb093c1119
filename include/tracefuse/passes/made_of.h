/* SPDX-License-Identifier: MIT */
/*
 * made_of.h - the dynamic parts of records that are made from the two basic ones
 *
 * __dynamic_array is a data_loc: its offset is counted from the record's start.
 * __rel_dynamic_array is a rel_loc: its offset is counted from the end of the field itself.
 */
#ifdef __GNUC__
#pragma GCC system_header
#endif

#define __field(type, item) __field_ext(type, item, 0)
#define __field_struct(type, item) __field_struct_ext(type, item, 0)
#define __bitmask(item, nr_bits) __dynamic_array(unsigned long, item, tf_bitmask_longs_(nr_bits))
#define __rel_bitmask(item, nr_bits) \
	__rel_dynamic_array(unsigned long, item, tf_bitmask_longs_(nr_bits))
#define __cpumask(item) __bitmask(item, TF_CPUMASK_BITS_)
#define __rel_cpumask(item) __rel_bitmask(item, TF_CPUMASK_BITS_)
#define __sockaddr(item, len) __dynamic_array(uint8_t, item, len)
#define __rel_sockaddr(item, len) __rel_dynamic_array(uint8_t, item, len)
