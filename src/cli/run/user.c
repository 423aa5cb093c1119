/* SPDX-License-Identifier: MIT */
/*
 * user.c - `tracefuse live --session USER:NAME`: root lends an instance of the kernel, and becomes
 * the user before anything is read or made for the session
 *
 * The directory of the session, the setup scripts and the files of results are the user's, who may
 * have put links in their places.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/run/run.h"
#include "server/server.h"
#include "sources/live/live.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/*
 * What root has open is not the user's, who may take descriptors from a process of his, and whose
 * COMMAND would inherit them. A kernel before 5.9 has no close_range().
 */
static void user_close_others(void)
{
	int most;

	if (!syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0))
		return;
	most = (int)sysconf(_SC_OPEN_MAX);
	for (int fd = STDERR_FILENO + 1; fd < most; fd++)
		close(fd);
}

/* As a login of the user has it; without one, sessions lie in /dev/shm. */
static void user_set_places(const struct passwd *pw)
{
	char dir[64];
	struct stat st;

	setenv("HOME", pw->pw_dir, 1);
	setenv("USER", pw->pw_name, 1);
	setenv("LOGNAME", pw->pw_name, 1);
	snprintf(dir, sizeof(dir), "/run/user/%u", (unsigned int)pw->pw_uid);
	if (!lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == pw->pw_uid)
		setenv("XDG_RUNTIME_DIR", dir, 1);
	else
		unsetenv("XDG_RUNTIME_DIR");
}

/* With some securebits (no_setuid_fixup) they stay when the uid changes. */
static int user_drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return (int)syscall(SYS_capset, &head, none);
}

static int user_become(const struct passwd *pw)
{
	if (initgroups(pw->pw_name, pw->pw_gid) || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) || user_drop_capabilities())
		return -errno;
	/* The processes of the user find this one as one of their own. It has no rights left. */
	prctl(PR_SET_DUMPABLE, 1);
	user_set_places(pw);
	return 0;
}

static int user_find(const char *name, const struct command *cmd, const struct passwd **out)
{
	if (geteuid())
		return message_error("%s: --session USER:NAME is for root, who lends the kernel's "
				     "events to a user", cmd->name);
	errno = 0;
	*out = getpwnam(name);
	if (*out)
		return COMMAND_DONE;
	return message_error("%s: user %s: %s", cmd->name, name,
			     errno ? strerror(errno) : "there is no such user");
}

char *run_user_split(struct run *r)
{
	const char *colon = r->asked.session_name ? strchr(r->asked.session_name, ':') : NULL;
	char *user = colon ? strndup(r->asked.session_name, (size_t)(colon - r->asked.session_name))
			   : NULL;

	if (user)
		r->asked.session_name = colon + 1;
	return user;
}

int run_user_serve(const char *user, const struct command *cmd)
{
	const struct passwd *pw;
	char why[256] = "";
	int fds[LIVE_LENT], status = user_find(user, cmd, &pw), ret;

	if (status || !pw->pw_uid)
		return status;	/* root serves itself */
	user_close_others();
	ret = live_lend(pw->pw_uid, pw->pw_gid, fds, why, sizeof(why));
	if (ret)
		return message_error("%s: %s", cmd->name, why);
	for (int i = 0; i < LIVE_LENT; i++)
		server_keep(fds[i]);
	ret = user_become(pw);
	return ret ? message_error("%s: user %s: %s", cmd->name, user, strerror(-ret))
		   : COMMAND_DONE;
}
