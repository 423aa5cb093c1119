/* SPDX-License-Identifier: MIT */
/*
 * attach_wire.h - the messages of the attach socket (SOCK_SEQPACKET, one a packet)
 *
 *   process                                                server
 *   HELLO {version, membarrier?, table}  ---------------->  who it is, slots, first id of the
 *          <---- reply {process, pid, provider_id, slots}   providers' events
 *   EVENTS {n} definition, definition ... --------------->  once for each DSO that has some;
 *          <---- reply {nr_ids} id, id ...                  ids, or -errno each
 *          A process without static events and sites says so in HELLO, which is its READY then.
 *   READY  ---------------------------------------------->  waits until the setup has been applied:
 *          <---- reply {barrier}                         at once, when that takes longer
 *          <---- reply {}                                   go on
 *   DSO {number} ----------------------------------------->  it has been loaded and has sites; its
 *                                                            words are
 *          <---- reply {barrier}                         there now, or it is not traced; a second
 *          <---- reply {}                                   reply, within a second, as of READY
 *   MORE   ---------------------------------------------->  all slots are in use
 *   PID {tid}  ------------------------------------------>  the thread as the server sees it (other
 *                                                           pid name space)
 *          <---- reply {pid}
 *   BYE    ---------------------------------------------->  no reply
 *
 * Each request has a number, and its reply has the same one. A process that
 * gives up waiting knows by it a late reply from the one that it waits for now.
 * A reply with the number 0 and an error refuses the connection, which is then closed.
 *
 * After fork() a child says HELLO for itself on a connection of its own; it
 * knows the ids already and does not say READY. One that cannot connect any
 * more (another user, another root) makes a pair of sockets and passes one of
 * them on over its parent's connection, which it still has: CHILD, no reply. Numbers have the
 * machine's byte order, texts end with a 0.
 */
#ifndef TRACEFUSE_LAYOUT_ATTACH_WIRE_H
#define TRACEFUSE_LAYOUT_ATTACH_WIRE_H

#include <errno.h>
#include <stdint.h>

enum attach_kind {
	ATTACH_HELLO = 1,
	ATTACH_MORE,
	ATTACH_BYE,
	ATTACH_EVENTS,
	ATTACH_READY,
	ATTACH_PID,
	ATTACH_CHILD,
	ATTACH_DSO
};

enum {
	ATTACH_SLOTS	= 8,		/* given at a time at most */
	ATTACH_PACKET	= 65536,	/* bytes of the largest packet */
	ATTACH_IDS	= 512,		/* definitions in a packet at most */
	/* attach_reply.err: the server has none. EMFILE would be the process's own lack. */
	ATTACH_NO_DESCRIPTOR = -EDQUOT,
};

struct attach_request {
	uint32_t	version;	/* SESSION_VERSION */
	uint32_t	kind;		/* enum attach_kind */
	uint32_t	no_membarrier;	/* HELLO: the process may not register for it */
	/*
	 * HELLO: 1: the process knows its creator's sets of pids; EVENTS: how many; PID: thread id
	 * in the process's own name space; DSO: its number
	 */
	uint32_t	value;
	uint32_t	number;		/* of the request, on this connection */
	uint32_t	ready;		/* HELLO: 1: it has nothing more to say, as with READY */
	/* HELLO: provider_table_version() of the agent, 0: it has no providers */
	uint64_t	table;
	/*
	 * HELLO: of what the process runs: another number after exec, the same in a child of
	 * fork(); 0: none
	 */
	uint64_t	image;
	/* EVENTS: struct attach_definition, ... */
};

/*
 * One event: the text of its format file from behind the line "format:" on,
 * the common fields included. The same text under the same name is the same
 * event, whichever process defines it.
 */
struct attach_definition {
	uint32_t	size;		/* bytes of the whole, a multiple of 8 */
	uint32_t	system;		/* offsets of the texts from the start of the definition */
	uint32_t	name;
	uint32_t	body;
	/* texts */
};

struct attach_reply {
	int32_t		err;		/* -errno */
	uint32_t	process;	/* 1 + index in the process table */
	/* HELLO: the process, PID: the thread, as the server sees it */
	uint32_t	pid;
	/* HELLO: id of the first event of the providers' table, 0: tables differ, none */
	uint32_t	provider_id;
	/* READY, DSO: 1: a second reply will come, to READY without a limit of time */
	uint32_t	barrier;
	uint32_t	nr_slots;
	uint32_t	slots[ATTACH_SLOTS];
	uint32_t	nr_ids;		/* EVENTS */
	uint32_t	number;		/* of the request that this answers */
	/* int32_t ids[nr_ids] */
};

#endif
