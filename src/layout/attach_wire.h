/* SPDX-License-Identifier: MIT */
/*
 * attach_wire.h - the messages of the attach socket (SOCK_SEQPACKET, one message a packet)
 *
 *   process                                                server
 *   HELLO {version, membarrier?, table}  ---------------->  who it is, slots, first id of the
 *          <---- reply {process, pid, provider_id, slots}   providers' events
 *   EVENTS {n} definition, definition ... --------------->  once for each DSO that has some;
 *          <---- reply {nr_ids} id, id ...                  ids, or -errno each
 *          A process without static events and sites says so in HELLO, which is its READY then.
 *   READY  ---------------------------------------------->  waits until the setup has been applied
 *          <---- reply {barrier}                            at once, if that takes longer
 *          <---- reply {}                                   when the process may continue
 *   PLACES {number} ------------------------------------>  has the file of a DSO read that has
 *                                                           no sites of a compiler
 *          <---- reply {}                                   site_set.places is there, or never
 *                                                           will be
 *   DSO {number} ---------------------------------------->  it has been loaded and has sites
 *          <---- reply {barrier}                            its words are published now, or it is
 *          <---- reply {}                                   not traced; a second reply, within a
 *                                                           second, as for READY
 *   MORE   ---------------------------------------------->  all slots are in use: gives more
 *   PID {tid}  ------------------------------------------>  the thread as the server sees it (other
 *                                                           pid name space)
 *          <---- reply {pid}
 *   SNAPSHOT ------------------------------------------->  no reply here: struct attach_snapshot
 *   BYE    ---------------------------------------------->  no reply
 *
 * Each request has a number, and its reply has the same one. A process that has given up waiting
 * recognises a late reply by its number. A reply with the number 0 and an error refuses the
 * connection, which is then closed.
 *
 * After fork() a child says HELLO for itself on a connection of its own. It knows the ids already
 * and does not say READY. A child that can no longer connect (another user, another root) makes a
 * pair of sockets and passes one of them over its parent's connection, which it still has: CHILD,
 * no reply. Numbers have the machine's byte order, texts end in a 0.
 *
 * SNAPSHOT passes one of a pair of sockets, too. In its queue the descriptor of a file waits, which
 * the process has opened: the server opens no path for a program. A copy of the server takes that
 * descriptor, writes the session's records into the file, and answers on the pair. So neither the
 * connection nor the server is kept waiting.
 */
#ifndef TRACEFUSE_LAYOUT_ATTACH_WIRE_H
#define TRACEFUSE_LAYOUT_ATTACH_WIRE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

enum attach_kind {
	ATTACH_HELLO = 1,
	ATTACH_MORE,
	ATTACH_BYE,
	ATTACH_EVENTS,
	ATTACH_READY,
	ATTACH_PID,
	ATTACH_CHILD,
	ATTACH_DSO,
	ATTACH_PLACES,
	ATTACH_SNAPSHOT
};

enum {
	ATTACH_SLOTS	= 8,		/* how many may be given at a time */
	ATTACH_PACKET	= 65536,	/* bytes of the largest packet */
	ATTACH_IDS	= 512,		/* how many definitions a packet may have */
	/*
	 * attach_reply.err: the server has no descriptor left. EMFILE would mean the process's own
	 * limit.
	 */
	ATTACH_NO_DESCRIPTOR = -EDQUOT,
	ATTACH_SNAPSHOT_MS = 30000,	/* how long a process waits for its snapshot to be whole */
};

/* What is answered to SNAPSHOT, on the pair: that it has begun, and how it ended. */
struct attach_snapshot {
	int32_t		err;		/* -errno: it has ended */
	uint32_t	done;		/* 1: the file is whole */
};

struct attach_request {
	uint32_t	version;	/* SESSION_VERSION */
	uint32_t	kind;		/* enum attach_kind */
	uint32_t	no_membarrier;	/* HELLO: the process may not register for membarrier */
	/*
	 * HELLO: 1: the process knows its creator's sets of pids; EVENTS: how many there are; PID:
	 * thread id in the process's own name space; DSO, PLACES: its number
	 */
	uint32_t	value;
	uint32_t	number;		/* number of the request on this connection */
	/* HELLO: 1: it has nothing more to say, as if READY followed */
	uint32_t	ready;
	/* HELLO: provider_table_version() of the agent; 0: it has no providers */
	uint64_t	table;
	/*
	 * HELLO: identifies what the process executes: a new number after exec, the same in a child
	 * of fork(); 0: none
	 */
	uint64_t	image;
	/*
	 * READY, or HELLO that stands for it: attach_file_key() of what it executes; 0: unknown.
	 * EVENTS: 1 + number of the DSO that has them, 0: none
	 */
	uint64_t	program;
	/* EVENTS: struct attach_definition follow */
};

/*
 * A number for a file as it is now. The server believes it only after it has seen the file itself,
 * because the path of a script leads to another one than that which is executed.
 */
static inline uint64_t attach_file_key(uint64_t device, uint64_t inode, uint64_t size,
				       uint64_t seconds, uint64_t nanoseconds)
{
	const uint64_t parts[] = { device, inode, size, seconds, nanoseconds };
	uint64_t key = 2;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		key = (key ^ parts[i]) * 0x9e3779b97f4a7c15 ^ key >> 29;
	return key;
}

/*
 * One event: the text of its format file behind the line "format:", the common fields included. The
 * same text under the same name is the same event, whichever process defines it.
 */
struct attach_definition {
	uint32_t	size;		/* bytes of the whole definition, a multiple of 8 */
	uint32_t	system;		/* offsets of the texts from the start of the definition */
	uint32_t	name;
	uint32_t	body;
	/* The texts */
};

struct attach_reply {
	int32_t		err;		/* -errno */
	uint32_t	process;	/* 1 + index in the process table */
	/* HELLO: the process, PID: the thread, as the server sees it */
	uint32_t	pid;
	/*
	 * HELLO: id of the first event of the providers' table; 0: the tables differ, or there is
	 * none
	 */
	uint32_t	provider_id;
	/* READY, DSO: 1: a second reply will come; for READY without a limit of time */
	uint32_t	barrier;
	/*
	 * READY, or HELLO that stands for it: 1: the process's files have probes of their author.
	 * The second reply may say so, too
	 */
	uint32_t	has_probes;
	uint32_t	nr_slots;
	uint32_t	slots[ATTACH_SLOTS];
	uint32_t	nr_ids;		/* EVENTS */
	uint32_t	number;		/* number of the request that this answers */
	/* int32_t ids[nr_ids] */
};

#endif
