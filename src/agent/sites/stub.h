/* SPDX-License-Identifier: MIT */
/*
 * stub.h - what all stubs of a DSO share: the way to the agent (patch.c, moved.c, moved_late.c)
 *
 * Included by these only.
 */
#ifndef TRACEFUSE_AGENT_SITES_STUB_H
#define TRACEFUSE_AGENT_SITES_STUB_H

#include <stdint.h>
#include <string.h>
#include "agent/sites/sites.h"
#include "agent/x86_64/relocate.h"

enum { STUB = 16 };

/* It lies near the stubs, whose jumps reach it. */
struct stub_shared {
	uint8_t		enter[STUB];	/* push dso; jmp *entry */
	uint8_t		enter_late[STUB];
	uint8_t		through[STUB];	/* jmp *graph */
	uint8_t		leave[STUB];	/* jmp *returned */
	struct site_dso	*dso;
	void		(*entry)(void);
	void		(*entry_late)(void);
	void		(*graph)(void);
	void		(*returned)(void);
};

/* An instruction that ends in the distance to `to`. -> the address behind it */
static inline uint8_t *stub_code(uint8_t *at, const char *op, size_t size, const void *to)
{
	int32_t distance = (int32_t)((const char *)to - (char *)(at + size + 4));

	memcpy(at, op, size);
	memcpy(at + size, &distance, 4);
	return at + size + 4;
}

static inline void stub_share(struct stub_shared *m, struct site_dso *d, void (*entry)(void))
{
	m->dso = d;
	m->entry = entry;
	m->entry_late = patch_entry_late;
	m->graph = graph_through;
	m->returned = patch_return;
	stub_code(stub_code(m->enter, "\xff\x35", 2, &m->dso), "\xff\x25", 2, &m->entry);
	stub_code(stub_code(m->enter_late, "\xff\x35", 2, &m->dso), "\xff\x25", 2, &m->entry_late);
	stub_code(m->through, "\xff\x25", 2, &m->graph);
	stub_code(m->leave, "\xff\x25", 2, &m->returned);
}

/* ---- moved.c ---- */

enum { MOVED_HEAD = 32 };	/* bytes of a stub in front of the moved instructions */

/*
 * The stub, which is on, of a function that begins at `at` with these bytes: the first `size` are
 * moved. -> its size; 0: they cannot be moved there. The size does not depend on where it stands.
 * stub has MOVED_HEAD + RELOCATE_MOST bytes.
 */
size_t moved_stub_make(const struct stub_shared *shared, uintptr_t at, const uint8_t *bytes,
		       size_t size, uint8_t *stub, struct relocated *map);

/* The head of the site's stub, which is switched: its first two bytes. */
uint8_t *moved_head(const struct site_dso *d, const struct site *s);
/* Makes the stubs; plants the jumps to them, in texts that are open. 0, or -errno */
int moved_map(struct site_dso *d);
void moved_plant(struct site_dso *d);
/* patch.c: where bytes of texts that are open are to be stored. */
void *patch_stored_at(struct site_dso *d, const void *at, size_t size);
void moved_switch(struct site_dso *d, const struct site *s, bool on);
bool moved_is_on(const struct site_dso *d, const struct site *s);

#endif
