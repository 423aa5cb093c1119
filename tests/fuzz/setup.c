/* SPDX-License-Identifier: MIT */
/*
 * setup.c - any text as a setup script: never a crash
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/access.h"
#include "setup/setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int no_open(struct access *a, const char *path, int flags, struct access_file **out)
{
	(void)a;
	(void)path;
	(void)flags;
	(void)out;
	return -ENOENT;
}

static int no_list(struct access *a, const char *path,
		   int (*fn)(void *arg, const char *name, bool is_dir), void *arg)
{
	(void)a;
	(void)path;
	return fn(arg, "name", true);
}

static int no_stat(struct access *a, const char *path, mode_t *mode)
{
	(void)a;
	*mode = 0;
	return *path ? -ENOENT : 0;
}

static int no_path(struct access *a, const char *path)
{
	(void)a;
	(void)path;
	return -EPERM;
}

static const struct access_ops ops = {
	.open = no_open, .list = no_list, .stat = no_stat, .mkdir = no_path, .rmdir = no_path,
};

/* Refuses scripts that would write files of the host or run programs. */
static int may_run(const uint8_t *data, size_t size)
{
	static const char *const never[] = {
		">", "mkdir", "rmdir", "grep", "head", "sort", "tail", "wc",
	};

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		for (size_t k = 0; k < size; k++) {
			size_t n = 0;

			while (never[i][n] && k + n < size && data[k + n] == (uint8_t)never[i][n])
				n++;
			if (!never[i][n])
				return 0;
		}
	return size < 4096;
}

/* The reader decides whether a text needs a shell, but there is none. */
static int no_shell(void *arg, const char *name, const char *text)
{
	(void)arg;
	(void)name;
	(void)text;
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct access a = { &ops };
	char *text;
	size_t len;
	FILE *out;
	struct setup_params p = {
		.access = &a, .name = "fuzz", .document = size & 1, .shell = no_shell };

	if (!may_run(data, size))
		return 0;
	out = open_memstream(&text, &len);
	p.out = p.err = out;
	setup_run_text(&p, (const char *)data, size);
	fclose(out);
	free(text);
	return 0;
}
