/* SPDX-License-Identifier: MIT */
/*
 * drain.h - run --drain: a process that writes the records to disk while the program runs
 *
 *     command            drain process                         server
 *     drain_begin() ---> fork
 *                        trace_pages of each instance <------> where whole pages lie
 *                        writes them from its map of the
 *                        session to a file without a name
 *                        for each CPU
 *     drain_end() -----> takes the rest, writes trace.dat
 *                  <---- its exit status
 *
 *   process.c   the process, its loop, the end
 *   pages.c     pages from the session's memory to files
 *   stream.c    instances and CPUs, and their files
 *
 * A slow disk stops this process only: the command goes on passing signals, and the server
 * answers. Signals do not end it. If the command is killed, it saves what is there and ends.
 *
 * Records are not overwritten meanwhile: if the disk is too slow, new ones are dropped and counted.
 */
#ifndef TRACEFUSE_CLI_DRAIN_DRAIN_H
#define TRACEFUSE_CLI_DRAIN_DRAIN_H

struct access;
struct drain;
struct save_dat;

/*
 * Starts the process for the session `name`. `mine`: the command's connection, which the process
 * closes. `ends`: if the command is killed, the session ends. The memory of `what` stays valid
 * until drain_end(). An exit status; prints what is wrong.
 */
int drain_begin(const char *name, struct access *mine, const struct save_dat *what,
		bool ends, struct drain **out);
/* Waits until the file is written. An exit status; what is wrong was printed. */
int drain_end(struct drain *d);
/* Ends the process without a file. d may be NULL. */
void drain_cancel(struct drain *d);

#endif
