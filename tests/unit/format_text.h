/* SPDX-License-Identifier: MIT */
/*
 * format_text.h - the parts of a format file, for tests that make events:
 *
 *     "name: switch\nID: 100\n" COMMON FIELD("int pid", 8, 4, 1) "\nprint fmt: \"\"\n"
 */
#ifndef TRACEFUSE_TESTS_FORMAT_TEXT_H
#define TRACEFUSE_TESTS_FORMAT_TEXT_H

#define FIELD(declaration, offset, size, is_signed) \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"

#define COMMON							\
	"format:\n"						\
	FIELD("unsigned short common_type", 0, 2, 0)		\
	FIELD("unsigned char common_flags", 2, 1, 0)		\
	FIELD("unsigned char common_preempt_count", 3, 1, 0)	\
	FIELD("int common_pid", 4, 4, 1) "\n"

#endif
