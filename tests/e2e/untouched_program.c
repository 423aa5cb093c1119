/* SPDX-License-Identifier: MIT */
/*
 * untouched_program.c - a program that removes things that an agent could need; each mode prints
 * the same as untraced
 *
 * All modes make an event before and one after. If the agent still works, both are recorded.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <tracefuse/tracefuse.h>
#include "untouched_names.h"

TF_EVENT(untouched, step, (int, n));

static void *thread_step(void *arg)
{
	trace_step((int)(long)arg);
	free(malloc(100));
	return NULL;
}

static int in_thread(int n)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, thread_step, (void *)(long)n);

	if (!err)
		pthread_join(t, NULL);
	return err;
}

static void close_all(void)
{
	for (int fd = 3; fd < 65536; fd++)
		close(fd);
}

/* The descriptors that the program then opens have the expected numbers and contents. */
static int mode_close(void)
{
	int fds[8];

	close_all();
	for (int i = 0; i < 8; i++)
		fds[i] = open("/dev/null", O_RDWR);
	printf("descriptors %d to %d\n", fds[0], fds[7]);
	trace_step(2);
	in_thread(3);
	if (!fork()) {
		trace_step(4);
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; i < 8; i++)
		printf("%d", fcntl(fds[i], F_GETFD));
	printf("\n");
	return 0;
}

/* Every number below the limit is free for the program, even if it joined the session before. */
static void open_every_one(const char *when)
{
	int nr = 0, fd;

	while ((fd = dup(0)) >= 0)
		nr++;
	printf("%s: %d descriptors\n", when, nr);
	close_all();
}

static int mode_every_one(void)
{
	trace_step(2);
	open_every_one("first");
	for (int i = 0; i < 4; i++)
		in_thread(3);
	open_every_one("after threads");
	fflush(stdout);
	if (!fork()) {
		trace_step(4);
		open_every_one("in a child");
		exit(0);
	}
	wait(NULL);
	return 0;
}

