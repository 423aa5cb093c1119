/* SPDX-License-Identifier: MIT */
/*
 * create.c - makes the fields, keys and sort keys of a hist, with the kernel's limits
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hist/percentiles.h"

static const char too_many_vars[] = "Too many variables defined";

static void hist_create_add_field(struct hist_data *hd, struct hist_field *f)
{
	hd->fields[hd->n_fields++] = f;
}

static int add_hitcount(struct hist_data *hd)
{
	struct hist_field *f = hist_field_create(hd, NULL, HIST_HITCOUNT);

	if (!f)
		return -ENOMEM;
	hist_create_add_field(hd, f);
	hd->n_vals++;
	return 0;
}

/* A field whose values cannot be summed up or stored in a variable. */
static bool unfit(const struct hist_field *f)
{
	if (f->flags & HIST_VAR)
		return f->flags & (HIST_GRAPH | HIST_PERCENT | HIST_RANGES);
	if (f->flags & HIST_NO_SUM && f->flags & (HIST_HITCOUNT | HIST_STRING))
		return true;
	return f->flags & (HIST_RANGES | HIST_SYM | HIST_SYM_OFFSET | HIST_SYSCALL |
			   HIST_STACKTRACE);
}

/* The value of such a variable is the task's name, not its pid. */
static int make_execname(struct hist_field *f)
{
	char *type = strdup("char[]");

	if (!type)
		return -ENOMEM;
	free(f->type);
	f->type = type;
	f->flags = HIST_STRING | HIST_VAR | HIST_EXECNAME;
	f->size = HIST_STRING_MAX;
	f->is_signed = false;
	f->content = HIST_TEXT;
	return 0;
}

static int make_var(struct hist_data *hd, struct hist_field *f, const char *name)
{
	int err = 0, idx;

	if (f->flags & HIST_EXECNAME)
		err = make_execname(f);
	idx = hist_map_var(hd);
	if (idx < 0)
		return -EINVAL;
	f->var.hist_data = hd;
	f->var.idx = (unsigned int)idx;
	if (f->content != HIST_NUMBER)
		f->block = hist_map_block(hd, STRING_ROOM);
	f->var.name = strdup(name);
	hd->n_vars++;
	return f->var.name ? err : -ENOMEM;
}

static int add_val(struct hist_data *hd, const struct hist_command_text *cmd, char *text,
		   const char *var)
{
	struct hist_field *f;
	int err = 0;

	if (var && hist_find_var(hd, var) && !hd->removes)
		return hist_refuse(cmd, "Variable already defined", var);
	f = hist_expr_parse(hd, cmd, text, var ? HIST_VAR : 0, &err);
	if (!f)
		return err;
	err = var ? make_var(hd, f, var) : 0;
	if (!err && unfit(f)) {
		hist_error(cmd, "Invalid field modifier", text);
		err = -EINVAL;
	}
	if (err) {
		hist_field_free(f);
		return err;
	}
	hist_create_add_field(hd, f);
	hd->n_vals++;
	return 0;
}

static int add_vals(struct hist_data *hd, const struct hist_command_text *cmd, char *list,
		    unsigned int *real)
{
	unsigned int hitcounts = 0;

	*real = 0;
	for (unsigned int i = 0; list && i < HIST_VALS_MAX && *real + 1 < HIST_VALS_MAX; i++) {
		char *text = strsep(&list, ",");
		int err;

		if (!strcmp(text, "hitcount") && !hitcounts++)
			continue;
		++*real;
		err = add_val(hd, cmd, text, NULL);
		if (err)
			return err;
	}
	return list && strcmp(list, "hitcount") ? -EINVAL : 0;
}

static int create_vals(struct hist_data *hd, const struct hist_command_text *cmd)
{
	unsigned int real = 0;
	char *list = hd->attrs.vals ? strdup(hd->attrs.vals) : NULL;
	int err = hd->attrs.vals && !list ? -ENOMEM : add_hitcount(hd);

	if (!err)
		err = add_vals(hd, cmd, list, &real);
	free(list);
	if (!real && hd->attrs.no_hitcount) {
		hist_error(cmd, "Non-hitcount value is required for 'nohitcount'", NULL);
		err = -ENOENT;
	}
	return err;
}

