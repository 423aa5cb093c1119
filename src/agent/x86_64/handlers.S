/* SPDX-License-Identifier: MIT */
/*
 * handlers.S - x86-64: what the kernel calls instead of a program's signal handlers
 *
 * There are HANDLERS entries of 16 bytes. Entry n does
 *
 *     signal_begin(sig, info, context, n)
 *
 * with the kernel's first three arguments, and does not touch the stack.
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
