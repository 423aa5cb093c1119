/* SPDX-License-Identifier: MIT */
/* step.c - stops a traced program after any instruction of a hit */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "step.h"

static uint64_t section_address(const struct stepped *s)
{
	return s->journal->rseq + offsetof(struct rseq, rseq_cs);
}

static void section_hide(struct stepped *s)
{
	if (!s->journal->rseq)
		return;
	s->section = (uint64_t)ptrace(PTRACE_PEEKDATA, s->pid, section_address(s), 0);
	if (s->section)
		ptrace(PTRACE_POKEDATA, s->pid, section_address(s), 0);
}

/* The hidden section stays the program's until the program stores another one. */
static void section_see(struct stepped *s)
{
	uint64_t hidden = s->section;

	section_hide(s);
	if (!s->section)
		s->section = hidden;
}

static void section_show(struct stepped *s)
{
	if (s->section)
		ptrace(PTRACE_POKEDATA, s->pid, section_address(s), s->section);
	s->section = 0;
}

/* Waits for a breakpoint of the program. Other signals are passed to the program. */
static bool wait_for_break(struct stepped *s)
{
	int status;

	while (waitpid(s->pid, &status, 0) == s->pid) {
		if (!WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == SIGTRAP)
			return true;
		ptrace(PTRACE_CONT, s->pid, 0, WSTOPSIG(status));
	}
	return false;
}

pid_t step_fork(const struct stepped *s, char *const argv[], bool traced)
{
	const char *preload = getenv("STEP_PRELOAD");
	pid_t pid = fork();

	if (pid)
		return pid;
	personality(ADDR_NO_RANDOMIZE);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (traced)
		ptrace(PTRACE_TRACEME, 0, 0, 0);
	if (preload && preload[0])
		setenv("LD_PRELOAD", preload, 1);
	dup2(s->journal_fd, JOURNAL_FD);
	execv(argv[0], argv);
	_exit(127);
}

bool step_start(struct stepped *s, char *const argv[])
{
	s->section = 0;
	s->pid = step_fork(s, argv, true);
	if (s->pid < 0)
		return false;
	/* The first breakpoint is that of exec. */
	return wait_for_break(s) && step_next(s);
}

bool step_next(struct stepped *s)
{
	section_show(s);
	ptrace(PTRACE_CONT, s->pid, 0, 0);
	return wait_for_break(s);
}

/* Whether the next instruction is the breakpoint behind the hit. */
static bool is_break(const struct stepped *s, uint64_t ip)
{
	return (ptrace(PTRACE_PEEKTEXT, s->pid, ip, 0) & 0xff) == 0xcc;
}

uint64_t step_once(struct stepped *s)
{
	struct user_regs_struct regs;
	int status;

	section_see(s);
	ptrace(PTRACE_SINGLESTEP, s->pid, 0, 0);
	if (waitpid(s->pid, &status, 0) != s->pid || !WIFSTOPPED(status) ||
	    WSTOPSIG(status) != SIGTRAP)
		return 0;
	section_see(s);
	ptrace(PTRACE_GETREGS, s->pid, 0, &regs);
	return is_break(s, regs.rip) ? 0 : regs.rip;
}

static void break_at(const struct stepped *s, uint64_t ip)
{
	ptrace(PTRACE_POKEUSER, s->pid, offsetof(struct user, u_debugreg[0]), ip);
	if (ptrace(PTRACE_POKEUSER, s->pid, offsetof(struct user, u_debugreg[7]), ip ? 1 : 0)) {
		perror("# the processor's breakpoints");
		exit(1);
	}
}

bool step_to(struct stepped *s, uint64_t ip)
{
	struct user_regs_struct regs = {0};
	bool there;

	break_at(s, ip);
	ptrace(PTRACE_CONT, s->pid, 0, 0);
	there = wait_for_break(s);
	break_at(s, 0);
	if (there)
		ptrace(PTRACE_GETREGS, s->pid, 0, &regs);
	return regs.rip == ip;
}

bool step_go_on(struct stepped *s, int sig)
{
	section_show(s);
	ptrace(PTRACE_CONT, s->pid, 0, sig);
	return wait_for_break(s);
}

void step_kill(struct stepped *s)
{
	int status;

	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, &status, 0) == s->pid && WIFSTOPPED(status))
		;
}

int step_finish(struct stepped *s)
{
	int status;

	s->journal->stop = 1;
	section_show(s);
	for (;;) {
		ptrace(PTRACE_CONT, s->pid, 0, 0);
		if (waitpid(s->pid, &status, 0) != s->pid)
			return -1;
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
}
