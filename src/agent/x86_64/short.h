/* SPDX-License-Identifier: MIT */
/*
 * short.h - x86-64: the short way of a hit as a macro; emit.S describes what it does
 *
 * It calls nothing and the stack pointer stays, so that the guard can leave it
 * anywhere (way.h). When the hit is done, the code behind short_way runs. Copies that
 * are no functions of their own need short_way_left somewhere behind that: it ends
 * by a jump to `else`, where nothing has been done.
 */
#ifndef TRACEFUSE_AGENT_X86_64_SHORT_H
#define TRACEFUSE_AGENT_X86_64_SHORT_H

#include "agent/x86_64/emit.h"

#define RECORD	-8(%rsp)
#define FRAME	-16(%rsp)
#define THREAD	-24(%rsp)
#define SLOT	-32(%rsp)
#define BIT	-40(%rsp)
#define COUNTER	-40(%rsp)		/* of the kinds that know their size */
#define SPARE	-40(%rsp)
#define ENTRY	-24(%rsp)		/* for CALLED, set where the way is looked up */
#define RECORD_SIZE -8(%rsp)
#define RECORD_AT -24(%rsp)
#define NOW	-32(%rsp)
#define ELT	-48(%rsp)

#define HASH	0x9e3779b97f4a7c15	/* map_hash_word() */
#define UNSET	0xd1342543de82ef95	/* MAP_VAR_UNSET */
#define THOUSANDTH 0x20c49ba5e353f7cf	/* 2^67 / 1000, for a number that was divided by 8 */
#define PROBES	8			/* places of a map that are tried behind the first */

#define SIGNALS_OR_NO_RSEQ 0x0800ff	/* AGENT_HANDLER, no_rseq */

/* The kinds of copies of the short way. */
/* agent_emit(): %rdi thread, %esi entry, %rdx record, %ecx size, %r8 frame */
#define PLAIN	0
#define TRY	1	/* emit_try(): %r8 the place for the time, %r9 mask */
/*
 * The next kinds know their size. At the beginning the counter is in COUNTER and %r10 is the way.
 * At the end %rdi is the thread, %r10 the way.
 */
/*
 * A hooked function is called: %rdx its graph_frame, which is the record, ENTRY its entry. At the
 * end %rcx is the frame, %esi the depth, %rdx the instance's bit.
 */
#define CALLED	2
#define RETURNED 3	/* it returns: the same without %esi; its result is at the stack pointer */
#define FUNCTION 4	/* a function is called: %r9 and %r8 the record's ip and parent_ip */

#define IS_SIZED(kind) ((kind) > TRY && (kind) < SOME)

/*
 * For count_way only: agent_count(), %rdi thread, %esi entry, %rdx the first %ecx bytes of a
 * record.
 */
#define SOME	5

/* emit_timed(): as PLAIN, but %r8 is the counter. When it leaves, it returns 0. */
#define TIMED	6

#define HAS_RECORD(kind) ((kind) == PLAIN || (kind) == SOME)

	/* Reads the counter into COUNTER; %rax and %rdx are lost. */
	.macro	counter_read
	rdtsc
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	%rax, COUNTER
	.endm

	/*
	 * The struct rseq_cs of a section: version and flags, start, length, where an abort goes.
	 * The section is from .LFILE_first_NAME to .LFILE_last_NAME.
	 */
	.macro	rseq_section file, name
	.pushsection __rseq_cs, "aw"
	.balign	32
.L\file\()_section_\name:
	.long	0, 0
	.quad	.L\file\()_first_\name, .L\file\()_last_\name - .L\file\()_first_\name
	.quad	.L\file\()_abort_\name
	.popsection
	.endm

	/* An abort goes here: behind the signature (rseq.h). */
	.macro	rseq_abort file, name
	.byte	0x0f, 0xb9, 0x3d
	.long	0x53053053
