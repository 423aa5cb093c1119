/* SPDX-License-Identifier: MIT */
/* handlers.h - the number of entries for handlers and their size; for C and assembly */
#ifndef TRACEFUSE_AGENT_PROVIDERS_SIGNAL_HANDLERS_H
#define TRACEFUSE_AGENT_PROVIDERS_SIGNAL_HANDLERS_H

#define HANDLERS	256
#define HANDLER_ENTRY	16	/* bytes, as handlers.S aligns them */

#endif
