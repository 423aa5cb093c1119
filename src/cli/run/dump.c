/* SPDX-License-Identifier: MIT */
/*
 * dump.c - what functions' commands dump and cpudump wrote into the session's file, when the
 * session ends with the command
 *
 * The server has nobody's terminal: what a kernel writes to its console is shown here.
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
