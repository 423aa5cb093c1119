/* SPDX-License-Identifier: MIT */
/*
 * save_dat.h - -o FILE: what a session recorded, as a trace.dat
 *
 *   save_dat_check()   before anything runs: whether the file could be written
 *   save_dat()         at the end; the file appears when it is whole
 *
 * Both print what is wrong and return an exit status.
 */
#ifndef TRACEFUSE_FRONTS_SAVE_DAT_H
#define TRACEFUSE_FRONTS_SAVE_DAT_H

#include <stdbool.h>

struct access;

int save_dat_check(const char *file);
/* `uname`: of the machine that was traced; NULL: this one. */
int save_dat(struct access *a, const char *file, const char *uname, bool compress);

#endif
