/* SPDX-License-Identifier: MIT */
/*
 * save.c - saves the settings of function tracing for the next server (R4)
 *
 *     [instances/NAME/]#ftrace/filter, notrace             addresses, each as its difference
 *                                                          to the one before
 *     [instances/NAME/]#ftrace/filter_mods, notrace_mods   FUNCTION TAB MODULE, a line each, newest
 *                                                          first
 *     [instances/NAME/]#ftrace/command                     one batch; ref 0: its counts
 *     #ftrace/graph_function, graph_notrace                addresses, in their order
 *     #ftrace/profile                                      on or off, the size of its map, which is
 *                                                          its ref
 *     #ftrace/stack_tracer                                 on or off; its ref: struct stack_deepest
 *     #ftrace/stack_filter                                 addresses, as in filter
 *     #ftrace/group                                        groups_save.c
 *
 * Sets are saved as addresses, so that they are right before the sites exist again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/groups.h"
#include "model/ftrace/profile.h"
#include "model/ftrace/stack.h"
#include "model/text_memory.h"

static const char *const hash_paths[] = { "#ftrace/filter", "#ftrace/notrace" };
static const char *const mod_paths[] = { "#ftrace/filter_mods", "#ftrace/notrace_mods" };
static const char *const graph_paths[] = { "#ftrace/graph_function", "#ftrace/graph_notrace" };
static const char profile_path[] = "#ftrace/profile", command_path[] = "#ftrace/command",
		  group_path[] = "#ftrace/group", stack_path[] = "#ftrace/stack_tracer",
		  stack_filter_path[] = "#ftrace/stack_filter";

/* Replaces a saved text; text NULL: by none. */
static int save(struct model *m, struct instance *inst, const char *path, const char *text,
		data_ref ref, uint64_t *saved)
{
	if (m->closing)
		return 0;
	if (text)
		return saved_replace(m, inst, path, text, &ref, ref != 0, saved);
	saved_remove(m, saved);
	return 0;
}

/* Writes a hexadecimal number with a blank behind it. */
static char *put_number(char *at, uint64_t v)
{
	int digits = 1;

	while (digits < 16 && v >> 4 * digits)
		digits++;
	while (digits--)
		*at++ = "0123456789abcdef"[v >> 4 * digits & 15];
	*at++ = ' ';
	return at;
}

/* No printf(): there may be 50,000 addresses, and the writer waits. */
static char *addresses(const struct ftrace_hash *h)
{
	uint64_t *ips = ftrace_hash_list(h), last = 0;
	char *text = ips ? malloc((size_t)h->count * 17 + 1) : NULL, *at = text;

	for (uint32_t i = 0; text && i < h->count; i++) {
		at = put_number(at, ips[i] - last);
		last = ips[i];
	}
	if (text)
		*at = '\0';
	free(ips);
	return text;
}

static int save_addresses(struct model *m, struct instance *inst, const char *path,
			  const struct ftrace_hash *h, uint64_t *saved)
{
	char *text;
	int err;

	if (!h || !h->count)
		return save(m, inst, path, NULL, 0, saved);
	text = addresses(h);
	err = text ? save(m, inst, path, text, 0, saved) : -ENOMEM;
	free(text);
	return err;
}

int ftrace_save_hash(struct ftrace_instance *fi, enum ftrace_list which)
{
	const struct ftrace_hash *h =
		which == FTRACE_FILTER ? fi->hashes.filter : fi->hashes.notrace;

	return save_addresses(fi->inst->model, fi->inst, hash_paths[which], h,
			      &fi->hashes_saved[which]);
}

int ftrace_save_graph(struct ftrace *ft, enum ftrace_list which)
{
	return save_addresses(ft->model, ft->model->top, graph_paths[which], ft->graph[which],
			      &ft->graphs_saved[which]);
}

int ftrace_save_stack_filter(struct ftrace *ft)
{
	return save_addresses(ft->model, ft->model->top, stack_filter_path,
			      ft->stack.hashes.filter, &ft->stack.filter_saved);
}

int ftrace_save_mods(struct ftrace_instance *fi, enum ftrace_list which)
{
	struct ftrace_mod *mod;
	char *text = NULL;
	size_t size;
	FILE *out;
	int err;

	if (list_empty(&fi->mods[which]))
		return save(fi->inst->model, fi->inst, mod_paths[which], NULL, 0,
			    &fi->mods_saved[which]);
	out = text_memory_open(&text, &size);
	if (!out)
		return -ENOMEM;
	list_each(mod, &fi->mods[which], node)
		fprintf(out, "%s\t%s\n", mod->function, mod->pattern);
	err = fclose(out) ? -ENOMEM : 0;
	if (!err)
		err = save(fi->inst->model, fi->inst, mod_paths[which], text, 0,
			   &fi->mods_saved[which]);
	free(text);
	return err;
}

int ftrace_save_batch(struct function_command *p, struct ftrace_batch *b)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);
	int err;

	if (!out)
		return -ENOMEM;
	function_command_describe(p, b, out);
	err = fclose(out) ? -ENOMEM : 0;
	if (!err)
		err = save(p->ops.inst->model, p->ops.inst, command_path, text, b->counts_ref,
			   &b->saved);
	free(text);
	return err;
}

/* ---- Restoring ---- */

