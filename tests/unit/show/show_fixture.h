/* SPDX-License-Identifier: MIT */
/*
 * show_fixture.h - a private session of two CPUs whose records are made by hand
 *
 *   test:plain (id 100)   int a at 8, u64 b at 16, const char *p at 24
 *   ftrace:...            the kernel's own, with its ids
 *   symbols               0xffffffff81000000 alpha, ...100 beta, ...200 gamma [mod]
 */
#ifndef TRACEFUSE_TESTS_TRACEFS_SHOW_FIXTURE_H
#define TRACEFUSE_TESTS_TRACEFS_SHOW_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../format_text.h"
#include "model/cmdlines.h"
#include "model/instance/options.h"
#include "model/symbols.h"
#include "show/show.h"

#define KERNEL		0xffffffff81000000ull

struct fixture {
	struct session	*session;
	struct model	*model;
	struct instance	*top;
	struct slot	*slot;
	uint64_t	lost;
};

/* A record: the common fields, then the data of a test. */
struct record {
	uint16_t	type;
	uint8_t		flags, preempt_count;
	int32_t		pid;
	uint8_t		body[512];
};

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Adds an event; `text` is its format from the name on. */
void fixture_event(struct fixture *f, const char *system, const char *text);
/*
 * The text of trace_pipe for a record with `size` bytes behind the common fields, at 1.5 s on CPU
 * 1.
 */
const char *piped(struct fixture *f, const struct record *r, uint32_t size);
/* Writes a record into the live buffer. */
void fixture_write(struct fixture *f, const struct record *r, uint32_t size, uint32_t cpu,
		   uint64_t time);
/* The text of `trace` (0) or `snapshot` (1). */
const char *shown(struct fixture *f, int snapshot, int cpu);

static inline void option(struct fixture *f, enum trace_option o, bool on)
{
	f->top->options = on ? f->top->options | 1ull << o : f->top->options & ~(1ull << o);
}

static inline void put(struct record *r, uint32_t offset, const void *bytes, size_t n)
{
	memcpy(r->body + offset - 8, bytes, n);
}

static inline void put64(struct record *r, uint32_t offset, uint64_t v)
{
	put(r, offset, &v, 8);
}

static inline void put32(struct record *r, uint32_t offset, uint32_t v)
{
	put(r, offset, &v, 4);
}

#endif
