/* SPDX-License-Identifier: MIT */
/*
 * shell.h - runs a setup script in a real shell, which sees the session at /sys/kernel/tracing
 *
 *     server, or this process                  the shell's process
 *       answers  <---- control socket ----     setup_shell_enter(): a name space, FUSE
 *                <------- /dev/fuse --------   bash -c SCRIPT
 *
 * The shell is bash. It is sh if the script's first line names another shell, or if there is no
 * bash.
 */
#ifndef TRACEFUSE_SETUP_SHELL_H
#define TRACEFUSE_SETUP_SHELL_H

struct access;
struct server_params;

/*
 * Enters a mount name space of its own. There this process, and those that it starts, see the
 * session of `a` at /sys/kernel/tracing. 0, or -errno as in namespace.h.
 */
int setup_shell_enter(struct access *a);

/*
 * Runs the text in the tracing directory, with no signal blocked. Returns the shell's exit status,
 * or -errno if there can be no such shell; then nothing was run. `session`: the session's name for
 * tracefuse commands in the script.
 */
int setup_shell_run(struct access *a, const char *session, const char *name, const char *text);

/* The same for a session without a server: this process serves it meanwhile. */
int setup_shell_serve(const struct server_params *params, const char *name, const char *text);

#endif
