/* SPDX-License-Identifier: MIT */
/*
 * sites_hit.h - what entry.S calls
 */
#ifndef TRACEFUSE_AGENT_SITES_HIT_H
#define TRACEFUSE_AGENT_SITES_HIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The function whose site lies at ip was called from parent; frame: of a walk that
 * begins in it. True: sites_hit_slow() is to be called, with all registers saved.
 */
bool sites_hit(uintptr_t ip, uintptr_t parent, const void *frame);
void sites_hit_slow(uintptr_t ip, uintptr_t parent, const void *frame);

/* Whether the processor has xsave; set once, before the first site is on. */
extern bool patch_has_xsave;

#endif
