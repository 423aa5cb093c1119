/* SPDX-License-Identifier: MIT */
/*
 * calls.S - x86-64: the interposers of the functions that are one system call each
 *
 * They differ only in their row of agent/providers/syscalls/libc.h, and there are
 * hundreds. In C each took 90 bytes, and twice that for unwinding.
 *
 *     function:	row -> %eax, and on to .Lcalls_pass
 *
 *     .Lcalls_pass:	e = &agent_provider_events[call_events[row]]
 *			if (call_functions[row] && !(e[0].plan | e[1].plan))
 *				jump to call_functions[row]
 *			return call_record(the six registers, row, return address)
 *
 * The argument registers, the frame pointer and the stack stay the program's. %al,
 * the number of vector registers for `...`, is lost: no system call uses it.
 */
	.text
	.balign	16
.Lcalls_pass:
	.cfi_startproc
	movq	agent_provider_events@GOTPCREL(%rip), %r10
	leaq	call_events(%rip), %r11
	movzwl	(%r11, %rax, 2), %r11d
	movq	(%r10), %r10
	leaq	(%r10, %r11, 8), %r10
	movq	(%r10), %r11
	orq	8(%r10), %r11
	jne	1f
	leaq	call_functions(%rip), %r10
	movq	(%r10, %rax, 8), %r10
	testq	%r10, %r10
	je	1f
	jmp	*%r10
1:
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	pushq	8(%rsp)
	.cfi_adjust_cfa_offset 8
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	call	call_record
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret

	.set	row, 0

#define CALL(name, call, result, ...)		\
	.globl name;				\
	.type name, @function;			\
	.balign 16;				\
name:						\
	endbr64;				\
	movl $row, %eax;			\
	jmp .Lcalls_pass;				\
	.size name, . - name;			\
	.set row, row + 1;
#define ALIAS(name, other)			\
	.globl name;				\
	.type name, @function;			\
	.set name, other;
#include "agent/providers/syscalls/libc.h"

	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
