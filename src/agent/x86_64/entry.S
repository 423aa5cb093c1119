/* SPDX-License-Identifier: MIT */
/*
 * entry.S - x86-64: from a site that is on to patch_hit(), and back without a trace
 *
 *     patch_entry:                            at a function's start: the site's stub has called,
 *                                             and the DSO was pushed
 *         save the registers that a callee may change
 *         after = target of the jump behind the call and its jc: the instruction behind the site
 *         if the thread's last call went the short way, read the counter: this one needs it, too;
 *         if a histogram counted it and no more, look there first
 *         the short way (short.h) of its events; else hooked = patch_hit(dso, after, slot)
 *         if it needs libc, which uses vector registers:
 *             make a struct site_call: a walk from its frame sees the function and its caller
 *             save the processor's extended state
 *             hooked = patch_hit_slow(struct site_call, the saved registers)
 *             restore it
 *         restore; carry = hooked
 *     patch_entry_moved:                      at a function's start, which is moved code
 *         the same, but `after` is one byte behind the site's start: the unwind rules of that place
 *         are those of a function's start, and what the site replaces may have other ones. The stub
 *         corrects it for graph_through.
 *     patch_entry_late:                       behind the prologue: %rbp is the function's frame
 *         the same, and never hooked: patch_hit_late() has changed the return address
 *
 *     patch_clone(flags, stack, fn, area):         clone(); the new task calls fn() and ends
 *
 * Only the flags change, which are dead where sites are.
 *
 * S is the site's stack pointer. It points to the return address, but not at a late
 * site.
 *
 *     S - 40  after      S - 16  dso        S - 8   into the stub
 *
 * So the CFI finds the function, and graph_through (graph.S) finds where it continues.
 * The stack is aligned at S - 104 if the program follows the ABI; the functions that are
 * called at once do not need that.
 */
#include "agent/x86_64/entry.h"
#include "agent/x86_64/extended.h"
#include "agent/x86_64/profile.h"
#include "agent/x86_64/short.h"

	/* moved: the function begins at the site, where the stub's last distance less 5 leads. */
	.macro	enter_and_save moved=0
	.cfi_startproc
	.cfi_adjust_cfa_offset 16	/* called by the function's caller */
	leaq	-DSO(%rsp), %rsp
	.cfi_adjust_cfa_offset DSO
	general_save 72
	movq	STUB(%rsp), %rax
	movq	DSO(%rsp), %rdi
	movslq	7(%rax), %rsi
	leaq	11(%rax, %rsi), %rsi
	.if	\moved
	leaq	-4(%rsi), %rax
	movq	%rax, AFTER(%rsp)
	.else
	movq	%rsi, AFTER(%rsp)
	.endif
	.cfi_def_cfa %rsp, S		/* called by the function */
	.cfi_offset %rip, AFTER - S
	.endm

	/* The carry flag says whether the function is hooked. */
	.macro	return_to_stub
	general_restore 72
	leaq	STUB(%rsp), %rsp
	.cfi_remember_state
	.cfi_adjust_cfa_offset -STUB
	ret
	.cfi_restore_state
	.endm

	.macro	restore_and_leave
	cmpl	$1, %eax
	ja	1f
2:	negl	%eax			/* the carry */
	return_to_stub
	/* Makes a struct site_call. */