.L\file\()_abort_\name:
	.endm

	/* -> %r10 the way of entry %esi; `else`: its `field` has another entry */
	.macro	way_of field, else
	movl	%esi, %r10d
	andl	$WAY_MASK, %r10d
	shll	$WAY_SHIFT, %r10d
	leaq	THREAD_WAYS(%rdi, %r10), %r10
	cmpl	%esi, \field(%r10)
	jne	\else
	.endm

	/* -> %r10 way, %rax the thread's common fields, %r9 slot */
	.macro	way_find name, kind
	.if	!IS_SIZED(\kind)
	way_of	WAY_EVENT, .Lshort_long_\name
	.endif
	.if	\kind == TRY || \kind == RETURNED
	movq	WAY_BIT(%r10), %rax
	.if	\kind == TRY
	movq	%rax, BIT
	testq	%r9, %rax
	.else
	testq	FRAME_MASK(%rdx), %rax
	.endif
	je	.Lshort_long_\name
	.elseif	\kind == FUNCTION
	movq	%r9, RECORD			/* FUNCTION does not use these places otherwise */
	.endif
	movq	THREAD_WORD(%rdi), %rax
	movq	THREAD_SLOT(%rdi), %r9
	.if	\kind == PLAIN || \kind == TIMED
	leal	-12(%rcx), %r11d
	rorl	$2, %r11d
	cmpl	$(112 - 12) / 4, %r11d
	ja	.Lshort_long_\name
	.endif
	testl	$SIGNALS_OR_NO_RSEQ, %eax
	jne	.Lshort_long_\name
	testq	%r9, %r9
	je	.Lshort_long_\name
	.if	\kind == CALLED || \kind == FUNCTION
	cmpb	$0, THREAD_BUSY(%rdi)
	jne	.Lshort_long_\name
	.endif
	cmpl	$0, SLOT_DEPTH(%r9)
	jne	.Lshort_long_\name
	.endm

	/* Saves what is needed after the counter and has no register. */
	.macro	spill kind
	.if	\kind != FUNCTION
	movq	%rdx, RECORD
	.endif
	.if	\kind != CALLED && \kind != RETURNED
	movq	%r8, FRAME
	.endif
	.if	!IS_SIZED(\kind)
	movq	%rdi, THREAD
	movq	%r9, SLOT
	.endif
	.endm

	/* The record behind its common fields, from 12(%r11) on; %rdx is the time */
	.macro	fill kind
	.if	\kind == FUNCTION
	movq	RECORD, %rcx
	movq	FRAME, %rax
	movq	%rcx, 12(%r11)
	movq	%rax, 20(%r11)
	.elseif	\kind == CALLED
	movq	RECORD, %rcx
	movq	FRAME_FUNC(%rcx), %rax
	movl	FRAME_DEPTH(%rcx), %esi
	movq	%rdx, FRAME_TIME(%rcx)
	movq	%rax, 12(%r11)
	movl	%esi, 20(%r11)
	.elseif	\kind == RETURNED
	movq	RECORD, %rcx
	movq	(%rsp), %rax
	movq	FRAME_FUNC(%rcx), %rsi
	movq	%rax, 20(%r11)
	movq	%rsi, 12(%r11)
	movl	FRAME_DEPTH(%rcx), %eax
	movl	GRAPH_OVERRUN(%rdi), %esi
	movl	%eax, 28(%r11)
	movl	%esi, 32(%r11)
	movq	FRAME_TIME(%rcx), %rax
	movq	%rdx, 44(%r11)
	movq	%rax, 36(%r11)
	.elseif	\kind == TRY
	movq	RECORD, %rsi
	movq	8(%rsi), %rax
	cmpl	$24, %ecx
	movq	%rax, 12(%r11)
	jb	2f
	movq	16(%rsi), %rax
	movq	%rax, 20(%r11)
	je	3f
	movq	24(%rsi), %rax
	movq	32(%rsi), %rdi
	movq	%rax, 28(%r11)
	movq	40(%rsi), %rax
	movq	%rdi, 36(%r11)
	movq	%rax, 44(%r11)
	jmp	3f
2:
	movl	16(%rsi), %eax
	movl	%eax, 20(%r11)
	.else
	/* The words behind the common fields: the first, then two at a time. */
	movq	RECORD, %rsi
	movl	%ecx, %edx
	testb	$4, %cl
	je	2f
	subl	$4, %edx
	movl	(%rsi, %rdx), %eax
	movl	%eax, 4(%r11, %rdx)
	cmpl	$8, %edx
	je	3f
2:
	movl	-4(%rsi, %rdx), %eax
	movl	-8(%rsi, %rdx), %edi
	movl	%eax, (%r11, %rdx)
	movl	%edi, -4(%r11, %rdx)
	subl	$8, %edx
	cmpl	$8, %edx
	ja	2b
	.endif
3:
	.endm

	/* `tail`: a register; %rdi if the thread need not stay in it */
	.macro	short_way_by tail, tail32, name, kind, size
