/* SPDX-License-Identifier: MIT */
/*
 * graph_unwind.c MODE - readers of the stack from inside and outside: backtrace(),
 * _Unwind_Backtrace(), a debugger, a core dump
 *
 * Prints only callers that are the program's own functions. It is linked with -rdynamic, so that
 * they have names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>
#include "../../apart.h"

static int mode;
#ifdef NONGNU	/* libunwind.so.8, which has no header here */
int unw_backtrace(void **buffer, int size);
#endif

static void name(void *ip)
{
	Dl_info info;

	if (dladdr((char *)ip - 1, &info) && info.dli_sname && info.dli_saddr &&
	    strncmp(info.dli_sname, "walk_", 5) == 0)
		printf(" %s", info.dli_sname);
}

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *arg)
{
	(void)arg;
	name((void *)_Unwind_GetIP(context));
	return _URC_NO_REASON;
}

static void look(void)
{
	void *ips[200];
	int n;

	switch (mode) {
#ifdef NONGNU
	case 'n':
		n = unw_backtrace(ips, 200);
		for (int i = 0; i < n; i++)
			name(ips[i]);
		break;
#endif
	case 'b':
		n = backtrace(ips, 200);
		for (int i = 0; i < n; i++)
			name(ips[i]);
		break;
	case 'u':
		_Unwind_Backtrace(frame, NULL);
		break;
	case 'a':
		abort();
	case 'r':
		raise(SIGTRAP);
		break;
	}
	puts("");
	fflush(stdout);
}

static void handler(int sig)
{
	(void)sig;
	look();
}

APART long walk_leaf(long n)
{
	if (n == 3)
		raise(SIGUSR1);
	else
		look();
	__asm__ volatile("" ::: "memory");
	return n;
}

APART long walk_down(long n)
{
	long r = n ? walk_down(n - 1) : walk_leaf(n);

	__asm__ volatile("" ::: "memory");
	return r + 1;
}

APART long walk_aligned(long n)
{
	_Alignas(64) volatile char room[64];

	room[0] = (char)n;
	return walk_down(n) + room[0];
}

APART long walk_one(long n)
{
	long r = walk_aligned(n) + walk_leaf(n + 1);

	__asm__ volatile("" ::: "memory");
	return r;
}

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1][0] : 'b';
	signal(SIGUSR1, handler);
	return (int)(walk_one(5) + walk_leaf(3)) & 7;
}
