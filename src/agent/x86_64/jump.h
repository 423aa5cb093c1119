/* SPDX-License-Identifier: MIT */
/*
 * jump.h - x86-64: the stack pointer that a longjmp() of glibc goes to
 *
 * It is the seventh register of the buffer. glibc stores it XORed with the guard in
 * the thread's control block, and rotated left by 17.
 */
#ifndef TRACEFUSE_AGENT_X86_64_JUMP_H
#define TRACEFUSE_AGENT_X86_64_JUMP_H

#include <setjmp.h>
#include <stdint.h>

static inline uintptr_t jump_stack_pointer(const struct __jmp_buf_tag *env)
{
	uintptr_t sp = (uintptr_t)env->__jmpbuf[6];

	__asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(sp));
	return sp;
}

#endif
