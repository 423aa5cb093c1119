/* SPDX-License-Identifier: MIT */
/*
 * real.h - the functions that the interposers stand in front of
 *
 *     REAL_FUNCTION(malloc);                       at file level: the pointer, and its entry in a
 *                                                  section
 *     p = REAL(malloc)(size);                      in a function
 *
 * A pointer is set by the first use of it, mostly that of an interposer by the
 * program: a short program uses few of the hundreds. The first use may be the
 * dynamic linker's malloc before any constructor runs. The search walks the
 * dynamic linker's list of objects itself, from the one behind this library
 * on: no lock, no allocation, no call of libc, so it is safe wherever it comes
 * from. (dlsym() would take the linker's lock, and could call malloc.) It ends
 * with the last object that was there at load, so what dlopen() brings later is
 * not found, and is not looked at while it comes or goes. A name that has
 * several versions gets the default one.
 *
 * So a function that somebody else defines behind us (libjemalloc.so, a
 * sanitizer's runtime, a counting preload) is called as it would be without
 * us, from the first call on: a pointer goes back to the allocator it came from.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_REAL_H
#define TRACEFUSE_AGENT_PROVIDERS_REAL_H

#include <stdbool.h>
#include <stddef.h>

struct real_function {
	const char	*name;
	void		**where;	/* set last */
	const void	*object;	/* of the linker: which one defines it; NULL: none */
};

/* What real_find_all() finds: all entries that are used. */
#define IN_REAL_FUNCTIONS __attribute__((unused, section("real_functions"), aligned(8)))

/* As REAL_FUNCTION() for names that no header declares: real_NAME is of type `pointer`. */
#define REAL_FUNCTION_AS(function, pointer)						\
	static __typeof__(pointer) real_##function;					\
	static struct real_function real_entry_##function				\
	IN_REAL_FUNCTIONS = { #function, (void **)(void *)&real_##function, NULL }

#define REAL_FUNCTION(function) REAL_FUNCTION_AS(function, __typeof__(&function))

/* The function itself: never NULL; what nobody defines fails with ENOSYS. */
#define REAL(function)									\
	(__builtin_expect(!real_##function, 0) ?					\
	 (real_find(&real_entry_##function), real_##function) : real_##function)

/* Sets the pointer. Any number of times, by any number of threads: the result is the same. */
void real_find(struct real_function *f);
/*
 * Sets all pointers that are not set. For who announces an alternate stack: a handler may have
 * little room there, and a search takes some.
 */
void real_find_all(void);
/* At load: what is loaded from now on is not looked at. */
void real_begin(void);

/*
 * Of the core library. Some of its functions stand before libc's, for programs without providers
 * (rights.c): the search passes over them. Weak: tests of the search alone have none.
 */
extern const void *const agent_core_dynamic __attribute__((weak, visibility("default")));

/* Whether an object before us defines the function too, so that calls of it go there. */
bool real_shadowed(const char *name);

/* Whether both come from the same object. */
#define REAL_SAME_OBJECT(a, b)								\
	(REAL(a) && REAL(b) && real_entry_##a.object &&					\
	 real_entry_##a.object == real_entry_##b.object)

#endif
