/* SPDX-License-Identifier: MIT */
/*
 * provider_signal.c - signals as a program sees them, which must be the same when it is traced
 *
 *   behaviour	prints what all functions around handlers say and do
 *   storm N	N signals of a 10 kHz timer; the handler and the main loop make system calls
 *   jump N	N handlers left by siglongjmp, on both kinds of stack
 *   mask	system calls with all signals blocked, and without
 *
 * The last three call getppid() outside of handlers and getpgrp() inside (mask: with all signals
 * blocked), and print how often.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

typedef void (*handler)(int);

static volatile int count, code, depth, outside;
static sigjmp_buf env;
static char alternate[65536];
static char *volatile seen;

static void plain(int sig)
{
	count++;
}

static void other(int sig)
{
	count += 100;
}

static void info(int sig, siginfo_t *si, void *context)
{
	count++;
	code = si->si_code;
}

static void stack(int sig)
{
	char here;

	seen = &here;
	count++;
}

static void jumper(int sig)
{
	count++;
	getpgrp();
	siglongjmp(env, 1);
}

static void nested(int sig)
{
	if (depth++ < 3)
		raise(sig);
	count++;
}

/* Gives the instruction that failed a valid address. */
static void fault(int sig, siginfo_t *si, void *context)
{
	code = si->si_code;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = (greg_t)&count;
}

static void mask_in_context(int sig, siginfo_t *si, void *context)
{
	sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGUSR2);
}

static const char *name_of(const struct sigaction *sa)
{
	handler h = sa->sa_handler;

	return h == plain		    ? "plain"
	       : h == other		    ? "other"
	       : h == (handler)(void *)info ? "info"
	       : h == jumper		    ? "jumper"
	       : h == nested		    ? "nested"
	       : h == SIG_DFL		    ? "default"
	       : h == SIG_IGN		    ? "ignored"
					    : "another";
}

static void show_of(int sig, const char *what)
{
	struct sigaction sa;
	int r;

	memset(&sa, 0xaa, sizeof(sa));
	r = sigaction(sig, NULL, &sa);
	printf("%s: %d %s flags %x mask %lx restorer %d\n", what, r, name_of(&sa),
	       (unsigned int)sa.sa_flags, *(unsigned long *)&sa.sa_mask, sa.sa_restorer != NULL);
}

static void show(const char *what)
{
	show_of(SIGUSR1, what);
}

static void show_mask(const char *what)
{
	sigset_t mask;

	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	printf("%s: blocked %lx\n", what, *(unsigned long *)&mask);
}

static void set(int sig, void *h, int flags, unsigned long mask)
{
	struct sigaction sa = { .sa_handler = (handler)h, .sa_flags = flags }, old;

	memcpy(&sa.sa_mask, &mask, sizeof(mask));
	printf("set: %d", sigaction(sig, &sa, &old));
	printf(" was %s flags %x\n", name_of(&old), (unsigned int)old.sa_flags);
}

static void actions(void)
{
	show("at first");
	set(SIGUSR1, plain, 0, 0);
	show("plain");
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
	printf("count %d\n", count);
	set(SIGUSR1, info, SA_SIGINFO | SA_RESTART, 0x800);
	show("info");
	raise(SIGUSR1);
	printf("raise: code %d\n", code);
	kill(getpid(), SIGUSR1);
	printf("kill: code %d\n", code);
	sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 5 });
	printf("sigqueue: code %d\n", code);
	set(SIGUSR1, plain, (int)SA_RESETHAND, 0);
	show("reset");
	raise(SIGUSR1);
	show("after");
}

static void older(void)
{
	printf("signal: %d\n", signal(SIGUSR1, plain) == SIG_DFL);
	show("signal");
	printf("signal: %d\n", signal(SIGUSR1, other) == plain);
	count = 0;
	raise(SIGUSR1);
	printf("count %d\n", count);
	siginterrupt(SIGUSR1, 1);
	show("siginterrupt");
	signal(SIGUSR1, plain);
	show("signal");
	siginterrupt(SIGUSR1, 0);
	show("siginterrupt");
	printf("sysv_signal: %d\n", sysv_signal(SIGUSR1, other) == plain);
	show("sysv_signal");
	raise(SIGUSR1);
	show("after");
	printf("sigset: %d\n", sigset(SIGUSR1, plain) == SIG_DFL);
	show("sigset");
	/* As vim asks what a signal does. */
	printf("asked: %d\n", sigset(SIGUSR1, SIG_ERR) == plain);
	sigset(SIGUSR1, plain);
	printf("hold: %d\n", sigset(SIGUSR1, SIG_HOLD) == plain);
	show_mask("hold");
	printf("hold: %d\n", sigset(SIGUSR1, SIG_HOLD) == SIG_HOLD);
	count = 0;
	raise(SIGUSR1);
	printf("held: %d\n", count);
	printf("sigset: %d\n", sigset(SIGUSR1, other) == SIG_HOLD);
	printf("count %d\n", count);
	sighold(SIGUSR1);
	show_mask("sighold");
	sigrelse(SIGUSR1);
	show_mask("sigrelse");
	sigignore(SIGUSR1);
	show("sigignore");
	raise(SIGUSR1);
}

