/* SPDX-License-Identifier: MIT */
/*
 * real.h - the functions that the interposers come before
 *
 *     REAL_FUNCTION(malloc);                       at file level: an entry in a section
 *     p = REAL(malloc)(size);                      in a function
 *
 * The first use of a pointer sets it, mostly when the program calls the interposer: a
 * short program uses few of the hundreds. The first use may be the dynamic linker's
 * malloc before any constructor runs. The search walks the dynamic linker's list of
 * objects itself, beginning behind this library. It takes no lock, allocates nothing and
 * calls no function of libc, so it may be called from anywhere. (dlsym() would take the
 * linker's lock, and could call malloc.) It ends with the last object that was there at
 * load: objects that dlopen() loads later are not found, and are not read while they come
 * or go. If a name has several versions, the default one is found.
 *
 * If another object behind us defines the function (libjemalloc.so, a sanitizer's
 * runtime, a preloaded counter), that one is called, as it would be without us, from the
 * first call on: a pointer goes back to the allocator that it came from.
 */
#ifndef TRACEFUSE_AGENT_PROVIDERS_REAL_H
#define TRACEFUSE_AGENT_PROVIDERS_REAL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The name is inside: an address would be a relocation, and a page that each program writes at its
 * start.
 */
struct real_function {
	void		*function;	/* set last; NULL: not searched for yet */
	const void	*object;	/* the linker's, which defines it; NULL: none */
	char		name[31];
	bool		of_libc;	/* libc's, if libc has it */
};

/* The section that real_find_all() walks: all entries that are used. */
#define IN_REAL_FUNCTIONS __attribute__((unused, section("real_functions"), aligned(8)))

/* REAL_FUNCTION() for names that no header declares: their type is `pointer`. */
#define REAL_FUNCTION_AS(function, pointer, ...)					\
	_Static_assert(sizeof(#function) <= sizeof(((struct real_function *)0)->name),	\
		       "a longer name");						\
	typedef __typeof__(pointer) real_##function;					\
	static struct real_function real_entry_##function				\
	IN_REAL_FUNCTIONS = { .name = #function, __VA_ARGS__ }

#define REAL_FUNCTION(function) REAL_FUNCTION_AS(function, __typeof__(&function))

/* A function that the agent itself calls (agent/libc.h). */
#define LIBC_FUNCTION(function) \
	REAL_FUNCTION_AS(function, __typeof__(&function), .of_libc = true)

/* The function itself, never NULL; if no object defines it, it fails with ENOSYS. */
#define REAL(function) ((real_##function)real_found(&real_entry_##function))

/* Sets the pointer. Several calls, also in several threads, have the same result. */
void real_find(struct real_function *f);

static inline void *real_found(struct real_function *f)
{
	if (__builtin_expect(!f->function, 0))
		real_find(f);
	return f->function;
}

/*
 * Sets all pointers that are not set. Called before an alternate stack is set: a handler may have
 * little room there, and a search needs some.
 */
void real_find_all(void);
/* At load: objects that are loaded later are not searched. */
void real_begin(void);

/* Whether an object before us defines the function too, so that calls of it go there. */
bool real_shadowed(const char *name);

/* Whether one object defines both. */
#define REAL_SAME_OBJECT(a, b)								\
	(REAL(a) && REAL(b) && real_entry_##a.object &&					\
	 real_entry_##a.object == real_entry_##b.object)

#endif
