/* SPDX-License-Identifier: MIT */
/*
 * journal.h - memory that traced programs and the stepper share, by the descriptor JOURNAL_FD
 *
 *     program                                 stepper
 *     begun = begun + 1
 *     int3                        ---->       steps from here on
 *     the hit
 *     int3                        ---->       the hit is over
 *     done = done + 1
 */
#ifndef TRACEFUSE_TESTS_SHORTCUTS_JOURNAL_H
#define TRACEFUSE_TESTS_SHORTCUTS_JOURNAL_H

#include <stdint.h>

enum { JOURNAL_FD = 77 };

enum journal_handler { HANDLER_HITS, HANDLER_JUMPS, HANDLER_CROWDS };

struct journal {
	/* Written by the program. */
	volatile uint64_t begun, done;	  /* hits outside of handlers */
	volatile uint64_t handled, other; /* hits of the handler: of the event, of way:other */
	volatile uint64_t left;		  /* hits that the handler left by siglongjmp */
	volatile uint64_t rseq;		  /* address of the thread's struct rseq */
	/* Written by the stepper. */
	volatile uint32_t handler; /* enum journal_handler */
	volatile uint32_t cpu;	   /* the program's CPU */
	volatile uint32_t stop;	   /* the program ends at its next round */
	volatile uint32_t pause;   /* the neighbour makes no hit while this is 1 */
	/* Of the neighbour: `ready` is 1 after its first hit, `paused` while it makes no hit. */
	volatile uint32_t ready, paused;
};

/* The program that is single-stepped, and one that hits the same event all the time. */
enum { JOURNAL_STEPPED, JOURNAL_NEIGHBOUR, JOURNALS };

#endif