.Lshort_begin_\name:
	way_find \name, \kind
	movq	%rsp, THREAD_FRAME(%rdi)
	movl	$1, SLOT_DEPTH(%r9)
	/* H1: the load of the epoch follows; the server's membarrier orders both. */
	movq	agent + PLANE_CONFIG(%rip), %r11
	spill	\kind
	.if	\kind == RETURNED
	movl	$GRAPH_EXIT, %esi
	.elseif	\kind == CALLED
	movl	ENTRY, %esi
	.endif
	/* W3: until the depth was stored, a handler may have changed all of the way. */
	shlq	$SEEN_SHIFT, %rsi
	addq	CONFIG_EPOCH(%r11), %rsi
	cmpq	WAY_SEEN(%r10), %rsi
	jne	.Lshort_other_\name
	movl	WAY_TYPE(%r10), %esi
	orq	%rax, %rsi			/* the record's common fields */
	movq	WAY_INST(%r10), %rax
	movq	WAY_RING(%r10), %r8
	movq	INST_ON(%rax), %rax
	cmpq	WAY_ON(%r10), %rax
	jne	.Lshort_leave_\name

	.if	\kind == TRY
	/* The counter is the expensive part: it is not read if the page is full. */
	movq	RING_HEAD(%r8), %rdx
	movq	RING_PAGE_END(%r8), %rax
	shrq	%rdx
	subq	%rdx, %rax
	leaq	4(%rcx), %rdx
	cmpq	%rdx, %rax
	jb	.Lshort_leave_\name
	.endif
	.if	IS_SIZED(\kind)
	movq	COUNTER, %rax
	.elseif	\kind == TIMED
	movq	FRAME, %rax
	.else
	rdtsc
	.endif
	movq	WAY_RSEQ(%r10), %r9
	leaq	.Lshort_section_\name(%rip), %r11
	movq	%r11, RSEQ_CS(%r9)
.Lshort_first_\name:
	movl	RING_CPU(%r8), %r11d
	cmpl	%r11d, RSEQ_CPU(%r9)
	jne	.Lshort_leave_\name
	movq	RING_HEAD(%r8), %r9
	.if	!IS_SIZED(\kind) && \kind != TIMED
	shlq	$32, %rdx
	orq	%rdx, %rax
	.endif
	mulq	WAY_MULT(%r10)
	movq	RING_PAGE_END(%r8), %rax
	movq	%r9, %r11
	shrq	%r11				/* the position */
	addq	WAY_OFFSET(%r10), %rdx		/* now */
	.if	IS_SIZED(\kind)
	subq	%r11, %rax			/* the rest of the page */
	subq	$\size + 4, %rax
	cmpq	WAY_ROOM(%r10), %rax		/* not negative, and not a whole page */
	jae	.Lshort_leave_\name
	.else
	leaq	4(%rcx), \tail
	subq	%r11, %rax
	cmpq	WAY_SUBBUF(%r10), %rax
	jae	.Lshort_leave_\name
	cmpq	\tail, %rax
	jb	.Lshort_leave_\name
	.endif
	.if	\kind == TRY
	movq	FRAME, %rax
	movq	%rdx, (%rax)
	.endif
	addq	RING_BASE(%r8), %r11
	movl	%r9d, \tail32
	andq	agent + PLANE_MASK(%rip), %r11
	andl	$1, \tail32
	addq	agent + PLANE_DATA(%rip), %r11	/* where the header goes */
	shll	$4, \tail32
	movq	%rdx, %rax
	addq	%r8, \tail			/* + RING_TAIL_TIME: the last record's tail */
	subq	RING_TAIL_TIME(\tail), %rax
	cmpq	$(1 << 27) - 1, %rax
	ja	.Lshort_leave_\name
	/* delta << 5 | size / 4 */
	.if	IS_SIZED(\kind)
	shll	$5, %eax
	addl	$\size / 4, %eax
	.else
	shlq	$7, %rax
	addq	%rcx, %rax
	shrq	$2, %rax
	.endif
	movl	%eax, (%r11)
	movq	%rsi, 4(%r11)
	movq	RING_TAIL_ENTRIES(\tail), %rax
	xorq	$RING_TAIL_SIZE, \tail
	incq	%rax
	movq	%rdx, RING_TAIL_TIME(\tail)
	movq	%rax, RING_TAIL_ENTRIES(\tail)
	.if	IS_SIZED(\kind)
	addq	$8 + 2 * \size, %r9		/* head is twice the position */
	.else
	leaq	8(%r9, %rcx, 2), %r9
	.endif
	xorq	$1, %r9
	fill	\kind
	.if	\kind == CALLED
	movq	WAY_BIT(%r10), %rdx		/* before the depth is 0: W3 */
	.endif
	.if	IS_SIZED(\kind)
	/* Another thread may have taken the slot away from this one (guard.c). */
	movq	WAY_SLOT(%r10), %rax
	.else
	movq	SLOT, %rax
	.endif
	movq	%r9, RING_HEAD(%r8)		/* the commit, G3 */
