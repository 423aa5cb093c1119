/* SPDX-License-Identifier: MIT */
/*
 * json.h - the file `hist` for programs
 */
#ifndef TRACEFUSE_MODEL_HIST_JSON_H
#define TRACEFUSE_MODEL_HIST_JSON_H

#include <stdio.h>

struct event_file;

/* Prints all histograms of an event as a JSON array; json.c shows its form. 0, -ENOMEM */
int hist_json_print(struct event_file *f, FILE *out);

#endif
