/* SPDX-License-Identifier: MIT */
/*
 * barrier.c - programs that wait until their session is set up
 *
 *   client: BARRIER              programs wait from now on
 *   program: READY  -----------> waits
 *   client: WAITS <-------------- its number
 *           ... sets up ...
 *           GO its number -----> the program continues, into its constructors
 *
 * A program waits only for the client that it descends from, because several runs may share a
 * session. When that client's connection ends, for whatever reason, its programs continue.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/state.h"
#include "model/model.h"
#include "session/attach/attach.h"
#include "session/attach/stat.h"

enum { ANCESTORS = 64 };

/* The client with a barrier that is an ancestor of the process; NULL: there is none. */
static struct client *barrier_owner(struct server *srv, pid_t pid)
{
	struct client *c;

	/* A run may be the first process of a container. */
	for (int i = 0; i < ANCESTORS && pid > 0; i++) {
		list_each(c, &srv->clients, node)
			if (c->has_barrier && c->pid == pid)
				return c;
		pid = process_stat(pid).parent;
	}
	return NULL;
}

/* Whether the client wants that program to wait, which has defined its events. */
static bool barrier_wants(const struct server *srv, struct client *c)
{
	const uint64_t made = srv->model->events_made;
	const bool wants = !c->new_events || made != c->events_made;

	c->events_made = made;
	return wants;
}

bool barrier_ready(void *arg, const struct attach_peer *peer)
{
	struct server *srv = arg;
	struct client *by = srv->nr_barriers && peer->process <= LAYOUT_MAX_PROCESSES
				    ? barrier_owner(srv, peer->pid)
				    : NULL;

	server_boot_ready(srv);
	if (!by || !barrier_wants(srv, by))
		return false;
	srv->barriers[peer->process] = (struct barrier){ .state = BARRIER_NEW, .by = by->pid };
	return true;
}

int barrier_functions_ask(struct server *srv, const char *what)
{
	char *text = strdup(what), *rest = text, *line;
	int err = text ? 0 : -ENOMEM;

	line = text ? strsep(&rest, "\n") : NULL;
	if (!line || strcmp(line, "functions")) {
		free(text);
		return err;
	}
	session_functions_asked(srv->session);
	while (!err && (line = strsep(&rest, "\n")))
		err = *line ? session_libraries_asked(srv->session, line) : 0;
	free(text);
	return err;
}

int barrier_begin(struct server *srv, struct client *c, const char *what)
{
	int err;

	if (!srv->programs)
		return -EOPNOTSUPP;
	err = barrier_functions_ask(srv, what);
	if (err)
		return err;
	c->new_events = !strcmp(what, "events");
	c->events_made = srv->model->events_made;
	if (!c->has_barrier)
		attach_barriers(srv->session, ++srv->nr_barriers);
	c->has_barrier = true;
	return 0;
}

void barrier_end(struct server *srv, struct client *c)
{
	if (!c->has_barrier)
		return;
	c->has_barrier = false;
	attach_barriers(srv->session, --srv->nr_barriers);
	for (unsigned int i = 1; i <= LAYOUT_MAX_PROCESSES; i++) {
		if (!srv->barriers[i].state || srv->barriers[i].by != c->pid)
			continue;
		srv->barriers[i].state = BARRIER_OFF;
		attach_go(srv->session, i);
	}
}

int barrier_next(struct server *srv, const struct client *c)
{
	for (unsigned int i = 1; i <= LAYOUT_MAX_PROCESSES; i++) {
		if (srv->barriers[i].state != BARRIER_NEW || srv->barriers[i].by != c->pid)
			continue;
		srv->barriers[i].state = BARRIER_TOLD;
		return (int)i;
	}
	return 0;
}

int barrier_go(struct server *srv, const char *number)
{
	unsigned long i = strtoul(number, NULL, 10);

	if (!i || i > LAYOUT_MAX_PROCESSES || !srv->barriers[i].state)
		return -ESRCH;
	srv->barriers[i].state = BARRIER_OFF;
	return attach_go(srv->session, (unsigned int)i);
}