.Lshort_last_\name:
	movl	$0, SLOT_DEPTH(%rax)
	rseq_section short, \name
	.endm

	.macro	short_way name, kind, size=0
	.if	IS_SIZED(\kind)
	short_way_by %rcx, %ecx, \name, \kind, \size
	.else
	short_way_by %rdi, %edi, \name, \kind, \size
	.if	\kind == TRY
	movq	BIT, %rax
	.elseif	\kind == TIMED
	movl	$1, %eax
	.endif
	ret
	short_way_left \name, \kind
	.endif
	.endm

	.macro	short_way_left name, kind, else
	rseq_abort short, \name
.Lshort_leave_\name:
	.if	\kind == PLAIN
	movl	WAY_EVENT(%r10), %esi
	jmp	5f
	.endif
.Lshort_other_\name:
	.if	\kind == PLAIN
	shrq	$SEEN_SHIFT, %rsi
	.endif
5:
	.if	IS_SIZED(\kind)
	movq	WAY_SLOT(%r10), %r9
	.else
	movq	SLOT, %r9
	.endif
	.if	\kind == PLAIN
	movq	THREAD, %rdi
	movq	RECORD, %rdx
	movq	FRAME, %r8
	.endif
	movl	$0, SLOT_DEPTH(%r9)
.Lshort_long_\name:
	.if	\kind == PLAIN
	count_way \name, \kind
	ret
	count_way_left \name, \kind
	.elseif	\kind == TRY || \kind == TIMED
	xorl	%eax, %eax
	ret
	.else
	jmp	\else
	.endif
	.endm

	/*
	 * The short way of a hit that one histogram counts (shortcut.c). %rdi thread, %esi entry.
	 * PLAIN: %rdx record, %ecx size, %r8 frame. FUNCTION: %r9 ip, %rcx table, which is in %rdx
	 * later. The keys are ip and its caller. It leaves if the caller is not in the table, or if
	 * anything else is needed (no EARLY_IPS). It notes c in GRAPH_COUNTED. Who knows that c, in
	 * %r10, is this entry's begins at .Lshort_count_known_NAME.
	 *
	 *     slot = thread->slot, c = &thread->counts[id % AGENT_WAYS]
	 *     if c->event != id, size < c->size, or if short_way would     -> no
	 *     thread->frame[0] = stack pointer, slot->depth = 1, c->seen     as in short_way
	 *     if *c->soft is 0, *c->paused is not                          -> leave
	 *     if there is a filter and it rejects the record               -> done
	 *     if c->call: it does the rest, or nothing                     -> done or leave
	 *     if the time is needed: another clock -> leave; now as in short_way
	 *     key of the record; elt of the key, as map_lookup() but in a few places only;
	 *     none -> leave
	 *     if the hit takes a difference (LATE_SINCE):                  map_var_read_once()
	 *         o = c->other; if *o->cell != o->map                      -> leave
	 *         the other variable, of the elt of the same key; none, or unset -> done
	 *     section { sums[cpu][elt][0] += 1 }                           rseq_add()
	 *     if there is a value, section { sums[cpu][elt][1] += value }
	 *     if the time is needed, the elt's variable = now, less the other variable
	 *                                                                  map_var_set()
	 *     if there are actions (LATE_REST), count_rest does them and the rest
	 *     done: slot->depth = 0
	 *
	 *     leave: slot->depth = 0; no: emit_long(thread, id, record, size, frame)
	 *
	 * SOME leaves if there is a call or the time is needed; leave, no: return 0.
	 *
	 * When the hit is done, the code behind count_way runs. count_way_left is somewhere behind
	 * that.
	 *
	 *     %r10 c, %r9 key, %r8 second key, then the elt, %rcx its number, %r11 its sums,
	 *     %rsi places that are left
	 */

	/* Loads a field by one of the first three loads of enum count_load. */
	.macro	count_load to, to32, load, off
	movzwl	\off(%r10), %eax
	cmpb	$1, \load(%r10)
	je	2f
	ja	3f
	movl	(%rdx, %rax), \to32
	jmp	4f
