/* SPDX-License-Identifier: MIT */
/*
 * flight.h - the flight recorder: a recording of what led to each of the slowest latencies
 *
 *     a latency above the limit -> snapshot:1 of its synthetic event: the rings are swapped
 *     every 20 ms: the trigger was used up -> FILE, FILE.1 ... are written from the snapshot
 *                                          -> further ones that came meanwhile, from the live rings
 *                                          -> the trigger is set again
 *
 * Nothing waits for that: the program goes on in the other rings, and what led to the first one
 * stays as it was. If as many are kept as were asked for, the limit rises to the shortest one of
 * them.
 *
 *     snapshot before        ......|split
 *     snapshot                     |..........|next split
 *     live                                    |.....
 *
 * The rings of the snapshot before are the live ones again, so older records are still in them.
 */
#ifndef TRACEFUSE_CLI_RUN_FLIGHT_H
#define TRACEFUSE_CLI_RUN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { FLIGHT_KEEP_MOST = 100 };

struct flight_asked {
	const char	*event;		/* of the system synthetic; its field ns is the latency */
	const char	*file;		/* -o */
	uint64_t	over, before;	/* in ns */
	unsigned int	keep;		/* 1 to FLIGHT_KEEP_MOST */
};

/* One latency that is saved, the longest first. */
struct flight_kept {
	uint64_t	ns, end;	/* end: by the trace clock */
	int		pid;
	uint64_t	lost;		/* of the wanted time, what was overwritten, in ns */
	struct stat	file;		/* as it was saved */
};

struct flight {
	const struct flight_asked *asked;	/* NULL: there is no flight recorder */
	struct flight_kept kept[FLIGHT_KEEP_MOST];
	unsigned int	nr;
	uint64_t	split;		/* behind the last record of the snapshot before */
	uint64_t	limit;		/* of the trigger */
	unsigned int	turns;		/* looks at a snapshot that has no latency yet */
	bool		replaced;	/* the files of an earlier run are gone */
	bool		failed;		/* which was printed; nothing is saved any more */
};

struct run;
struct command;

/*
 * `tracefuse run` with these arguments, for a command whose own lines are the setup, and with a
 * flight recorder, if `asked` is not NULL. An exit status.
 */
int run_for(const struct command *cmd, int argc, char **argv, const struct flight_asked *asked);

/* ---- flight.c ---- */

/* Checks that FILE can be written. An exit status. */
int run_flight_begin(struct run *r);
/* How often to call run_flight_look(), in ms; -1: never. */
int run_flight_ms(const struct run *r);
/* Saves a latency that is in the snapshot, if there is one. */
void run_flight_look(struct run *r);
/* The program has ended: the same, and prints what was saved. An exit status. */
int run_flight_end(struct run *r);

#endif
