/* SPDX-License-Identifier: MIT */
/*
 * watch.c - reports a process that cannot be traced, while the program runs
 *
 * The session counts such processes by reason. Once a second the command asks for the reasons that
 * have occurred, over a connection of its own, without waiting for the answer. The summary has the
 * numbers.
 */
#include <stdio.h>

#include "cli/client.h"
#include "cli/run/run.h"
#include "access/wire.h"
#include "layout/layout.h"

enum { EACH_MS = 1000 };

void run_watch_begin(struct run *r)
{
	int met;

	if (client_reach(r->name, &r->watch.access))
		r->watch.access = NULL;
	if (!r->watch.access)
		return;
	/* Reasons from before do not concern this program. */
	met = access_request(r->watch.access, WIRE_UNTRACED, "", -1, NULL);
	if (met < 0)
		run_watch_end(r);
	else
		r->watch.told = met;
}

void run_watch_end(struct run *r)
{
	if (r->watch.access)
		access_close(r->watch.access);
	r->watch.access = NULL;
}

int run_watch_fd(const struct run *r)
{
	return r->watch.access ? access_fd(r->watch.access) : -1;
}

int run_watch_ms(const struct run *r)
{
	return r->watch.access && !r->watch.asked ? EACH_MS : -1;
}

void run_watch_ask(struct run *r)
{
	if (access_ask(r->watch.access, WIRE_UNTRACED))
		run_watch_end(r);
	else
		r->watch.asked = true;
}

void run_watch_hear(struct run *r)
{
	int met = access_hear(r->watch.access);

	r->watch.asked = false;
	if (met < 0) {
		run_watch_end(r);
		return;
	}
	for (unsigned int i = 0; i < UNTRACED_REASONS; i++) {
		const struct client_untraced *u = client_untraced_at(i);

		if ((met & ~r->watch.told) >> i & 1 && !u->usual)
			fprintf(stderr, "tracefuse: a process %s%s: %s (%s)\n",
				u->could_not ? "cannot " : "runs untraced",
				u->could_not ? u->could_not : "", u->why, u->remedy);
	}
	r->watch.told |= met;
}