2:	movslq	(%rdx, %rax), \to
	jmp	4f
3:	movq	(%rdx, %rax), \to
4:
	.endm

	/* Loads a field by any of them. */
	.macro	count_load_any to, to32, load, off
	movzwl	\off(%r10), %eax
	movzbl	\load(%r10), %r11d
	cmpl	$2, %r11d
	ja	3f
	je	2f
	testl	%r11d, %r11d
	jne	1f
	movl	(%rdx, %rax), \to32
	jmp	8f
1:	movslq	(%rdx, %rax), \to
	jmp	8f
2:	movq	(%rdx, %rax), \to
	jmp	8f
3:	cmpl	$4, %r11d
	ja	5f
	je	4f
	movzbl	(%rdx, %rax), \to32
	jmp	8f
4:	movsbq	(%rdx, %rax), \to
	jmp	8f
5:	cmpl	$6, %r11d
	je	6f
	movzwl	(%rdx, %rax), \to32
	jmp	8f
6:	movswq	(%rdx, %rax), \to
8:
	.endm

	/*
	 * %r11 number of the first place, %eax hash, %r9 key -> %ecx number of the elt, %rax its
	 * address. M4 of map.h
	 */
	.macro	count_seek name, tag
	movq	COUNT_ENTRIES(%r10), %rcx
	cmpl	%eax, 4(%rcx, %r11, 8)
	jne	.Lshort_count_next\tag\()_\name
.Lshort_count_found\tag\()_\name:
	movl	(%rcx, %r11, 8), %ecx
	leal	-1(%rcx), %eax
	cmpl	COUNT_LAST(%r10), %eax
	jae	.Lshort_count_leave_\name
	movq	COUNT_ELT_SIZE(%r10), %rax
	imulq	%rcx, %rax
	addq	COUNT_ELTS(%r10), %rax
	cmpq	%r9, (%rax)
	jne	.Lshort_count_leave_\name
	.endm

	/*
	 * Tries the places behind the first; `none`: the key is not in the map. Two keys with one
	 * hash go the long way.
	 */
	.macro	count_next name, tag, mask, none
.Lshort_count_next\tag\()_\name:
	movl	$PROBES, %esi
5:	cmpq	$0, (%rcx, %r11, 8)
	je	\none
	incl	%r11d
	andl	\mask, %r11d
	cmpl	%eax, 4(%rcx, %r11, 8)
	je	.Lshort_count_found\tag\()_\name
	decl	%esi
	jne	5b
	jmp	.Lshort_count_leave_\name
	.endm

	/* count_seek in the map of %r8, an agent_other -> %rcx address of the elt; %eax stays */
	.macro	other_seek name, tag
	movq	OTHER_ENTRIES(%r8), %rcx
	cmpl	%eax, 4(%rcx, %r11, 8)
	jne	.Lshort_count_next\tag\()_\name
.Lshort_count_found\tag\()_\name:
	movl	(%rcx, %r11, 8), %ecx
	leal	-1(%rcx), %r11d
	cmpl	OTHER_LAST(%r8), %r11d
	jae	.Lshort_count_leave_\name
	imulq	OTHER_ELT_SIZE(%r8), %rcx
	addq	OTHER_ELTS(%r8), %rcx
	cmpq	%r9, (%rcx)
	jne	.Lshort_count_leave_\name
	.endm

	/*
	 * Adds to a sum of the elt whose sums are at %rcx. The hit has done something, so it cannot
	 * leave: a CPU without a column adds atomically (late_add_left). %r9 rseq area
	 */
	.macro	late_add name, tag, add, sum
	leaq	.Lshort_section_count\tag\()_\name(%rip), %rax
	movq	%rax, RSEQ_CS(%r9)
.Lshort_first_count\tag\()_\name:
	movl	RSEQ_CPU(%r9), %eax
	cmpl	COUNT_PLAIN(%r10), %eax
	jae	.Lshort_count_shared\tag\()_\name
	imulq	COUNT_COLUMN(%r10), %rax
	\add	\sum(%rcx, %rax)		/* the commit, M2 */
.Lshort_last_count\tag\()_\name:
	rseq_section short, count\tag\()_\name
.Lshort_count_added\tag\()_\name:
	.endm

	/* Somewhere behind late_add: the column of all threads, and an abort. */
	.macro	late_add_left name, tag, add, sum
