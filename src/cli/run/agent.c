/* SPDX-License-Identifier: MIT */
/*
 * agent.c - finds the agent, and its place in LD_PRELOAD
 *
 *     $TRACEFUSE_LIBDIR, else beside the executable in the build tree, else where it was installed:
 *     with the providers in LIBDIR/tracefuse, without them in LIBDIR
 *
 * The agent comes before other preloaded libraries, so that it sees the program's calls, whichever
 * library answers them. It comes behind a sanitizer's library, which must be the first.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/run/run.h"
#include "cli/version.h"
#include "elf/program.h"
#include "session/preload.h"

#define CORE PRELOAD_CORE ".0"	/* without the providers: only events that programs define */

static bool has_library(const char *dir, const char *below, const char *name, char *out,
			size_t size)
{
	return snprintf(out, size, "%s%s/%s", dir, below, name) < (int)size && !access(out, R_OK);
}

static bool has_agent(const char *dir, const char *below, char *out, size_t size)
{
	return has_library(dir, below, PRELOAD_PROVIDERS, out, size) ||
	       has_library(dir, below, CORE, out, size);
}

static bool has_installed(const char *dir, const char *below, char *out, size_t size)
{
	char apart[PATH_MAX];

	return (snprintf(apart, sizeof(apart), "%s/tracefuse", below) < (int)sizeof(apart) &&
		has_library(dir, apart, PRELOAD_PROVIDERS, out, size)) ||
	       has_agent(dir, below, out, size);
}

/* Where this program is: the agent of BUILD/src/cli/tracefuse is in BUILD/src/agent. */
static bool executable_dir(char exe[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", exe, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return false;
	exe[n] = 0;
	slash = strrchr(exe, '/');
	if (slash)
		*slash = 0;
	return slash;
}

static bool beside_executable(char *out, size_t size)
{
	char exe[PATH_MAX];

	if (!executable_dir(exe))
		return false;
	return has_agent(exe, "/../agent/providers", out, size) ||
	       has_agent(exe, "/../agent", out, size) ||
	       has_installed(exe, "/../" TRACEFUSE_LIBDIR_BELOW, out, size);
}

static bool find_agent(char *out, size_t size)
{
	const char *dir = getenv("TRACEFUSE_LIBDIR");
	char path[PATH_MAX];

	if (dir && *dir ? !has_agent(dir, "", path, sizeof(path))
			: !beside_executable(path, sizeof(path)) &&
				  !has_installed(TRACEFUSE_LIBDIR, "", path, sizeof(path))) {
		message_error("run: there is no %s in %s", PRELOAD_PROVIDERS,
			      dir && *dir ? dir : TRACEFUSE_LIBDIR);
		return false;
	}
	if (!realpath(path, out) || strpbrk(out, " :")) {
		message_error("run: %s cannot be preloaded: its path has a blank or a colon", path);
		return false;
	}
	return true;
}

/* The same places; a process that runs has no use for interposers. */
static bool has_core(char *out, size_t size)
{
	const char *dir = getenv("TRACEFUSE_LIBDIR");
	char exe[PATH_MAX];

	if (dir && *dir)
		return has_library(dir, "", CORE, out, size);
	return (executable_dir(exe) &&
		(has_library(exe, "/../agent", CORE, out, size) ||
		 has_library(exe, "/../" TRACEFUSE_LIBDIR_BELOW, CORE, out, size))) ||
	       has_library(TRACEFUSE_LIBDIR, "", CORE, out, size);
}

char *run_core(void)
{
	char path[PATH_MAX];

	return has_core(path, sizeof(path)) ? realpath(path, NULL) : NULL;
}

/* The length of the sanitizers' libraries at the start of the list, with their separators. */
static size_t sanitizers(const char *list)
{
	char word[PATH_MAX];
	size_t at = 0, n;

	for (;;) {
		n = strcspn(list + at, " :");
		if (n >= sizeof(word))
			return at;
		memcpy(word, list + at, n);
		word[n] = 0;
		if (!n || !program_is_sanitizer(word))
			return at;
		at += n;
		at += strspn(list + at, " :");
	}
}

/*
 * Copies the list without agents, with a colon before each word. An outer `tracefuse run` has put
 * its agent there, and two agents in one program would both record. NULL: no memory.
 */
static char *without_ours(const char *list)
{
	char *out = calloc(1, strlen(list) + 2), *at = out;
	size_t len;

	for (list += strspn(list, " :"); out && *list; list += len + strspn(list + len, " :")) {
		len = strcspn(list, " :");
		if (preload_is_agent(list, len))
			continue;
		*at++ = ':';
		at = mempcpy(at, list, len);
	}
	return out;
}

char *run_preload(const char *old)
{
	char agent[PATH_MAX], *out = NULL, *others;
	size_t first;
	int n = -1;

	if (!find_agent(agent, sizeof(agent)))
		return NULL;
	if (!old)
		old = "";
	first = sanitizers(old);
	others = without_ours(old + first);
	if (others)
		n = asprintf(&out, "%.*s%s%s%s", (int)first, old,
			     first && !strchr(" :", old[first - 1]) ? ":" : "", agent, others);
	free(others);
	if (n < 0)
		message_error("out of memory");
	return n < 0 ? NULL : out;
}
