/* SPDX-License-Identifier: MIT */
/*
 * wire.h - requests and answers on the control socket, between commands and the server
 *
 * Included by both ends. The control socket is the stream socket `control` in the session's
 * directory. A client sends a request and waits for its answer before it sends the next one:
 *
 *     request  | size | op | handle | flags | offset | size bytes |
 *     answer   | size | result |                       size bytes |
 *
 * An answer's result is what the tree returned. The server answers a blocking read of a pipe when
 * the pipe has data. When a client closes its connection, the server releases all files that the
 * client had open.
 */
#ifndef TRACEFUSE_ACCESS_WIRE_H
#define TRACEFUSE_ACCESS_WIRE_H

#include <stdint.h>

/* Bytes behind a header; of an answer that is a text, as a long directory is (WIRE_TEXT_MAX). */
enum { WIRE_MAX = 1 << 20, WIRE_TEXT_MAX = 16 << 20 };

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
	/* path, with a descriptor of /dev/fuse that the client has mounted -> 0 */
	WIRE_ADOPT,
	WIRE_END,		/*                         -> 0; the session ends */
	/*
	 * "functions", "events" or "" -> 0; programs that attach wait at the barrier while this
	 * client lives, and with "functions" have these even without a compiler's sites. Lines
	 * behind "functions": also those of libraries with such file names. "events": only those
	 * wait that bring events which were not there when this was asked
	 */
	WIRE_BARRIER,
	WIRE_WAITS,		/* when a program waits -> its number */
	WIRE_GO,		/* its number in decimal -> 0; the program goes on */
	/* path, 0, text; flags    -> 0; a setting of an event that no program has defined yet */
	WIRE_PEND,
	/*
	 * + or - (kernel names), names or * -> 0; the systems of providers that programs shall have
	 * (programs_add_systems())
	 */
	WIRE_SYSTEMS,
	/* parameters (boot.h)     -> 0; a line for each thing that is wrong */
	WIRE_BOOT,
	WIRE_STAY,		/* -> 0; the session outlives the command that made it */
	/* -> a bit for each enum untraced that has occurred */
	WIRE_UNTRACED,
	/*
	 * how much later merged triggers run, in ms, or "", then WIRE_KERNEL_PROGRAMS or ""
	 * -> 0; the running kernel is a source; else a sentence
	 */
	WIRE_KERNEL,
	WIRE_HISTS,		/* -> 0; a line for each file hist.json that has a histogram */
	/*
	 * as of WIRE_BARRIER, from "functions" on -> 0; programs that attach have these functions,
	 * and do not wait
	 */
	WIRE_FUNCTIONS,
};

/* The session traces functions of programs only. */
#define WIRE_KERNEL_PROGRAMS " programs"

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