.Lshort_count_shared\tag\()_\name:
	movl	COUNT_PLAIN(%r10), %eax
	imulq	COUNT_COLUMN(%r10), %rax
	lock \add \sum(%rcx, %rax)
	jmp	.Lshort_count_added\tag\()_\name
	/* Not once more: each step of a thread that is single-stepped aborts. */
	rseq_abort short, count\tag\()_\name
	jmp	.Lshort_count_shared\tag\()_\name
	.endm

	/* -> %rdx the time, of the counter in %rdx:%rax */
	.macro	count_now
	shlq	$32, %rdx
	orq	%rdx, %rax
	mulq	COUNT_MULT(%r10)
	addq	COUNT_OFFSET(%r10), %rdx
	.endm

	/* From a time to %rax, in the variable's unit; %rdx is lost */
	.macro	count_unit time
	movq	\time, %rax
	cmpb	$0, COUNT_USECS(%r10)
	je	1f
	addq	$500, %rax
	movabsq	$THOUSANDTH, %rdx
	shrq	$3, %rax
	mulq	%rdx
	shrq	$4, %rdx
	movq	%rdx, %rax
1:
	.endm

	.macro	count_way name, kind
.Lshort_count_\name:
	movl	%esi, %r10d
	andl	$WAY_MASK, %r10d
	shll	$COUNT_BITS, %r10d
	leaq	THREAD_COUNTS(%rdi, %r10), %r10
	cmpl	%esi, COUNT_EVENT(%r10)
	jne	.Lshort_count_no_\name
	.if	\kind == FUNCTION
	movq	%r10, GRAPH_COUNTED(%rdi)
.Lshort_count_known_\name:
	movq	%rcx, %rdx			/* the table */
	.endif
	movq	THREAD_SLOT(%rdi), %r11
	movl	THREAD_WORD(%rdi), %eax
	.if	HAS_RECORD(\kind)
	cmpl	COUNT_SIZE(%r10), %ecx
	jb	.Lshort_count_no_\name
	.endif
	testq	%r11, %r11
	je	.Lshort_count_no_\name
	andl	$SIGNALS_OR_NO_RSEQ, %eax
	.if	\kind == FUNCTION
	orb	THREAD_BUSY(%rdi), %al
	.endif
	orl	SLOT_DEPTH(%r11), %eax
	jne	.Lshort_count_no_\name
	movq	%rsp, THREAD_FRAME(%rdi)
	movl	$1, SLOT_DEPTH(%r11)
	/* H1: the load of the epoch follows; the server's membarrier orders both. */
	movq	agent + PLANE_CONFIG(%rip), %rax
	.if	\kind == PLAIN
	movl	%ecx, RECORD_SIZE
	movq	%r8, FRAME
	.endif
	movq	CONFIG_EPOCH(%rax), %rax
	shlq	$SEEN_SHIFT, %rsi
	movq	%rax, SLOT_EPOCH(%r11)
	addq	%rax, %rsi
	cmpq	COUNT_SEEN(%r10), %rsi		/* W3 */
	jne	.Lshort_count_other_\name
	movq	COUNT_SOFT(%r10), %rax
	movq	COUNT_PAUSED(%r10), %r11
	movb	COUNT_SHIFT(%r10), %cl
	cmpl	$0, (%rax)
	je	.Lshort_count_leave_\name
	cmpl	$0, (%r11)
	jne	.Lshort_count_leave_\name
	.if	\kind == FUNCTION
	cmpb	$EARLY_IPS, COUNT_EARLY(%r10)
	.else
	cmpb	$0, COUNT_EARLY(%r10)
	.endif
	jne	.Lshort_count_early_\name
	.if	HAS_RECORD(\kind)
	count_load %r9, %r9d, COUNT_KEY, COUNT_KEY_OFF
	.endif
.Lshort_count_one_\name:
	movabsq	$HASH, %rax
	imulq	%r9, %rax
	movq	%rax, %r11
	shrq	%cl, %r11
	shrq	$32, %rax
	count_seek \name, 1
.Lshort_count_sum_\name:
	movq	%rax, %r8
	movq	COUNT_STRIDE(%r10), %r11
	movq	COUNT_RSEQ(%r10), %r9
	imulq	%rcx, %r11
	addq	COUNT_SUMS(%r10), %r11
	leaq	.Lshort_section_count1_\name(%rip), %rcx
	movq	%rcx, RSEQ_CS(%r9)
.Lshort_first_count1_\name:
	movl	RSEQ_CPU(%r9), %eax
	cmpl	COUNT_PLAIN(%r10), %eax
	jae	.Lshort_count_leave_\name
	imulq	COUNT_COLUMN(%r10), %rax
	incq	(%r11, %rax)			/* the commit, M2 */
