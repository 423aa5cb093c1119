/* SPDX-License-Identifier: MIT */
/*
 * provider_syscalls.c - calls each function that is a system call, most of them with arguments that
 * the kernel refuses
 *
 *   show [N]	prints what they return; N names the file that is used
 *   mark	prints nothing; alarm(4242) before and after
 *   io N M	N times read(), M times write(); prints what syscr and syscw grew by
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acct.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#define BAD "/nonexistent/x"
#define T(call)									\
	do {									\
		long result;							\
										\
		errno = 0;							\
		result = (long)(call);						\
		if (show)							\
			printf("%s: %ld %d\n", #call, result, errno);		\
	} while (0)
/* For calls whose result differs each time, or that have none. */
#define X(call)									\
	do {									\
		errno = 0;							\
		(void)(call);							\
		if (show)							\
			printf("%s: %d\n", #call, errno);			\
	} while (0)

extern int __open_2(const char *, int), __openat_2(int, const char *, int);
extern ssize_t __read_chk(int, void *, size_t, size_t),
	__pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __recv_chk(int, void *, size_t, size_t, int);
extern ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
extern ssize_t __readlink_chk(const char *, char *, size_t, size_t);
extern ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);
extern int __poll_chk(struct pollfd *, nfds_t, int, size_t);
extern int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
extern int __getgroups_chk(int, gid_t *, size_t);
extern char *__getcwd_chk(char *, size_t, size_t);
extern int __xstat(int, const char *, struct stat *);
extern int __lxstat(int, const char *, struct stat *);
extern int __fxstat(int, int, struct stat *);
extern int __fxstatat(int, int, const char *, struct stat *, int);
extern int capget(void *, void *), capset(void *, const void *),
	pivot_root(const char *, const char *);
extern int arch_prctl(int, unsigned long);
extern int delete_module(const char *, int);
extern int init_module(void *, unsigned long, const char *);
extern int sigblock(int), sigsetmask(int);

static int show = 1;
static char buf[4096], path[64];
static char *volatile wild = (char *)8;	/* nothing is there */

static void opens(void)
{
	T(open(BAD, O_RDONLY));
	T(open64(BAD, O_RDONLY));
	T(__open_2(BAD, O_RDONLY));
	T(openat(AT_FDCWD, BAD, O_RDWR | O_CREAT, 0640));
	T(__openat_2(AT_FDCWD, BAD, 0));
	T(creat(BAD, 0644));
	T(open(path, O_RDWR | O_CREAT | O_EXCL, 0600));
}

static void file_stats(int fd)
{
	struct stat st;
	struct statfs sf;
	struct statx sx;

	T(stat(path, (struct stat *)wild));
	X(stat(path, &st));
	X(lstat(path, &st));
	X(fstat(fd, &st));
	T(fstat(0x7fff, &st));
	X(fstatat(AT_FDCWD, BAD, &st, AT_SYMLINK_NOFOLLOW));
	T(__xstat(1, BAD, &st));
	T(__lxstat(1, BAD, &st));
	T(__fxstat(1, 99, &st));
	T(__fxstatat(1, 99, "x", &st, 0));
	T(statx(99, "x", 0, STATX_ALL, &sx));
	T(statfs(BAD, &sf));
	T(fstatfs(99, &sf));
}

static void paths(int fd)
{
	T(truncate(BAD, 5));
	T(ftruncate(fd, 1l << 33));
	T(access(BAD, R_OK));
	T(access("/", R_OK));
	T(chmod(BAD, 0777));
	T(fchmodat(99, "x", 0777, 0));
	T(chown(BAD, -1, 5));
	T(lchown(BAD, 5, -1));
	T(fchownat(99, "x", 5, 6, AT_SYMLINK_NOFOLLOW));
	T(link(BAD, BAD));
	T(linkat(99, "x", 98, "x", 0));
	T(symlink("a", BAD));
	T(symlinkat("a", 99, "b"));
	T(readlink(BAD, buf, 10));
	T(readlink("/proc/self/exe", buf, 1));
	T(__readlink_chk(BAD, buf, 10, 4096));
	T(readlinkat(99, "x", buf, 10));
	T(__readlinkat_chk(99, "x", buf, 10, 4096));
	T(rename(BAD, BAD));
	T(renameat(99, "x", 98, "y"));
	T(renameat2(99, "x", 98, "y", RENAME_NOREPLACE));
}

