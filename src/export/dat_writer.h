/* SPDX-License-Identifier: MIT */
/*
 * dat_writer.h - inside the writer of trace.dat: the container and its sections
 *
 *   trace_dat.c     the order of the parts; options
 *   dat_writer.c    numbers, sections, compression
 *   dat_tables.c    formats, symbols, names: sections that are texts
 *   dat_buffers.c   the pages of each CPU of each instance
 *
 * sources/recording/file/trace_dat.h has a drawing of the file. `err` has the first error; all
 * calls after it do nothing.
 */
#ifndef TRACEFUSE_EXPORT_DAT_WRITER_H
#define TRACEFUSE_EXPORT_DAT_WRITER_H

#include <stdint.h>

#include "export/trace_dat.h"

enum dat_id {
	DAT_DONE = 0,
	DAT_CPUSTAT = 2,
	DAT_BUFFER = 3,
	DAT_TRACECLOCK = 4,
	DAT_UNAME = 5,
	DAT_CPUCOUNT = 8,
	DAT_HEADER_INFO = 16,
	DAT_FTRACE_EVENTS,
	DAT_EVENT_FORMATS,
	DAT_KALLSYMS,
	DAT_PRINTK,
	DAT_CMDLINES,
	DAT_TABLES = DAT_CMDLINES - DAT_HEADER_INFO + 1,
};

struct dat_pages {		/* of one CPU */
	uint64_t	offset, size;
};

struct dat_instance {
	char		*name;		/* "": the top */
	char		*clock;
	uint32_t	subbuf_size;
	uint64_t	section;	/* where its buffer is */
	struct dat_pages *cpus;
};

struct dat_writer {
	const struct export_params *params;
	FILE		*out;
	struct export_error *error;
	int		err;		/* 0 or the first -errno */
	uint32_t	nr_cpus;
	/* where each section is; the first is DAT_HEADER_INFO */
	uint64_t	tables[DAT_TABLES];
	unsigned int	nr_instances;
	struct dat_instance *instances;	/* the top is the first */
};

/* ---- dat_writer.c ---- */

/*
 * Notes the first error. `what` is the file of the session that could not be read; NULL: trace.dat
 * could not be written. Returns w->err.
 */
int dat_failed(struct dat_writer *w, int err, const char *what);
void dat_put(struct dat_writer *w, const void *bytes, size_t n);
void dat_put_number(struct dat_writer *w, uint64_t v, size_t bytes);
void dat_put_at(struct dat_writer *w, uint64_t at, uint64_t v, size_t bytes);
uint64_t dat_here(struct dat_writer *w);
/* Writes zeros up to a multiple of `to`. */
void dat_align(struct dat_writer *w, uint32_t to);
/* Writes a section's header. Returns where the section begins. */
uint64_t dat_section_start(struct dat_writer *w, unsigned int id, bool compressed);
void dat_section_end(struct dat_writer *w, uint64_t at);
/* Writes a whole section, compressed if the caller of the writer asked for that. */
uint64_t dat_section(struct dat_writer *w, unsigned int id, const char *bytes, size_t n);
void dat_option(struct dat_writer *w, unsigned int id, const void *bytes, uint32_t n);
/* Compresses with zstd into memory that the caller frees; *size: its bytes. NULL: out of memory. */
char *dat_pack(const void *bytes, size_t n, size_t *size);
/*
 * Reads a file of the session; the caller frees. If it cannot be read, the text is "" and the error
 * is noted.
 */
char *dat_read(struct dat_writer *w, const char *path, size_t *len);

/* ---- dat_tables.c, dat_buffers.c ---- */

void dat_put_tables(struct dat_writer *w);
/* Fills w->instances and w->nr_cpus. */
void dat_find_instances(struct dat_writer *w);
void dat_put_buffers(struct dat_writer *w);
/* "instances/NAME/FILE", or FILE of the top. */
void dat_path(const struct dat_instance *inst, const char *file, char *out, size_t size);

#endif