static void errors(void)
{
	struct sigaction sa = { .sa_handler = plain };
	sigset_t none;

	sigemptyset(&none);
	errno = 0;
	printf("signal: %d %d\n", signal(SIGKILL, plain) == SIG_ERR, errno);
	errno = 0;
	printf("signal: %d %d\n", signal(99, plain) == SIG_ERR, errno);
	errno = 0;
	printf("sigaction: %d", sigaction(65, &sa, NULL));
	printf(" %d\n", errno);
	errno = 0;
	printf("sigprocmask: %d", sigprocmask(77, &none, NULL));
	printf(" %d\n", errno);
	printf("pthread_sigmask: %d\n", pthread_sigmask(77, &none, NULL));
	errno = 0;
	printf("kill: %d", kill(getpid(), 999));
	printf(" %d\n", errno);
	printf("kill: %d\n", kill(getpid(), 0));
	errno = 77;
	set(SIGUSR1, plain, 0, 0);
	raise(SIGUSR1);
	printf("errno: %d\n", errno);
}

static void jumps(int n)
{
	for (volatile int i = 0; i < n; i++) {
		if (!sigsetjmp(env, 1))
			raise(SIGUSR1);
		outside++;
		getppid();
	}
}

static void contexts(void)
{
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	sigset_t none;
	int value;

	sigaltstack(&ss, NULL);
	set(SIGUSR1, stack, SA_ONSTACK, 0);
	raise(SIGUSR1);
	printf("alternate stack: %d\n", seen >= alternate && seen < alternate + sizeof(alternate));
	set(SIGUSR1, nested, SA_NODEFER, 0);
	count = 0;
	raise(SIGUSR1);
	printf("nested: %d\n", count);
	set(SIGSEGV, (void *)fault, SA_SIGINFO, 0);
	count = 7;
	__asm__ volatile("xor %%eax, %%eax\n\tmov (%%rax), %%eax" : "=a"(value));
	printf("repaired: %d code %d\n", value, code);
	set(SIGUSR1, (void *)mask_in_context, SA_SIGINFO, 0);
	raise(SIGUSR1);
	show_mask("by the context");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void *pausing(void *arg)
{
	pause();
	return NULL;
}

static void others(void)
{
	pthread_t thread;
	sigset_t two;
	int status, sig;
	pid_t pid;

	set(SIGUSR1, plain, 0, 0);
	count = 0;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		show("child");
		raise(SIGUSR1);
		printf("child: %d\n", count);
		fflush(stdout);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	printf("status %x\n", (unsigned int)status);
	pthread_create(&thread, NULL, pausing, NULL);
	while (!count) {	/* it may not wait yet */
		pthread_kill(thread, SIGUSR1);
		usleep(1000);
	}
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	sigemptyset(&two);
	sigaddset(&two, SIGUSR2);
	sigprocmask(SIG_BLOCK, &two, NULL);
	raise(SIGUSR2);
	printf("sigwait: %d", sigwait(&two, &sig));
	printf(" %d\n", sig);
	fflush(stdout);
	printf("killed: %x\n", (unsigned int)system("kill -USR1 $$; echo not killed"));
}

static void bus_jump(int sig, siginfo_t *si, void *context)
{
	code = si->si_code;
	siglongjmp(env, 1);
}

/* How a child ends that raises SIGBUS, or that touches missing memory. */
static void bus_in_child(volatile char *gone)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		if (gone)
			*gone = 1;
		else
			raise(SIGBUS);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	printf("bus: %x\n", (unsigned int)status);
}

