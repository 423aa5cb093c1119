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

/* ---- Texts that arguments point to: those that Linux reads since 6.19 ---- */

#define ARG(i) (1 << (i))
#define TEXT(name, bits) [SYSCALL_##name] = { .args = bits },
#define BYTES(name, bits, size, text)							\
	[SYSCALL_##name] = { .args = bits, .length = size, .is_text = text },

static const struct call_texts texts_of[SYSCALL_COUNT] = {
	BYTES(write, ARG(1), 2, false) BYTES(mq_timedsend, ARG(1), 2, false)
	BYTES(pwrite64, ARG(1), 2, false)
	BYTES(setdomainname, ARG(0), 1, true) BYTES(sethostname, ARG(0), 1, true)
	BYTES(kexec_file_load, ARG(4), 3, true)

	TEXT(access, ARG(0)) TEXT(acct, ARG(0)) TEXT(chdir, ARG(0)) TEXT(chown, ARG(0))
	TEXT(chmod, ARG(0)) TEXT(chroot, ARG(0)) TEXT(creat, ARG(0))
	TEXT(delete_module, ARG(0)) TEXT(execve, ARG(0)) TEXT(fsopen, ARG(0))
	TEXT(lchown, ARG(0)) TEXT(open, ARG(0)) TEXT(memfd_create, ARG(0)) TEXT(mkdir, ARG(0))
	TEXT(mknod, ARG(0)) TEXT(mq_open, ARG(0)) TEXT(mq_unlink, ARG(0)) TEXT(readlink, ARG(0))
	TEXT(rmdir, ARG(0)) TEXT(shmdt, ARG(0)) TEXT(statfs, ARG(0)) TEXT(swapon, ARG(0))
	TEXT(swapoff, ARG(0)) TEXT(truncate, ARG(0)) TEXT(unlink, ARG(0)) TEXT(umount, ARG(0))
	TEXT(utime, ARG(0)) TEXT(utimes, ARG(0))

	TEXT(execveat, ARG(1)) TEXT(faccessat, ARG(1)) TEXT(faccessat2, ARG(1))
	TEXT(finit_module, ARG(1)) TEXT(fchmodat, ARG(1)) TEXT(fchmodat2, ARG(1))
	TEXT(fchownat, ARG(1)) TEXT(fgetxattr, ARG(1)) TEXT(flistxattr, ARG(1))
	TEXT(fsetxattr, ARG(1)) TEXT(fspick, ARG(1)) TEXT(fremovexattr, ARG(1))
	TEXT(futimesat, ARG(1)) TEXT(inotify_add_watch, ARG(1)) TEXT(mkdirat, ARG(1))
	TEXT(mknodat, ARG(1)) TEXT(mount_setattr, ARG(1)) TEXT(name_to_handle_at, ARG(1))
	TEXT(newfstatat, ARG(1)) TEXT(openat, ARG(1)) TEXT(openat2, ARG(1))
	TEXT(open_tree, ARG(1)) TEXT(readlinkat, ARG(1)) TEXT(quotactl, ARG(1))
	TEXT(syslog, ARG(1)) TEXT(statx, ARG(1)) TEXT(unlinkat, ARG(1)) TEXT(utimensat, ARG(1))

	TEXT(init_module, ARG(2)) TEXT(fsconfig, ARG(2)) TEXT(fanotify_mark, ARG(4))

	TEXT(add_key, ARG(0) | ARG(1)) TEXT(getxattr, ARG(0) | ARG(1))
	TEXT(lgetxattr, ARG(0) | ARG(1)) TEXT(lremovexattr, ARG(0) | ARG(1))
	TEXT(link, ARG(0) | ARG(1)) TEXT(listxattr, ARG(0) | ARG(1))
	TEXT(llistxattr, ARG(0) | ARG(1)) TEXT(lsetxattr, ARG(0) | ARG(1))
	TEXT(pivot_root, ARG(0) | ARG(1)) TEXT(removexattr, ARG(0) | ARG(1))
	TEXT(rename, ARG(0) | ARG(1)) TEXT(request_key, ARG(0) | ARG(1))
	TEXT(setxattr, ARG(0) | ARG(1)) TEXT(symlink, ARG(0) | ARG(1))
	TEXT(symlinkat, ARG(0) | ARG(2))
	TEXT(linkat, ARG(1) | ARG(3)) TEXT(move_mount, ARG(1) | ARG(3))
	TEXT(renameat, ARG(1) | ARG(3)) TEXT(renameat2, ARG(1) | ARG(3))
	TEXT(mount, ARG(0) | ARG(1) | ARG(2))
};

const struct call_texts *syscall_texts(unsigned int call)
{
	return &texts_of[call];
}

/* ---- Formats ---- */

enum { TEXT_ARGS = 256, TEXT_PRINT = 1536, TEXT_NAME = 48, TEXT_DECL = 64 };

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

static unsigned int enter_fields(const char *args, struct provider_event *e)
{
	static char decls[TEXT_ARGS];
	char *p = append(decls, args, strlen(args)), *arg = decls;
	unsigned int nr = 0;

	for (; p > decls && arg; nr++) {
		e->fields[1 + nr] = (struct provider_field){ arg, 16 + 8 * nr, 8, 0 };
		arg = strchr(arg, ',');
		if (arg) {
			*arg = 0;
			arg += 2;
		}
	}
	return nr;
}

/* "__data_loc char[] __filename_val", for each text */
static void text_fields(const struct call_texts *texts, unsigned int nr_args,
			struct provider_event *e)
{
	static char decls[CALL_TEXTS][TEXT_DECL];
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr_args; i++) {
		const char *name = arg_name(e->fields[1 + i].decl);
		char *p;

		if (!(texts->args & ARG(i)))
			continue;
		p = append(decls[n], "__data_loc char[] __", 20);
		p = append(p, name, strlen(name));
		append(p, "_val", 4);
		e->fields[1 + nr_args + n] = (struct provider_field){
			decls[n], 16 + 8 * nr_args + 4 * n, 4, 0 };
		n++;
	}
}