static int mode_user(void)
{
	int failed = setgroups(0, NULL) || setgid(65534) || setuid(65534);

	printf("as nobody: %d\n", failed);
	trace_step(2);
	in_thread(3);
	if (!fork()) {
		trace_step(4);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

static int mode_root(void)
{
	printf("root changed: %d\n", chroot("/usr") || chdir("/"));
	close_all();
	trace_step(2);
	in_thread(3);
	if (!fork()) {
		trace_step(4);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

static int mode_limits(void)
{
	struct rlimit few = { 3, 3 }, memory = { 1 << 20, 1 << 20 };

	printf("limits: %d\n", setrlimit(RLIMIT_NOFILE, &few) | setrlimit(RLIMIT_AS, &memory));
	trace_step(2);
	printf("no file: %d\n", open("/dev/null", O_RDWR));
	printf("no memory: %d\n", malloc(64 << 20) == NULL);
	return 0;
}

/*
 * ---- Limits of memory, and locked memory: the session has some GiB that the program did not ask
 * for ----
 */

enum { MB = 1 << 20 };

static void print_limit(const char *who)
{
	struct rlimit a = { 0, 0 }, b = { 0, 0 }, c = { 0, 0 };
	int err = getrlimit(RLIMIT_AS, &a) | prlimit(getpid(), RLIMIT_AS, NULL, &b);

	err |= (int)syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &c);
	printf("%s: %d, %ld %ld, %ld %ld, %ld %ld\n", who, err, (long)a.rlim_cur, (long)a.rlim_max,
	       (long)b.rlim_cur, (long)b.rlim_max, (long)c.rlim_cur, (long)c.rlim_max);
}

static void print_room(void)
{
	void *fits = malloc(400ul * MB), *too_much = malloc(800ul * MB);

	printf("400 MB: %d, 800 MB: %d\n", fits != NULL, too_much != NULL);
	free(fits);
	free(too_much);
}

/* Each child has to attach. */
static void fork_often(void)
{
	int failed = 0, status;

	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid) {
			free(malloc(50 * MB));
			trace_step(3);
			_exit(!malloc(300ul * MB) || malloc(700ul * MB));
		}
		failed += pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	printf("children that failed: %d\n", failed);
}

static int mode_as_limit(void)
{
	struct rlimit r = { 600ul * MB, 700ul * MB }, old = { 1, 1 };

	print_limit("at first");
	printf("set: %d\n", setrlimit(RLIMIT_AS, &r));
	print_limit("set");
	print_room();
	trace_step(2);
	fork_often();
	r = (struct rlimit){ 300ul * MB + 17, 700ul * MB };
	printf("prlimit: %d", prlimit(0, RLIMIT_AS, &r, &old));
	printf(", was %ld %ld\n", (long)old.rlim_cur, (long)old.rlim_max);
	print_limit("lower");
	print_room();
	r.rlim_cur = 701ul * MB;
	errno = 0;
	printf("above the hard one: %d", setrlimit(RLIMIT_AS, &r));
	printf(", %d\n", errno);
	r = (struct rlimit){ 650ul * MB, 700ul * MB };
	printf("syscall: %ld\n", syscall(SYS_prlimit64, 0, RLIMIT_AS, &r, NULL));
	printf("setrlimit: %ld\n", syscall(SYS_setrlimit, RLIMIT_AS, &r));
	print_limit("higher");
	return 0;
}

/* Runs with the limit that the program inherited. */
static int mode_as_inherited(void)
{
	print_limit("inherited");
	print_room();
	trace_step(2);
	fork_often();
	return 0;
}

static int as_exec(void)
{
	struct rlimit r = { 600ul * MB, 600ul * MB };

	printf("set: %d\n", setrlimit(RLIMIT_AS, &r));
	errno = 0;
	printf("none such: %d", execl("/none/such", "none", NULL));
	printf(", %d\n", errno);
	print_limit("after exec failed");
	print_room();
	execl("/proc/self/exe", "program", "as_inherited", NULL);
	return 1;
}

static int mode_as_exec(void)
{
	return as_exec();
}

/* The executed program may not raise its hard limit. */
static int mode_as_exec_user(void)
{
	prctl(PR_CAPBSET_DROP, 24 /* CAP_SYS_RESOURCE */, 0, 0, 0);
	if (!getenv("AS_EXEC_AGAIN")) {
		setenv("AS_EXEC_AGAIN", "1", 1);
		execl("/proc/self/exe", "program", "as_exec_user", NULL);
	}
	return as_exec();
}

static int proc_smaps = -1, session_file = -1;

static void open_files(void)
{
	const char *session = getenv("TRACEFUSE_SESSION"), *dir = getenv("XDG_RUNTIME_DIR");
	char path[4096];

	proc_smaps = open("/proc/self/smaps", O_RDONLY);
	snprintf(path, sizeof(path), "%s/tracefuse/%s/data", dir ? dir : "",
		 session ? session : "");
	session_file = session ? open(path, O_RDWR) : -1;
	if (session && session_file < 0)
		printf("no %s\n", path);
}

/* The resident part of locked mappings, in kB. */
static const char *memory_locked(void)
{
	static char text[1 << 20];
	ssize_t n, len = 0;
	long locked = 0;

	lseek(proc_smaps, 0, SEEK_SET);
	while (len < (ssize_t)sizeof(text) - 1 &&
	       (n = read(proc_smaps, text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += n;
	text[len] = 0;
	for (char *at = text; (at = strstr(at, "\nLocked:")); at++)
		locked += atol(at + 8);
	return !locked ? "none" : locked < 512 << 10 ? "some" : "far too much";
}

/* The resident part of the session's memory, if there is a session. */
static const char *memory_filled(void)
{
	struct stat st;

	return session_file >= 0 && (fstat(session_file, &st) || st.st_blocks > 512 << 11)
		       ? "far too much"
		       : "little";
}

static int resident(void *from, size_t size)
{
	uintptr_t at = ((uintptr_t)from + 4095) & -4096ul, end = ((uintptr_t)from + size) & -4096ul;
	unsigned char there[64] = { 0 };
	int all = 1;

	mincore((void *)at, end - at, there);
	for (size_t i = 0; i < (end - at) / 4096; i++)
		all &= there[i];
	return all;
}

static void try_lock(const char *name, int flags)
{
	char *before = malloc(120000), *after, *more;
	int r;

	errno = 0;
	r = flags < 0 ? (int)syscall(SYS_mlockall, -flags) : mlockall(flags);
	printf("%s: %d %d", name, r, errno);
	after = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	more = mmap(NULL, 16 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf(", in memory: %d, later: %d %d, locked %s, filled %s\n", resident(before, 120000),
	       after == MAP_FAILED ? -1 : resident(after, 16 * 4096),
	       more == MAP_FAILED ? -1 : resident(more, 16 * 4096),
	       memory_locked(), memory_filled());
	trace_step(2);
	/* `before` is not freed, because the next memory has to be new. */
}

static int try_locks(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TOP_PAD, 0);
	try_lock("future", MCL_FUTURE);
	printf("unlocked: %d\n", munlockall());
	try_lock("on fault", MCL_CURRENT | MCL_ONFAULT);
	try_lock("all on fault", MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
	try_lock("current", MCL_CURRENT);
	try_lock("all", MCL_CURRENT | MCL_FUTURE);
	try_lock("current again", MCL_CURRENT);
	try_lock("by its number", -(MCL_CURRENT | MCL_FUTURE));
	printf("unlocked: %d\n", munlockall());
	try_lock("nonsense", 64 | MCL_CURRENT);
	try_lock("only on fault", MCL_ONFAULT);
	try_lock("nothing", 0);
	return 0;
}

static int mode_lock(void)
{
	return try_locks();
}

static int mode_lock_any(void)
{
	struct rlimit r = { RLIM_INFINITY, RLIM_INFINITY }, few = { 64 * MB, RLIM_INFINITY };

	printf("limit: %d\n", setrlimit(RLIMIT_MEMLOCK, &r));
	try_locks();
	try_lock("all", MCL_CURRENT | MCL_FUTURE);
	printf("limit: %d\n", setrlimit(RLIMIT_MEMLOCK, &few));
	try_lock("nothing", 0);
	return 0;
}

/* Drops the right to lock any amount of memory, and sets the limit to `size`. */
static int lock_limited(size_t size)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	struct rlimit r = { size, size };

	setrlimit(RLIMIT_MEMLOCK, &r);
	syscall(SYS_capget, &head, data);
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	printf("rights: %ld\n", syscall(SYS_capset, &head, data));
	return try_locks();
}

static int mode_lock_some(void)
{
	return lock_limited(200 * MB);
}

static int mode_lock_little(void)
{
	return lock_limited(64 << 10);
}

/* /proc cannot be read, but the heap is found nevertheless. */
static int mode_lock_blind(void)
{
	printf("root changed: %d\n", chroot("/usr") || chdir("/"));
	return try_locks();
}

/* The session's memory is replaced by other memory, which must not be filled, either. */
static int mode_lock_truncated(void)
{
	printf("locked: %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	if (session_file >= 0 && ftruncate(session_file, 0))
		printf("not truncated\n");
	trace_step(2);
	free(malloc(100));
	printf("locked %s\n", memory_locked());
	return 0;
}

/* Attaches itself when all mapped memory is locked and filled already. */
static int mode_lock_late(void)
{
	int (*attach)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "tf_attach");

	printf("locked: %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	printf("attached: %d\n", attach ? attach("late") : -1);
	trace_step(2);
	printf("locked %s\n", memory_locked());
	return 0;
}

static int filter(unsigned int action, const int *calls, size_t nr, unsigned int otherwise)
{
	struct sock_filter code[64];
	unsigned short n = 0;
	struct sock_fprog prog;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < nr; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned int)calls[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	prog = (struct sock_fprog){ n, code };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static int mode_refuse(void)
{
	static const int calls[] = { SYS_membarrier, SYS_memfd_create, SYS_socket, SYS_connect };

	printf("filter: %d\n", filter(SECCOMP_RET_ERRNO | EPERM, calls, 4, SECCOMP_RET_ALLOW));
	trace_step(2);
	printf("thread: %d\n", in_thread(3));
	if (!fork()) {
		trace_step(4);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

static int with_a_child(void)
{
	int status = -1;

	trace_step(2);
	if (!fork()) {
		trace_step(4);
		free(malloc(100));
		_exit(0);
	}
	wait(&status);
	printf("child: %x\n", status);
	return 0;
}

/* A traced child in the sandbox would have to join the session. */
static int killed_for(const int *calls, size_t nr)
{
	printf("filter: %d\n", filter(SECCOMP_RET_KILL_PROCESS, calls, nr, SECCOMP_RET_ALLOW));
	return with_a_child();
}

/* The filter allows only the call of prctl() that asks for the name. */
static int mode_only_names(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_GET_NAME, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	printf("filter: %d\n", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
	return with_a_child();
}

static int mode_no_sockets(void)
{
	static const int calls[] = { SYS_socket, SYS_socketpair, SYS_connect };

	return killed_for(calls, 3);
}

static int mode_no_attach(void)
{
	static const int calls[] = { SYS_membarrier, SYS_getsockopt, SYS_openat };

	return killed_for(calls, 3);
}

/* The filter kills on any other call. */
static int mode_sandbox(void)
{
	static const int calls[] = {
		SYS_write,
		SYS_exit,
		SYS_exit_group,
		SYS_mmap,
		SYS_munmap,
		SYS_mprotect,
		SYS_brk,
		SYS_clone3,
		SYS_clone,
		SYS_rt_sigprocmask,
		SYS_rt_sigaction,
		SYS_set_robust_list,
		SYS_rseq,
		SYS_futex,
		SYS_madvise,
		SYS_getrandom,
		SYS_sched_getaffinity,
	};

	fflush(stdout);
	if (filter(SECCOMP_RET_ALLOW, calls, sizeof(calls) / sizeof(calls[0]),
		   SECCOMP_RET_KILL_PROCESS))
		return 1;
	trace_step(2);
	free(malloc(1000));
	if (in_thread(3))
		return 2;
	if (write(1, "in the sandbox\n", 15) != 15)
		return 3;
	_exit(5);
}

/* ---- A filter that passes calls to the program itself, which sees only its own calls ---- */

static volatile int trapped[64], nr_trapped;

static void on_trapped(int sig, siginfo_t *info, void *context)
{
	if (nr_trapped < 64)
		trapped[nr_trapped++] = info->si_syscall;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EPERM;
}

static void say_trapped(const char *what)
{
	printf("%s:", what);
	for (int i = 0; i < nr_trapped; i++)
		printf(" %d", trapped[i]);
	printf("\n");
	nr_trapped = 0;
}

static int mode_trap(void)
{
	static const int calls[] = { SYS_write, SYS_exit_group, SYS_rt_sigreturn, SYS_brk };
	struct sigaction sa = { .sa_sigaction = on_trapped, .sa_flags = SA_SIGINFO };
	pid_t pid;

	sigaction(SIGSYS, &sa, NULL);
	signal(SIGUSR1, SIG_IGN);
	if (filter(SECCOMP_RET_ALLOW, calls, sizeof(calls) / sizeof(calls[0]), SECCOMP_RET_TRAP))
		return 1;
	trace_step(2);
	say_trapped("an event");
	raise(SIGUSR1);
	say_trapped("raise");
	pthread_kill(pthread_self(), 0);
	say_trapped("pthread_kill");
	execl("/bin/true", "true", NULL);
	say_trapped("exec");
	posix_spawnp(&pid, "true", NULL, NULL, (char *[]){ "true", NULL }, environ);
	say_trapped("posix_spawnp");
	if (!vfork())
		_exit(1);
	say_trapped("vfork");
	if (!fork())
		_exit(1);
	say_trapped("fork");
	prlimit(getppid(), RLIMIT_AS, NULL, NULL);
	say_trapped("prlimit");
	return 0;
}

static int mode_strict(void)
{
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	trace_step(2);
	if (write(1, "strict\n", 7) != 7)
		return 3;
	syscall(SYS_exit, 6);
	return 7;
}

static int mode_daemon(void)
{
	int fds[2];
	char c;

	if (pipe(fds))
		return 1;
	if (!fork()) {
		close(fds[0]);
		if (dup2(fds[1], 9) != 9 || daemon(0, 0))
			_exit(1);
		trace_step(4);
		if (write(9, "d", 1) != 1)
			_exit(1);
		_exit(0);
	}
	close(fds[1]);
	printf("daemon: %zd\n", read(fds[0], &c, 1));
	trace_step(2);
	wait(NULL);
	return 0;
}

/* The program's own functions, not the agent's. */
static int mode_names(void)
{
	printf("names: %d %d %d\n", agent_mapped(), agent_enter(), agent_process());
	trace_step(2);
	return 0;
}

/*
 * Checks that errno, masks and dispositions are unchanged, and that nothing new is visible to the
 * program.
 */
static int mode_state(void)
{
	struct sigaction sa;
	sigset_t set;
	int handlers = 0;

	errno = 77;
	trace_step(2);
	printf("errno %d\n", errno);
	for (int sig = 1; sig < 65; sig++)
		if (!sigaction(sig, NULL, &sa) && sa.sa_handler != SIG_DFL &&
		    sa.sa_handler != SIG_IGN)
			handlers++;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	for (int sig = 1; sig < 65; sig++)
		handlers += 100 * sigismember(&set, sig);
	printf("handlers and blocked %d\n", handlers);
	printf("a descriptor %d\n", dup(0));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {
		{ "close", mode_close },
		{ "every_one", mode_every_one },
		{ "user", mode_user },
		{ "root", mode_root },
		{ "limits", mode_limits },
		{ "refuse", mode_refuse },
		{ "sandbox", mode_sandbox },
		{ "no_sockets", mode_no_sockets },
		{ "no_attach", mode_no_attach },
		{ "only_names", mode_only_names },
		{ "strict", mode_strict },
		{ "trap", mode_trap },
		{ "daemon", mode_daemon },
		{ "state", mode_state },
		{ "names", mode_names },
		{ "as_limit", mode_as_limit },
		{ "as_inherited", mode_as_inherited },
		{ "as_exec", mode_as_exec },
		{ "as_exec_user", mode_as_exec_user },
		{ "lock", mode_lock },
		{ "lock_any", mode_lock_any },
		{ "lock_some", mode_lock_some },
		{ "lock_little", mode_lock_little },
		{ "lock_blind", mode_lock_blind },
		{ "lock_late", mode_lock_late },
		{ "lock_truncated", mode_lock_truncated },
	};

	static char text[4096];

	setvbuf(stdout, text, _IOLBF, sizeof(text));
	if (argc == 2 && !strncmp(argv[1], "lock", 4))
		open_files();
	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]))
			continue;
		trace_step(1);
		return modes[i].run();
	}
	return 99;
}
