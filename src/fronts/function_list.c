/* SPDX-License-Identifier: MIT */
/*
 * function_list.c - reads the functions of a session that has a recording
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fronts/function_list.h"
#include "model/ftrace.h"

/* The whole file, which may be a pipe. */
static int read_file(const char *file, char **text, size_t *size)
{
	FILE *in = fopen(file, "r"), *out = in ? open_memstream(text, size) : NULL;
	char chunk[1 << 16];
	int err = in && !out ? ENOMEM : 0;
	size_t n;

	if (!in)
		return -errno;
	errno = 0;
	while (!err && (n = fread(chunk, 1, sizeof(chunk), in)))
		if (fwrite(chunk, 1, n, out) != n)
			err = ENOMEM;
	if (!err && ferror(in))
		err = errno ? errno : EIO;
	if (out && fclose(out))
		err = ENOMEM;
	fclose(in);
	return -err;
}

/* For a new server the name has to mean the same from wherever it is started. */
static int keep_name(struct model *m, const char *file)
{
	char *name = realpath(file, NULL);
	uint64_t object = 0;
	int err = model_object_add(m, m->top, FUNCTION_LIST_OBJECT, name ? name : file, NULL, 0, &object);

	free(name);
	return err;
}

int function_list_load(struct model *m, const char *file)
{
	char *text = NULL;
	size_t size = 0;
	int err = read_file(file, &text, &size);

	if (!err)
		err = size ? ftrace_sites_load(m, text, size) : -EINVAL;
	free(text);
	return err ? err : keep_name(m, file);
}