static bool is_shown_as_bytes(const struct call_texts *texts)
{
	return texts->length && !texts->is_text;
}

static char *print_texts(char *p, const struct call_texts *texts)
{
	return is_shown_as_bytes(texts) ? append(p, " (%s)", 5) : append(p, " \\\"%s\\\"", 7);
}

static char *print_texts_arg(char *p, const struct call_texts *texts, const char *name)
{
	if (is_shown_as_bytes(texts)) {
		p = append(p, ", __print_dynamic_array(__", 26);
		p = append(p, name, strlen(name));
		return append(p, "_val, 1)", 8);
	}
	p = append(p, ", __get_str(__", 14);
	p = append(p, name, strlen(name));
	return append(p, "_val)", 5);
}

/*
 * "fd: 0x%08lx, buf: 0x%08lx", ((unsigned long)(REC->fd)), ((unsigned long)(REC->buf)); with texts,
 * filename: 0x%08lx \"%s\", and __get_str(__filename_val) behind the argument
 */
static const char *enter_print(const struct provider_event *e, unsigned int nr_args,
			       const struct call_texts *texts)
{
	static char print[TEXT_PRINT];
	char *p = append(print, "\"", 1);

	for (unsigned int i = 0; i < nr_args; i++) {
		const char *name = arg_name(e->fields[1 + i].decl);

		if (i)
			p = append(p, ", ", 2);
		p = append(p, name, strlen(name));
		p = append(p, ": 0x%08lx", 9);
		if (texts->args & ARG(i))
			p = print_texts(p, texts);
	}
	p = append(p, "\"", 1);
	for (unsigned int i = 0; i < nr_args; i++) {
		const char *name = arg_name(e->fields[1 + i].decl);

		p = append(p, ", ((unsigned long)(REC->", 24);
		p = append(p, name, strlen(name));
		p = append(p, "))", 2);
		if (texts->args & ARG(i))
			p = print_texts_arg(p, texts, name);
	}
	return print;
}

/* The kernel prints the flags of openat() by name. */
static const char openat_print[] =
	"\"dfd: 0x%08lx, filename: 0x%08lx \\\"%s\\\", flags: %s%s, mode: 0%03o\", "
	"((unsigned long)(REC->dfd)), ((unsigned long)(REC->filename)), __get_str(__filename_val), "
	"(REC->flags & ~3) && !(REC->flags & 3) ? \"O_RDONLY|\" : \"\",  "
	"REC->flags ? __print_flags(REC->flags, \"|\", { 0x1, \"O_WRONLY\" }, { 0x2, \"O_RDWR\" }, "
	"{ 0x40, \"O_CREAT\" }, { 0x80, \"O_EXCL\" }, { 0x100, \"O_NOCTTY\" }, "
	"{ 0x200, \"O_TRUNC\" }, { 0x400, \"O_APPEND\" }, { 0x800, \"O_NONBLOCK\" }, "
	"{ 0x1000, \"O_DSYNC\" }, { 0x4000, \"O_DIRECT\" }, { 0x8000, \"O_LARGEFILE\" }, "
	"{ 0x10000, \"O_DIRECTORY\" }, { 0x20000, \"O_NOFOLLOW\" }, { 0x40000, \"O_NOATIME\" }, "
	"{ 0x80000, \"O_CLOEXEC\" }) : \"O_RDONLY\",  ((unsigned long)(REC->mode))";

void syscall_provider_event(unsigned int nr, bool texts, struct provider_event *e)
{
	static char name[TEXT_NAME];
	const char *call = text(text_at[nr / 2].name);
	static const struct call_texts none;
	const struct call_texts *these = texts ? syscall_texts(nr / 2) : &none;
	unsigned int nr_args;
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
	nr_args = enter_fields(text(text_at[nr / 2].args), e);
	text_fields(these, nr_args, e);
	e->print = texts && nr / 2 == SYSCALL_openat ? openat_print
						      : enter_print(e, nr_args, these);
}
