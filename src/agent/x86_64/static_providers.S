/* SPDX-License-Identifier: MIT */
/*
 * static_providers.S - x86-64: mcount and __fentry__ of a preloaded library; they jump to those of
 * libtracefuse.so (static.S)
 */
	.macro	function name, name2, other
	.globl	\name
	.type	\name, @function
	.globl	\name2
	.set	\name2, \name
	.balign	16
\name:
	.cfi_startproc
	endbr64
	jmp	*\other@GOTPCREL(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	function __fentry__, agent_providers_fentry, agent_fentry
	function mcount, _mcount, agent_mcount

	.section .note.GNU-stack, "", @progbits
