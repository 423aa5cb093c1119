/* SPDX-License-Identifier: MIT */
/*
 * callers.c - whom dlopen(), dlmopen(), dlsym() and dlvsym() see as their caller
 *
 * They look at their return address: RTLD_NEXT, RUNPATH, $ORIGIN and name spaces are those of the
 * object that it lies in. A hooked function that ends in a jump to one of them leaves a label of
 * graph.S there.
 *
 *     hooked function --jmp--> dlsym (x86_64/dl.S) -> dl_sym() --jmp--> libc's dlsym()
 *                                                     ends the function's call, puts the true
 *                                                     return address back
 *
 * L1  The interposer jumps to libc's function, with the stack as it was. So libc sees the program
 *     as the caller. The hooked functions that share the return address end here: their returns are
 *     recorded before, with a value of 0.
 * L2  A program may ask dlsym() for one of the four. If libc finds the function behind the
 *     interposer, the program gets the interposer, so that no hooked function jumps to libc's own.
 * L3  The program may reach libc's own all the same: from another name space, from an object that
 *     is bound with RTLD_DEEPBIND, or by RTLD_NEXT from an object behind libc. Then jumps.c finds
 *     the functions that must not be hooked. watch.c sees objects that define one of the four.
 */
#include <dlfcn.h>
#include <link.h>
#include "agent/providers/hooks.h"

/* As in real.c. */
#pragma weak _r_debug

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

REAL_FUNCTION(dlopen);
REAL_FUNCTION(dlmopen);
REAL_FUNCTION(dlsym);
REAL_FUNCTION(dlvsym);
LIBC_FUNCTION(dladdr1);

/* What dl.S gives to its four functions. Each says where to jump to; NULL: return the result. */
struct dl_call {
	uintptr_t	args[3];
	void		*result;
	uintptr_t	unused;
	uintptr_t	caller;		/* the return address, in its place on the stack */
};

_Static_assert(offsetof(struct dl_call, result) == 24 && offsetof(struct dl_call, caller) == 40,
	       "dl.S knows where they lie");

typedef void *dl_way(struct dl_call *c);

dl_way dl_open, dl_mopen, dl_sym, dl_vsym;

/* ---- Loading ---- */

/* L3: the object's own libraries are looked through before ours. */
static void dl_mode(uintptr_t mode)
{
	if ((int)mode & RTLD_DEEPBIND)
		agent_binds_deep();
}

void *dl_open(struct dl_call *c)
{
	agent_caller_restore(&c->caller);
	dl_mode(c->args[1]);
	return (void *)REAL(dlopen);
}

void *dl_mopen(struct dl_call *c)
{
	agent_caller_restore(&c->caller);
	dl_mode(c->args[2]);
	if ((Lmid_t)c->args[0] != LM_ID_BASE)
		agent_callers_hidden();
	return (void *)REAL(dlmopen);
}

/* ---- Looking up: L2 ---- */

static const struct dl_name {
	const char	*name;
	struct real_function *real;
	void		*ours;
} dl_names[] = {
	{ "dlopen", &real_entry_dlopen, (void *)dlopen },
	{ "dlmopen", &real_entry_dlmopen, (void *)dlmopen },
	{ "dlsym", &real_entry_dlsym, (void *)dlsym },
	{ "dlvsym", &real_entry_dlvsym, (void *)dlvsym },
};

static bool dl_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* NULL: the program asks for something else. */
static const struct dl_name *dl_asked(const char *name)
{
	for (size_t i = 0; name && i < sizeof(dl_names) / sizeof(dl_names[0]); i++)
		if (dl_same(name, dl_names[i].name))
			return &dl_names[i];
	return NULL;
}

/* In the order in which objects are searched. */
enum dl_place { DL_BEFORE_US, DL_BEFORE_REAL, DL_BEHIND };

/* All up to the real function's were there at load, and stay. */
static enum dl_place dl_caller_place(const struct dl_name *n, uintptr_t caller)
{
	struct link_map *own;
	bool before = true;
	Dl_info info;

	if (!REAL(dladdr1)((void *)caller, &info, (void **)&own, RTLD_DL_LINKMAP))
		return DL_BEHIND;
	for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
		if (map == n->real->object)
			break;
		before = before && map->l_ld != _DYNAMIC;
		if (map == own)
			return before ? DL_BEFORE_US : DL_BEFORE_REAL;
	}
	return DL_BEHIND;
}

/* Whether libc finds the same from here as from the caller. */
static bool dl_finds_same(const struct dl_call *c, const struct dl_name *n, bool versions)
{
	enum dl_place place;

	if ((void *)c->args[0] == RTLD_DEFAULT)
		return versions;
	if ((void *)c->args[0] != RTLD_NEXT)
		return true;
	place = dl_caller_place(n, c->caller);
	if (place == DL_BEHIND)
		agent_callers_hidden();
	/* Of those without a version, which these are, dlsym() finds ours by itself. */
	return place == DL_BEFORE_REAL || (place == DL_BEFORE_US && versions);
}

/* If nothing is found, libc is asked again: what dlerror() says then names the true caller. */
static void *dl_found(struct dl_call *c, const struct dl_name *n, void *found, void *way)
{
	if (!found)
		return way;
	if (found == n->real->function)
		found = n->ours;
	else if (found != n->ours)
		agent_callers_hidden();
	c->result = found;
	return NULL;
}

void *dl_sym(struct dl_call *c)
{
	const char *name = (const char *)c->args[1];
	const struct dl_name *n = dl_asked(name);

	agent_caller_restore(&c->caller);
	if (!n)
		return (void *)REAL(dlsym);
	real_found(n->real);
	if (!dl_finds_same(c, n, false))
		return (void *)REAL(dlsym);
	return dl_found(c, n, REAL(dlsym)((void *)c->args[0], name), (void *)REAL(dlsym));
}

void *dl_vsym(struct dl_call *c)
{
	const char *name = (const char *)c->args[1], *version = (const char *)c->args[2];
	const struct dl_name *n = dl_asked(name);

	agent_caller_restore(&c->caller);
	if (!n)
		return (void *)REAL(dlvsym);
	real_found(n->real);
	if (!dl_finds_same(c, n, true))
		return (void *)REAL(dlvsym);
	return dl_found(c, n, REAL(dlvsym)((void *)c->args[0], name, version),
			(void *)REAL(dlvsym));
}
