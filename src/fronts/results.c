/* SPDX-License-Identifier: MIT */
/*
 * results.c - what a command prints at its end: files of the tree, and what was lost
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fronts/access.h"
#include "fronts/command.h"
#include "fronts/results.h"
#include "sources/source.h"

static int save_file(const char *dir, const char *file, const char *text, size_t len)
{
	char path[4096];
	size_t at, i;
	FILE *out;
	int ret;

	at = snprintf(path, sizeof(path), "%s/", dir);
	for (i = 0; file[i] && at + 3 < sizeof(path); i++) {
		path[at++] = file[i] == '/' ? '_' : file[i];
		if (file[i] == '/')
			path[at++] = '_';
	}
	path[at < sizeof(path) ? at : sizeof(path) - 1] = 0;
	out = fopen(path, "we");
	if (!out)
		return command_error("%s: %s", path, strerror(errno));
	ret = fwrite(text, 1, len, out) != len;
	ret |= fclose(out) != 0;
	return ret ? command_error("%s: %s", path, strerror(errno)) : COMMAND_DONE;
}

static int print_file(struct access *a, const char *file, const char *dir)
{
	char *text;
	size_t len;
	int ret;

	ret = access_read_all(a, file, &text, &len);
	if (ret)
		return command_error("%s: %s", file, strerror(-ret));
	if (dir)
		ret = save_file(dir, file, text, len);
	else if (fwrite(text, 1, len, stdout) != len)
		ret = command_error("cannot write: %s", strerror(errno));
	free(text);
	return ret;
}

/* Every file that can be read is printed, also behind one that cannot. */
int results_print(struct access *a, const char *const *files, unsigned int nr, const char *dir)
{
	int status = COMMAND_DONE;

	if (dir && mkdir(dir, 0777) && errno != EEXIST)
		return command_error("%s: %s", dir, strerror(errno));
	for (unsigned int i = 0; i < nr; i++)
		if (print_file(a, files[i], dir))
			status = COMMAND_FAILED;
	if (fflush(stdout))
		return command_error("cannot write: %s", strerror(errno));
	return status;
}

void results_print_losses(struct source *src)
{
	char *text = NULL, *line, *rest;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	source_print_losses(src, out);
	fclose(out);
	rest = text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			fprintf(stderr, "tracefuse: %s\n", line);
	free(text);
}
