/* SPDX-License-Identifier: MIT */
/* texts.c - what is known of code, in words. Only the server and the commands print it. */
#include "elf/code/code.h"

const char *code_why_text(enum code_why why)
{
	static const char *const texts[CODE_NR_WHYS] = {
		[CODE_GOOD]		= "good",
		[CODE_NOT_CODE]		= "not in executable code of the file",
		[CODE_NO_FDE]		= "code without an entry in .eh_frame",
		[CODE_NOT_START]	= "not the start of an instruction",
		[CODE_UNKNOWN]		= "bytes that are no known instruction",
		[CODE_FIXED]		= "the instruction works only at its own address",
		[CODE_SIGNAL_FRAME]	= "the frame of a signal",
		[CODE_SEQUENCE]		= "a restartable sequence",
		[CODE_OWNED]		= "the bytes belong to another probe or a compiler's site",
		[CODE_TRAP_ONLY]	= "only a trap (INT3) would do",
		[CODE_FIRST]		= "the start of the program, which nothing called",
		[CODE_PART]		= "a part of another function",
		[CODE_CHANGED]		= "the memory differs from the file",
		[CODE_NO_FILE]		= "code that is not from a file",
		[CODE_OURS]		= "code of tracefuse",
		[CODE_TOO_FAR]		= "no free memory near enough",
		[CODE_NO_ENTRY]		= "arguments of the entry are not kept for the return",
		[CODE_NO_RETURNS]	= "returns are not caught in this program",
		[CODE_BUSY]		= "the program runs, and handles or blocks SIGSEGV",
	};

	return why < CODE_NR_WHYS ? texts[why] : "";
}

const char *code_return_text(enum code_return why)
{
	static const char *const texts[CODE_NR_RETURNS] = {
		[CODE_RETURN_GOOD]	= "good",
		[CODE_RETURN_TWICE]	= "it may return more than once",
		[CODE_RETURN_READ]	= "it looks at its return address",
		[CODE_RETURN_UNWINDS]	= "it unwinds the stack",
		[CODE_RETURN_FLAGS]	= "its caller uses the flags that it returns",
	};

	return why < CODE_NR_RETURNS ? texts[why] : "";
}

const char *code_tactic_text(enum code_tactic tactic)
{
	static const char *const texts[CODE_NR_TACTICS] = {
		[CODE_REFUSED]	= "refused",
		[CODE_WHOLE]	= "whole",
		[CODE_SEVERAL]	= "several",
		[CODE_GUARDED]	= "guarded",
		[CODE_BEFORE]	= "before",
		[CODE_TRAP]	= "trap",
	};

	return tactic < CODE_NR_TACTICS ? texts[tactic] : "";
}
