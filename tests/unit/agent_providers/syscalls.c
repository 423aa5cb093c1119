/* SPDX-License-Identifier: MIT */
/*
 * Unit test of syscalls/table.c, syscalls/libc.h and syscalls/syscalls.h: the kernel's formats, its
 * arguments, and which calls somebody asks for
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "agent/providers/syscalls/syscalls.h"

/* The test needs no more of the agent. */
const struct event_entry *agent_provider_events;
struct agent agent;

/* FNV-1a over name and format of the events of a 6.12 kernel that was built without these calls. */
#define KERNEL_HASH 0xcceadcc277ee09daull

static const char *const absent[] = {
	"flock",
	"sysfs",
	"modify_ldt",
	"acct",
	"swapon",
	"swapoff",
	"quotactl",
	"mbind",
	"set_mempolicy",
	"get_mempolicy",
	"kexec_load",
	"add_key",
	"request_key",
	"keyctl",
	"ioprio_set",
	"ioprio_get",
	"inotify_init",
	"inotify_add_watch",
	"inotify_rm_watch",
	"migrate_pages",
	"move_pages",
	"inotify_init1",
	"fanotify_init",
	"fanotify_mark",
	"name_to_handle_at",
	"open_by_handle_at",
	"process_vm_readv",
	"process_vm_writev",
	"kcmp",
	"seccomp",
	"kexec_file_load",
	"bpf",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"quotactl_fd",
	"landlock_create_ruleset",
	"landlock_add_rule",
	"landlock_restrict_self",
	"memfd_secret",
	"set_mempolicy_home_node",
	"cachestat",
	"map_shadow_stack",
	"lsm_get_self_attr",
	"lsm_set_self_attr",
	"lsm_list_modules",
};

static uint64_t hash(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return h;
}

static int is_absent(const char *name)
{
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		if (!strcmp(strchr(strchr(name, '_') + 1, '_') + 1, absent[i]))
			return 1;
	return 0;
}

static void test_formats_are_the_kernels(void **state)
{
	uint64_t h = 0xcbf29ce484222325ull;
	char body[4096];

	for (unsigned int nr = 0; nr < syscall_provider_count(); nr++) {
		struct provider_event e;

		syscall_provider_event(nr, false, &e);
		if (is_absent(e.name))
			continue;
		h = hash(hash(h, e.name), "\n");
		assert_true(provider_body(PROVIDER_SYSCALLS + nr, false, body, sizeof(body)) <
			    sizeof(body));
		h = hash(h, body);
	}
	assert_int_equal(h, KERNEL_HASH);
}

static void test_signals_too(void **state)
{
	char body[4096];

	provider_body(PROVIDER_SIGNAL_GENERATE, false, body, sizeof(body));
	assert_string_equal(strstr(body, "\n\n") + 2,
		"\tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:int errno;\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:int code;\toffset:16;\tsize:4;\tsigned:1;\n"
		"\tfield:char comm[16];\toffset:20;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:36;\tsize:4;\tsigned:1;\n"
		"\tfield:int group;\toffset:40;\tsize:4;\tsigned:1;\n"
		"\tfield:int result;\toffset:44;\tsize:4;\tsigned:1;\n"
		"\nprint fmt: \"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d\", "
		"REC->sig, REC->errno, REC->code, REC->comm, REC->pid, REC->group, REC->result\n");
	provider_body(PROVIDER_SIGNAL_DELIVER, false, body, sizeof(body));
	assert_string_equal(strstr(body, "\n\n") + 2,
		"\tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:int errno;\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:int code;\toffset:16;\tsize:4;\tsigned:1;\n"
		"\tfield:unsigned long sa_handler;\toffset:24;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned long sa_flags;\toffset:32;\tsize:8;\tsigned:0;\n"
		"\nprint fmt: \"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx\", "
		"REC->sig, REC->errno, REC->code, REC->sa_handler, REC->sa_flags\n");
}

static void test_numbers_ascend_and_lead_back(void **state)
{
	for (unsigned int call = 0; call < SYSCALL_COUNT; call++) {
		assert_int_equal(syscall_index(syscall_numbers[call]), call + 1);
		assert_true(!call || syscall_numbers[call] > syscall_numbers[call - 1]);
	}
	assert_int_equal(syscall_index(-1), 0);
	assert_int_equal(syscall_index(1 << 20), 0);
	assert_int_equal(syscall_index(SYS_read), SYSCALL_read + 1);
	assert_int_equal(syscall_index(SYS_newfstatat), SYSCALL_newfstatat + 1);
	assert_int_equal(syscall_index(SYS_memfd_create), SYSCALL_memfd_create + 1);
}

#define COUNT(...) COUNT_(0, ##__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)
#define COUNT_(zero, a, b, c, d, e, f, n, ...) n
#define CALL(function, call, result, ...) { #function, SYSCALL_##call, COUNT(__VA_ARGS__) },
#define ALIAS(name, function)

static const struct {
	const char	*function;
	unsigned int	call, nr_args;
} functions[] = {
#include "agent/providers/syscalls/libc.h"
};

/* A missing argument would be recorded as the first one. */
static void test_each_function_gives_all_arguments(void **state)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (functions[i].nr_args != syscall_nr_args(functions[i].call))
			fail_msg("%s: %u arguments, the kernel takes %u", functions[i].function,
				 functions[i].nr_args, syscall_nr_args(functions[i].call));
}

/*
 * Gates are planted for a call that somebody asks for. At the end of a knock its plan is still
 * there for a moment, or for longer, if the server dies.
 */
static void test_a_knock_asks_for_no_call(void **state)
{
	static struct event_entry events[PROVIDER_SYSCALLS + 2 * SYSCALL_COUNT];
	static struct config_header header = { .sites = 4096 };
	const config_ref knock = header.sites + offsetof(struct site_control, knock);
	struct event_entry *e = &events[call_enter_event(0)];

	agent.plane.config = (const char *)&header;
	agent.plane.config_size = 1 << 20;
	agent_provider_events = events;
	assert_false(call_asked(0));
	for (int knocks = 1; knocks >= 0; knocks--) {
		header.knock = knocks ? knock : 0;
		e[0].plan = knock;
		assert_false(call_asked(0));
		e[1].plan = 8192;
		assert_true(call_asked(0));
		e[1].plan = 0;
		e[0].plan = 8192;
		assert_true(call_asked(0));
		e[0].plan = 0;
		assert_false(call_asked(0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats_are_the_kernels),
		cmocka_unit_test(test_signals_too),
		cmocka_unit_test(test_numbers_ascend_and_lead_back),
		cmocka_unit_test(test_each_function_gives_all_arguments),
		cmocka_unit_test(test_a_knock_asks_for_no_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
