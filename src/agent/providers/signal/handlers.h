/* SPDX-License-Identifier: MIT */
/* handlers.h - how many entries there are for handlers, and how far apart; for C and assembly */
#ifndef TRACEFUSE_AGENT_PROVIDERS_SIGNAL_HANDLERS_H
#define TRACEFUSE_AGENT_PROVIDERS_SIGNAL_HANDLERS_H

#define HANDLERS	256
#define HANDLER_ENTRY	16	/* bytes, as many as in the assembler's file */

#endif
