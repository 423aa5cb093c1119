/* SPDX-License-Identifier: MIT */
/*
 * step.h - a traced program that is stopped behind any instruction of a hit
 *
 * To find out where a hit goes it is stepped through, by ptrace(). A stop in a restartable section
 * aborts it as the program goes on: so the section is hidden behind each step (rseq_cs becomes 0)
 * and shown again when the program is to go on by itself. After that a breakpoint of the processor
 * stops it at any of these instructions, and what was before has run as it always does.
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
	uint64_t section; /* rseq_cs as the program has it */
};

/*
 * Starts a program that has the journals, always at the same addresses, and with
 * $STEP_PRELOAD as $LD_PRELOAD. -> its pid, or -1
 */
pid_t step_fork(const struct stepped *s, char *const argv[], bool traced);
/* Starts the one that is stepped through and lets it run to its first announced hit. */
bool step_start(struct stepped *s, char *const argv[]);
/* Goes on to the next announced hit, false: it ended. */
bool step_next(struct stepped *s);
/* One instruction of the hit. -> the address of the next one; 0: the hit is over */
uint64_t step_once(struct stepped *s);
/* Goes on to this instruction. False: the hit is over, and was never there. */
bool step_to(struct stepped *s, uint64_t ip);
/* Goes on by itself, with this signal or 0, until the hit is over. */
bool step_go_on(struct stepped *s, int sig);
/* Ends it: by SIGKILL, just where it is. */
void step_kill(struct stepped *s);
/* Lets it end by itself. -> its exit status, or -1 */
int step_finish(struct stepped *s);

#endif