1:	movq	%rbx, 80(%rsp)
	.cfi_offset %rbx, 80 - S
	movq	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	subq	$64, %rsp
	movl	%eax, %eax
	movq	%rax, 0(%rsp)
	movq	STUB(%rbx), %rcx
	movslq	7(%rcx), %rdx
	leaq	11(%rcx, %rdx), %rcx
	movq	%rcx, 24(%rsp)
	movq	DSO(%rbx), %rcx
	movq	%rcx, 48(%rsp)
	.endm

	/* Fills in the rest of it, but for `next`; slot: the place of the return address. */
	.macro	call_slow slot, late
	leaq	\slot, %rcx
	movq	%rcx, 8(%rsp)
	movq	\slot, %rcx
	movq	%rbp, 32(%rsp)
	movq	%rcx, 40(%rsp)
	movq	$\late, 56(%rsp)
	movq	%rsp, %rdi
	movq	%rbx, %rsi
	extended_call patch_hit_slow
	movq	80(%rbx), %rbx
	.cfi_def_cfa_register %rsp
	.cfi_restore %rbx
	jmp	2b
	.cfi_endproc
	.endm

	/*
	 * hook() for a function on the thread's own stack, below one that is still there; else
	 * .Lentry_else. %rdi thread, %r9 function -> %rdx its frame; %r10 stays. site: the function
	 * has return sites.
	 */
	.macro	frame_fill name, tail, site
	movq	S(%rsp), %r8
	leaq	graph_returned(%rip), %rax
	movq	%r8, %rcx
	subq	%rax, %rcx
	cmpq	$GRAPH_LABELS, %rcx		/* may be a label: is_label() */
	jb	\tail
	leaq	S(%rsp), %rdx
	movq	GRAPH_PIECE(%rdi), %r11
	movq	%rdx, %rcx
	subq	GRAPH_LOW(%rdi), %rcx
	cmpq	GRAPH_SIZE(%rdi), %rcx
	jae	.Lentry_else
	movabsq	$MIRROR, %rcx
	xorq	%rdx, %rcx
	movq	%r8, (%rcx)
	movq	GRAPH_TOP(%rdi), %rsi
	movq	GRAPH_STATE(%rdi), %r8
	testq	%rsi, %rsi
	je	1f
	cmpq	%rdx, %rsi
	jbe	.Lentry_else
	cmpq	%rax, (%rsi)
	jne	.Lentry_above_\name
1:
.Lentry_below_\name:
	testq	%r8, %r8
	js	.Lentry_else				/* GRAPH_LONG */
	.if	\site
	btsq	$FRAME_SITE_BIT, %r8
	.endif
	leaq	(, %rdx, 8), %rax
	movl	THREAD_PID(%rdi), %ecx
	andl	$FRAMES_MASK, %eax
	addq	%rax, %r11
	movl	%edx, FRAME_ID(%r11)
	movl	%ecx, FRAME_ID + 4(%r11)
	movq	%r8, FRAME_DEPTH(%r11)
	movq	%rsi, FRAME_UP(%r11)
	movq	%r9, FRAME_FUNC(%r11)
	movq	%r11, %rdx
	.endm

	/* The function is hooked; if it has return sites, the carry must be clear. */
	.macro	return_hooked site
	.if	\site
	clc
	.else
	stc
	.endif
	return_to_stub
	.endm

	/* %rcx table -> %r9 ip, %esi and %eax the lower and the upper half of the site's word */
	.macro	site_look
	movq	TABLE_WORDS(%rcx), %r8
	leaq	-5(%rsi), %r9
	movq	%r9, %rax
	subq	TABLE_CODE(%rcx), %rax
	shrq	$2, %rax
	movl	(%r8, %rax, 4), %esi
	movl	%esi, %eax
	movzwl	%si, %esi
	shrl	$16, %eax
	.endm

	/* The counter has been read; %r10 is the last call's way, and mostly also this one's. */
	.macro	way_again name, field
	cmpl	%esi, \field(%r10)
	jne	.Lentry_other_\name
.Lentry_way_\name:
	.endm

	/* Somewhere behind way_again, for another way. `none`: the entry has none. */
	.macro	way_again_left name, field, none
.Lentry_other_\name:
	way_of	\field, .Lentry_none_\name
	movq	%r10, GRAPH_LAST(%rdi)
	jmp	.Lentry_way_\name
.Lentry_none_\name:
	movq	$0, GRAPH_LAST(%rdi)
	jmp	\none
	.endm

	/* The counter has not been read. */
	.macro	way_first name, field, none
	way_of	\field, \none
	counter_read
	movq	%r10, GRAPH_LAST(%rdi)
	jmp	.Lentry_way_\name
	.endm

	/* A call for function_graph */
	.macro	call_recorded name, tail, site=0
	incl	%esi				/* GROUP_GRAPH */
	way_again \name, WAY_PLAIN
	movl	%esi, ENTRY
	addq	TABLE_DELTA(%rcx), %r9
	frame_fill \name, \tail, \site
	short_way \name, CALLED, SIZE_CALLED
	leaq	S(%rsp), %rax
	incl	%esi
	movq	%rdx, FRAME_MASK(%rcx)
	movq	%rax, GRAPH_TOP(%rdi)
	movq	%rsi, GRAPH_STATE(%rdi)
	return_hooked \site
	.endm

	/* A call for the function tracer: %r8 its caller, and both as addresses in the session */
	.macro	function_look
	movq	S(%rsp), %r8
	testl	%esi, %esi
	je	.Lentry_else
	movq	%r8, %rax
	subq	TABLE_CODE(%rcx), %rax
	cmpq	TABLE_SIZE(%rcx), %rax
	jae	.Lentry_else
	addq	TABLE_DELTA(%rcx), %r9
	addq	TABLE_DELTA(%rcx), %r8
	.endm

	/* A call for the function profile only. */
	.macro	call_profiled name, site=0
	cmpl	%esi, WAY_EVENT(%r10)
	je	.Lentry_else			/* it is recorded, too */
	addq	TABLE_DELTA(%rcx), %r9
	movl	%esi, %r10d
	frame_fill \name, .Lentry_else, \site
	movl	%r10d, %esi
	profile_called \name, \site, .Lentry_else
	leaq	S(%rsp), %rcx
	incl	%eax
	movq	%rcx, GRAPH_TOP(%rdi)
	movq	%rax, GRAPH_STATE(%rdi)
	return_hooked \site
	.endm

	/* Somewhere behind frame_fill: for the case that the function above has return sites. */
	.macro	frame_fill_left name
