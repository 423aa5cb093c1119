/* SPDX-License-Identifier: MIT */
/*
 * wire.h - what commands and the server say to each other on the control socket
 *
 * Included by both ends. A stream socket `control` in the session's directory;
 * a client sends a request and waits for its answer before it sends the next:
 *
 *     request  | size | op | handle | flags | offset | size bytes |
 *     answer   | size | result |                       size bytes |
 *
 * An answer's result is what the tree returned. A blocking read of a pipe is
 * answered when there is something; a client that goes away is forgotten with
 * all that it had open.
 */
#ifndef TRACEFUSE_ACCESS_WIRE_H
#define TRACEFUSE_ACCESS_WIRE_H

#include <stdint.h>

enum { WIRE_MAX = 1 << 20 };		/* bytes behind a header */

enum wire_op {
	WIRE_OPEN = 1,		/* flags; path             -> handle */
	/* handle, offset; flags: how many bytes are wanted -> count; bytes */
	WIRE_READ,
	WIRE_WRITE,		/* handle; text            -> count */
	WIRE_RELEASE,		/* handle                  -> 0 */
	WIRE_LIST,		/* path                    -> 0; for each 'd' or 'f', name, 0 */
	WIRE_STAT,		/* path                    -> mode */
	WIRE_MKDIR,		/* path                    -> 0 */
	WIRE_RMDIR,		/* path                    -> 0 */
	WIRE_INFO,		/*                         -> 0; lines "key value" */
	WIRE_MOUNT,		/* absolute path           -> 0 */
	/* path; a /dev/fuse descriptor mounted by the client comes along -> 0 */
	WIRE_ADOPT,
	WIRE_END,		/*                         -> 0; the session ends */
	/*                         -> 0; programs that attach wait, while this client lives */
	WIRE_BARRIER,
	WIRE_WAITS,		/* when one waits          -> its number */
	WIRE_GO,		/* its number in decimal   -> 0; it goes on */
	/* path, 0, text; flags    -> 0; a setting of an event that no program has defined yet */
	WIRE_PEND,
	/*
	 * + or - (kernel names), names or * -> 0; providers' systems are wanted
	 * (programs_add_systems())
	 */
	WIRE_SYSTEMS,
	/* parameters (boot.h)     -> 0; a line for each thing that is wrong */
	WIRE_BOOT,
	WIRE_STAY,		/*                         -> 0; the session outlives who made it */
	/*                         -> a bit for each enum untraced that was met */
	WIRE_UNTRACED,
};

struct wire_request {
	uint32_t	size;
	uint32_t	op;
	uint32_t	handle;
	uint32_t	flags;
	uint64_t	offset;
};

struct wire_answer {
	uint32_t	size;
	int32_t		result;
};

#endif