/* The list has the newest of a chain first, so the last entry is added first. */
static int read_addresses(const char *text, bool ordered, struct ftrace_hash **out)
{
	struct ftrace_hash *h = ftrace_hash_create(ordered);
	uint64_t *ips = malloc((strlen(text) + 1) * sizeof(*ips)), ip = 0;
	size_t nr = 0;
	int err = h && ips ? 0 : -ENOMEM;
	char *end;

	/* No sscanf(): it searches for the end of the text in each call. */
	for (; !err && *text; text = end + (*end == ' ')) {
		ip += strtoull(text, &end, 16);
		if (end == text)
			break;
		ips[nr++] = ip;
	}
	while (!err && nr)
		err = ftrace_hash_add(h, ips[--nr]);
	free(ips);
	if (err) {
		ftrace_hash_destroy(h);
		return err;
	}
	*out = h;
	return 0;
}

static int restore_hash(struct ftrace *ft, struct ftrace_instance *fi, enum ftrace_list which,
			const char *text)
{
	struct ftrace_hash *h;
	int err = read_addresses(text, false, &h);

	if (err)
		return err;
	if (which == FTRACE_FILTER)
		h->mods = !list_empty(&fi->mods[FTRACE_FILTER]);
	err = which == FTRACE_FILTER ? ftrace_hashes_replace(ft, &fi->hashes, h, fi->hashes.notrace)
				     : ftrace_hashes_replace(ft, &fi->hashes, fi->hashes.filter, h);
	return err ? err : ftrace_save_hash(fi, which);
}

static int restore_graph(struct ftrace *ft, enum ftrace_list which, const char *text)
{
	struct ftrace_hash *h;
	int err = read_addresses(text, true, &h);

	if (err)
		return err;
	h->chain_bits = 0;
	while (h->chain_bits < FTRACE_HASH_MAX_BITS && h->count / 2 >> h->chain_bits)
		h->chain_bits++;
	ftrace_hash_destroy(ft->graph[which]);
	ft->graph[which] = h;
	return ftrace_save_graph(ft, which);
}

static int restore_stack_filter(struct ftrace *ft, const char *text)
{
	struct ftrace_hash *h;
	int err = read_addresses(text, false, &h);

	if (!err)
		err = ftrace_hashes_replace(ft, &ft->stack.hashes, h, NULL);
	return err ? err : ftrace_save_stack_filter(ft);
}

/* A filter of nothing but choices that wait is a set, too. */
static int restore_waiting(struct ftrace *ft, struct ftrace_instance *fi)
{
	struct ftrace_hash *h = ftrace_hash_copy(fi->hashes.filter, false);
	int err;

	if (!h)
		return -ENOMEM;
	h->mods = true;
	err = ftrace_hashes_replace(ft, &fi->hashes, h, fi->hashes.notrace);
	if (err)
		ftrace_hash_destroy(h);
	return err;
}

static int restore_mods(struct ftrace *ft, struct ftrace_instance *fi, enum ftrace_list which,
			const char *text)
{
	char *copy = strdup(text), *save = NULL;
	int err = copy ? 0 : -ENOMEM;

	for (char *l = copy ? strtok_r(copy, "\n", &save) : NULL; l && !err;
	     l = strtok_r(NULL, "\n", &save)) {
		char *tab = strchr(l, '\t');

		if (!tab)
			continue;
		*tab = '\0';
		err = ftrace_mod_add(fi, which, l, tab + 1, false);
	}
	free(copy);
	if (!err && which == FTRACE_FILTER)
		err = restore_waiting(ft, fi);
	return err ? err : ftrace_save_mods(fi, which);
}

static int restore_one(struct ftrace *ft, struct ftrace_instance *fi,
		       const struct restored *o, const char *path, const char *text)
{
	for (int i = 0; i < 2; i++) {
		const enum ftrace_list which = (enum ftrace_list)i;

		if (!strcmp(path, hash_paths[i]))
			return restore_hash(ft, fi, which, text);
		if (!strcmp(path, mod_paths[i]))
			return restore_mods(ft, fi, which, text);
		if (!strcmp(path, graph_paths[i]))
			return restore_graph(ft, which, text);
	}
	if (!strcmp(path, command_path))
		return function_command_restore(fi, o, text);
	if (!strcmp(path, group_path))
		return ftrace_groups_restore(ft, o, text);
	if (!strcmp(path, profile_path))
		return ftrace_profile_restore(fi->inst, o, text);
	if (!strcmp(path, stack_path))
		return ftrace_stack_restore(ft, o, text);
	if (!strcmp(path, stack_filter_path))
		return restore_stack_filter(ft, text);
	return -EPROTO;
}

bool ftrace_restore(struct model *m, const struct restored *o, const char *path,
		    const char *text, int *err)
{
	const char *at = strstr(path, "#ftrace/"), *slash;
	struct instance *inst = m->top;
	struct ftrace_instance *fi;
	struct ftrace *ft;
	char *name;

	if (!at)
		return false;
	if (!strncmp(path, "instances/", 10)) {
		slash = strchr(path + 10, '/');
		name = strndup(path + 10, slash ? (size_t)(slash - path - 10) : 0);
		if (!name)
			return *err = -ENOMEM, true;
		inst = instance_find(m, name);
		free(name);
	}
	if (!inst)
		return *err = -ENOENT, true;
	ft = ftrace_of(m);
	fi = ft ? ftrace_of_instance(inst) : NULL;
	*err = fi ? restore_one(ft, fi, o, at, text) : -ENOMEM;
	return true;
}
