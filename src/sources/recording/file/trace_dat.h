/* SPDX-License-Identifier: MIT */
/*
 * trace_dat.h - the container: a trace.dat file of version 6 or 7
 *
 * Included inside src/sources. The file is mapped; uncompressed bytes are used in place.
 *
 *   version 6: one sequence                          version 7: sections, found through options
 *   +------------------------------+                 +---------------------------------------+
 *   | magic version order long page|                 | ... algorithm, offset of options      |
 *   | header_page header_event     |                 +---------------------------------------+
 *   | ftrace formats, formats      |                 | section: id flags string size, data   |
 *   | kallsyms printk cmdlines     |                 |   HEADER_INFO, FTRACE_EVENTS, FORMATS |
 *   | number of CPUs               |                 |   KALLSYMS, PRINTK, CMDLINES          |
 *   | "options", (id size data)*   |                 |   OPTIONS: (id size data)*, next      |
 *   | "flyrecord", (offset size)*  |                 |   BUFFER: padding, data of each CPU   |
 *   +------------------------------+                 +---------------------------------------+
 *   | pages of CPU 0, CPU 1 ...    |                  a section may be compressed as a whole,
 *   +------------------------------+                  a CPU's data in chunks of whole pages
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_TRACE_DAT_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_TRACE_DAT_H

#include "sources/recording/file/cursor.h"
#include "sources/recording/error.h"
#include "sources/recording/memory.h"
#include "sources/recording/file/unpack.h"

/*
 * Bytes of the file, unpacked if they were compressed. If the file does not have the piece, data is
 * NULL and size 0.
 */
struct dat_piece {
	const uint8_t	*data;
	size_t		size;
	uint64_t	offset;		/* in the file; if unpacked, of the packed bytes */
	void		*owned;		/* memory of unpacked bytes */
};

struct dat_cpu {
	uint32_t	cpu;
	uint64_t	offset;
	uint64_t	size;		/* in the file */
};

struct dat_buffer {
	char		*name;		/* "" is the top buffer */
	char		*clock;		/* NULL: the file's clock */
	uint32_t	page_size;
	bool		compressed;
	unsigned int	nr_cpus;
	struct dat_cpu	*cpus;
};

struct foreign;
struct dat_times;

struct trace_dat {
	char		*path;
	/*
	 * Guarded: if the file is cut while it is read, the missing bytes are zeros. See
	 * trace_dat_cut().
	 */
	const uint8_t	*map;
	uint64_t	size;
	int		fd;
	unsigned int	version;
	bool		swap;		/* the file has the other byte order than this machine */
	uint32_t	page_size;
	/* Size of the commit word in a sub-buffer's header, which is the kernel's long. */
	uint32_t	commit_size;
	uint32_t	data_offset;	/* of the first event in a sub-buffer */
	/* How its records are converted: another byte order, size of long or clock. NULL: none. */
	struct foreign	*foreign;
	struct dat_times *times;	/* how its time stamps are converted; NULL: they stay */
	char		*algorithm;	/* "none" */
	bool		partial;
	struct source_memory *memory;	/* of all files of a replay */
	struct unpacker	*unpacker;	/* for all packed parts; NULL: none was unpacked yet */
	struct source_error *err;	/* used while opening */
	struct source_error damage;	/* with `partial`: the first damage */
	bool		damaged;

	struct dat_piece header_info;
	struct dat_piece ftrace_formats;
	struct dat_piece event_formats;
	struct dat_piece kallsyms;	/* the text */
	struct dat_piece printk;
	struct dat_piece cmdlines;

	unsigned int	nr_buffers;
	struct dat_buffer *buffers;
	uint32_t	nr_cpus;	/* from the file */
	char		*clock;
	char		*uname;
	uint64_t	lost;		/* sum of CPUSTAT's overruns and drops */
	/* The file has the text of a latency tracer instead of records */
	bool		latency;
	bool		of_programs;	/* records of programs, by header_event */
};

/* A cursor over bytes of the file. */
static inline struct cursor trace_dat_over(const struct trace_dat *d, const void *data, size_t size,
					   uint64_t offset)
{
	struct cursor c = cursor_over(data, size, offset);

	c.swap = d->swap;
	return c;
}

