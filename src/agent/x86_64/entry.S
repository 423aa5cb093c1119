/* SPDX-License-Identifier: MIT */
/*
 * entry.S - x86-64: from a site that is on to patch_hit(), and back without a trace
 *
 *     patch_entry:                            at a function's start: its trampoline has called, and pushed the DSO
 *         save what a callee may use
 *         after = target of the jump behind the call and its jc: the instruction behind the site
 *         the short way (short.h) of its events; else hooked = patch_hit(dso, after, slot)
 *         if it wants libc, which uses vectors:
 *             make a struct site_call, so that a walk from its frame sees the function and its caller
 *             save the processor's extended state
 *             hooked = patch_hit_slow(struct site_call)
 *             restore it
 *         restore; carry = hooked
 *     patch_entry_late:                       behind the prologue: %rbp is the function's frame
 *         the same, and never hooked: patch_hit_late() has changed the return address
 *
 *     patch_clone(flags, stack, fn, area):         clone(); the new task calls fn() and ends
 *
 * Nothing but the flags changes, which are dead where sites are.
 *
 * S is where the stack pointer of the site points to: to the return address,
 * but at a late one.
 *
 *     S - 40  after      S - 16  dso        S - 8   into the trampoline
 *
 * So the CFI finds the function, and graph_through (graph.S) where it goes on.
 * The stack is aligned at S - 104 where the program keeps to the ABI; what is
 * called at once does not need that.
 */
#include "agent/x86_64/entry.h"
#include "agent/x86_64/extended.h"
#include "agent/x86_64/profile.h"
#include "agent/x86_64/short.h"

	.macro	enter_and_save
	.cfi_startproc
	.cfi_adjust_cfa_offset 16	/* called by the function's caller */
	leaq	-DSO(%rsp), %rsp
	.cfi_adjust_cfa_offset DSO
	general_save 72
	movq	STUB(%rsp), %rax
	movq	DSO(%rsp), %rdi
	movslq	7(%rax), %rsi
	leaq	11(%rax, %rsi), %rsi
	movq	%rsi, AFTER(%rsp)
	.cfi_def_cfa %rsp, S		/* called by the function */
	.cfi_offset %rip, AFTER - S
	.endm

	/* The carry says whether the function is hooked. */
	.macro	return_to_trampoline
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
	return_to_trampoline
	/* struct site_call */
1:	movq	%rbx, 80(%rsp)
	.cfi_offset %rbx, 80 - S
	movq	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	subq	$64, %rsp
	movl	%eax, %eax
	movq	%rax, 0(%rsp)
	movq	AFTER(%rbx), %rcx
	movq	%rcx, 24(%rsp)
	movq	DSO(%rbx), %rcx
	movq	%rcx, 48(%rsp)
	.endm

	/* The rest of it, but for `next`; slot: where the return address lies. */
	.macro	call_slow slot, late
	leaq	\slot, %rcx
	movq	%rcx, 8(%rsp)
	movq	\slot, %rcx
	movq	%rbp, 32(%rsp)
	movq	%rcx, 40(%rsp)
	movq	$\late, 56(%rsp)
	movq	%rsp, %rdi
	extended_call patch_hit_slow
	movq	80(%rbx), %rbx
	.cfi_def_cfa_register %rsp
	.cfi_restore %rbx
	jmp	2b
	.cfi_endproc
	.endm

	/*
	 * hook() of a function on the thread's own stack, below one that is there; else .Lelse. %rdi thread,
	 * %r9 function -> %rdx its frame; %r10 stays
	 * site: it has return sites
	 */
	.macro	frame_fill name, counter, tail=.Lelse, site=0
	movq	S(%rsp), %r8
	leaq	graph_returned(%rip), %rax
	movq	%r8, %rcx
	subq	%rax, %rcx
	cmpq	$GRAPH_LABELS, %rcx		/* may be one: is_label() */
	jb	\tail
	.if	\counter
	counter_read
	leaq	graph_returned(%rip), %rax
	.endif
	leaq	S(%rsp), %rdx
	movq	GRAPH_PIECE(%rdi), %r11
	movq	%rdx, %rcx
	subq	GRAPH_LOW(%rdi), %rcx
	cmpq	GRAPH_SIZE(%rdi), %rcx
	jae	.Lelse
	movabsq	$MIRROR, %rcx
	xorq	%rdx, %rcx
	movq	%r8, (%rcx)
	movq	GRAPH_TOP(%rdi), %rsi
	movq	GRAPH_STATE(%rdi), %r8
	testq	%rsi, %rsi
	je	1f
	cmpq	%rdx, %rsi
	jbe	.Lelse
	cmpq	%rax, (%rsi)
	jne	.Labove_\name
1:
.Lbelow_\name:
	testq	%r8, %r8
	js	.Lelse				/* GRAPH_LONG */
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

	/* Somewhere behind it: the one above has return sites. */
	.macro	frame_fill_left name