static void directories(void)
{
	T(unlink(BAD));
	T(unlinkat(99, "x", AT_REMOVEDIR));
	T(rmdir(BAD));
	T(mkdir(BAD, 0755));
	T(mkdirat(99, "x", 0755));
	T(mknod(BAD, S_IFCHR | 0600, 0x103));
	T(mknodat(99, "x", S_IFCHR | 0600, 0x103));
	T(mkfifo(BAD, 0644));
	T(mkfifoat(99, "x", 0644));
	T(chdir(BAD));
	T(fchdir(99));
	T(chroot(BAD));
}

static void times_and_attributes(void)
{
	struct timespec ts[2] = { { 1, 0 }, { 2, 0 } };
	struct timeval tv[2] = { { 1, 0 }, { 2, 0 } };
	struct utimbuf ut = { 1, 2 };

	T(utime(BAD, &ut));
	T(utimes(BAD, tv));
	T(futimesat(99, "x", tv));
	T(utimensat(99, "x", ts, AT_SYMLINK_NOFOLLOW));
	T(futimens(99, ts));
	T(setxattr(BAD, "user.a", "b", 1, XATTR_CREATE));
	T(lsetxattr(BAD, "user.a", "b", 1, 0));
	T(fsetxattr(99, "user.a", "b", 1, 0));
	T(getxattr(BAD, "user.a", buf, 10));
	T(lgetxattr(BAD, "user.a", buf, 10));
	T(fgetxattr(99, "user.a", buf, 10));
	T(listxattr(BAD, buf, 10));
	T(llistxattr(BAD, buf, 10));
	T(flistxattr(99, buf, 10));
	T(removexattr(BAD, "user.a"));
	T(lremovexattr(BAD, "user.a"));
	T(fremovexattr(99, "user.a"));
}

static void handles(void)
{
	T(name_to_handle_at(99, "x", (void *)buf, (int *)(buf + 100), 0));
	T(open_by_handle_at(99, (void *)wild, 0));
	T(inotify_init());
	T(inotify_init1(IN_CLOEXEC));
	T(inotify_add_watch(99, BAD, IN_MODIFY));
	T(inotify_rm_watch(99, 3));
	T(fanotify_init(~0u, 0));
	T(fanotify_mark(99, 1, 2, 98, BAD));
	T(getcwd(buf, 1));
	T(getcwd(buf, sizeof(buf)) == buf);
	T(__getcwd_chk(buf, sizeof(buf), sizeof(buf)) == buf);
}

static void reads_and_writes(int fd)
{
	T(write(fd, "hello", 5));
	T(pwrite(fd, "abc", 3, 1l << 32));
	T(pwrite64(fd, "x", 1, 9));
	T(lseek(fd, 0, SEEK_SET));
	T(read(fd, buf, 3));
	T(__read_chk(fd, buf, 1, 5));
	T(pread(fd, buf, 10, 2));
	T(__pread_chk(fd, buf, 10, 2, 20));
	T(read(99, buf, 1));
}

static void vectors(int fd)
{
	struct iovec v[2] = { { buf, 1 }, { buf + 9, 2 } };

	T(readv(fd, v, 2));
	T(writev(fd, v, 2));
	T(preadv(fd, v, 2, 1));
	T(pwritev(fd, v, 2, 1));
	T(preadv2(fd, v, 2, 1, 0));
	T(pwritev2(fd, v, 2, 1, 0));
	T(preadv2(fd, v, 2, -1, 0));
	T(vmsplice(99, v, 2, 1));
	T(process_vm_readv(-5, v, 1, v, 1, 0));
	T(process_vm_writev(-5, v, 1, v, 1, 0));
	T(process_madvise(99, v, 2, MADV_COLD, 0));
}

static void places(int fd)
{
	T(lseek64(fd, 1l << 40, SEEK_SET));
	T(lseek(99, 0, 0));
	T(fchmod(99, 0600));
	T(fchown(99, 1, 2));
	T(umask(022));
	T(umask(027));
}

