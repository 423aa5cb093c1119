/* SPDX-License-Identifier: MIT */
/*
 * attach.h - how a process that runs, and that nobody prepared, gets the agent
 *
 *     target.c   what the process is, its objects, the functions of its libc
 *     moment.c   a thread that holds no lock of libc (walk.c), stopped by ptrace() (stop.c)
 *     remote.c   that thread executes stub.S: dlopen() of the agent, tf_attach()
 *
 * The thread goes on with the registers, signal mask, errno and system call that it had. Others
 * are stopped for an instant at most, while that one is looked for.
 *
 * F1  The thread's state also lies on its stack, as the kernel saves it for a handler of a signal,
 *     and what the thread executes returns to libc's sigreturn. So if this process is killed at any
 *     moment, the thread finishes, and goes on by itself. (A system call that waited is begun
 *     again then, with its whole time.)
 * F2  dlopen() allocates, and takes locks that the thread itself may hold. So its stack must have
 *     no function of the dynamic linker, of an allocator, and none of libc that holds such locks
 *     when it makes a system call or calls the program.
 * F3  The thread must be on its own stack: nothing says how far another one reaches.
 */
#ifndef TRACEFUSE_CLI_ATTACH_H
#define TRACEFUSE_CLI_ATTACH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "elf/code/unwind.h"
#include "elf/file.h"

/* Room for a sentence, without a full stop. */
enum { ATTACH_WHY = 512 };

/* A file that has code in the process. */
struct object {
	char		*path;		/* as the process has it */
	uint64_t	low, high;	/* its addresses */
	uint64_t	first_end;	/* of its first mapping */
	uint64_t	bias;		/* address - address in the file */
	/* Set by object_tables(). `image`: its segments that are not written; NULL: not read yet */
	uint8_t		*image;
	struct unwind_tables tables;	/* header NULL: it has none */
	bool		read, deleted, has_code;
	bool		allocates;	/* it defines malloc() */
};

/* libc's functions that are called, by the order of target.c. */
enum target_function {
	TARGET_DLOPEN, TARGET_DLSYM, TARGET_DLERROR, TARGET_ERRNO, TARGET_MMAP, TARGET_MUNMAP,
	NR_TARGET_FUNCTIONS,
};

struct range {
	uint64_t	low, high;
};

struct target {
	pid_t		pid;
	char		name[32];
	int		memory;		/* /proc/PID/mem of this program, also after an exec() */
	struct object	*objects;
	size_t		nr;
	struct object	*program;
	struct object	*libc, *loader;
	uint64_t	functions[NR_TARGET_FUNCTIONS];
	uint64_t	sigreturn;	/* libc's code that handlers return to */
	struct range	*busy;		/* F2: functions of libc */
	size_t		nr_busy;
	struct range	*waits;		/* functions of libc that wait and are no locks */
	size_t		nr_waits;
	struct range	main_stack;
};

/*
 * Looks at the process. 0; -1: it cannot be attached, and why[] says why. target_close() in any
 * case.
 */
int target_open(struct target *t, pid_t pid, char why[ATTACH_WHY]);
void target_close(struct target *t);
/* Whether the process is no longer what it was: it has ended, executed a program, or is stopped. */
bool target_changed(const struct target *t, char why[ATTACH_WHY]);
/* Whether the thread is in a sandbox (seccomp): each thread has its own. */
bool target_sandboxed(const struct target *t, pid_t tid);
/* The object that has code at the address; NULL: none. */
struct object *target_object(const struct target *t, uint64_t address);
/* Reads the object's tables for unwinding, once. */
void object_read(const struct target *t, struct object *o);
/* Whether the process sees the same file at `path`. */
bool target_sees(const struct target *t, const char *path);
/* Reads and writes the process's memory. False: it is not there. */
bool target_load(const struct target *t, uint64_t at, void *out, size_t size);
bool target_store(const struct target *t, uint64_t at, const void *bytes, size_t size);

/* A thread that is stopped (PTRACE_EVENT_STOP) and traced. */
struct moment {
	pid_t		tid;
	struct user_regs_struct regs;
};

/*
 * Stops a thread where F2 and F3 hold. 0; -1: why[] says why. All threads run on that were stopped
 * in vain.
 */
int moment_find(const struct target *t, struct moment *m, char why[ATTACH_WHY]);
/* walk.c. Whether F2 and F3 hold for a thread with these registers. */
bool walk_is_good(const struct target *t, pid_t tid, const struct user_regs_struct *regs);

/* stop.c. Stops the thread outside of the kernel. False: it is gone, or has not stopped yet. */
bool stop_thread(pid_t tid);
/* Lets a thread go on that was to stop, as soon as it has. */
void stop_let_go(pid_t tid);
/* Whether the thread is let go as soon as it stops, but has not yet. */
bool stop_is_deep(pid_t tid);
/* Whether a stop makes this system call return a part of what it moves. */
bool stop_cuts(uint64_t call, const uint64_t args[4]);
/* Whether the thread waits in such a call. */
bool stop_would_cut(pid_t pid, pid_t tid);

void stop_pause(long us);
/* Waits until the thread stops. -> waitpid()'s status; -1: it is gone, or has not stopped in ms. */
int stop_wait(pid_t tid, int ms);
/* Lets a thread go on that has stopped so: with its signal, if it stopped for one. */
int stop_go_on(pid_t tid, int status, int request);
/* Waits for the stop that PTRACE_INTERRUPT has asked for. False: there was none. */
bool stop_await(pid_t tid);

/* What the thread has brought back. */
struct remote_answer {
	int		err;		/* 0, or -errno of tf_attach() */
	bool		loaded;		/* false: dlopen() has failed, and why[] says why */
};

/*
 * Lets the thread join the session in `dir` with the agent `library`, and lets it go. 0; -1: why[]
 * says why.
 */
int remote_attach(const struct target *t, const struct moment *m, const char *library,
		  const char *dir, struct remote_answer *out, char why[ATTACH_WHY]);

/* ---- command.c ---- */

struct access;
struct command;

/*
 * Brings processes, whose numbers are arguments, into the session. all: the functions of all
 * libraries, too. An exit status; what happened was printed.
 */
int processes_attach(const char *session, struct access *a, bool all, char **processes);

/* ---- process.c ---- */

enum { ATTACH_SESSION = 32 };

/* Whether the session's server has a line "KEY PID ..." about the process, but none of "never". */
bool process_is_said(struct access *a, const char *key, pid_t pid);
/* The name of the session that a process gets if it is in none. */
void process_session_name(pid_t pid, char out[ATTACH_SESSION]);
/* The number of a process. -1: the argument is none, which was printed. */
pid_t process_number(const struct command *cmd, const char *argument);
/*
 * Finds the session that the process is in, or makes one, which ends some time after the process,
 * and brings it in. Returns its name, which the caller frees; NULL: that failed, which was printed.
 */
char *process_session(const struct command *cmd, pid_t pid);

#endif