.Labove_\name:
	movabsq	$MIRROR, %rax
	xorq	%rsi, %rax
	movq	(%rax), %rax
	cmpq	%rax, (%rsi)
	je	.Lbelow_\name
	jmp	.Lelse
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
	movq	DSO_TABLE(%rdi), %rcx
	movq	agent_self@gottpoff(%rip), %rax
	testq	%rcx, %rcx
	je	.Lelse
	movq	%fs:(%rax), %rdi
	movq	TABLE_WORDS(%rcx), %r8
	leaq	-5(%rsi), %r9			/* ip */
	movq	%r9, %rax
	subq	TABLE_CODE(%rcx), %rax
	shrq	$2, %rax
	movl	(%r8, %rax, 4), %esi
	testq	%rdi, %rdi
	je	.Lelse
	movl	%esi, %eax
	movzwl	%si, %esi
	shrl	$16, %eax
	je	.Lfunction
	cmpl	$SITE_HOOKED_WORD >> 16, %eax
	jne	.Lsites
	incl	%esi				/* GROUP_GRAPH */
	way_of	WAY_PLAIN, .Lprofile_called
	movl	%esi, ENTRY
	addq	TABLE_DELTA(%rcx), %r9
	frame_fill plain, 1, .Ltail
	short_way called, CALLED, SIZE_CALLED
	leaq	S(%rsp), %rax
	incl	%esi
	movq	%rdx, FRAME_MASK(%rcx)
	movq	%rax, GRAPH_TOP(%rdi)
	movq	%rsi, GRAPH_STATE(%rdi)
	stc
	return_to_trampoline

	/* It has return sites: its return address stays. */
.Lsites:
	cmpl	$(SITE_HOOKED_WORD | SITE_RETURNS_WORD) >> 16, %eax
	jne	.Lelse
	incl	%esi
	way_of	WAY_PLAIN, .Lprofile_sites
	movl	%esi, ENTRY
	addq	TABLE_DELTA(%rcx), %r9
	frame_fill at_site, 1, site=1
	short_way sites, CALLED, SIZE_CALLED
	leaq	S(%rsp), %rax
	incl	%esi
	movq	%rdx, FRAME_MASK(%rcx)
	movq	%rax, GRAPH_TOP(%rdi)
	movq	%rsi, GRAPH_STATE(%rdi)
	clc
	return_to_trampoline

	/*
	 * Who is on top has jumped here, and its frame is the slot's until the record is there: so the
	 * record is made of one that lies where signals leave the stack alone.
	 */
.Ltail:
	counter_read
	leaq	S(%rsp), %rdx
	cmpq	%rdx, GRAPH_TOP(%rdi)
	jne	.Lelse
	movq	%rdx, %rcx
	subq	GRAPH_LOW(%rdi), %rcx
	cmpq	GRAPH_SIZE(%rdi), %rcx
	jae	.Lelse
	leaq	(, %rdx, 8), %rax
	movl	THREAD_PID(%rdi), %ecx
	andl	$FRAMES_MASK, %eax
	addq	GRAPH_PIECE(%rdi), %rax
	cmpl	%edx, FRAME_ID(%rax)
	jne	.Lelse
	cmpl	%ecx, FRAME_ID + 4(%rax)
	jne	.Lelse
	cmpw	$MOST_TAILS_WAIT, FRAME_TAILS(%rax)
	jae	.Lelse
	movq	GRAPH_STATE(%rdi), %r8
	leaq	-128(%rsp), %rdx
	testq	%r8, %r8
	js	.Lelse				/* GRAPH_LONG */
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
	return_to_trampoline

.Lprofile_called:
	cmpl	%esi, WAY_EVENT(%r10)
	je	.Lelse				/* it is recorded besides */
	addq	TABLE_DELTA(%rcx), %r9
	movl	%esi, %r10d
	frame_fill profile, 0
	movl	%r10d, %esi
	profile_called
	leaq	S(%rsp), %rcx
	incl	%eax
	movq	%rcx, GRAPH_TOP(%rdi)
	movq	%rax, GRAPH_STATE(%rdi)
	stc
	return_to_trampoline

.Lprofile_sites:
	cmpl	%esi, WAY_EVENT(%r10)
	je	.Lelse
	addq	TABLE_DELTA(%rcx), %r9
	movl	%esi, %r10d
	frame_fill profile_at_site, 0, site=1
	movl	%r10d, %esi
	profile_called sites_in_profile, 1
	leaq	S(%rsp), %rcx
	incl	%eax
	movq	%rcx, GRAPH_TOP(%rdi)
	movq	%rax, GRAPH_STATE(%rdi)
	clc
	return_to_trampoline

.Lfunction:
	movq	S(%rsp), %r8
	testl	%esi, %esi
	je	.Lelse
	movq	%r8, %rax
	subq	TABLE_CODE(%rcx), %rax
	cmpq	TABLE_SIZE(%rcx), %rax
	jae	.Lelse
	addq	TABLE_DELTA(%rcx), %r9
	addq	TABLE_DELTA(%rcx), %r8
	short_way function, FUNCTION, SIZE_FUNCTION
	clc
	return_to_trampoline
	frame_fill_left plain
	frame_fill_left at_site
	frame_fill_left profile
	frame_fill_left profile_at_site
	short_way_left called, CALLED
	short_way_left tail, CALLED
	short_way_left sites, CALLED
	short_way_left function, FUNCTION
	count_way function, FUNCTION
	clc
	return_to_trampoline
	count_way_left function, FUNCTION
	profile_called_left
	profile_called_left sites_in_profile
	.globl	entry_short_end
	.hidden	entry_short_end
entry_short_end:

	.globl	entry_short_left
	.hidden	entry_short_left
entry_short_left:
.Lelse:
.Lelse_called:
.Lelse_tail:
.Lelse_sites:
.Lelse_function:
	movq	DSO(%rsp), %rdi
	movq	AFTER(%rsp), %rsi
	leaq	S(%rsp), %rdx
	call	patch_hit
	restore_and_leave
	leaq	32(%rsp), %rcx
	movq	%rcx, 16(%rsp)
	call_slow S(%rbx), 0
	.size	patch_entry, . - patch_entry

	.globl	patch_entry_late
	.hidden	patch_entry_late
	.type	patch_entry_late, @function
	.balign	64
patch_entry_late:
	enter_and_save
	leaq	8(%rbp), %rdx
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
