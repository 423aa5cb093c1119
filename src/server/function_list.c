/* SPDX-License-Identifier: MIT */
/*
 * function_list.c - reads the functions of a session that has a recording
 */
#include <errno.h>
#include <stdlib.h>

#include "server/function_list.h"
#include "host/input.h"
#include "model/ftrace/ftrace.h"

/* Saves the full path: the next server may be started in another directory. */
static int keep_name(struct model *m, const char *file)
{
	char *name = realpath(file, NULL);
	uint64_t saved = 0;
	int err = saved_add(m, m->top, FUNCTION_LIST_SAVED, name ? name : file, NULL, 0, &saved);

	free(name);
	return err;
}

int function_list_load(struct model *m, const char *file)
{
	char *text = NULL;
	size_t size = 0;
	int err = input_read_all(file, &text, &size);

	if (!err)
		err = size ? ftrace_sites_load(m, text, size) : -EINVAL;
	free(text);
	return err ? err : keep_name(m, file);
}
