/* SPDX-License-Identifier: MIT */
/*
 * errlog.h - the file error_log: the last 8 errors with command and caret
 *
 *     [ 1234.567890] hist:sched:sched_waking: error: Couldn't find field
 *       Command: hist:keys=pidd
 *                          ^
 */
#ifndef TRACEFUSE_MODEL_ERRLOG_H
#define TRACEFUSE_MODEL_ERRLOG_H

#include <stdio.h>

struct errlog;

struct errlog *errlog_create(void);
void errlog_destroy(struct errlog *log);
/*
 * loc: "hist:sched:sched_waking", "event filter parse error"; pos: bytes into cmd. All texts are
 * copied.
 */
void errlog_add(struct errlog *log, const char *loc, const char *cmd, const char *error,
		unsigned int pos);
void errlog_clear(struct errlog *log);
/*
 * Until errlog_loud() nothing is added: for a command that will be tried again. errlog_loud()
 * returns the last error text meanwhile, which the caller frees; NULL: none.
 */
void errlog_hush(struct errlog *log);
char *errlog_loud(struct errlog *log);
void errlog_print(struct errlog *log, FILE *out);
/* Prints the errors after entry number `since`; returns the newest number. */
unsigned long errlog_print_since(struct errlog *log, unsigned long since, FILE *out);

#endif