static void syncs(void)
{
	T(getdents64(99, buf, 100));
	X(sync());
	T(syncfs(99));
	T(fsync(99));
	T(fdatasync(99));
	T(sync_file_range(99, 1, 2, 3));
	T(fallocate(99, 1, 2, 3));
	T(posix_fadvise(99, 1, 2, POSIX_FADV_DONTNEED));
	T(readahead(99, 1, 2));
}

static void controls(int fd)
{
	T(flock(99, LOCK_EX));
	T(fcntl(fd, F_GETFL));
	T(fcntl(fd, F_SETFD, 1));
	T(fcntl(99, F_DUPFD, 10));
	T(fcntl64(99, F_SETLK, buf));
	T(ioctl(fd, FIONREAD, buf));
	T(ioctl(99, TIOCGWINSZ, buf));
}

static void copies(int fd, int fd2)
{
	T(dup(99));
	T(dup2(fd, fd2));
	T(dup2(99, 98));
	T(dup3(fd, fd2, O_CLOEXEC));
}

static void pipes(void)
{
	int p[2];

	T(pipe(p));
	T(pipe((int *)wild));
	T(pipe2(p, O_CLOEXEC));
	T(pipe2(p, -1));
	T(sendfile(99, 98, NULL, 7));
	T(splice(99, NULL, 98, NULL, 5, 1));
	T(tee(99, 98, 5, 1));
	T(copy_file_range(99, NULL, 98, NULL, 5, 0));
	T(memfd_create("a", MFD_CLOEXEC));
}

static void files(void)
{
	int fd, fd2;

	opens();
	fd = open(path, O_RDWR);
	file_stats(fd);
	paths(fd);
	directories();
	times_and_attributes();
	handles();
	reads_and_writes(fd);
	vectors(fd);
	places(fd);
	syncs();
	controls(fd);
	fd2 = dup(fd);
	copies(fd, fd2);
	pipes();
	T(close(fd2));
	T(close(99));
	T(close_range(200, 300, 0));
	X(closefrom(200));
	close(fd);
	T(unlink(path));
}

