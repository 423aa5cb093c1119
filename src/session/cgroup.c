/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c - how much of the machine's memory the control groups allow
 *
 *     /proc/self/cgroup    0::/a/b              version 2
 *                          4:memory:/a/b        version 1, if it has the memory controller
 *     /sys/fs/cgroup       /a/b/memory.max, /a/memory.max, /memory.max
 *                          /memory/a/b/memory.limit_in_bytes ...
 *
 * In a container the path may be the host's and not exist. Then only the top is read.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/cgroup.h"

/* "max", or no file: there is no limit. */
static uint64_t limit_in(const char *dir, const char *file)
{
	char path[PATH_MAX + 64], text[32] = "";
	uint64_t limit = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	if (!f)
		return limit;
	if (fgets(text, sizeof(text), f) && *text >= '0' && *text <= '9')
		limit = strtoull(text, NULL, 10);
	fclose(f);
	return limit;
}

/* Goes from the group up to the top: each group limits those below it. */
static uint64_t least_of(const char *top, const char *group, const char *file)
{
	char dir[PATH_MAX];
	uint64_t least = UINT64_MAX, limit;
	size_t len = strlen(top);
	char *slash;

	if (snprintf(dir, sizeof(dir), "%s%s", top, group) >= (int)sizeof(dir))
		return limit_in(top, file);
	do {
		limit = limit_in(dir, file);
		least = limit < least ? limit : least;
		slash = strrchr(dir + len, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return least;
}

/* A line has three fields. In version 1 the second one lists controllers. */
static uint64_t limit_of_line(char *line, const char *mounted)
{
	char *controllers = strchr(line, ':'),
	     *group = controllers ? strchr(controllers + 1, ':') : NULL;
	char top[PATH_MAX];

	if (!group)
		return UINT64_MAX;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (!strcmp(controllers, ":"))
		return least_of(mounted, group, "memory.max");
	if (strcmp(controllers, ":memory"))
		return UINT64_MAX;
	snprintf(top, sizeof(top), "%s/memory", mounted);
	return least_of(top, group, "memory.limit_in_bytes");
}

uint64_t cgroup_memory_of(const char *file, const char *mounted)
{
	uint64_t least = UINT64_MAX;
	char line[PATH_MAX + 64];
	FILE *f = fopen(file, "re");

	while (f && fgets(line, sizeof(line), f)) {
		const uint64_t limit = limit_of_line(line, mounted);

		least = limit < least ? limit : least;
	}
	if (f)
		fclose(f);
	return least;
}

uint64_t cgroup_memory(void)
{
	return cgroup_memory_of("/proc/self/cgroup", "/sys/fs/cgroup");
}
