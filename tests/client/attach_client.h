/* SPDX-License-Identifier: MIT */
/*
 * attach_client.h - a process that joins a session without the agent, for tests of the server and
 * the plane
 */
#ifndef TESTS_CLIENT_ATTACH_CLIENT_H
#define TESTS_CLIENT_ATTACH_CLIENT_H

#include "session/attach/attach.h"

struct attachment;

/*
 * Joins the session `name`: maps its memory (config read-only), gets slots.
 * Waits 1 s at most for the server. 0; -ENOENT no such session, -ECONNREFUSED
 * its server is dead, -ETIMEDOUT, -EPROTO, -EUSERS no slot or process entry free.
 */
int attach_open(const char *name, struct attachment **out);
/* No thread of the process may be in a hit any more. */
void attach_close(struct attachment *a);

struct plane *attach_plane(struct attachment *a);
/*
 * This thread's slot, taken at the first call, given back when the thread ends.
 * The first call may wait: 1 s for more slots, 100 ms for a private ring.
 * NULL: none to be had, or in a child of fork(), which has to attach by itself.
 */
struct slot *attach_slot(struct attachment *a);

#endif
