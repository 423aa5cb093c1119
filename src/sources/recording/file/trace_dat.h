/* SPDX-License-Identifier: MIT */
/*
 * trace_dat.h - the container: a trace.dat file of version 6 or 7
 *
 * Included inside src/sources. The file is mapped; what is not compressed is
 * used where it lies.
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

#include "sources/recording/cursor.h"
#include "sources/recording/error.h"
#include "sources/recording/memory.h"
#include "sources/recording/file/unpack.h"

/*
 * Bytes of the file, unpacked when they were compressed. A piece that the file does
 * not have is empty: data is NULL and size 0.
 */
struct dat_piece {
	const uint8_t	*data;
	size_t		size;
	uint64_t	offset;		/* in the file; of the packed bytes when unpacked */
	void		*owned;		/* memory of unpacked bytes */
};

struct dat_cpu {
	uint32_t	cpu;
	uint64_t	offset;
	uint64_t	size;		/* in the file */
};

struct dat_buffer {
	char		*name;		/* "" is the top buffer */
	char		*clock;		/* NULL: as the file's */
	uint32_t	page_size;
	bool		compressed;
	unsigned int	nr_cpus;
	struct dat_cpu	*cpus;
};

struct trace_dat {
	char		*path;
	/* guarded: what is cut off while it is read is zeros, see trace_dat_cut() */
	const uint8_t	*map;
	uint64_t	size;
	int		fd;
	unsigned int	version;
	uint32_t	page_size;
	/* of the sub-buffer header's commit word: the kernel's long */
	uint32_t	commit_size;
	uint32_t	data_offset;	/* of the first event in a sub-buffer */
	char		*algorithm;	/* "none" */
	bool		partial;
	struct source_memory *memory;	/* of all files of a replay */
	struct unpacker	*unpacker;	/* for all that is packed; NULL: nothing was yet */
	struct source_error *err;	/* while opening */
	struct source_error damage;	/* with partial: what was passed over */
	bool		damaged;

	struct dat_piece header_info;
	struct dat_piece ftrace_formats;
	struct dat_piece event_formats;
	struct dat_piece kallsyms;	/* the text */
	struct dat_piece printk;
	struct dat_piece cmdlines;

	unsigned int	nr_buffers;
	struct dat_buffer *buffers;
	uint32_t	nr_cpus;	/* as the file says */
	char		*clock;
	char		*uname;
	uint64_t	lost;		/* sum of CPUSTAT's overruns and drops */
	bool		latency;	/* a text of a latency tracer instead of records */
	bool		of_programs;	/* header_event says so */
};

/* The next `size` bytes become the piece; false: there are not so many, and it is empty. */
static inline bool dat_piece_take(struct dat_piece *p, struct cursor *c, uint64_t size)
{
	p->offset = cursor_offset(c);
	p->data = cursor_take(c, size);
	p->size = p->data ? size : 0;
	return p->data;
}

/*
 * 0, or -errno with *err filled. `partial`: damage behind the formats is noted, not refused.
 * `memory` outlives the file.
 */
int trace_dat_open(const char *path, bool partial, struct source_memory *memory,
		   struct trace_dat **out, struct source_error *err);
void trace_dat_close(struct trace_dat *d);

/*
 * Calls fn for each event format, those of system ftrace first; stops at non-zero and returns it.
 */
int trace_dat_each_format(const struct trace_dat *d,
			  int (*fn)(void *arg, const char *system, const char *text, size_t len),
			  void *arg, struct source_error *err);

/* ---- between trace_dat.c, trace_dat_v6.c, trace_dat_v7.c, trace_dat_options.c ---- */

int trace_dat_read_v6(struct trace_dat *d, struct cursor *c);
int trace_dat_read_v7(struct trace_dat *d, struct cursor *c);
/* One option of either version; what is unknown is skipped. */
int trace_dat_option(struct trace_dat *d, unsigned int id, struct cursor *c);
/* A section of version 7 that an option points to, unpacked. */
int trace_dat_section(struct trace_dat *d, uint64_t offset, unsigned int id, struct dat_piece *out);
/*
 * The kind of records that follow and their table: "options", "flyrecord", "latency" (version 6).
 */
int trace_dat_tail_v6(struct trace_dat *d, struct cursor *c, const char *name);
/* 0 and the buffer; NULL with 0: it is passed over; -errno with *d->err filled. */
int trace_dat_add_buffer(struct trace_dat *d, uint64_t offset, const char *name,
			 struct dat_buffer **out);
/*
 * Where a CPU has its data: an offset and a size. `what` is being read. 0 or -errno with *d->err
 * filled.
 */
int trace_dat_read_cpu(struct trace_dat *d, struct cursor *c, struct dat_buffer *b, uint32_t cpu,
		       const char *what);
/* Whether the file has become shorter since it was opened: -EPROTO with *err filled, else 0. */
int trace_dat_cut(const struct trace_dat *d, struct source_error *err);
/* "the file ends inside WHAT" / "damaged: WHAT", -EPROTO; with `partial` noted instead and 0. */
int trace_dat_truncated(struct trace_dat *d, const struct cursor *c, const char *what);
int trace_dat_damage(struct trace_dat *d, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Takes memory for something of the file; false when there is too little. */
bool trace_dat_memory(struct trace_dat *d, uint64_t bytes);
/* The file's unpacker; NULL: no memory. */
struct unpacker *trace_dat_unpacker(struct trace_dat *d);
struct cursor trace_dat_cursor(const struct trace_dat *d, uint64_t offset);
/* header_page and header_event. */
int trace_dat_parse_header(struct trace_dat *d, struct cursor *c);
/* The formats of system ftrace, and those of all others; fn NULL: only to get behind them. */
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
