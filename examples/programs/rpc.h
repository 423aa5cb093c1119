/* SPDX-License-Identifier: MIT */
/*
 * rpc.h - the two events of a client and a server, defined once for both
 *
 * The client has rpc:send, the server rpc:done; `id` names the request. That
 * they lie in different processes makes no difference to a session.
 */
#ifndef RPC_H
#define RPC_H

#include <stdint.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(rpc, send, (unsigned int, id), (unsigned int, bytes));
TF_EVENT(rpc, done, (unsigned int, id), (int, status));

struct rpc_request {
	uint32_t	id;
	uint32_t	work;		/* how much the server has to do */
};

struct rpc_reply {
	uint32_t	id;
	uint32_t	status;
	uint64_t	service_ns;	/* from the request's arrival to the event rpc:done, as the server measured it */
};

#endif
