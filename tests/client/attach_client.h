/* SPDX-License-Identifier: MIT */
/*
 * attach_client.h - lets a process join a session without the agent, for tests of the server and
 * the plane
 */
#ifndef TESTS_CLIENT_ATTACH_CLIENT_H
#define TESTS_CLIENT_ATTACH_CLIENT_H

#include "session/attach/attach.h"

struct attachment;

/*
 * Joins the session `name`: maps its memory (the config region read-only) and gets slots. Waits at
 * most 1 s for the server. 0; -ENOENT: no such session; -ECONNREFUSED: its server is dead;
 * -ETIMEDOUT; -EPROTO; -EUSERS: no slot or process entry is free.
 */
int attach_open(const char *name, struct attachment **out);
/* Leaves the session. No thread of the process may be in a hit. */
void attach_close(struct attachment *a);

struct plane *attach_plane(struct attachment *a);
/*
 * This thread's slot. The first call takes it, and it is given back when the thread ends. The first
 * call may wait: 1 s for more slots, 100 ms for a private ring. NULL: no slot is free, or this is a
 * child of fork(), which has to attach by itself.
 */
struct slot *attach_slot(struct attachment *a);
/* Asks for the slot's private ring if this thread needs one, and waits up to 100 ms. */
void attach_await_lease(struct slot *slot);

#endif
