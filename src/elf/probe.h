/* SPDX-License-Identifier: MIT */
/*
 * probe.h - how a probe at a place of a file is planted: the server makes it from the file, and
 * programs compare their memory and do what it says
 *
 *     address in a file -> probe_plan_make() -> struct probe_plan (layout/layout.h)
 *
 * Programs may open no file while they run, and to read one takes long. So they do not plan.
 */
#ifndef TRACEFUSE_ELF_PROBE_H
#define TRACEFUSE_ELF_PROBE_H

#include "elf/code/code.h"
#include "elf/sites.h"
#include "layout/layout.h"

/*
 * Before the first plan of a file: the bytes of a compiler's sites belong to these sites. They are
 * what sites_find() has found; nr may be 0.
 */
void probe_plan_sites(struct code_file *f, const struct site *sites, size_t nr);
/*
 * Plans a probe at `at`, or for the return of the function that begins there. A place where a
 * compiler's site stands is probed at the instruction behind it. The plan's bytes belong to it from
 * now on, so a second event at the same place has a copy of the first one's plan. False: refused,
 * as out->why says, or for a return out->returns.
 */
bool probe_plan_make(struct code_file *f, const struct site *sites, size_t nr, uint64_t at,
		     bool returns, struct probe_plan *out);

#endif
