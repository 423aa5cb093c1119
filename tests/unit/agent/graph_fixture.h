/* SPDX-License-Identifier: MIT */
/*
 * graph_fixture.h - small programs of hooked functions; each returns the same number whether it is
 * hooked or not
 */
#ifndef TEST_GRAPH_FIXTURE_H
#define TEST_GRAPH_FIXTURE_H

#ifdef __cplusplus
extern "C" {
#endif

/* A function and its name. */
struct graph_function {
	const char	*name;
	const void	*at;
};

extern const struct graph_function graph_functions[];

long run_calls(void);
long run_recursion(void);
long run_tails(void);
long run_values(void);
long run_longjmp(void);
long run_handler(void);
long run_left_handler(void);
long run_coroutines(void);
long run_fork(void);
long run_vfork(void);
long run_exit(void);
long run_cancel(void);
long run_backtrace(void);
long run_realigned(void);
long run_thread(void);

/* Runs while another thread sends SIGUSR1. Returns the number of errors. */
long run_interrupted(long rounds);
long run_sleeps(void);
long run_works(void);

/* graph_fixture.cc */
long run_throw(void);
long run_rethrow(void);

/* Without hooks: how many frames run_backtrace() saw that are not its own functions. */
extern int frames_seen;

#ifdef __cplusplus
}
#endif

#endif
