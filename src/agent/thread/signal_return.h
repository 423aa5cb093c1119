/* SPDX-License-Identifier: MIT */
/*
 * signal_return.h - signal_return(): the restorer of handlers that were set without libc; they
 * return through it
 */
#ifndef TRACEFUSE_AGENT_THREAD_SIGNAL_RETURN_H
#define TRACEFUSE_AGENT_THREAD_SIGNAL_RETURN_H

void signal_return(void);

#endif
