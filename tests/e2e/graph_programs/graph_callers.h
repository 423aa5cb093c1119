/* SPDX-License-Identifier: MIT */
/*
 * graph_callers.h - the objects of graph_callers: program, first, second; near and far are loaded
 */
typedef void answer(const char *part, const char *what, const char *got);
typedef void ask_function(answer *say, int what);

/*
 * What is asked besides: by the next dlsym(); by RUNPATH; by that in another name space and with
 * RTLD_DEEPBIND.
 */
enum { ASK_NEXT = 1, ASK_PATHS = 2, ASK_SPACES = 4 };

ask_function program_ask, first_ask, second_ask, near_ask, far_ask;

/* graph_callers_wrapper.c: ends in a jump to dlsym(). */
void *wrapper(void *handle, const char *name);
