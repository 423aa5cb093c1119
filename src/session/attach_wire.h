/* SPDX-License-Identifier: MIT */
/*
 * attach_wire.h - the messages of the attach socket (SOCK_SEQPACKET, one a packet)
 */
#ifndef TRACEFUSE_SESSION_ATTACH_WIRE_H
#define TRACEFUSE_SESSION_ATTACH_WIRE_H

#include <stdint.h>

enum attach_kind { ATTACH_HELLO = 1, ATTACH_MORE, ATTACH_BYE };

enum { ATTACH_SLOTS = 8 };	/* given at a time */

struct attach_request {
	uint32_t	version;	/* SESSION_VERSION */
	uint32_t	kind;		/* enum attach_kind */
	uint32_t	no_membarrier;	/* the process may not register for it */
	uint32_t	pad;
};

struct attach_reply {
	int32_t		err;		/* -errno */
	uint32_t	process;	/* 1 + index in the process table */
	uint32_t	nr_slots;
	uint32_t	slots[ATTACH_SLOTS];
};

#endif
