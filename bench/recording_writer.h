/* SPDX-License-Identifier: MIT */
/*
 * recording_writer.h - writes trace.dat files for benches and tests
 *
 * The caller says what is in each buffer and gives sub-buffers one by one; the
 * writer makes version 6 or 7, uncompressed or compressed in chunks, around them.
 */
#ifndef TRACEFUSE_BENCH_RECORDING_WRITER_H
#define TRACEFUSE_BENCH_RECORDING_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { WRITER_PAGE = 4096 };

struct writer_buffer {
	const char	*name;		/* "" is the top buffer */
	const char	*clock;		/* NULL: "local" */
};

struct writer_format {
	const char	*system;	/* "ftrace" for the internal ones */
	const char	*text;
};

struct writer_spec {
	unsigned int	version;	/* 6 or 7 */
	const char	*algorithm;	/* NULL: uncompressed; "zlib", "zstd" (version 7) */
	uint32_t	nr_cpus;
	const struct writer_format *formats;	/* those of one system behind each other */
	unsigned int	nr_formats;
	const struct writer_buffer *buffers;
	unsigned int	nr_buffers;
	const char	*kallsyms;	/* texts; NULL: empty */
	const char	*printk;
	const char	*cmdlines;
	unsigned int	chunk_pages;	/* 0: 10 */
	/* Fills the next sub-buffer of a buffer's CPU; false: there is none. */
	bool		(*page)(void *arg, unsigned int buffer, uint32_t cpu, uint8_t *page);
	void		*arg;
};

/* 0 or -errno. */
int writer_run(const struct writer_spec *spec, FILE *out);

/* ---- one sub-buffer ---- */

struct writer_page {
	uint8_t		*bytes;
	uint32_t	used;		/* behind the 16 bytes of the head */
	uint64_t	time;
};

void writer_page_start(struct writer_page *p, uint8_t *bytes, uint64_t time);
/* Adds a record, with a time extend before it where it takes one; false: no room. */
bool writer_page_add(struct writer_page *p, uint64_t time, const void *record, uint32_t size);
void writer_page_end(struct writer_page *p);

/* Formats and records of the scheduler's events, as Linux 6.12 on x86-64 has them. */
extern const char writer_format_switch[], writer_format_waking[], writer_format_print[],
	writer_format_kernel_stack[], writer_format_rename[];

enum { WRITER_SWITCH_ID = 260, WRITER_WAKING_ID = 263, WRITER_RENAME_ID = 135, WRITER_PRINT_ID = 5,
       WRITER_STACK_ID = 4 };

struct writer_switch {
	uint16_t type; uint8_t flags, preempt; int32_t pid;
	char prev_comm[16]; int32_t prev_pid, prev_prio; int64_t prev_state;
	char next_comm[16]; int32_t next_pid, next_prio;
};

struct writer_waking {
	uint16_t type; uint8_t flags, preempt; int32_t common_pid;
	char comm[16]; int32_t pid, prio, target_cpu;
};

struct writer_rename {
	uint16_t type; uint8_t flags, preempt; int32_t common_pid;
	int32_t pid; char oldcomm[16], newcomm[16]; int16_t oom_score_adj; int16_t pad;
};

#endif
