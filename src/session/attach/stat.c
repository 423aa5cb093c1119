/* SPDX-License-Identifier: MIT */
/* stat.c - reads /proc/PID/stat */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/attach/stat.h"

/* Fields by their numbers in proc(5) */
enum { FIELD_STATE = 3, FIELD_PARENT = 4, FIELD_START_TIME = 22 };

struct process_stat process_stat(pid_t pid)
{
	struct process_stat out = { 0 };
	char path[64], text[1024], *at = NULL;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n > 0) {
		text[n] = '\0';
		/* Field 2 is a name in parentheses, which may contain any character. */
		at = strrchr(text, ')');
	}
	for (int field = FIELD_STATE; at && field <= FIELD_START_TIME; field++) {
		at = strchr(at, ' ');
		if (!at)
			break;
		at++;
		if (field == FIELD_STATE)
			out.state = *at;
		else if (field == FIELD_PARENT)
			out.parent = (pid_t)strtol(at, NULL, 10);
		else if (field == FIELD_START_TIME)
			out.start_time = strtoull(at, NULL, 10);
	}
	return out;
}
