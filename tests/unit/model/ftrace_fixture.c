/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace_fixture.h"
#include "../ring_nth.h"

static const char sites[] = "1000 alpha\n1010 beta\n1020 gamma\n1030 delta\n2000 load [libone]\n";

#define COMMON_FIELDS								\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"	\
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char function_format[] = "name: function\nID: 1\nformat:\n" COMMON_FIELDS
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";

static struct {
	struct ftrace	*ft;
	size_t		nr;
	uint32_t	words[64];	/* by (ip >> 4) & 63 */
} told;

/* The source of running programs does the same. */
static void changed(void *arg, const struct ftrace_change *list, size_t nr)
{
	told.nr = nr;
	for (size_t i = 0; i < nr; i++)
		told.words[list[i].site->ip >> 4 & 63] = ftrace_groups_word(arg, list[i].site);
}

void functions_listen(struct model *m)
{
	struct ftrace *ft = ftrace_of(m);

	ft->offered = true;
	if (!ft->nr_sites)
		assert_int_equal(ftrace_sites_load(m, sites, strlen(sites)), 0);
	ft->changed_arg = ft;
	ft->changed = changed;
	told.ft = ft;
}

static void source_rings(struct model *m)
{
	m->source_bytes = calloc(m->nr_cpus, sizeof(*m->source_bytes));
	assert_non_null(m->source_bytes);
	for (uint32_t i = 0; i < m->nr_cpus; i++)
		m->source_bytes[i] = 1 << 20;
	assert_int_equal(instance_expand(m->top), 0);
	assert_int_equal(model_source_rings(m), 0);
}

int functions_setup(void **state)
{
	struct fixture *f;

	if (fixture_setup(state))
		return -1;
	f = *state;
	memset(&told, 0, sizeof(told));
	assert_int_equal(
		model_add_event(f->model, "ftrace", function_format, strlen(function_format), NULL),
		0);
	functions_listen(f->model);
	source_rings(f->model);
	atomic_store(&f->top->state->tracing_on, 1);
	return 0;
}

int functions_teardown(void **state)
{
	struct fixture *f = *state;

	free(f->model->source_bytes);
	f->model->source_bytes = NULL;
	return fixture_teardown(state);
}

struct ftrace_ops *functions_ops(struct instance *inst)
{
	return &ftrace_of_instance(inst)->function;
}

size_t functions_told(void)
{
	return told.nr;
}

uint32_t functions_word(uint64_t ip)
{
	return told.words[ip >> 4 & 63];
}

/* A source is writer 1, which has no restartable section. */
uint64_t functions_hit(struct fixture *f, uint32_t entry, struct hit h, uint64_t ip, int32_t pid)
{
	static const uint64_t stack[] = { 0x1004, 0x9000 };
	struct function_record r = { .common = { .type = LAYOUT_FUNCTION_ID, .pid = pid },
				     .ip = ip,
				     .parent_ip = 0x9000 };
	struct slot *slot = session_slot_get(f->session);
	uint64_t mask;

	assert_non_null(slot);
	h.record = &r;
	h.size = sizeof(r);
	h.time = h.time ? h.time : 1000;
	h.comm = "tester";
	h.stack = stack;
	h.nr_stack = 2;
	h.writer = 1;
	h.entry = entry;
	mask = session_hit(f->session, slot, &h);
	session_slot_put(f->session, slot);
	return mask;
}

uint64_t functions_call(struct fixture *f, uint64_t ip)
{
	const uint32_t word = functions_word(ip);

	return word ? functions_hit(f, (word & SITE_GROUP) + GROUP_FUNCTION, (struct hit){ 0 }, ip,
				    42)
		    : 0;
}

static struct ring_iter *iter_of(struct fixture *f, struct instance *inst, int snapshot)
{
	struct ring_iter *it = NULL;

	assert_int_equal(ring_iter_open(f->session, instance_buffer(inst, snapshot), -1, &it), 0);
	return it;
}

const char *functions_ring(struct fixture *f, struct instance *inst, int snapshot)
{
	static char text[4096];
	struct ring_iter *it = iter_of(f, inst, snapshot);
	struct ring_record r;

	text[0] = 0;
	while (ring_iter_next(it, &r) > 0)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ",
			 ((const struct record_common *)r.record)->type);
	ring_iter_close(it);
	return text;
}

uint32_t functions_nth(struct fixture *f, struct instance *inst, unsigned int n, void *out,
		       uint32_t room)
{
	return ring_nth_of(iter_of(f, inst, 0), n, out, room);
}
