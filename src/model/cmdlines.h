/* SPDX-License-Identifier: MIT */
/*
 * cmdlines.h - saved_cmdlines and saved_tgids: names and thread groups of pids
 */
#ifndef TRACEFUSE_MODEL_CMDLINES_H
#define TRACEFUSE_MODEL_CMDLINES_H

#include <stdio.h>

struct cmdlines;

struct cmdlines *cmdlines_create(void);
void cmdlines_destroy(struct cmdlines *c);

/*
 * A later name replaces an earlier one. If the table is full, the oldest entry is dropped. 0,
 * -ENOMEM
 */
int cmdlines_add(struct cmdlines *c, int pid, const char *comm);
/* Calls ask(arg) before names are looked up: it may add some. NULL: nothing is called. */
void cmdlines_source(struct cmdlines *c, void (*ask)(void *arg), void *arg);
/* "<idle>" for 0, "<XXX>" below 0, "<...>" if unknown. */
const char *cmdlines_find(const struct cmdlines *c, int pid);
void cmdlines_print(const struct cmdlines *c, FILE *out);

/*
 * saved_cmdlines_size: how many entries there may be. A change keeps the newest. 0, -EINVAL,
 * -ENOMEM
 */
unsigned int cmdlines_size(const struct cmdlines *c);
int cmdlines_resize(struct cmdlines *c, unsigned int size);

int cmdlines_add_tgid(struct cmdlines *c, int pid, int tgid);
int cmdlines_find_tgid(const struct cmdlines *c, int pid);	/* 0: unknown */
void cmdlines_print_tgids(const struct cmdlines *c, FILE *out);

#endif
