/* SPDX-License-Identifier: MIT */
/*
 * graph_callers_part.c - one object of graph_callers: functions that end in a jump to one that
 * looks at who calls it
 *
 * Their callers do not end in jumps, so dlsym() and the others are called by the object that asks.
 * Compiled once for each object, with its name as PART.
 */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include "../../apart.h"
#include "graph_callers.h"

#define JOIN(a, b)	a##b
#define NAME(a, b)	JOIN(a, b)
#define TEXT(a)		#a
#define STRING(a)	TEXT(a)
#define TAIL		static APART
#define STAYS()			\
	__asm__ volatile(	\
		"" ::		\
			: "memory") /* the caller has something to do still: it does not jump */

typedef const char *which_function(void);
typedef void *sym_function(void *handle, const char *name);

const char *which(void)
{
	return STRING(PART);
}

TAIL void *tail_sym(void *handle, const char *name)
{
	return dlsym(handle, name);
}

TAIL void *tail_vsym(void *handle, const char *name, const char *version)
{
	return dlvsym(handle, name, version);
}

TAIL void *tail_chain(const char *name)
{
	return tail_sym(RTLD_NEXT, name);
}

TAIL void *tail_open(const char *name, int mode)
{
	return dlopen(name, mode);
}

TAIL void *tail_mopen(Lmid_t space, const char *name, int mode)
{
	return dlmopen(space, name, mode);
}

typedef int each_function(struct dl_phdr_info *info, size_t size, void *arg);

TAIL int tail_iterate(each_function *each, void *arg)
{
	return dl_iterate_phdr(each, arg);
}

static sym_function *volatile pointer = dlsym;

TAIL void *tail_pointer(void *handle, const char *name)
{
	return pointer(handle, name);
}

/* Another object's function, which ends in a jump as well. */
TAIL void *tail_wrapper(void *handle, const char *name)
{
	return wrapper(handle, name);
}

static const char *who(void *function)
{
	STAYS();
	return function ? ((which_function *)function)() : "nobody";
}

/* The same function as libc itself has it, whatever stands before it. */
static sym_function *real_dlsym(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *real = libc ? dlsym(libc, "dlsym") : NULL;

	return real ? (sym_function *)real : dlsym;
}

/* By a version, which no interposer of dlsym() has. */
static sym_function *version_dlsym(void)
{
	void *real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");

	return real ? (sym_function *)real : dlsym;
}

static const char *is_same(const void *dlsym_of_libc)
{
	return dlsym_of_libc == (const void *)dlsym ? "the same" : "another";
}

/* dlerror() names the object that asked, also if it asked for one of the four. */
static void ask_in_vain(answer *say)
{
	const char *error;

	who(tail_vsym(RTLD_DEFAULT, "dlsym", "NONE_1"));
	error = dlerror();
	say(STRING(PART), "what is wrong", error ? error : "nothing");
	who(tail_sym(RTLD_NEXT, "dlsym_of_nobody"));
	error = dlerror();
	say(STRING(PART), "what else is wrong", error ? error : "nothing");
}

static void ask_symbols(answer *say)
{
	say(STRING(PART), "dlsym", who(tail_sym(RTLD_NEXT, "which")));
	say(STRING(PART), "two jumps", who(tail_chain("which")));
	say(STRING(PART), "dlvsym", who(tail_vsym(RTLD_NEXT, "which", "PARTS_1")));
	pointer = dlsym;
	say(STRING(PART), "by a pointer", who(tail_pointer(RTLD_NEXT, "which")));
	pointer = real_dlsym();
	say(STRING(PART), "by libc's pointer", who(tail_pointer(RTLD_NEXT, "which")));
	say(STRING(PART), "by another object", who(tail_wrapper(RTLD_NEXT, "which")));
	say(STRING(PART), "libc's pointer", is_same((const void *)pointer));
	ask_in_vain(say);
}

/* Of an object that is loaded later libc's own is found, past any interposer. */
static void ask_next(answer *say)
{
	sym_function *next = (sym_function *)dlsym(RTLD_NEXT, "dlsym");

	pointer = version_dlsym();
	say(STRING(PART), "by a version's pointer", who(tail_pointer(RTLD_NEXT, "which")));
	say(STRING(PART), "its pointer", is_same((const void *)pointer));
	pointer = next ? next : dlsym;
	say(STRING(PART), "by the next pointer", who(tail_pointer(RTLD_NEXT, "which")));
	say(STRING(PART), "the next pointer", is_same((const void *)pointer));
}

/* It is in the program's own name space only. */
static int is_second(struct dl_phdr_info *info, size_t size, void *arg)
{
	return strstr(info->dlpi_name, "/graph_callers_second.so") != NULL;
}

static void ask_object(const char *what, void *object, answer *say)
{
	say(STRING(PART), what, object ? who(tail_sym(object, "which")) : "nobody");
	if (object)
		dlclose(object);
}

static void ask_again(void *object, answer *say, int what)
{
	ask_function *ask = object ? (ask_function *)tail_sym(object, "near_ask") : NULL;

	if (ask)
		ask(say, what);
	if (object)
		dlclose(object);
}

/* Only from `first` it is to be found. */
static void ask_paths(answer *say, int what)
{
	ask_object("dlopen", tail_open("graph_callers_near.so", RTLD_NOW), say);
	ask_object("dlmopen here", tail_mopen(LM_ID_BASE, "graph_callers_near.so", RTLD_NOW), say);
	ask_again(tail_open("graph_callers_near.so", RTLD_NOW), say, 0);
	if (!(what & ASK_SPACES))
		return;
	ask_object("dlmopen", tail_mopen(LM_ID_NEWLM, "graph_callers_near.so", RTLD_NOW), say);
	ask_again(tail_open("graph_callers_near.so", RTLD_NOW | RTLD_DEEPBIND), say, ASK_NEXT);
	ask_again(tail_mopen(LM_ID_NEWLM, "graph_callers_near.so", RTLD_NOW), say, ASK_NEXT);
}

void NAME(PART, _ask)(answer *say, int what)
{
	ask_symbols(say);
	if (what & ASK_NEXT)
		ask_next(say);
	say(STRING(PART), "dl_iterate_phdr", tail_iterate(is_second, NULL) ? "second" : "nobody");
	if (what & ASK_PATHS)
		ask_paths(say, what);
}
