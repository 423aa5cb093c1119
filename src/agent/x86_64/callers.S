/* SPDX-License-Identifier: MIT */
/*
 * callers.S - x86-64: what libc's dlopen(), dlsym() ... do first (callers.c)
 *
 *     callers_check:                          by a jump: (%rsp) is the function's return address, %r11 where it goes on
 *         if (%rsp) is graph_returned or graph_returned_late:
 *             callers_restore(%rsp)           with what may be an argument saved
 *         jmp *%r11
 *
 * %r10, %r11 and the flags belong to nobody between a call and a function of another object.
 */
#include "agent/x86_64/extended.h"

	.text
	.globl	callers_check
	.hidden	callers_check
	.type	callers_check, @function
	.balign	64
callers_check:
	.cfi_startproc
	leaq	graph_returned(%rip), %r10
	cmpq	%r10, (%rsp)
	je	1f
	leaq	graph_returned_late(%rip), %r10
	cmpq	%r10, (%rsp)
	je	1f
	jmp	*%r11
1:	leaq	-72(%rsp), %rsp
	.cfi_adjust_cfa_offset 72
	general_save
	leaq	72(%rsp), %rdi
	call	callers_restore
	general_restore
	leaq	72(%rsp), %rsp
	.cfi_adjust_cfa_offset -72
	jmp	*%r11
	.cfi_endproc
	.size	callers_check, . - callers_check

	.section .note.GNU-stack, "", @progbits
