/* SPDX-License-Identifier: MIT */
/*
 * step.h - stops a traced program after any instruction of a hit
 *
 * ptrace() steps through a hit to find its instructions. A stop in a restartable section would
 * abort the section when the program goes on. So after each step the section is hidden (rseq_cs
 * becomes 0), and it is shown again before the program runs by itself. Later a breakpoint of the
 * processor stops the program at any of these instructions, and the instructions before it have run
 * as usual.
 */
#ifndef TRACEFUSE_TESTS_SHORTCUTS_STEP_H
#define TRACEFUSE_TESTS_SHORTCUTS_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "journal.h"

struct stepped {
	pid_t pid;
	struct journal *journal;
	int journal_fd;
	uint64_t section; /* the program's value of rseq_cs */
};

/*
 * Starts a program with the journals, always at the same addresses, and with $STEP_PRELOAD as
 * $LD_PRELOAD. Returns its pid, or -1.
 */
pid_t step_fork(const struct stepped *s, char *const argv[], bool traced);
/* Starts the stepped program and lets it run to its first announced hit. */
bool step_start(struct stepped *s, char *const argv[]);
/* Runs to the next announced hit. False: the program has ended. */
bool step_next(struct stepped *s);
/* Runs one instruction of the hit. Returns the address of the next one; 0: the hit is over. */
uint64_t step_once(struct stepped *s);
/* Runs to this instruction. False: the hit is over and did not reach it. */
bool step_to(struct stepped *s, uint64_t ip);
/* Lets the program run by itself until the hit is over, with this signal or 0. */
bool step_go_on(struct stepped *s, int sig);
/* Kills the program where it is. */
void step_kill(struct stepped *s);
/* Lets the program end by itself. Returns its exit status, or -1. */
int step_finish(struct stepped *s);

#endif
