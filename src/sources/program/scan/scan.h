/* SPDX-License-Identifier: MIT */
/*
 * scan.h - finds the functions of a file, in a process of its own
 *
 *     server: scan_start() --fork--> scan: program_dso_try(), elf_moved_read() or elf_sites_read()
 *             scan_tend()  <--pipe-- elf/packed.h
 *
 * To read a file's code takes some 50 ms a megabyte, and its disk may not answer. Meanwhile the
 * server serves commands and other programs (R35). A broken file harms the scan alone: the server
 * checks all that comes out of the pipe, and bounds it.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_SCAN_SCAN_H
#define TRACEFUSE_SOURCES_PROGRAM_SCAN_SCAN_H

#include "elf/file.h"
#include "sources/program/programs_state.h"

struct scans;

/* How a scan ended. */
struct scanned {
	struct program_dso dso;		/* as it was when the scan began */
	struct elf_sites sites;		/* empty, if no file was right */
	bool		found;		/* a file was right */
	const char	*why;		/* why it failed; NULL: it did not */
};

/* NULL: no memory, or no descriptor */
struct scans *scans_create(void);
/* Ends those that are under way. */
void scans_destroy(struct scans *s);
/* Readable when scans_next() may have something. */
int scans_fd(const struct scans *s);
/* For other processes that read files: scans_fd() and scans_next() tend them, too. */
struct printers *scans_printers(struct scans *s);
/* -EBUSY: as many as there may be are under way. 0, or another -errno: there can be no process. */
int scan_start(struct scans *s, struct programs *p, const struct program_dso *d);
/* Does all of it at once, where there can be no process. The caller frees the sites. */
void scan_here(struct programs *p, const struct program_dso *d, struct scanned *out);
/* Whether that DSO is being scanned. */
bool scan_runs(const struct scans *s, uint32_t nr);
/* Whether its scan does nothing, as for a file on a disk that does not answer. */
bool scan_stands_still(const struct scans *s, uint32_t nr);
bool scans_any(const struct scans *s);
/*
 * Takes what the scans have found so far. True: *out is one that has ended; the caller frees its
 * sites, and calls again.
 */
bool scans_next(struct scans *s, struct scanned *out);

#endif