/* Makes the next `size` bytes the piece. False: there are fewer, and the piece is empty. */
static inline bool dat_piece_take(struct dat_piece *p, struct cursor *c, uint64_t size)
{
	p->offset = cursor_offset(c);
	p->data = cursor_take(c, size);
	p->size = p->data ? size : 0;
	return p->data;
}

/*
 * Opens the file. 0, or -errno with *err filled. With `partial`, damage behind the formats is noted
 * and no error. `memory` must outlive the file.
 */
int trace_dat_open(const char *path, bool partial, struct source_memory *memory,
		   struct trace_dat **out, struct source_error *err);
void trace_dat_close(struct trace_dat *d);

/*
 * Calls fn for each event format, those of system ftrace first. If fn returns non-zero, stops and
 * returns that. The formats of a foreign file describe its records as the streams have them.
 */
int trace_dat_each_format(const struct trace_dat *d,
			  int (*fn)(void *arg, const char *system, const char *text, size_t len),
			  void *arg, struct source_error *err);

/* ---- between trace_dat.c, trace_dat_v6.c, trace_dat_v7.c, trace_dat_options.c ---- */

int trace_dat_read_v6(struct trace_dat *d, struct cursor *c);
int trace_dat_read_v7(struct trace_dat *d, struct cursor *c);
/* Reads one option of either version. Unknown options are skipped. */
int trace_dat_option(struct trace_dat *d, unsigned int id, struct cursor *c);
/* Reads and unpacks a section of version 7 that an option points to. */
int trace_dat_section(struct trace_dat *d, uint64_t offset, unsigned int id, struct dat_piece *out);
/* Reads the end of version 6: "options", "flyrecord" or "latency", and the table of the records. */
int trace_dat_tail_v6(struct trace_dat *d, struct cursor *c, const char *name);
/* Returns 0 and the buffer, 0 and NULL if the buffer is left out, or -errno with *d->err filled. */
int trace_dat_add_buffer(struct trace_dat *d, uint64_t offset, const char *name,
			 struct dat_buffer **out);
/*
 * Reads the offset and size of a CPU's data. `what` names the part of the file, for errors. 0, or
 * -errno with *d->err filled.
 */
int trace_dat_read_cpu(struct trace_dat *d, struct cursor *c, struct dat_buffer *b, uint32_t cpu,
		       const char *what);
/* Returns -EPROTO with *err filled if the file has become shorter since it was opened, else 0. */
int trace_dat_cut(const struct trace_dat *d, struct source_error *err);
/*
 * Report "the file ends inside WHAT" or "damaged: WHAT" and return -EPROTO. With `partial` they
 * note the damage and return 0.
 */
int trace_dat_truncated(struct trace_dat *d, const struct cursor *c, const char *what);
int trace_dat_damage(struct trace_dat *d, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Takes memory of the recording's share. False: too little is left. */
bool trace_dat_memory(struct trace_dat *d, uint64_t bytes);
/* Returns the file's unpacker. NULL: no memory. */
struct unpacker *trace_dat_unpacker(struct trace_dat *d);
struct cursor trace_dat_cursor(const struct trace_dat *d, uint64_t offset);
/*
 * Reads header_page and header_event: the size of the kernel's long, and whether the records are of
 * programs.
 */
int trace_dat_parse_header(struct trace_dat *d, struct cursor *c);
/* Walk the formats of system ftrace, and those of all other systems. fn NULL: only skips them. */
int trace_dat_walk_ftrace(struct cursor *c, int (*fn)(void *arg, const char *system,
			  const char *text, size_t len), void *arg);
int trace_dat_walk_events(struct cursor *c, int (*fn)(void *arg, const char *system,
			  const char *text, size_t len), void *arg);

enum dat_option {
	DAT_DONE,
	DAT_DATE,
	DAT_CPUSTAT,
	DAT_BUFFER,
	DAT_TRACECLOCK,
	DAT_UNAME,
	DAT_HOOK,
	DAT_OFFSET,
	DAT_CPUCOUNT,
	DAT_VERSION,
	DAT_PROCMAPS,
	DAT_TRACEID,
	DAT_TIME_SHIFT,
	DAT_GUEST,
	DAT_TSC2NSEC,
	DAT_STRINGS,
	DAT_HEADER_INFO,
	DAT_FTRACE_EVENTS,
	DAT_EVENT_FORMATS,
	DAT_KALLSYMS,
	DAT_PRINTK,
	DAT_CMDLINES,
	DAT_BUFFER_TEXT,
};

#endif
