/* SPDX-License-Identifier: MIT */
/*
 * table.c - the events of the system calls: sys_enter_X has the kernel's
 * arguments as unsigned long, sys_exit_X the result
 *
 * It is made from the declarations in x86_64/syscalls.h, as the kernel makes its own.
 */
#include <stddef.h>
#include <string.h>
#include "agent/providers/syscalls/syscalls.h"

/* All texts are in one struct, one behind the other, so that no pointer has to be relocated. */
#define SYSCALL(nr, name, args) char name_##name[sizeof(#name)]; char args_##name[sizeof(args)];
static const struct syscall_texts {
#include "agent/x86_64/syscalls.h"
} texts = {
#undef SYSCALL
#define SYSCALL(nr, name, args) .name_##name = #name, .args_##name = args,
#include "agent/x86_64/syscalls.h"
};
#undef SYSCALL

_Static_assert(sizeof(struct syscall_texts) < 65536, "text_at[] has 16 bits");

#define SYSCALL(nr, name, args)				\
	{ offsetof(struct syscall_texts, name_##name),	\
	  offsetof(struct syscall_texts, args_##name) },
static const struct { uint16_t name, args; } text_at[SYSCALL_COUNT] = {
#include "agent/x86_64/syscalls.h"
};
#undef SYSCALL

#define SYSCALL(nr, name, args) nr,
const uint16_t syscall_numbers[SYSCALL_COUNT] = {
#include "agent/x86_64/syscalls.h"
};
#undef SYSCALL

#define SYSCALL(nr, name, args) [nr] = SYSCALL_##name + 1,
static const uint16_t indices[] = {
#include "agent/x86_64/syscalls.h"
};
#undef SYSCALL

unsigned int syscall_index(long nr)
{
	return nr >= 0 && nr < (long)(sizeof(indices) / sizeof(indices[0])) ? indices[nr] : 0;
}

static const char *text(unsigned int at)
{
	return (const char *)&texts + at;
}

unsigned int syscall_nr_args(unsigned int call)
{
	const char *args = text(text_at[call].args);
	unsigned int n = *args != 0;

	for (; *args; args++)
		n += *args == ',';
	return n;
}

unsigned int syscall_provider_count(void)
{
	return 2 * SYSCALL_COUNT;
}

enum { TEXT_ARGS = 256, TEXT_PRINT = 640, TEXT_NAME = 48 };

static char *append(char *to, const char *s, size_t n)
{
	memcpy(to, s, n);
	to[n] = 0;
	return to + n;
}

/* "const char * filename" -> the name behind the last blank. */
static const char *arg_name(const char *decl)
{
	return strrchr(decl, ' ') + 1;
}

static void enter_fields(const char *args, struct provider_event *e)
{
	static char decls[TEXT_ARGS];
	char *p = append(decls, args, strlen(args)), *arg = decls;

	for (unsigned int i = 0; p > decls && arg; i++) {
		e->fields[1 + i] = (struct provider_field){ arg, 16 + 8 * i, 8, 0 };
		arg = strchr(arg, ',');
		if (arg) {
			*arg = 0;
			arg += 2;
		}
	}
}

/* "fd: 0x%08lx, buf: 0x%08lx", ((unsigned long)(REC->fd)), ((unsigned long)(REC->buf)) */
static const char *enter_print(const struct provider_event *e)
{
	static char print[TEXT_PRINT];
	char *p = append(print, "\"", 1);

	for (unsigned int i = 1; i < PROVIDER_FIELDS && e->fields[i].decl; i++) {
		const char *name = arg_name(e->fields[i].decl);

		if (i > 1)
			p = append(p, ", ", 2);
		p = append(p, name, strlen(name));
		p = append(p, ": 0x%08lx", 9);
	}
	p = append(p, "\"", 1);
	for (unsigned int i = 1; i < PROVIDER_FIELDS && e->fields[i].decl; i++) {
		const char *name = arg_name(e->fields[i].decl);

		p = append(p, ", ((unsigned long)(REC->", 24);
		p = append(p, name, strlen(name));
		p = append(p, "))", 2);
	}
	return print;
}

void syscall_provider_event(unsigned int nr, struct provider_event *e)
{
	static char name[TEXT_NAME];
	const char *call = text(text_at[nr / 2].name);
	char *p;

	memset(e, 0, sizeof(*e));
	p = append(name, nr % 2 ? "sys_exit_" : "sys_enter_", nr % 2 ? 9 : 10);
	append(p, call, strlen(call));
	e->system = "syscalls";
	e->name = name;
	e->fields[0] = (struct provider_field){ "int __syscall_nr", 8, 4, 1 };
	if (nr % 2) {
		e->fields[1] = (struct provider_field){ "long ret", 16, 8, 1 };
		e->print = "\"0x%lx\", REC->ret";
		return;
	}
	enter_fields(text(text_at[nr / 2].args), e);
	e->print = enter_print(e);
}
