/* SPDX-License-Identifier: MIT */
/*
 * planted_faults.c - a function whose argument points to no memory, while a fault would end the
 * program: planted_faults HOW
 *
 * HOW says why: the signals are ignored or blocked by a thread's attributes, old functions, a
 * context or a handler that was left by a jump; or a handler would be the program's. It prints a
 * sum that depends on each call.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include "../apart.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { CALLS = 10, STATUS = 3, BELOW = 8 };

static ucontext_t back, there;
static char stack[1 << 16];
static jmp_buf left;
static volatile sig_atomic_t handled;

APART long probed(const char *text, long n)
{
	__asm__ volatile("" : : : "memory");
	return n * 3 + !!text;
}

/* A page that is not in its file any more raises SIGBUS. */
static const char *cut_page(void)
{
	const int fd = memfd_create("cut", 0);

	return mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
}

static long sum(void)
{
	const char *cut = cut_page();
	long r = 0;

	for (int i = 0; i < CALLS; i++)
		r += probed((const char *)BELOW, i) + probed(cut, i);
	return r;
}

static void *thread(void *arg)
{
	return (void *)(sum() + (arg != NULL));
}

static long in_thread(const sigset_t *set)
{
	pthread_attr_t attr;
	pthread_t t;
	void *r;

	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, set);
	pthread_create(&t, &attr, thread, NULL);
	pthread_join(t, &r);
	pthread_attr_destroy(&attr);
	return (long)r;
}

static void in_context(void)
{
	printf("%ld\n", sum());
}

static void switches(const sigset_t *set)
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &back;
	there.uc_sigmask = *set;
	makecontext(&there, in_context, 0);
	swapcontext(&back, &there);
}

static void leaves(int sig)
{
	longjmp(left, sig);
}

static void jumps(const sigset_t *set)
{
	struct sigaction act = { .sa_handler = leaves, .sa_mask = *set };

	sigaction(SIGUSR1, &act, NULL);
	if (!_setjmp(left))
		raise(SIGUSR1);
}

static void handles(int sig)
{
	handled = sig;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct sigaction own = { .sa_handler = handles };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	if (strstr(how, "bus"))
		sigaddset(&set, SIGBUS);
	if (!strcmp(how, "ignored"))
		signal(SIGSEGV, SIG_IGN);
	if (!strcmp(how, "ignored bus"))
		signal(SIGBUS, SIG_IGN);
	if (!strcmp(how, "attributes"))
		printf("%ld\n", in_thread(&set));
	if (!strcmp(how, "sighold"))
		sighold(SIGSEGV);
	if (!strcmp(how, "sigblock"))
		sigblock(-1);
	if (!strcmp(how, "sigsetmask"))
		sigsetmask(1 << (SIGBUS - 1));
	if (!strcmp(how, "context"))
		switches(&set);
	if (!strcmp(how, "jump"))
		jumps(&set);
	if (!strcmp(how, "mask bus"))
		sigprocmask(SIG_BLOCK, &set, NULL);
	if (!strcmp(how, "handler")) {
		sigaction(SIGSEGV, &own, NULL);
		sigaction(SIGBUS, &own, NULL);
	}
	printf("%ld %d\n", sum(), handled);
	return STATUS;
}
