/* SPDX-License-Identifier: MIT */
/*
 * message.h - what a command prints: its messages on stderr, its answers on stdout
 */
#ifndef TRACEFUSE_HOST_MESSAGE_H
#define TRACEFUSE_HOST_MESSAGE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of every command. */
enum { COMMAND_DONE = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2 };

/* Prints "tracefuse: TEXT" and a newline to stderr. Returns COMMAND_FAILED. */
int message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * COMMAND_DONE: what was printed is out. COMMAND_FAILED: it is not, and a message has said why.
 * There is no message when the reader went away (EPIPE).
 */
int message_flush(void);
/* To stdout, with the same answer. */
int message_print(const char *bytes, size_t n);
/* Whether something was not printed, and not because its reader went away. */
bool message_stdout_lost(void);

#endif
