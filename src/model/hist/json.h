/* SPDX-License-Identifier: MIT */
/*
 * json.h - the file `hist` for programs
 */
#ifndef TRACEFUSE_MODEL_HIST_JSON_H
#define TRACEFUSE_MODEL_HIST_JSON_H

#include <stdio.h>

struct event_file;

/* All histograms of an event as a JSON array; json.c shows what is in it. 0, -ENOMEM */
int hist_json_print(struct event_file *f, FILE *out);

#endif
