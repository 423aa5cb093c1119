/* SPDX-License-Identifier: MIT */
/*
 * packed.h - the sites and symbols of a file as bytes, for the cache and for a pipe
 *
 *     head | nr_sites sites | nr_symbols symbols | names_len bytes of names
 *
 * Who takes them apart trusts none of them: a file may have done harm to the process that wrote
 * them.
 */
#ifndef TRACEFUSE_ELF_PACKED_H
#define TRACEFUSE_ELF_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct elf_sites;
struct site;

struct packed_site {
	uint64_t	at;
	uint8_t		kind, len, skip, unreturned;
	uint8_t		pad[4];
};

/* ---- Sites, without names ---- */

void packed_sites_make(const struct site *v, size_t nr, struct packed_site *out);
/*
 * Fills out->v and out->nr. False: they are not in order, of another kind, or no memory. moved: of
 * moved code (SITE_MOVED), else a compiler's.
 */
bool packed_sites_take(const struct packed_site *v, size_t nr, bool moved, struct elf_sites *out);

/* ---- All of it ---- */

/* 0, -EIO */
int packed_write(const struct elf_sites *s, FILE *out);
/* 0; -EPROTO: something is wrong with them; -ENOMEM. The caller frees with elf_sites_free(). */
int packed_read(const void *bytes, size_t size, bool moved, struct elf_sites *out);

#endif
