/* SPDX-License-Identifier: MIT */
/*
 * guarded.S - x86-64: hit(), hit_plain(), way_make(), count_make() and unwind_read(), which the
 * guard can leave (guard.c)
 *
 *     guarded_hit(..., uintptr_t *resume):
 *         save the registers that a function must preserve, resume, and the value of *resume
 *         *resume = stack pointer
 *         result = hit(...)
 *     guarded_left:                       the guard comes here with that stack pointer and a result
 *         *resume = its old value; restore
 *         return result
 */

#include "agent/x86_64/short.h"

	/* Saves the registers that a function must preserve. */
	.macro	guarded_push
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r15, 0
	.endm

	/*
	 * From here on the guard can leave; \resume: the address where it finds the stack pointer.
	 */
	.macro	guarded_begin resume
	pushq	\resume
	.cfi_adjust_cfa_offset 8
	pushq	(\resume)
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rsp, (\resume)
	.endm

	.macro	guarded name, function, resume
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	32
\name:
	.cfi_startproc
	guarded_push
	guarded_begin \resume
	call	\function
	.endm

	.macro	guarded_end
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	movq	%rdx, (%rcx)
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.endm

	.text
	guarded	guarded_hit_plain, hit_plain, %r9
	.globl	guarded_left
	.hidden	guarded_left
guarded_left:
	guarded_end
	.size	guarded_hit_plain, . - guarded_hit_plain

	guarded	guarded_hit, hit, %rcx
	guarded_end
	.size	guarded_hit, . - guarded_hit

	guarded	guarded_way_make, way_make, %rcx
	guarded_end
	.size	guarded_way_make, . - guarded_way_make

	guarded	guarded_count_make, count_make, %rcx
	guarded_end
	.size	guarded_count_make, . - guarded_count_make

	guarded	guarded_profile_make, profile_make, %rcx
	guarded_end
	.size	guarded_profile_make, . - guarded_profile_make

	guarded	guarded_unwind_read, unwind_read, %rdx
	guarded_end
	.size	guarded_unwind_read, . - guarded_unwind_read

	/*
	 * count_call: from count_way (short.h), with the depth stored. %rdi thread, %r10 its
	 * agent_count, %rdx record, RECORD_SIZE, %r8 frame:
	 *
	 *     as guarded, done = c->call(c, record, size), c->taken += done, event = c->event
	 *     c->slot->depth = 0; if (!done) emit_long(thread, event, record, size, frame)
	 *
	 * The function preserves the registers that it must preserve, so they are not loaded again.
	 */
	.globl	count_call
	.hidden	count_call
	.type	count_call, @function
	.balign	32
count_call:
	.cfi_startproc
	movl	RECORD_SIZE, %eax
	guarded_push
	leaq	THREAD_RESUME(%rdi), %rbp
	guarded_begin %rbp
	subq	$32, %rsp
	.cfi_adjust_cfa_offset 32
	movq	%rdx, (%rsp)
	movl	%eax, 8(%rsp)
	movq	%r8, 16(%rsp)
	movq	%r10, %rbx
	movq	%r10, %rdi
	movq	%rdx, %rsi
	movl	%eax, %edx
	call	*COUNT_FUNCTION(%rbx)
	movzbl	%al, %r9d
	movq	40(%rsp), %rdx
	movq	COUNT_SLOT(%rbx), %rcx
	movq	%rdx, (%rbp)
	movl	COUNT_EVENT(%rbx), %esi		/* W3 of way.c: before the depth is 0 */
	addq	%r9, COUNT_TAKEN(%rbx)
	movl	$0, SLOT_DEPTH(%rcx)
	movq	(%rsp), %rdx
	movl	8(%rsp), %ecx
	movq	16(%rsp), %r8
	leaq	-THREAD_RESUME(%rbp), %rdi
	movq	88(%rsp), %rbx
	.cfi_restore %rbx
	movq	96(%rsp), %rbp
	.cfi_restore %rbp
	addq	$104, %rsp
	.cfi_adjust_cfa_offset -104
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	testl	%r9d, %r9d
	je	emit_long
	ret
	.cfi_endproc
	.size	count_call, . - count_call

	/*
	 * count_rest: from count_way, behind the variable. %rdi thread, %r10 its agent_count, %rax
	 * the variable's value, RECORD_SIZE, RECORD_AT, NOW, ELT:
	 *
	 *     as guarded, c->rest(c, record, size, elt, value, now), c->taken++
	 *     c->slot->depth = 0
	 */
	.globl	count_rest
	.hidden	count_rest
	.type	count_rest, @function
	.balign	32
count_rest:
	.cfi_startproc
	movl	RECORD_SIZE, %edx
	movq	RECORD_AT, %rsi
	movl	ELT, %ecx
	movq	NOW, %r9
	movq	%rax, %r8
	guarded_push
	leaq	THREAD_RESUME(%rdi), %rbp
	guarded_begin %rbp
	movq	%r10, %rbx
	movq	%r10, %rdi
	call	*COUNT_REST_FUNCTION(%rbx)
	movq	8(%rsp), %rdx
	movq	COUNT_SLOT(%rbx), %rcx
	movq	%rdx, (%rbp)
	incq	COUNT_TAKEN(%rbx)
	movl	$0, SLOT_DEPTH(%rcx)
	movq	56(%rsp), %rbx
	.cfi_restore %rbx
	movq	64(%rsp), %rbp
	.cfi_restore %rbp
	addq	$72, %rsp
	.cfi_adjust_cfa_offset -72
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	ret
	.cfi_endproc
	.size	count_rest, . - count_rest

	.section .note.GNU-stack, "", @progbits
