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
 * Finds the name of a command's session: `name`, else $TRACEFUSE_SESSION, else the only session.
 * The caller frees it. If there is none or more than one, prints what to do and returns NULL.
 */
char *client_session(const struct command *cmd, const char *name);

/*
 * Connects to the session `name`. If its server died, restores it; if another command makes or
 * restores it, waits. 0; -ENOENT: no such session; -errno.
 */
int client_reach(const char *name, struct access **out);
/* Like client_reach(), but prints errors. NULL: not connected. */
struct access *client_connect(const struct command *cmd, const char *name);

/* Both in one. */
struct access *client_connect_to(const struct command *cmd, const char *name);
/*
 * The same, but makes a session that is named and does not exist: for programs that attach to it.
 * *made: it did.
 */
struct access *client_connect_or_make(const struct command *cmd, const char *name, bool *made);

/*
 * The same for a command whose arguments are [SESSION]. Returns an exit status; unless it is
 * COMMAND_DONE, *out is not connected.
 */
int client_connect_arguments(const struct command *cmd, int argc, char **argv, struct access **out);

/*
 * Sends the settings of the start (boot.h) to the session, and prints what is wrong with them.
 * Returns the number of errors, or -errno.
 */
int client_boot(struct access *a, const char *text);

/*
 * Copies VALUE of the line "key VALUE" number `nr` (from 0) of WIRE_INFO's answer to `out`. False:
 * there is no such line.
 */
bool client_info(const char *text, const char *key, unsigned int nr, char *out, size_t size);
/*
 * Prints how many functions of programs' files cannot be traced, and so are not `where`, if any,
 * and which ones XRay passes over.
 */
void client_say_untraced(const char *info, const char *where);
/* What was counted since `before`. If the server has died, the next one counts from 0. */
static inline unsigned long long client_since(unsigned long long now, unsigned long long before)
{
	return now - (now < before ? 0 : before);
}

/*
 * How many processes "NUMBER PID NAME\tTEXT", a line of ended-lost or ended-probes, is about,
 * without those of the same line in `before`, an earlier answer; NULL: there is none.
 */
unsigned long client_ended_since(const char *before, const char *key, const char *value);
/*
 * Prints how many processes that have ended could not change their own code, or not open their
 * files. `before` is the same. Returns whether there were some.
 */
bool client_say_lost(const char *info, const char *before);
/* Finds the machine on which the session's recording was made; "": this one. */
void client_machine(struct access *a, char *out, size_t size);

/*
 * Number `nr` of the events whose place cannot be probed: "SYSTEM:EVENT cannot be probed: WHY.".
 * False: there are fewer.
 */
enum { CLIENT_REFUSED = 320 };
bool client_probe_refused(const char *info, unsigned int nr, char out[CLIENT_REFUSED]);

/* A reason why programs were not traced. */
struct client_untraced {
	const char	*reason;	/* as in a line "untraced" of WIRE_INFO */
	const char	*why;		/* in a sentence */
	const char	*remedy;
	bool		usual;		/* no error: -q does not print it */
	/* What the processes could not, in a sentence; NULL: join */
	const char	*could_not;
};

/* Finds the reason that `reason`, a part of such a line, begins with. */
const struct client_untraced *client_untraced(const char *reason);
/* The same by its number in enum untraced. */
const struct client_untraced *client_untraced_at(unsigned int reason);

/* The number behind `key` in the text of a file `stats`; 0: no such key. */
unsigned long long client_stat(const char *text, const char *key);

/* Ends the server and waits, so that nothing of the session is left when the command returns. */
int client_end(struct access *a);

/* Prints the directories where the session is mounted. COMMAND_FAILED: there are none. */
int client_print_mounts(struct access *a);

/*
 * Finds the path inside the tracing directory that an argument means. False: it is outside, which
 * is printed.
 */
bool client_path(const char *argument, char *out, size_t size);

#endif
