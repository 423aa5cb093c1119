/* SPDX-License-Identifier: MIT */
/* fixture.h - a session with hists, code and plans made by hand, for tests of the plane */
#ifndef TRACEFUSE_TESTS_PLANE_FIXTURE_H
#define TRACEFUSE_TESTS_PLANE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "plane/map/map.h"
#include "plane/plane.h"
#include "plane/code.h"
#include "plane/ring/ring.h"
#include "session/session.h"

enum { EVENT_A = 300, EVENT_B = 301, SYNTH = 302, SYNTH2 = 303 };

struct fixture {
	struct session	*session;
	struct plane	*p;
	struct slot	*slot;
};

extern struct fixture fixture;

struct hist {
	struct map_shape shape;
	struct map_view	map;
	data_ref	ref;
	config_ref	cell;
};

/* The fields of all events. `dyn` is behind them, at the place that `loc` has. */
struct rec {
	struct record_common common;
	uint32_t	a, b;
	uint64_t	c;
	char		name[16];
	uint32_t	loc;
	char		dyn[20];
};

struct plan_row {
	uint32_t	event, instance, flags;
	config_ref	filter;
	struct {
		uint32_t	kind;
		config_ref	code, filter;
	} triggers[4];
	unsigned int	nr_triggers;
};

int fixture_setup(void **state);
int fixture_teardown(void **state);

void hist_make(struct hist *h, uint32_t key_size, uint32_t nr_sums, uint32_t nr_vars,
	       uint32_t nr_blocks, uint32_t block_size);
config_ref code_make(const struct hist *h, const struct op *ops, unsigned int nr,
			uint32_t flags);
#define CODE_OF(h, flags, ...)								\
	code_make(h, (const struct op[]){ __VA_ARGS__, { .kind = OP_END } },		\
		     sizeof((const struct op[]){ __VA_ARGS__, { .kind = OP_END } }) /	\
			     sizeof(struct op),						\
		     flags)
/* Makes a plan with an arm for each instance; all arms are of the same event. */
void plan_make(const struct plan_row *rows, unsigned int nr);
void plan_hist(uint32_t event, uint32_t flags, config_ref code);

struct rec rec_make(uint32_t event, uint32_t a);
uint64_t fire_rec(const struct rec *r, uint64_t time);
uint64_t fire_event(uint32_t event, uint32_t a, uint64_t time);

struct event_state *state_of(uint32_t event, uint32_t instance);
uint64_t sum_of_key(const struct hist *h, uint64_t key, uint32_t sum);

/* The records of an instance's live buffer (0) or snapshot (1) as "300@10 302@10 "; s: a stack. */
const char *ring_text(uint32_t instance, int snapshot);
/* Reads the n-th of them. Returns its size. */
uint32_t ring_nth(uint32_t instance, unsigned int n, void *out, uint32_t room);

#endif
