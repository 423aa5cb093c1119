/* SPDX-License-Identifier: MIT */
/*
 * interposed_pipe.c - a library that opens a pipe when it is loaded, as libunwind does, and uses
 * its numbers to the end: appends to $PIPES what they are
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
	char path[64], link[64] = "";
	int fds[2];
	FILE *out = getenv("PIPES") ? fopen(getenv("PIPES"), "a") : NULL;

	if (!out || pipe2(fds, O_CLOEXEC))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[1]);
	if (readlink(path, link, sizeof(link) - 1) > 0)
		fprintf(out, "%d %s\n", fds[1], link);
	fclose(out);
}
