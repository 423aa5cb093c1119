/* SPDX-License-Identifier: MIT */
/*
 * command_arm.c - the triggers of a function command, one for each batch
 *
 * A trigger has a table of its functions if these differ: in their counts, or because other
 * functions belong to other batches. So one plan is enough for all functions of a group.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/event/file.h"
#include "model/ftrace/groups.h"

/* Whether a hit has to find the batch of a function, or its count. */
static bool needs_table(const struct function_command *p, const struct ftrace_batch *b)
{
	const bool alone = p->batches.next == p->batches.prev;

	return b->nr && (b->nr_counts > 1 || (!alone && (b->nr_counts || b->target)));
}

/* p->sites is sorted. */
static void table_fill(const struct function_command *p, const struct ftrace_batch *b,
		       struct trigger_sites *t)
{
	for (uint32_t i = 0; i < p->nr && t->nr < b->nr; i++)
		if (p->sites[i].batch == b)
			t->sites[t->nr++] = (struct trigger_site){ .ip = p->sites[i].ip,
								  .index = p->sites[i].index };
}

static int table_make(const struct function_command *p, struct ftrace_batch *b)
{
	struct session *s = p->ops.inst->model->session;

	b->table = 0;
	b->table_size = sizeof(struct trigger_sites) + b->nr * sizeof(struct trigger_site);
	if (!needs_table(p, b))
		return 0;
	b->table = session_config_alloc(s, b->table_size);
	if (!b->table)
		return -ENOMEM;
	table_fill(p, b, session_config(s, b->table, b->table_size));
	return 0;
}

struct old_table {
	config_ref	ref;
	size_t		size;
};

/*
 * Makes new tables, then plans that lead to them. Then the old tables are retired. After an error
 * the old ones are still in `old`.
 */
static int renew(struct function_command *p, struct old_table *old)
{
	struct instance *inst = p->ops.inst;
	struct ftrace_batch *b;
	size_t nr = 0;
	int err = 0;

	list_each(b, &p->batches, node) {
		old[nr++] = (struct old_table){ b->table, b->table_size };
		if (!err)
			err = table_make(p, b);
	}
	if (!err)
		err = ftrace_groups_publish(inst);
	for (size_t i = 0; !err && i < nr; i++)
		if (old[i].ref)
			session_config_retire(inst->model->session, old[i].ref, old[i].size);
	return err;
}

int function_command_publish(struct function_command *p)
{
	struct ftrace_batch *b;
	struct old_table *old;
	size_t nr = 0;
	int err;

	list_each(b, &p->batches, node)
		nr++;
	old = malloc((nr + 1) * sizeof(*old));
	err = old ? renew(p, old) : -ENOMEM;
	free(old);
	return err;
}

static enum trigger_kind kind_of(enum ftrace_command c)
{
	static const enum trigger_kind kinds[FTRACE_NO_COMMAND] = {
		TRIGGER_TRACEON, TRIGGER_TRACEOFF, TRIGGER_STACKTRACE,	 TRIGGER_SNAPSHOT,
		TRIGGER_DUMP, TRIGGER_CPUDUMP, TRIGGER_ENABLE_EVENT, TRIGGER_DISABLE_EVENT,
	};

	return kinds[c];
}

/* Without counts and targets, all batches do the same. */
uint32_t function_command_arms(const struct function_command *p, struct trigger_arm *out,
			       uint32_t room)
{
	struct ftrace_batch *b;
	uint32_t nr = 0;

	list_each(b, &p->batches, node) {
		if (nr && !b->nr_counts && !b->target)
			continue;
		if (nr < room)
			out[nr] = (struct trigger_arm){
				.kind = kind_of(p->command),
				.code = b->table,
				.state = b->counts_ref,
				.flags = TRIGGER_FUNCTION | (b->counts_ref ? TRIGGER_COUNTED : 0),
				.target = b->target ? b->target->state_ref : 0,
			};
		nr++;
	}
	return nr;
}
