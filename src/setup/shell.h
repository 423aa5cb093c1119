/* SPDX-License-Identifier: MIT */
/*
 * shell.h - a setup script in a real shell, which sees the session at /sys/kernel/tracing
 *
 *     server, or this process                  the shell's process
 *       answers  <---- control socket ----     setup_shell_enter(): a name space, FUSE
 *                <------- /dev/fuse --------   bash -c SCRIPT
 *
 * It is bash, or sh when the script's first line names another shell or there is no bash.
 */
#ifndef TRACEFUSE_SETUP_SHELL_H
#define TRACEFUSE_SETUP_SHELL_H

struct access;
struct server_params;

/*
 * From here on this process, and those that it starts, see the session that `a` is connected to at
 * /sys/kernel/tracing, in a mount name space of their own. 0, or -errno as in namespace.h.
 */
int setup_shell_enter(struct access *a);

/*
 * Runs the text in the tracing directory. Its exit status, or -errno: there can be no such shell
 * here, and nothing was run. No signal is blocked in it. `session` is the name for tracefuse's
 * commands in it.
 */
int setup_shell_run(struct access *a, const char *session, const char *name, const char *text);

/* The same of a session that nobody else may serve: this process does meanwhile. */
int setup_shell_serve(const struct server_params *params, const char *name, const char *text);

#endif
