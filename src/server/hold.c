/* SPDX-License-Identifier: MIT */
/*
 * hold.c - programs that wait until their session is set up
 *
 *   client: HOLD                 from now on
 *   program: READY  -----------> waits
 *   client: HELD <-------------- its number
 *           ... sets up ...
 *           GO its number -----> the program goes on, into its constructors
 *
 * A program waits for the client that it descends from, and for nobody else: several
 * runs may share a session. A client that goes away, by whatever end, lets
 * everybody go.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/state.h"
#include "session/attach/attach.h"

enum { ANCESTORS = 64 };

/* 0: unknown. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512], *at;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* "PID (COMM) STATE PARENT": the name may have anything in it. */
	at = strrchr(text, ')');
	return at && strlen(at) > 4 ? atoi(at + 4) : 0;
}

/* The client that holds and that the process descends from; 0: none. */
static pid_t holder_of(struct server *srv, pid_t pid)
{
	struct client *c;

	for (int i = 0; i < ANCESTORS && pid > 1; i++) {
		list_each(c, &srv->clients, node)
			if (c->holds && c->pid == pid)
				return pid;
		pid = parent_of(pid);
	}
	return 0;
}

bool hold_ready(void *arg, const struct attach_peer *peer)
{
	struct server *srv = arg;
	pid_t by = srv->holders && peer->process <= LAYOUT_MAX_PROCESSES ? holder_of(srv, peer->pid) : 0;

	server_boot_ready(srv);
	if (!by)
		return false;
	srv->held[peer->process] = (struct held){ .state = HELD_NEW, .by = by };
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

void hold_end(struct server *srv, struct client *c)
{
	if (!c->holds)
		return;
	c->holds = false;
	srv->holders--;
	for (unsigned int i = 1; i <= LAYOUT_MAX_PROCESSES; i++) {
		if (!srv->held[i].state || srv->held[i].by != c->pid)
			continue;
		srv->held[i].state = HELD_NOT;
		attach_go(srv->session, i);
	}
}

int hold_next(struct server *srv, const struct client *c)
{
	for (unsigned int i = 1; i <= LAYOUT_MAX_PROCESSES; i++) {
		if (srv->held[i].state != HELD_NEW || srv->held[i].by != c->pid)
			continue;
		srv->held[i].state = HELD_TOLD;
		return (int)i;
	}
	return 0;
}

int hold_go(struct server *srv, const char *number)
{
	unsigned long i = strtoul(number, NULL, 10);

	if (!i || i > LAYOUT_MAX_PROCESSES || !srv->held[i].state)
		return -ESRCH;
	srv->held[i].state = HELD_NOT;
	return attach_go(srv->session, (unsigned int)i);
}
