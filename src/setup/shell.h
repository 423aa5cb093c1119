/* SPDX-License-Identifier: MIT */
/*
 * shell.h - a setup script under a real shell, while this process serves its session
 *
 *     this process                          child
 *     server_create()  <--- /dev/fuse ---   own name space, FUSE over /sys/kernel/tracing
 *     server_run() ... answers ...          sh -c SCRIPT
 *                      <--- ends ---
 */
#ifndef TRACEFUSE_SETUP_SHELL_H
#define TRACEFUSE_SETUP_SHELL_H

struct server_params;

/*
 * Runs the text with bash, or with sh when its first line names another shell or there is no bash,
 * in the tracing directory of the session, which nobody else may serve. Its exit status, or -errno:
 * there can be no such shell here, and nothing was run.
 */
int setup_shell_run(const struct server_params *params, const char *name, const char *text);

/* Replaces this process by the shell that runs the text, where it is. */
void setup_shell_exec(const char *name, const char *text) __attribute__((noreturn));

#endif