/* At most 16 entries of a list count. The kernel does not look at entries behind them. */
static int parse_var_list(struct hist_data *hd, const struct hist_command_text *cmd, char *list)
{
	struct hist_attrs *a = &hd->attrs;
	char *text, *name;

	for (int i = 0; i < HIST_VARS_MAX && (text = strsep(&list, ",")); i++) {
		name = strsep(&text, "=");
		if (!text)
			return hist_refuse(cmd, "Malformed assignment", name);
		if (a->n_vars == HIST_VARS_MAX)
			return hist_refuse(cmd, too_many_vars, name);
		a->var_names[a->n_vars] = strdup(name);
		a->var_exprs[a->n_vars++] = strdup(text);
	}
	return 0;
}

static int parse_vars(struct hist_data *hd, const struct hist_command_text *cmd)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < hd->attrs.n_assignments; i++) {
		char *list = strdup(hd->attrs.assignments[i]);

		err = list ? parse_var_list(hd, cmd, list) : -ENOMEM;
		free(list);
	}
	return err;
}

static int create_vars(struct hist_data *hd, const struct hist_command_text *cmd)
{
	const struct hist_attrs *a = &hd->attrs;
	int err = 0;

	for (unsigned int i = 0; !err && i < a->n_vars; i++)
		err = a->var_names[i] && a->var_exprs[i]
			      ? add_val(hd, cmd, a->var_exprs[i], a->var_names[i])
			      : -ENOMEM;
	return err;
}

static int add_key(struct hist_data *hd, const struct hist_command_text *cmd, char *text)
{
	struct hist_field *f;
	int err = -ENOMEM;

	if (!strcmp(text, "stacktrace"))
		f = hist_field_create(hd, NULL, HIST_KEY | HIST_STACKTRACE);
	else
		f = hist_expr_parse(hd, cmd, text, HIST_KEY, &err);
	if (!f)
		return err;
	if (hist_field_has_vars(f)) {
		hist_error(cmd, "Using variable references in keys not supported", text);
		hist_field_free(f);
		return -EINVAL;
	}
	f->size = (f->size + 7) & ~7u;
	f->offset = hd->key_size;
	hd->key_size += f->size;
	hist_create_add_field(hd, f);
	if (f->flags & HIST_DEPTH)
		hd->key_room = HIST_KEY_ROOM;
	if (hd->key_size > hd->key_room)
		return hd->key_room == HIST_KEY_ROOM
		       ? hist_refuse(cmd, "The keys have too many functions", text) : -EINVAL;
	hd->n_keys++;
	return 0;
}

static int create_keys(struct hist_data *hd, const struct hist_command_text *cmd)
{
	char *copy = strdup(hd->attrs.keys), *list = copy;
	int err = copy ? 0 : -ENOMEM;

	hd->key_room = HIST_KEY_SIZE_MAX;
	for (int i = 0; !err && list && i < HIST_KEYS_MAX; i++)
		err = add_key(hd, cmd, strsep(&list, ","));
	if (!err && list)
		err = -EINVAL;
	free(copy);
	return err;
}

static int parse_direction(const struct hist_command_text *cmd, const char *s, bool *descending)
{
	*descending = s && !strcmp(s, "descending");
	if (!s || *descending || !strcmp(s, "ascending"))
		return 0;
	return hist_refuse(cmd, "Invalid sort modifier", s);
}

/*
 * The number of a field, without counting the variables before it; 0 is hitcount, -1: there is
 * none. `no_sum`: HIST_MIN, HIST_MAX or HIST_AVG has to be among the field's flags; 0: any field.
 */
static int sort_index(const struct hist_data *hd, const char *name, unsigned int no_sum)
{
	int idx = 0;

	if (!strcmp(name, "hitcount") && !no_sum)
		return 0;
	for (unsigned int i = 1; i < hd->n_fields; i++) {
		if (hd->fields[i]->flags & HIST_VAR)
			continue;
		idx++;
		if (!strcmp(name, hist_field_name(hd->fields[i])) &&
		    (hd->fields[i]->flags & no_sum) == no_sum)
			return idx;
	}
	return -1;
}

/* The .min, .max or .avg before the direction: one field may be several values. 0: none of them. */
static unsigned int parse_no_sum(char **direction)
{
	char modifier[4] = "";
	unsigned int flag;

	if (!*direction || strcspn(*direction, ".") != sizeof(modifier) - 1)
		return 0;
	memcpy(modifier, *direction, sizeof(modifier) - 1);
	flag = hist_field_no_sum(modifier);
	if (flag) {
		*direction += sizeof(modifier) - 1;
		*direction = **direction ? *direction + 1 : NULL;
	}
	return flag;
}

