/* SPDX-License-Identifier: MIT */
/*
 * server_hold.c - programs that wait until their session is set up
 *
 *   client: HOLD                 from now on
 *   program: READY  -----------> waits
 *   client: HELD <-------------- its number
 *           ... sets up ...
 *           GO its number -----> the program goes on, into its constructors
 *
 * A client that goes away, by whatever end, lets everybody go.
 */
#include <errno.h>
#include <stdlib.h>

#include "fronts/server_state.h"
#include "session/attach.h"

bool hold_ready(void *arg, const struct attach_peer *peer)
{
	struct server *srv = arg;

	if (!srv->holders || peer->process > LAYOUT_MAX_PROCESSES)
		return false;
	srv->held[peer->process] = HELD_NEW;
	return true;
}

int hold_begin(struct server *srv, struct client *c)
{
	if (!srv->programs)
		return -EOPNOTSUPP;
	if (!c->holds)
		srv->holders++;
	c->holds = true;
	return 0;
}

static void let_all_go(struct server *srv)
{
	for (unsigned int i = 1; i <= LAYOUT_MAX_PROCESSES; i++) {
		if (srv->held[i])
			attach_go(srv->session, i);
		srv->held[i] = HELD_NOT;
	}
}

void hold_end(struct server *srv, struct client *c)
{
	if (c->holds && !--srv->holders)
		let_all_go(srv);
	c->holds = false;
}

int hold_next(struct server *srv)
{
	for (unsigned int i = 1; i <= LAYOUT_MAX_PROCESSES; i++) {
		if (srv->held[i] != HELD_NEW)
			continue;
		srv->held[i] = HELD_TOLD;
		return (int)i;
	}
	return 0;
}

int hold_go(struct server *srv, const char *number)
{
	unsigned long i = strtoul(number, NULL, 10);

	if (!i || i > LAYOUT_MAX_PROCESSES || !srv->held[i])
		return -ESRCH;
	srv->held[i] = HELD_NOT;
	return attach_go(srv->session, (unsigned int)i);
}
