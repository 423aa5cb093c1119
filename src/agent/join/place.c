/* SPDX-License-Identifier: MIT */
/*
 * place.c - where the session is, and whether this program may join it
 *
 * The config region decides what each hit does, so a process that writes there
 * controls the program. The name of a session in the environment is not trusted:
 * with sudo -E, in a cron job and in a helper with more rights, the environment is
 * another user's.
 *
 * J1  The session belongs to the program's own user: real and effective user are
 *     the same. This holds for root, too.
 * J2  The directory, its files and the directory above have this owner, and no
 *     other user may enter or read them. A file has one name. They are on a file
 *     system in memory: no user can mount one with another user's files.
 * J3  Everything is checked by descriptor, and opened below it. So it does not
 *     matter who may rename directories further up. A process with one descriptor
 *     opens the files by their paths; then each of them must be in memory itself.
 * J4  The server that answers has the same user (request.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include "agent/state.h"
#include "agent/syscall.h"

#define TMPFS	0x01021994
#define RAMFS	0x858458f6

static bool dir_join(const char *base, const char *middle, const char *name)
{
	size_t a = strlen(base), b = strlen(middle), c = strlen(name);

	if (a + b + c + 1 > sizeof(agent.dir))
		return false;
	memcpy(agent.dir, base, a);
	memcpy(agent.dir + a, middle, b);
	memcpy(agent.dir + a + b, name, c + 1);
	return true;
}

/* J1, J2 */
static bool is_own(const struct stat *st, unsigned int type)
{
	return (st->st_mode & S_IFMT) == type && st->st_uid == agent.owner && !(st->st_mode & 077);
}

static bool in_memory(int dir)
{
	struct statfs fs;

	return !agent_syscall(SYS_fstatfs, dir, &fs) &&
	       (fs.f_type == TMPFS || (unsigned long)fs.f_type == RAMFS);
}

static bool is_own_dir(int dir, const char *name)
{
	struct stat st;

	return !agent_syscall(SYS_newfstatat, dir, name, &st,
			      AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) &&
	       is_own(&st, S_IFDIR);
}

/* J3: opens agent.dir. -> a descriptor, or -errno */
static __attribute__((cold)) int dir_open(void)
{
	long dir = agent_syscall(SYS_openat, AT_FDCWD, agent.dir,
				 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = 0;

	if (dir < 0)
		return (int)dir;
	if (!is_own_dir((int)dir, "") || !is_own_dir((int)dir, ".."))
		err = -EACCES;
	else if (!in_memory((int)dir))
		err = -ENOTSUP;
	if (!err)
		return (int)dir;
	agent_syscall(SYS_close, dir);
	return err;
}

/* /dev/shm/tracefuse-UID/NAME */
static int dir_open_shared(const char *name)
{
	char middle[64] = "/dev/shm/tracefuse-", digits[12];
	unsigned long uid = agent.owner;
	size_t nr = sizeof(digits);

	digits[--nr] = 0;
	do
		digits[--nr] = (char)('0' + uid % 10);
	while ((uid /= 10));
	strcat(strcat(middle, digits + nr), "/");
	return dir_join(middle, "", name) ? dir_open() : -ENAMETOOLONG;
}

/* J1. At load the kernel has compared the users: AT_SECURE. */
static bool is_one_user(void)
{
	agent.owner = (uint32_t)agent_syscall(SYS_geteuid);
	return !agent.late || (uint32_t)agent_syscall(SYS_getuid) == agent.owner;
}

__attribute__((cold)) int place_open(const char *name, const char *runtime_dir)
{
	int dir;

	if (!is_one_user())
		return -EACCES;
	if (name[0] == '/')
		return dir_join(name, "", "") ? dir_open() : -ENAMETOOLONG;
	if (!name[0] || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	if (runtime_dir && runtime_dir[0] == '/' && dir_join(runtime_dir, "/tracefuse/", name)) {
		dir = dir_open();
		/* Without the directory there is no server there, either. */
		if (dir != -ENOENT && dir != -ENOTDIR)
			return dir;
	}
	return dir_open_shared(name);
}

/* J3: the process has one descriptor for both. */
static __attribute__((cold)) long open_by_path(int *dir, const char *name, int flags)
{
	char path[AGENT_PATH + 16];

	if (*dir >= 0)
		agent_syscall(SYS_close, *dir);
	*dir = -1;
	strcat(strcat(strcpy(path, agent.dir), "/"), name);
	return agent_syscall(SYS_openat, AT_FDCWD, path, flags);
}

__attribute__((cold)) int place_open_file(int *dir, const char *name, int flags, uint64_t *size)
{
	long fd = -EMFILE;
	struct stat st;

	flags |= O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	if (*dir >= 0)
		fd = agent_syscall(SYS_openat, *dir, name, flags);
	if (fd == -EMFILE)
		fd = open_by_path(dir, name, flags);
	if (fd < 0)
		return (int)fd;
	if (!agent_syscall(SYS_fstat, fd, &st) && is_own(&st, S_IFREG) && st.st_nlink <= 1 &&
	    (*dir >= 0 || in_memory((int)fd))) {
		*size = (uint64_t)st.st_size;
		return (int)fd;
	}
	agent_syscall(SYS_close, fd);
	return -EACCES;
}

/* Whether this is a child of vfork(), with its parent's memory. */
static bool is_lent(void)
{
	const struct agent_thread *t = agent_thread_known();

	return t && t->no_rseq;
}

/* Whether the next program can find the session, after exec, as place_open() would. */
enum untraced agent_exec_reach(bool is_new)
{
	uint32_t real, effective;
	struct stat st;

	/* Pairs with the release in attach_start(). */
	if (atomic_load_explicit(&agent.state, memory_order_acquire) != AGENT_ON)
		return UNTRACED_REASONS;
	if (agent_start_forbidden())
		return is_new || is_lent() ||
				       /* Relaxed: see agent_restricted(). */
				       !atomic_load_explicit(&agent.here->refused,
							     memory_order_relaxed)
			       ? UNTRACED_SANDBOX
			       : UNTRACED_REASONS;
	if (agent_filtered() || agent.asks_not)
		return UNTRACED_REASONS;
	real = (uint32_t)agent_syscall(SYS_getuid);
	effective = (uint32_t)agent_syscall(SYS_geteuid);
	if (real == effective &&
	    !agent_syscall(SYS_newfstatat, AT_FDCWD, agent.dir, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_uid == effective)
		return UNTRACED_REASONS;
	return real == agent.owner && effective == agent.owner ? UNTRACED_ROOT : UNTRACED_USER;
}

void agent_untraced(enum untraced why, int nr)
{
	struct data_header *d = (struct data_header *)agent.plane.data;

	/* Pairs with the release in attach_start(). */
	if (why < UNTRACED_REASONS &&
	    atomic_load_explicit(&agent.state, memory_order_acquire) == AGENT_ON)
		/* Relaxed: a count. */
		atomic_fetch_add_explicit(&d->losses.untraced[why], (uint64_t)(int64_t)nr,
					  memory_order_relaxed);
}