.Lshort_last_count1_\name:
	.if	HAS_RECORD(\kind)
	cmpb	$0, COUNT_LATE(%r10)
	jne	.Lshort_count_late_\name
	.endif
.Lshort_count_done_\name:
	movq	COUNT_SLOT(%r10), %rax
	incq	COUNT_TAKEN(%r10)
	movl	$0, SLOT_DEPTH(%rax)
	rseq_section short, count1_\name
	.endm

	.macro	count_way_left name, kind, else
.Lshort_count_early_\name:
	.if	HAS_RECORD(\kind)
	testb	$EARLY_FILTER, COUNT_EARLY(%r10)
	je	7f
	count_load_any %r9, %r9d, COUNT_IF, COUNT_IF_OFF
	subq	COUNT_LOW(%r10), %r9
	cmpq	COUNT_SPAN(%r10), %r9
	ja	.Lshort_count_done_\name
7:	testb	$EARLY_CALL | EARLY_TIMED, COUNT_EARLY(%r10)
	.if	\kind == PLAIN
	jne	.Lshort_count_more_\name
.Lshort_count_key_\name:
	.else
	jne	.Lshort_count_leave_\name
	.endif
	count_load_any %r9, %r9d, COUNT_KEY, COUNT_KEY_OFF
	testb	$EARLY_TWO | EARLY_LOG2, COUNT_EARLY(%r10)
	je	.Lshort_count_one_\name
	testb	$EARLY_LOG2, COUNT_EARLY(%r10)
	jne	.Lshort_count_log2_\name
	count_load_any %r8, %r8d, COUNT_KEY2, COUNT_KEY2_OFF
	.else
	movzbl	COUNT_EARLY(%r10), %eax
	testb	$EARLY_IPS, %al
	je	.Lshort_count_leave_\name
	movq	S(%rsp), %r8			/* the caller, as in function_look */
	movq	%r8, %r11
	subq	TABLE_CODE(%rdx), %r11
	cmpq	TABLE_SIZE(%rdx), %r11
	jae	.Lshort_count_leave_\name
	addq	TABLE_DELTA(%rdx), %r8
	testb	$EARLY_PARENT, %al
	je	1f
	xchgq	%r8, %r9
1:	testb	$EARLY_TWO, %al
	je	.Lshort_count_one_\name
	.endif
	movabsq	$HASH, %r11
	movq	%r9, %rax
	imulq	%r11, %rax
	movq	%rax, SPARE
	shrq	$32, %rax
	xorq	SPARE, %rax
	xorq	%r8, %rax
	imulq	%r11, %rax
	movq	%rax, %r11
	shrq	%cl, %r11
	shrq	$32, %rax
	count_seek \name, 2
	cmpq	%r8, 8(%rax)
	je	.Lshort_count_sum_\name
	jmp	.Lshort_count_leave_\name
	count_next \name, 1, COUNT_MASK(%r10), .Lshort_count_leave_\name
	count_next \name, 2, COUNT_MASK(%r10), .Lshort_count_leave_\name

	.if	HAS_RECORD(\kind)
.Lshort_count_log2_\name:
	cmpq	$1, %r9
	jbe	1f
	decq	%r9
	bsrq	%r9, %r9
	incl	%r9d
	jmp	.Lshort_count_one_\name
1:	xorl	%r9d, %r9d
	jmp	.Lshort_count_one_\name
	.endif

	.if	\kind == PLAIN
.Lshort_count_more_\name:
	testb	$EARLY_CALL, COUNT_EARLY(%r10)
	jne	count_call
	movq	COUNT_CLOCK(%r10), %rax
	movl	COUNT_CLOCK_ID(%r10), %r11d
	cmpl	(%rax), %r11d
	jne	.Lshort_count_leave_\name
	testb	$LATE_SINCE, COUNT_LATE(%r10)
	jne	.Lshort_count_since_\name
	movq	%rdx, RECORD_AT
	rdtsc
	count_now
	movq	%rdx, NOW
	movq	RECORD_AT, %rdx
	jmp	.Lshort_count_key_\name

	/*
	 * A hit may leave until it takes the other variable: first it finds all that it needs. The
	 * exchange comes right behind the counter. Processors of Intel read the counter when all
	 * before it is done, so an exchange shortly before it costs 7 ns.
	 */