static int add_sort_key(struct hist_data *hd, const struct hist_command_text *cmd, char *text)
{
	struct hist_sort_key *key = &hd->sort_keys[hd->n_sort_keys];
	char *direction = text, *name;
	unsigned int no_sum;
	int idx;

	name = strsep(&direction, ".");
	if (!*name)
		return hist_refuse(cmd, "Empty sort field", "sort=");
	no_sum = parse_no_sum(&direction);
	idx = sort_index(hd, name, no_sum);
	if (idx < 0)
		return hist_refuse(cmd, "Sort field must be a key or a val", name);
	key->field_idx = (unsigned int)idx;
	hd->n_sort_keys++;
	return parse_direction(cmd, direction, &key->descending);
}

static int create_sort_keys(struct hist_data *hd, const struct hist_command_text *cmd)
{
	char *copy, *list;
	int err = 0;

	if (!hd->attrs.sort) {
		hd->n_sort_keys = 1;
		return 0;
	}
	list = copy = strdup(hd->attrs.sort);
	if (!copy)
		return -ENOMEM;
	for (int i = 0; !err && list && i < HIST_SORT_KEYS_MAX; i++) {
		char *text = strsep(&list, ",");

		if (!*text)
			err = hist_refuse(cmd, "Empty sort field", "sort=");
		else if (i == HIST_SORT_KEYS_MAX - 1 && list)
			err = hist_refuse(cmd, "Too many sort fields (Max = 2)", "sort=");
		else
			err = add_sort_key(hd, cmd, text);
	}
	free(copy);
	return err;
}

/* After this, no hist has it as a hidden one, and none refers to it. */
static void hist_create_forget(const struct hist_data *hd)
{
	struct hist_data *other;

	list_each(other, &hd->instance->hist_vars, vars_node)
		for (unsigned int i = 0; i < other->n_hidden; i++)
			if (other->hidden[i] == hd)
				other->hidden[i] = NULL;
}

static void free_vars_and_actions(struct hist_data *hd)
{
	for (unsigned int i = 0; i < hd->n_actions; i++)
		hist_action_free(hd->actions[i]);
	for (unsigned int i = 0; i < hd->n_field_vars; i++)
		hist_field_var_free(hd->field_vars[i]);
	for (unsigned int i = 0; i < hd->n_save_vars; i++)
		hist_field_var_free(hd->save_vars[i]);
	for (unsigned int i = 0; i < hd->n_fields; i++)
		hist_field_free(hd->fields[i]);
	for (unsigned int i = 0; i < hd->n_var_refs; i++)
		hist_ref_free(hd->var_refs[i]);
}

void hist_data_destroy(struct hist_data *hd)
{
	hist_vars_remove(hd);
	if (hd->instance->snapshot_hist == hd)
		hd->instance->snapshot_hist = NULL;
	if (!hd->event->model->closing) {
		hist_hidden_remove(hd);
		hist_create_forget(hd);
		hist_map_retire(hd);
	}
	free_vars_and_actions(hd);
	hist_attrs_free(&hd->attrs);
	free(hd);
}

static int create_fields(struct hist_data *hd, const struct hist_command_text *cmd)
{
	int err = parse_vars(hd, cmd);

	if (!err)
		err = create_vals(hd, cmd);
	if (!err)
		err = create_vars(hd, cmd);
	if (!err)
		err = create_keys(hd, cmd);
	/* After this, `$x` no longer means the text of a field. */
	hist_attrs_free_vars(&hd->attrs);
	return err;
}

int hist_data_create(struct event_file *f, const struct hist_command_text *cmd, char *params,
		     bool removes, struct hist_data **out)
{
	struct hist_data *hd = calloc(1, sizeof(*hd));
	int err;

	if (!hd)
		return -ENOMEM;
	hd->event = f->event;
	hd->instance = f->instance;
	hd->removes = removes;
	list_init(&hd->vars_node);
	err = hist_attrs_parse(cmd, params, &hd->attrs);
	hd->map_bits = hd->attrs.map_bits ? hd->attrs.map_bits : HIST_BITS_DEFAULT;
	if (!err)
		err = hist_actions_parse(hd, cmd);
	if (!err)
		err = create_fields(hd, cmd);
	if (!err)
		err = create_sort_keys(hd, cmd);
	if (!err)
		err = percentiles_check(hd, cmd);
	if (err) {
		hist_data_destroy(hd);
		return err;
	}
	*out = hd;
	return 0;
}
