/* SPDX-License-Identifier: MIT */
/*
 * dump.c - prints the dumps of the function commands dump and cpudump, if the session ends with the
 * command
 *
 * A kernel writes dumps to its console. The server has no terminal, so it writes them to a file of
 * the session, and the command prints that file.
 */
#include <stdio.h>
#include <string.h>

#include "cli/run/run.h"
#include "session/session.h"

static int show(void *arg, const char *name, const char *dir, bool alive)
{
	char path[4096 + 256], text[4096];
	size_t n;
	FILE *in;

	if (strcmp(name, arg))
		return 0;
	snprintf(path, sizeof(path), "%s/dump", dir);
	in = fopen(path, "re");
	while (in && (n = fread(text, 1, sizeof(text), in)))
		fwrite(text, 1, n, stderr);
	if (in)
		fclose(in);
	return 1;
}

void run_dump(const struct run *r)
{
	if (run_is_private(r))
		session_list(show, (void *)r->name);
}
