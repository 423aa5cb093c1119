/* SPDX-License-Identifier: MIT */
/* message.h - prints a command's messages to stderr and its answers to stdout */
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
 * Flushes stdout. COMMAND_DONE: all that was printed is written. COMMAND_FAILED: it is not, and a
 * message says why. There is no message if the reader has closed the pipe (EPIPE).
 */
int message_flush(void);
/* Prints n bytes to stdout. Returns the same. */
int message_print(const char *bytes, size_t n);
/* Whether the reader of stdout has closed the pipe, and is no pager. */
bool message_reader_left(void);
/* Whether output was lost for another reason than that its reader has closed the pipe. */
bool message_stdout_lost(void);

#endif
