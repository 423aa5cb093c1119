/* SPDX-License-Identifier: MIT */
/*
 * groups_save.c - saves which number means which set of ops, for the next server (R4)
 *
 *     #ftrace/group   "NUMBER" and, for each ops, a line "KIND COMMAND COUNTED INSTANCE"
 *
 * Programs use their words while there is no server. The next server gives the numbers their old
 * meaning before it takes out plans that it does not know.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/group.h"
#include "model/text_memory.h"
#include "session/array.h"

static const char path[] = "#ftrace/group";

static void groups_save_describe(const struct ftrace_ops *ops, FILE *out)
{
	const struct function_command *p = ops->kind == FTRACE_OPS_COMMAND ? ops->priv : NULL;

	fprintf(out, "\n%d %d %d %s", ops->kind, p ? (int)p->command : 0, p ? p->counted : 0,
		ops->inst->name ? ops->inst->name : "");
}

/*
 * A stale group has no site, but a program may have its number: it is saved with the ops that are
 * left.
 */
int ftrace_group_save(struct ftrace_groups *gs, struct ftrace_group *g)
{
	struct model *m = gs->ft->model;
	char *text = NULL;
	size_t size;
	FILE *out;
	int err;

	if (m->closing)
		return 0;
	out = text_memory_open(&text, &size);
	if (!out)
		return -ENOMEM;
	fprintf(out, "%u %d", g->number, g->stale);
	for (uint32_t i = 0; i < g->nr; i++)
		groups_save_describe(g->ops[i], out);
	err = fclose(out) ? -ENOMEM : 0;
	if (!err)
		err = saved_replace(m, m->top, path, text, NULL, 0, &g->saved);
	free(text);
	return err;
}

/* ---- Restoring ---- */

int ftrace_groups_restore(struct ftrace *ft, const struct restored *o, const char *text)
{
	struct ftrace_groups *gs = ftrace_groups_of(ft);
	struct ftrace_saved_group *k;

	if (!gs || array_room(&gs->saved, gs->nr_saved, sizeof(*k)))
		return -ENOMEM;
	k = &gs->saved[gs->nr_saved];
	k->number = (uint32_t)strtoul(text, NULL, 10);
	k->saved = o->id;
	k->text = strdup(text);
	if (!k->text)
		return -ENOMEM;
	if (k->number < LAYOUT_GROUPS_AT || k->number + GROUP_ENTRIES > LAYOUT_GRAPH_EXIT ||
	    (k->number - LAYOUT_GROUPS_AT) % GROUP_ENTRIES) {
		free(k->text);
		return -EPROTO;
	}
	gs->nr_saved++;
	return 0;
}

/* Whether a line names this ops. */
static bool is_named(const char *line, const struct ftrace_ops *ops)
{
	const struct function_command *p = ops->kind == FTRACE_OPS_COMMAND ? ops->priv : NULL;
	int kind, command, counted, n;

	if (sscanf(line, "%d %d %d%n", &kind, &command, &counted, &n) != 3 || line[n] != ' ')
		return false;
	return kind == (int)ops->kind && command == (p ? (int)p->command : 0) &&
	       counted == (p ? p->counted : 0) &&
	       !strcmp(line + n + 1, ops->inst->name ? ops->inst->name : "");
}

static bool has_line(char *const *lines, size_t nr, const struct ftrace_ops *ops)
{
	for (size_t i = 0; i < nr; i++)
		if (is_named(lines[i], ops))
			return true;
	return false;
}

/*
 * Splits the text at its newlines, in place. Stores the lines behind the first one, and returns how
 * many.
 */
static size_t split_lines(char *text, char **lines, size_t room)
{
	char *save = text;
	size_t nr = 0;

	strsep(&save, "\n");
	while (save && nr < room)
		lines[nr++] = strsep(&save, "\n");
	return nr;
}

static size_t count_lines(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += *text == '\n';
	return nr;
}

/* Makes the group of those of its ops that still exist, in their present order. */
static int restore_one(struct ftrace_groups *gs, const struct ftrace_saved_group *k, char **lines,
		       struct ftrace_ops **set)
{
	const int index = (int)((k->number - LAYOUT_GROUPS_AT) / GROUP_ENTRIES);
	const bool was_stale = atoi(k->text + strcspn(k->text, " "));
	const size_t nr_lines = split_lines(k->text, lines, count_lines(k->text));
	struct ftrace_group *g;
	struct ftrace_ops *ops;
	size_t nr = 0;

	if (gs->by_index[index])
		return -EPROTO;
	list_each(ops, &gs->ft->ops, node)
		if (has_line(lines, nr_lines, ops))
			set[nr++] = ops;
	g = ftrace_group_make(gs, set, nr, index);
	if (!g)
		return -ENOMEM;
	gs->next = (uint32_t)index + 1;
	if (was_stale || nr < nr_lines || !nr)
		ftrace_group_stale(gs, g);
	return ftrace_group_save(gs, g);
}

static int restore_group(struct ftrace_groups *gs, const struct ftrace_saved_group *k,
			 size_t nr_ops)
{
	char **lines = malloc((count_lines(k->text) + 1) * sizeof(*lines));
	struct ftrace_ops **set = malloc((nr_ops + 1) * sizeof(struct ftrace_ops *));
	int err = lines && set ? restore_one(gs, k, lines, set) : -ENOMEM;

	free(lines);
	free(set);
	return err;
}

void ftrace_groups_restore_all(struct model *m)
{
	struct ftrace_groups *gs = m->ftrace ? m->ftrace->groups : NULL;
	struct ftrace_ops *ops;
	size_t nr_ops = 0;

	if (!gs)
		return;
	list_each(ops, &m->ftrace->ops, node)
		nr_ops++;
	for (size_t i = 0; i < gs->nr_saved; i++) {
		struct ftrace_saved_group *k = &gs->saved[i];

		/* If it fails, there is no plan, and nothing happens there */
		(void)restore_group(gs, k, nr_ops);
		saved_remove(m, &k->saved);
		free(k->text);
	}
	free(gs->saved);
	gs->saved = NULL;
	gs->nr_saved = 0;
	gs->err = gs->refused = 0;
}