.Lentry_above_\name:
	movabsq	$MIRROR, %rax
	xorq	%rsi, %rax
	movq	(%rax), %rax
	cmpq	%rax, (%rsi)
	je	.Lentry_below_\name
	jmp	.Lentry_else
	.endm

	.text
	.globl	patch_entry
	.hidden	patch_entry
	.type	patch_entry, @function
	.balign	64
patch_entry:
	enter_and_save
	.globl	entry_short_begin
	.hidden	entry_short_begin
entry_short_begin:
	movq	agent_self@gottpoff(%rip), %rax
	movq	DSO_TABLE(%rdi), %rcx
	movq	%fs:(%rax), %rdi
	testq	%rcx, %rcx
	je	.Lentry_else
	testq	%rdi, %rdi
	je	.Lentry_else
	movq	GRAPH_LAST(%rdi), %r10
	testq	%r10, %r10
	je	.Lentry_unread
	counter_read
	site_look
	je	.Lentry_function
	cmpl	$SITE_HOOKED_WORD >> 16, %eax
	jne	.Lentry_sites
	call_recorded called, .Lentry_tail

	/* It has return sites: its return address is not replaced. */
.Lentry_sites:
	cmpl	$(SITE_HOOKED_WORD | SITE_RETURNS_WORD) >> 16, %eax
	jne	.Lentry_unused
	call_recorded sites, .Lentry_else, 1

	/*
	 * The innermost function has jumped here. The slot's frame is that function's until the
	 * record has been made. So the record is made of a frame below the stack pointer, where
	 * signals leave the stack alone.
	 */
.Lentry_tail:
	leaq	S(%rsp), %rdx
	cmpq	%rdx, GRAPH_TOP(%rdi)
	jne	.Lentry_else
	movq	%rdx, %rcx
	subq	GRAPH_LOW(%rdi), %rcx
	cmpq	GRAPH_SIZE(%rdi), %rcx
	jae	.Lentry_else
	leaq	(, %rdx, 8), %rax
	movl	THREAD_PID(%rdi), %ecx
	andl	$FRAMES_MASK, %eax
	addq	GRAPH_PIECE(%rdi), %rax
	cmpl	%edx, FRAME_ID(%rax)
	jne	.Lentry_else
	cmpl	%ecx, FRAME_ID + 4(%rax)
	jne	.Lentry_else
	cmpw	$MOST_TAILS_WAIT, FRAME_TAILS(%rax)
	jae	.Lentry_else
	movq	GRAPH_STATE(%rdi), %r8
	leaq	-128(%rsp), %rdx
	testq	%r8, %r8
	js	.Lentry_else				/* GRAPH_LONG */
	movq	%r9, FRAME_FUNC(%rdx)
	movq	%r8, FRAME_DEPTH(%rdx)
	short_way tail, CALLED, SIZE_CALLED
	leaq	S(%rsp), %rdi
	movq	FRAME_FUNC(%rcx), %rsi
	movq	%rdx, %rax
	movq	FRAME_TIME(%rcx), %rdx
	movq	%rax, %rcx
	call	graph_tail
	stc
	return_to_stub

.Lentry_profile_called:
	call_profiled called_in_profile
.Lentry_profile_sites:
	call_profiled sites_in_profile, 1

