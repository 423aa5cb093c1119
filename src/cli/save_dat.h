/* SPDX-License-Identifier: MIT */
/*
 * save_dat.h - -o FILE: writes the records of a session as a trace.dat
 *
 *   save_dat_open()    before anything runs: checks that the file can be written (output.h)
 *   save_dat()         at the end; the file appears when it is complete
 *
 * Both print errors and return an exit status.
 */
#ifndef TRACEFUSE_CLI_SAVE_DAT_H
#define TRACEFUSE_CLI_SAVE_DAT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/raw.h"

struct access;
struct export_error;
struct output;
struct streams;

/*
 * Only these records of the top instance, the older ones first: a time may be partly in the live
 * buffer and partly in the snapshot. A part whose `to` is before its `from` is empty.
 */
struct save_dat_parts {
	struct raw_part	older, newer;
};

struct save_dat {
	const char	*file;		/* its name, for messages */
	const char	*option;	/* that named it, for messages; NULL: -o */
	struct output	*out;		/* of save_dat_open() */
	const char	*uname;		/* of the traced machine; NULL or "": this one */
	bool		compress;
	bool		quiet;		/* no line says how far it is */
	/*
	 * So does the session: save_dat_switch_off() first. If nothing was saved, it goes on, and
	 * is switched on again.
	 */
	bool		ends;
	/* Not then, because events of the kernel would overwrite what was not saved. */
	bool		kernel;
	const struct save_dat_parts *parts;	/* NULL: all of the session */
	struct streams	*drained;	/* the records are here; NULL: in the session */
};

int save_dat_open(const char *option, const char *file, struct output **out);
int save_dat(struct access *a, const struct save_dat *what);
/*
 * All instances stop recording. The command has ended, so what the kernel or a process left behind
 * does while FILE is written is not of the session. It would overwrite what the command did.
 */
void save_dat_switch_off(struct access *a);
/*
 * Writes the same to a file that can seek, without what->file and what->out. 0, or -errno with *err
 * filled; prints nothing.
 */
int save_dat_to(struct access *a, FILE *out, const struct save_dat *what,
		struct export_error *err);

#endif
