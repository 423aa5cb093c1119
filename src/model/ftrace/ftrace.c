/* SPDX-License-Identifier: MIT */
/*
 * ftrace.c - function tracing in a model and its instances: made at the first use
 */
#include <stdlib.h>

#include "model/demangle/demangle.h"
#include "model/ftrace/groups.h"
#include "model/ftrace/profile.h"
#include "model/ftrace/stack.h"

struct ftrace *ftrace_of(struct model *m)
{
	struct ftrace *ft = m->ftrace;

	if (ft)
		return ft;
	ft = calloc(1, sizeof(*ft));
	if (!ft)
		return NULL;
	ft->model = m;
	list_init(&ft->pages);
	list_init(&ft->ops);
	m->ftrace = ft;
	return ft;
}

struct ftrace_instance *ftrace_of_instance(struct instance *inst)
{
	struct ftrace_instance *fi = inst->ftrace;

	if (fi)
		return fi;
	fi = calloc(1, sizeof(*fi));
	if (!fi)
		return NULL;
	fi->inst = inst;
	fi->function = (struct ftrace_ops){
		.inst = inst,
		.kind = FTRACE_OPS_FUNCTION,
		.callback = "function_trace_call",
		.hashes = &fi->hashes,
	};
	fi->triggers = (struct ftrace_ops){
		.inst = inst,
		.kind = FTRACE_OPS_TRIGGER,
		.callback = "event_function_triggers_call",
		.hashes = &fi->hashes,
	};
	list_init(&fi->function.node);
	list_init(&fi->triggers.node);
	list_init(&fi->mods[FTRACE_FILTER]);
	list_init(&fi->mods[FTRACE_NOTRACE]);
	list_init(&fi->commands);
	inst->ftrace = fi;
	return fi;
}

bool ftrace_present(const struct model *m)
{
	const struct ftrace *ft = m->ftrace;

	return ft && (ft->nr_sites || ft->load || ft->offered);
}

int ftrace_need_sites(struct ftrace *ft)
{
	int (*load)(void *arg) = ft->load;

	ft->load = NULL;
	return load ? load(ft->load_arg) : 0;
}

void ftrace_instance_destroy(struct instance *inst)
{
	struct ftrace_instance *fi = inst->ftrace;
	struct model *m = inst->model;

	if (!fi)
		return;
	ftrace_ops_disable(&fi->function);
	ftrace_profile_leave(inst);
	if (m->ftrace && m->top == inst)
		ftrace_stack_end(m->ftrace);
	ftrace_triggers_end(inst);
	ftrace_ops_disable(&fi->triggers);
	function_commands_destroy(fi);
	for (int i = 0; i < 2; i++) {
		ftrace_mods_clear(fi, (enum ftrace_list)i);
		saved_remove(m, &fi->hashes_saved[i]);
		saved_remove(m, &fi->mods_saved[i]);
	}
	ftrace_hash_destroy(fi->hashes.filter);
	ftrace_hash_destroy(fi->hashes.notrace);
	if (fi->repeats && !m->closing)
		session_data_retire(m->session, fi->repeats,
				    m->nr_cpus * sizeof(struct hit_repeat));
	free(fi);
	inst->ftrace = NULL;
}

void ftrace_destroy(struct model *m)
{
	struct ftrace *ft = m->ftrace;
	struct ftrace_page *page, *next;

	if (!ft)
		return;
	ft->changed = NULL;
	list_each_safe(page, next, &ft->pages, node)
		ftrace_sites_remove(m, page);
	ftrace_groups_destroy(ft);
	ftrace_profile_destroy(ft);
	ftrace_hash_destroy(ft->stack.hashes.filter);
	ftrace_hash_destroy(ft->graph[FTRACE_FILTER]);
	ftrace_hash_destroy(ft->graph[FTRACE_NOTRACE]);
	demangler_destroy(ft->demangler);
	free(ft);
	m->ftrace = NULL;
}