.Lentry_function:
	function_look
	way_again function, WAY_EVENT
	short_way function, FUNCTION, SIZE_FUNCTION
	clc
	return_to_stub

.Lentry_unread:
	movq	GRAPH_COUNTED(%rdi), %r10
	testq	%r10, %r10
	jne	.Lentry_counted
	site_look
.Lentry_uncounted:
	je	.Lentry_unread_function
	incl	%esi				/* GROUP_GRAPH */
	cmpl	$SITE_HOOKED_WORD >> 16, %eax
	jne	1f
	way_first called, WAY_PLAIN, .Lentry_profile_called
1:	cmpl	$(SITE_HOOKED_WORD | SITE_RETURNS_WORD) >> 16, %eax
	jne	.Lentry_else
	way_first sites, WAY_PLAIN, .Lentry_profile_sites
.Lentry_unread_function:
	function_look
	way_first function, WAY_EVENT, .Lshort_count_function

	way_again_left called, WAY_PLAIN, .Lentry_profile_called
	way_again_left sites, WAY_PLAIN, .Lentry_profile_sites
	way_again_left function, WAY_EVENT, .Lshort_count_function
	/*
	 * A handler may have come since the thread remembered this. Then count_way finds it by
	 * COUNT_SEEN. So it does if the word is 0, and the place too: no COUNT_SEEN is 0.
	 */
.Lentry_counted:
	site_look
	jne	1f
	cmpl	%esi, COUNT_EVENT(%r10)
	jne	1f
	addq	TABLE_DELTA(%rcx), %r9
	jmp	.Lshort_count_known_function
1:	movq	$0, GRAPH_COUNTED(%rdi)
	testl	%eax, %eax
	jmp	.Lentry_uncounted
.Lentry_unused:
	movq	$0, GRAPH_LAST(%rdi)
	jmp	.Lentry_else
	frame_fill_left called
	frame_fill_left sites
	frame_fill_left called_in_profile
	frame_fill_left sites_in_profile
	short_way_left called, CALLED, .Lentry_else
	short_way_left tail, CALLED, .Lentry_else
	short_way_left sites, CALLED, .Lentry_else
	short_way_left function, FUNCTION, .Lentry_else
	count_way function, FUNCTION
	clc
	return_to_stub
	count_way_left function, FUNCTION, .Lentry_else
	profile_called_left called_in_profile, .Lentry_else
	profile_called_left sites_in_profile, .Lentry_else
	.globl	entry_short_end
	.hidden	entry_short_end
entry_short_end:

	.globl	entry_short_left
	.hidden	entry_short_left
entry_short_left:
.Lentry_else:
	movq	STUB(%rsp), %rax
	movq	DSO(%rsp), %rdi
	movslq	7(%rax), %rsi
	leaq	11(%rax, %rsi), %rsi
	leaq	S(%rsp), %rdx
	call	patch_hit
	restore_and_leave
	leaq	32(%rsp), %rcx
	movq	%rcx, 16(%rsp)
	call_slow S(%rbx), 0
	.size	patch_entry, . - patch_entry

	.globl	patch_entry_moved
	.hidden	patch_entry_moved
	.type	patch_entry_moved, @function
	.balign	64
patch_entry_moved:
	enter_and_save 1
	jmp	entry_short_begin
	.cfi_endproc
	.size	patch_entry_moved, . - patch_entry_moved

	.globl	patch_entry_late
	.hidden	patch_entry_late
	.type	patch_entry_late, @function
	.balign	64
patch_entry_late:
	enter_and_save
	leaq	8(%rbp), %rdx
	movq	%rsp, %rcx
	call	patch_hit_late
	restore_and_leave
	movq	%rbp, 16(%rsp)
	call_slow 8(%rbp), 1
	.size	patch_entry_late, . - patch_entry_late

	.globl	patch_clone
	.hidden	patch_clone
	.type	patch_clone, @function
patch_clone:
	.cfi_startproc
	movq	%rdx, %r9
	movq	%rcx, %r8
	xorl	%edx, %edx
	xorl	%r10d, %r10d
	movl	$56, %eax
	syscall
	testq	%rax, %rax
	jz	1f
	ret
1:	.cfi_undefined %rip
	xorl	%ebp, %ebp
	call	*%r9
	movl	$60, %eax
	xorl	%edi, %edi
	syscall
	hlt
	.cfi_endproc
	.size	patch_clone, . - patch_clone

	.section .note.GNU-stack, "", @progbits
