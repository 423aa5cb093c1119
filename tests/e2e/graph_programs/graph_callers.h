/* SPDX-License-Identifier: MIT */
/*
 * graph_callers.h - the objects of graph_callers: program, first, second; near and far, which are
 * loaded
 */
typedef void answer(const char *part, const char *what, const char *got);
typedef void ask_function(answer *say, int paths);

ask_function program_ask, first_ask, second_ask, near_ask, far_ask;

/* graph_callers_wrapper.c: ends in a jump to dlsym(). */
void *wrapper(void *handle, const char *name);
