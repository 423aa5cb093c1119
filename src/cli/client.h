/* SPDX-License-Identifier: MIT */
/*
 * client.h - a command's connection to a session's server, beyond its files (access.h)
 */
#ifndef TRACEFUSE_CLI_CLIENT_H
#define TRACEFUSE_CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "access/access.h"
#include "access/socket.h"
#include "cli/command.h"

/*
 * The session that a command means: `name`, else $TRACEFUSE_SESSION, else the
 * only one that there is. Prints what to do when there is none or more than one
 * and returns NULL. The text is the caller's to free.
 */
char *client_session(const struct command *cmd, const char *name);

/*
 * Connects to the session `name`. Restores it where its server died, and waits where another
 * command makes or restores it. 0, -ENOENT: there is none, -errno.
 */
int client_reach(const char *name, struct access **out);
/* Connects to it, restoring a session whose server died first. Prints what is wrong: NULL. */
struct access *client_connect(const struct command *cmd, const char *name);

/* Both in one. */
struct access *client_connect_to(const struct command *cmd, const char *name);

/* The same for a command whose arguments are [SESSION]. A status: *out is not connected. */
int client_connect_arguments(const struct command *cmd, int argc, char **argv, struct access **out);

/*
 * Gives the session the settings of its start (boot.h) and prints what is wrong with them. Returns
 * how many things are, or -errno.
 */
int client_boot(struct access *a, const char *text);

/*
 * The value of "key VALUE" in what WIRE_INFO answered, into out; false: no such line number `nr`
 * (from 0).
 */
bool client_info(const char *text, const char *key, unsigned int nr, char *out, size_t size);

/* Of programs that were not traced. */
struct client_untraced {
	const char	*reason;	/* in a line "untraced" of WIRE_INFO */
	const char	*why;		/* in words */
	const char	*remedy;
	bool		usual;		/* nothing has gone wrong: -q leaves it out */
};

/* `reason` begins with that of the line. */
const struct client_untraced *client_untraced(const char *reason);
/* By its number, enum untraced. */
const struct client_untraced *client_untraced_at(unsigned int reason);

/* The number behind `key` in the text of a file `stats`; 0: there is none. */
unsigned long long client_stat(const char *text, const char *key);

/* Prints the directories where the session is mounted. COMMAND_FAILED: there are none. */
int client_print_mounts(struct access *a);

/*
 * The path inside the tracing directory that an argument of a command means; prints when it is
 * none.
 */
bool client_path(const char *argument, char *out, size_t size);

#endif
