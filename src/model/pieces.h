/* SPDX-License-Identifier: MIT */
/*
 * pieces.h - a command that takes long, as a write of thousands of lines, is carried out in pieces
 * (R35)
 *
 *     pieces_begin() -> the command: -EINPROGRESS -> other commands -> pieces_begin() -> the same
 *     command, which goes on where it stopped ... -> its result -> pieces_end()
 *
 * Others see between two pieces what is done so far.
 */
#ifndef TRACEFUSE_MODEL_PIECES_H
#define TRACEFUSE_MODEL_PIECES_H

#include <stddef.h>
#include "model/model.h"

enum { PIECE_MS = 5 };

struct pieces {
	int64_t		until_ms;	/* when the present piece ends */
	size_t		lines;		/* bytes of the lines that are carried out */
	struct event	*at;		/* the last event that was handled, held; NULL: none */
	bool		any;		/* an event was meant */
	int		err;		/* the first error with one */
};

static inline void pieces_begin(struct pieces *p)
{
	p->until_ms = session_now_ms() + PIECE_MS;
}

/* Whether others are to have their turn now. p NULL: the command is carried out in one piece. */
static inline bool pieces_pause(const struct pieces *p)
{
	return p && session_now_ms() >= p->until_ms;
}

/* The next piece begins behind this event. */
static inline void pieces_hold(struct pieces *p, struct event *e)
{
	if (e)
		event_get(e);
	if (p->at)
		event_put(p->at);
	p->at = e;
}

static inline void pieces_end(struct pieces *p)
{
	pieces_hold(p, NULL);
	*p = (struct pieces){ 0 };
}

#endif