static void waiting(void)
{
	struct pollfd pf = { .fd = 99, .events = POLLIN };
	struct timespec ts = { 0, 1000 };
	struct timeval tv = { 0, 10 };
	sigset_t s;
	struct epoll_event ev;
	fd_set fds;
	struct itimerspec it = { 0 };

	sigemptyset(&s); FD_ZERO(&fds);
	T(poll(&pf, 1, 0));
	T(__poll_chk(&pf, 1, 0, sizeof(pf)));
	T(ppoll(&pf, 1, &ts, &s));
	T(__ppoll_chk(&pf, 1, &ts, NULL, sizeof(pf)));
	T(select(1, &fds, NULL, NULL, &tv));
	T(pselect(1, &fds, NULL, NULL, &ts, &s));
	T(epoll_create(1));
	T(epoll_create1(EPOLL_CLOEXEC));
	T(epoll_ctl(99, EPOLL_CTL_ADD, 1, &ev));
	T(epoll_wait(99, &ev, 1, 5));
	T(epoll_pwait(99, &ev, 1, 5, &s));
	T(epoll_pwait2(99, &ev, 1, &ts, &s));
	T(eventfd(3, EFD_CLOEXEC));
	T(signalfd(-1, &s, SFD_CLOEXEC));
	T(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	T(timerfd_settime(99, 0, &it, NULL));
	T(timerfd_gettime(99, &it));
}

static void sockets(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = BAD };
	socklen_t l = sizeof(a);
	int p[2];
	struct msghdr m = { 0 };
	struct mmsghdr mm = { 0 };
	struct timespec ts = { 0, 1 };
	int v = 1;
	struct sockaddr *sa = (void *)&a;

	T(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	T(socketpair(AF_UNIX, SOCK_STREAM, 0, p));
	T(bind(99, sa, l));
	T(listen(99, 5));
	T(accept(99, sa, &l));
	T(accept4(99, sa, &l, SOCK_CLOEXEC));
	T(connect(p[0], sa, l));
	T(getsockname(99, sa, &l));
	T(getpeername(99, sa, &l));
	T(getsockopt(p[0], SOL_SOCKET, SO_TYPE, &v, &l));
	T(setsockopt(99, SOL_SOCKET, SO_REUSEADDR, &v, 4));
	T(shutdown(99, SHUT_RD));
	T(send(p[0], "abcdef", 6, MSG_DONTWAIT));
	T(recv(p[1], buf, 2, 0));
	T(__recv_chk(p[1], buf, 1, 10, MSG_DONTWAIT));
	T(recvfrom(p[1], buf, 1, 0, NULL, NULL));
	T(__recvfrom_chk(p[1], buf, 1, 10, MSG_DONTWAIT, sa, &l));
	T(sendto(99, "a", 1, 0, sa, l));
	T(sendmsg(99, &m, 0));
	T(recvmsg(99, &m, 0));
	T(sendmmsg(99, &mm, 1, 0));
	T(recvmmsg(99, &mm, 1, 0, &ts));
}

static void memory(void)
{
	char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sembuf sb = { 0, 0, IPC_NOWAIT };
	struct timespec ts = { 0, 1 };

	T(mprotect(m, 4096, PROT_READ));
	T(mprotect((void *)1, 4096, 0));
	T(madvise(m, 4096, MADV_NORMAL));
	T(posix_madvise((void *)1, 4096, POSIX_MADV_NORMAL));
	T(process_mrelease(99, 0));
	T(msync((void *)1, 5, 0));
	T(mincore((void *)1, 5, (void *)buf));
	T(mlock(m, 1));
	T(mlock2(m, 1, 0));
	T(munlock(m, 1));
	T(mlockall(0x100));
	T(munlockall());
	T(remap_file_pages((void *)1, 2, 3, 4, 5));
	T(pkey_alloc(~0u, ~0u));
	T(pkey_free(77));
	T(pkey_mprotect((void *)1, 5, 0, 77));
	T(shmget(IPC_PRIVATE, 0, 0));
	T(shmat(0x7fffffff, NULL, 0));
	T(shmdt((void *)1));
	T(shmctl(0x7fffffff, IPC_STAT, (void *)wild));
	T(semget(IPC_PRIVATE, -1, 0));
	T(semop(0x7fffffff, &sb, 1));
	T(semtimedop(0x7fffffff, &sb, 1, &ts));
	T(semctl(0x7fffffff, 0, GETVAL));
	T(msgget(0x12345, 0));
	T(msgsnd(0x7fffffff, buf, 1, 0));
	T(msgrcv(0x7fffffff, buf, 1, 2, IPC_NOWAIT));
	T(msgctl(0x7fffffff, IPC_RMID, NULL));
	T(mq_open("/tracefuse-none", O_RDONLY));
	T(mq_unlink("/tracefuse-none"));
	T(mq_notify(99, NULL));
	T(mq_setattr(99, (void *)wild, NULL));
	T(mq_getattr(99, (void *)buf));
	T(mq_send(99, "a", 1, 2));
	T(mq_timedsend(99, "a", 1, 2, &ts));
	T(mq_receive(99, buf, 1, NULL));
	T(mq_timedreceive(99, buf, 1, NULL, &ts));
}

static void processes_and_owners(void)
{
	uid_t u[3];
	gid_t g[3];

	X(getpid());
	X(getppid());
	X(getpgid(0));
	X(getpgrp());
	T(setpgid(-1, 5));
	X(getsid(0));
	X(getuid());
	X(geteuid());
	X(getgid());
	X(getegid());
	X(setuid(getuid()));
	X(setgid(getgid()));
	X(seteuid(geteuid()));
	X(setegid(getegid()));
	X(setreuid(-1, -1));
	X(setregid(-1, -1));
	X(getresuid(u, u + 1, u + 2));
	X(getresgid(g, g + 1, g + 2));
	X(setresuid(-1, -1, -1));
	X(setresgid(-1, -1, -1));
	X(setfsuid(-1));
	X(setfsgid(-1));
}

static void groups(void)
{
	gid_t g[3];

	X(getgroups(0, g));
	X(__getgroups_chk(0, g, sizeof(g)));
	T(setgroups(1 << 20, g));
}

static void waits(void)
{
	int st;
	struct rusage ru;
	siginfo_t si;

	T(wait(&st));
	T(waitpid(-1, &st, WNOHANG));
	T(wait3(&st, WNOHANG, &ru));
	T(wait4(-1, &st, 0, &ru));
	T(waitid(P_ALL, 0, &si, WEXITED));
}

static void execs(void)
{
	T(execve(BAD, (char *[]){ "x", NULL }, environ));
	T(execveat(99, "x", (char *[]){ "x", NULL }, environ, 0));
	T(fexecve(99, (char *[]){ "x", NULL }, environ));
	T(execv(BAD, (char *[]){ "x", NULL }));
	T(execvp(BAD, (char *[]){ "x", NULL }));
	T(execvpe(BAD, (char *[]){ "x", NULL }, environ));
	T(execl(BAD, "a", "b", NULL));
	T(execlp(BAD, "a", NULL));
	T(execle(BAD, "a", NULL, environ));
}

static void limits(void)
{
	struct rlimit rl;
	struct rusage ru;
	struct tms tms;

	T(pidfd_open(-1, 0));
	T(pidfd_getfd(99, 1, 0));
	T(pidfd_send_signal(99, 0, NULL, 0));
	T(getrlimit(RLIMIT_CORE, &rl));
	T(setrlimit(99, &rl));
	T(prlimit(-1, 7, NULL, &rl));
	T(getrusage(RUSAGE_SELF, &ru));
	X(times(&tms));
	T(setpriority(99, 0, 5));
	X(getpriority(PRIO_PROCESS, 0));
	T(getpriority(99, 0));
	T(unshare(1));
	T(setns(99, 0));
}

static void rights(void)
{
	X(personality(0xffffffff));
	T(ptrace(PTRACE_CONT, -5, 0, 0));
	T(capget((void *)wild, NULL));
	T(capset((void *)wild, NULL));
}

static void forked(void)
{
	int st;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(3);
	T(waitpid(pid, &st, 0) == pid);
	T(st);
}

static void who(void)
{
	processes_and_owners();
	groups();
	waits();
	execs();
	limits();
	rights();
	forked();
}

static void sched_time(void)
{
	struct sched_param sp = { 0 };
	struct timespec ts = { 0, 1000 };
	cpu_set_t cs;
	struct timex tx = { 0 };
	struct itimerval iv = { 0 };
	timer_t tm;
	struct itimerspec is = { 0 };

	T(sched_yield());
	T(sched_setparam(-1, &sp));
	T(sched_getparam(0, &sp));
	T(sched_setscheduler(-1, 0, &sp));
	T(sched_getscheduler(0));
	T(sched_get_priority_max(SCHED_FIFO));
	T(sched_get_priority_min(SCHED_FIFO));
	T(sched_rr_get_interval(-1, &ts));
	T(sched_setaffinity(-1, sizeof(cs), &cs));
	T(sched_getaffinity(-1, sizeof(cs), &cs));
	ts = (struct timespec){ 0, 1000 };
	T(nanosleep(&ts, NULL));
	T(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
	T(clock_nanosleep(77, 0, &ts, NULL));
	T(clock_settime(77, &ts));
	T(clock_adjtime(77, &tx));
	X(adjtimex(&tx));
	T(getitimer(ITIMER_REAL, &iv));
	T(setitimer(99, &iv, NULL));
	T(alarm(0));
	T(timer_create(99, NULL, &tm));
	T(timer_create(CLOCK_MONOTONIC, NULL, &tm));
	T(timer_settime(tm, 0, &is, NULL));
	T(timer_gettime(tm, &is));
	T(timer_getoverrun(tm));
	T(timer_delete(tm));
}

static void handler(int sig)
{
}

static void signals(void)
{
	sigset_t s, o;
	struct timespec ts = { 0, 1000 };
	siginfo_t si;
	int sig;
	stack_t ss;
	struct sigaction sa = { .sa_handler = handler };

	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	T(sigaction(SIGUSR1, &sa, NULL));
	T(sigprocmask(SIG_BLOCK, &s, &o));
	T(pthread_sigmask(SIG_BLOCK, &s, NULL));
	T(sigpending(&o));
	T(sigtimedwait(&s, &si, &ts));
	T(kill(getpid(), SIGUSR2));
	T(sigwait(&s, &sig));
	T(raise(SIGUSR2));
	T(sigwaitinfo(&s, &si));
	T(sigqueue(getpid(), SIGUSR2, (union sigval){ 0 }));
	T(sigwaitinfo(&s, NULL));
	T(pthread_kill(pthread_self(), SIGUSR1));
	T(pthread_kill(pthread_self(), 99));
	T(tgkill(getpid(), getpid(), SIGUSR1));
	T(killpg(0x3fffff, 0));
	T(kill(0x3fffff, 9));
	T(sigaltstack(NULL, &ss));
	T(raise(SIGUSR2));
	sigemptyset(&s);
	T(sigsuspend(&s) == -1 && errno == EINTR ? 1 : 2);
}

static void machine(void)
{
	struct utsname un;
	struct sysinfo si;

	T(uname(&un));
	T(sysinfo(&si));
	T(klogctl(99, NULL, 0));
	T(sethostname((void *)wild, 5));
	T(setdomainname((void *)wild, 5));
	T(mount(BAD, BAD, "x", 0, NULL));
	T(umount(BAD));
	T(umount2(BAD, MNT_DETACH));
	T(pivot_root(BAD, BAD));
	T(swapon(BAD, 0));
	T(swapoff(BAD));
	T(acct(BAD));
	T(quotactl(99, BAD, 5, NULL));
	T(iopl(99));
	T(ioperm(-1, 5, 0));
	T(arch_prctl(0x9999, 5));
	T(init_module((void *)wild, 5, ""));
	T(delete_module("tracefuse_none", 0));
	T(fsopen("nofs", ~0u));
	T(fsmount(99, ~0u, 0));
	T(fsconfig(99, 77, NULL, NULL, 0));
	T(fspick(99, "x", ~0u));
	T(move_mount(99, "x", 98, "y", ~0u));
	T(open_tree(99, "x", ~0u));
	T(mount_setattr(99, "x", ~0u, NULL, 5));
	X(getrandom(buf, 4, 0));
	T(getrandom(buf, 4, ~0u));
	T(syscall(SYS_getpriority, 99, 0));
	T(syscall(SYS_mincore, 1, 2, 3));
	T(syscall(SYS_futex, buf, 1, 5, NULL, NULL, 6));
	T(syscall(9999, 1, 2, 3));
	T(syscall(SYS_splice, 99, 0, 98, 0, 7, 9));
}

static uint64_t io_count(const char *what)
{
	char line[64];
	uint64_t n = 0;
	FILE *f = fopen("/proc/self/io", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			n = strtoull(line + strlen(what), NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/* Reading the file takes the same number of calls each time. */
static void io(int reads, int writes)
{
	uint64_t r0 = io_count("syscr:"), w0 = io_count("syscw:"),
		 overhead = io_count("syscr:") - r0;
	int fd = open("/dev/zero", O_RDWR);

	r0 = io_count("syscr:");
	for (int i = 0; i < reads; i++)
		if (read(fd, buf, 16) != 16)
			abort();
	for (int i = 0; i < writes; i++)
		if (write(fd, buf, 16) != 16)
			abort();
	printf("%lu %lu\n", (unsigned long)(io_count("syscr:") - r0 - overhead),
	       (unsigned long)(io_count("syscw:") - w0));
}

int main(int argc, char **argv)
{
	if (argc > 3) {
		io(atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	show = argc > 1 && !strcmp(argv[1], "show");
	snprintf(path, sizeof(path), "/tmp/tracefuse-syscalls-%d",
		 argc > 2 ? atoi(argv[2]) : (int)getpid());
	if (show)
		setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	signal(SIGUSR1, handler);
	signal(SIGUSR2, handler);
	X(alarm(4242));
	files();
	waiting();
	sockets();
	memory();
	who();
	sched_time();
	signals();
	machine();
	X(alarm(4242));
	return 0;
}
