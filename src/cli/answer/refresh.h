/* SPDX-License-Identifier: MIT */
/*
 * refresh.h - an answer from a session again and again: on a terminal in its place until q is
 * pressed, else one text behind the other
 */
#ifndef TRACEFUSE_CLI_ANSWER_REFRESH_H
#define TRACEFUSE_CLI_ANSWER_REFRESH_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

struct refresh {
	int		signals;	/* of signalfd(); -1: there is none */
	bool		screen;		/* stdout is a terminal */
	bool		keys;		/* stdin, too */
	struct termios	before;
	double		until;		/* by CLOCK_MONOTONIC; 0: no end */
};

/* `ends`: the signals that end it, which are blocked. limit: seconds, 0: none. An exit status. */
int refresh_begin(struct refresh *r, const sigset_t *ends, double limit);
/* False: it was asked to end. */
bool refresh_wait(struct refresh *r, double seconds);
/* Clears the screen. -> how many lines a table may have there; 0: any number */
unsigned int refresh_clear(const struct refresh *r);
void refresh_end(struct refresh *r);

#endif