/* The agent has its own handler for SIGBUS. */
static void bus(void)
{
	FILE *f = tmpfile();
	volatile char *gone;

	if (!f || ftruncate(fileno(f), 4096))
		return;
	gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	*gone = 1;
	if (ftruncate(fileno(f), 0))
		return;
	show_of(SIGBUS, "bus");
	bus_in_child(NULL);
	bus_in_child(gone);
	set(SIGBUS, (void *)bus_jump, SA_SIGINFO, 0);
	if (!sigsetjmp(env, 1))
		*gone = 1;
	printf("bus: code %d\n", code);
	set(SIGBUS, SIG_DFL, 0, 0);
	show_of(SIGBUS, "bus");
	bus_in_child(NULL);
	bus_in_child(gone);
	printf("signal: %d\n", signal(SIGBUS, SIG_IGN) == SIG_DFL);
	bus_in_child(NULL);
	bus_in_child(gone);
	printf("signal: %d\n", signal(SIGBUS, SIG_DFL) == SIG_IGN);
}

/* Installs more handlers than there are entries for. They differ in their masks. */
static void many(void)
{
	for (unsigned long i = 0; i < 300; i++) {
		struct sigaction sa = { .sa_handler = plain };
		unsigned long mask = i << 9;

		memcpy(&sa.sa_mask, &mask, sizeof(mask));
		sigaction(SIGUSR1, &sa, NULL);
	}
	count = 0;
	raise(SIGUSR1);
	printf("many: %d\n", count);
	show("many");
}

/* A process that may not call getpid() still sends signals and makes processes. */
static void sandboxed(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	int status = 0;
	pid_t pid = fork(), other;

	if (!pid) {
		raise(SIGWINCH);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
		other = fork();
		if (!other) {
			pause();
			_exit(0);
		}
		kill(other, SIGTERM);
		waitpid(other, &status, 0);
		_exit(WTERMSIG(status));
	}
	waitpid(pid, &status, 0);
	printf("sandboxed: %x\n", (unsigned int)status);
}

static void behaviour(void)
{
	actions();
	older();
	errors();
	contexts();
	set(SIGUSR1, jumper, 0, ~0ul);
	jumps(1000);
	show_mask("jumped");
	others();
	bus();
	sandboxed();
	many();
}

static void ticking(int sig)
{
	getpgrp();
	count++;
}

static void storm(int n)
{
	struct itimerval timer = { { 0, 100 }, { 0, 100 } };
	struct sigaction sa = { .sa_handler = ticking, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (count < n) {
		getppid();
		outside++;
		for (volatile int i = 0; i < 20000; i++)
			;
	}
	timer = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &timer, NULL);
	signal(SIGALRM, SIG_IGN);
}

static void jump(int n)
{
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction sa = { .sa_handler = jumper };

	sigaction(SIGUSR1, &sa, NULL);
	jumps(n / 2);
	sigaltstack(&ss, NULL);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &sa, NULL);
	jumps(n - n / 2);
}

static void mask(void)
{
	sigset_t all, old;

	sigfillset(&all);
	getppid();
	outside++;
	sigprocmask(SIG_BLOCK, &all, &old);
	getpgrp();
	count++;
	sigprocmask(SIG_SETMASK, &old, NULL);
	getppid();
	outside++;
	if (!sigsetjmp(env, 1)) {
		pthread_sigmask(SIG_SETMASK, &all, NULL);
		getpgrp();
		count++;
		siglongjmp(env, 1);
	}
	getppid();
	outside++;
	/* A child of vfork() has a mask of its own. */
	if (!vfork()) {
		sigprocmask(SIG_SETMASK, &all, NULL);
		_exit(0);
	}
	getppid();
	outside++;
}

/* Not called before, and resolved at load. */
static pid_t (*const volatile get_session)(pid_t) = getsid;

static void get_session_handler(int sig)
{
	get_session(0);
}

/* The number of bytes of the alternate stack that a handler does not change. */
static size_t left_by_handler(void)
{
	size_t left = 0;

	memset(alternate, 0x5a, sizeof(alternate));
	raise(SIGUSR1);
	while (left < sizeof(alternate) && alternate[left] == 0x5a)
		left++;
	return left;
}

static void first_call_on_alternate_stack(void)
{
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	size_t left;

	sigaltstack(&ss, NULL);
	set(SIGUSR1, get_session_handler, SA_ONSTACK, 0);
	left = left_by_handler();
	printf("the first call takes no more than the next: %d\n", left == left_by_handler());
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (argc < 2 || !strcmp(argv[1], "behaviour")) {
		behaviour();
		return 0;
	}
	if (!strcmp(argv[1], "first")) {
		first_call_on_alternate_stack();
		return 0;
	}
	if (!strcmp(argv[1], "storm"))
		storm(n);
	else if (!strcmp(argv[1], "jump"))
		jump(n);
	else
		mask();
	printf("%d %d\n", count, outside);
	return 0;
}