.Lshort_count_since_\name:
	count_load_any %r9, %r9d, COUNT_KEY, COUNT_KEY_OFF
	movq	COUNT_OTHER_HIST(%r10), %r8
	movq	OTHER_CELL(%r8), %r11
	movabsq	$HASH, %rax
	imulq	%r9, %rax
	movq	(%r11), %r11			/* pairs with the release in point_cell() */
	cmpq	OTHER_MAP(%r8), %r11
	jne	.Lshort_count_leave_\name
	movzbl	OTHER_SHIFT(%r8), %ecx
	shrq	$32, %rax
	movl	%eax, %r11d
	shrl	%cl, %r11d
	other_seek \name, 3
	movl	OTHER_VAR(%r8), %r11d
	addq	%r11, %rcx
	cmpq	$0, (%rcx)
	je	.Lshort_count_done_\name
	movq	%rcx, SPARE
	movzbl	COUNT_SHIFT(%r10), %ecx
	movl	%eax, %r11d
	shrl	%cl, %r11d
	count_seek \name, 4
	movq	%rax, %r8
	movq	SPARE, %rsi
	movl	%ecx, ELT
	movq	%rdx, RECORD_AT
	imulq	COUNT_STRIDE(%r10), %rcx
	movq	COUNT_RSEQ(%r10), %r9
	addq	COUNT_SUMS(%r10), %rcx
	rdtsc
	movq	%rdx, %r11
	xorl	%edx, %edx
	xchgq	%rdx, (%rsi)			/* M3 of map.c */
	testq	%rdx, %rdx
	je	.Lshort_count_done_\name
	cmpq	$1, %rdx
	je	.Lshort_count_rare_\name
	movabsq	$UNSET, %rsi
	xorq	%rdx, %rsi
.Lshort_count_was_\name:
	movq	%r11, %rdx
	count_now
	movq	%rdx, NOW
	late_add \name, 3, incq, 0
	count_unit NOW
	movl	COUNT_VAR(%r10), %ecx
	subq	%rsi, %rax
	jmp	.Lshort_count_set_\name
.Lshort_count_rare_\name:
	movq	8(%rsi), %rsi			/* map_var_value() */
	jmp	.Lshort_count_was_\name
	count_next \name, 3, OTHER_MASK(%r8), .Lshort_count_done_\name
	count_next \name, 4, COUNT_MASK(%r10), .Lshort_count_leave_\name
	late_add_left \name, 3, incq, 0

.Lshort_count_time_\name:
	count_unit NOW
	movl	COUNT_VAR(%r10), %ecx
.Lshort_count_set_\name:
	movabsq	$UNSET, %rdx
	xorq	%rax, %rdx
	cmpq	$1, %rdx
	jbe	2f
	movq	%rdx, (%r8, %rcx)
	testb	$LATE_REST, COUNT_LATE(%r10)
	je	.Lshort_count_done_\name
	jmp	count_rest
2:	movq	%rax, 8(%r8, %rcx)		/* map_var_set_rare() */
	movq	$1, (%r8, %rcx)
	testb	$LATE_REST, COUNT_LATE(%r10)
	je	.Lshort_count_done_\name
	jmp	count_rest
	.endif

	.if	HAS_RECORD(\kind)
	/* The first sum has grown: from here on the hit cannot leave. */
.Lshort_count_late_\name:
	.if	\kind == PLAIN
	testb	$LATE_TIME, COUNT_LATE(%r10)
	jne	.Lshort_count_time_\name
	.endif
	movq	%r11, %rcx
	count_load_any %r8, %r8d, COUNT_VAL, COUNT_VAL_OFF
	late_add \name, 2, "addq %r8,", 8
	jmp	.Lshort_count_done_\name
	late_add_left \name, 2, "addq %r8,", 8
	.endif
	rseq_abort short, count1_\name
.Lshort_count_leave_\name:
	movl	COUNT_EVENT(%r10), %esi
5:	movq	COUNT_SLOT(%r10), %rax
	.if	\kind == PLAIN
	movl	RECORD_SIZE, %ecx
	movq	FRAME, %r8
	.endif
	movl	$0, SLOT_DEPTH(%rax)
.Lshort_count_no_\name:
	.if	\kind == PLAIN
	jmp	emit_long
	.elseif	\kind == SOME
	xorl	%eax, %eax
	ret
	.else
	jmp	\else
	.endif
.Lshort_count_other_\name:
	shrq	$SEEN_SHIFT, %rsi
	jmp	5b
	.endm

#endif
