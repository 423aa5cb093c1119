/* SPDX-License-Identifier: MIT */
/*
 * moved.h - the sites of a file without a compiler's sites: functions whose first instructions can
 * be moved
 *
 *     code_open() -> functions, plans -> moved_sites() -> site[] by address, as sites_find() has it
 *
 * Included by the server and the agent, which find the same list.
 */
#ifndef TRACEFUSE_ELF_MOVED_H
#define TRACEFUSE_ELF_MOVED_H

#include "elf/code/code.h"
#include "elf/sites.h"

/*
 * Stores a site for each function that begins as functions do, also for those that cannot be moved
 * (site.skip). out has room for f->nr_functions. -> their number. Writes to f.
 */
size_t moved_sites(struct code_file *f, struct site *out);

#endif
