/* SPDX-License-Identifier: MIT */
/*
 * site_cache.h - what was found in files without a compiler's sites, kept for the next session
 *
 *     $XDG_CACHE_HOME/tracefuse/BUILD-ID     (or $HOME/.cache): a list of sites, without names
 *
 * To read a file's code takes some 50 ms a megabyte. The list depends on the file and on this
 * program alone. So an entry names both: the file by its device, inode, size and times of the last
 * change of contents and inode; this program by the same of its own file. An entry that names
 * others is replaced.
 *
 * Only the server reads and writes entries, never a traced program. An entry counts only if it and
 * its directory belong to this user and nobody else may write them. Where nothing can be kept, the
 * files are read each time.
 */
#ifndef TRACEFUSE_ELF_SITE_CACHE_H
#define TRACEFUSE_ELF_SITE_CACHE_H

#include <stdbool.h>

#include "elf/file.h"

/* Takes the sites of an open file from its entry. False: there is no good one. */
bool site_cache_load(const struct elf_file *f, const struct elf_want *want, struct elf_sites *out);
void site_cache_store(const struct elf_file *f, const struct elf_want *want,
		      const struct elf_sites *sites);

#endif
