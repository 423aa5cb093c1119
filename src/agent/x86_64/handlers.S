/* SPDX-License-Identifier: MIT */
/*
 * handlers.S - x86-64: what the kernel calls in place of a program's signal handlers
 *
 * HANDLERS entries of 16 bytes; number n is
 *
 *     signal_begin(sig, info, context, n)
 *
 * with the first three as the kernel passed them and the stack untouched.
 */
#include "agent/providers/signal/handlers.h"

	.text
	.globl	signal_entries
	.hidden	signal_entries
	.type	signal_entries, @function
	.balign	HANDLER_ENTRY
signal_entries:
	.cfi_startproc
	.set	n, 0
	.rept	HANDLERS
	.balign	HANDLER_ENTRY
	endbr64
	movl	$n, %ecx
	jmp	signal_begin
	.set	n, n + 1
	.endr
	.cfi_endproc
	.size	signal_entries, . - signal_entries

	.section .note.GNU-stack, "", @progbits
