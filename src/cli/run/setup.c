/* SPDX-License-Identifier: MIT */
/*
 * setup.c - applies -e and --setup of a run over the control socket, while the program waits
 *
 * When a program waits after READY, its events are known. Events of a program that it executes, or
 * of a library that it loads later, are not. The server keeps a setting of such an event pending
 * until the event is defined. An -e SYSTEM that does not exist is tried again when the next program
 * waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/event_names.h"
#include "host/input.h"
#include "cli/run/run.h"
#include "setup/setup.h"
#include "setup/shell.h"
#include "access/wire.h"

enum { BARRIER_TRIES = 10 };

/* ---- reading the scripts ---- */

static char *read_script(const char *name)
{
	char *text;
	size_t len;
	int err = input_read_all(name, &text, &len);

	if (err)
		message_error("%s: %s", name, input_error(-err));
	return text;
}

int run_setup_read(struct run *r)
{
	r->scripts = calloc(r->asked.setups.nr + 1, sizeof(*r->scripts));
	if (!r->scripts)
		return message_error("out of memory");
	for (unsigned int i = 0; i < r->asked.setups.nr; i++) {
		r->scripts[i] = read_script(r->asked.setups.v[i]);
		if (!r->scripts[i])
			return COMMAND_FAILED;
	}
	return COMMAND_DONE;
}

void run_setup_free(struct run *r)
{
	for (unsigned int i = 0; r->scripts && i < r->asked.setups.nr; i++)
		free(r->scripts[i]);
	free(r->scripts);
}

/* ---- a script that needs a real shell ---- */

/* setup_params.shell */
static int run_shell(void *arg, const char *name, const char *text)
{
	const struct run *r = arg;

	return setup_shell_run(r->access, r->name, name, text);
}

/* ---- applying ---- */

/* Makes -e "SYSTEM:EVENT", "SYSTEM" or "SYSTEM:*" pending until a program defines it. */
static int pend_event(struct run *r, const char *name)
{
	const char *colon = strchrnul(name, ':');
	const char *event = *colon ? colon + 1 : "*";
	bool all = !strcmp(event, "*");
	char path[1024];

	if (colon == name || !*event || strcspn(name, "*?[/") < strlen(name) - (all && *colon))
		return -ENOENT;
	if (all)
		snprintf(path, sizeof(path), "events/%.*s/enable", (int)(colon - name), name);
	else
		snprintf(path, sizeof(path), "events/%.*s/%s/enable", (int)(colon - name), name,
			 event);
	return access_pend(r->access, path, false, "1", 1);
}

/* Enables an event. False: it does not exist yet, and may come. */
static bool enable_event(struct run *r, const char *name)
{
	int ret = event_names_enable(r->access, name);

	if (ret && ret != -EINVAL)
		r->refused |= message_error("-e %s: %s", name, strerror(-ret)) != COMMAND_DONE;
	if (ret != -EINVAL)
		return true;
	/* When the first program waits, the existing events are known. */
	return run_wanted_event(r, name) || !pend_event(r, name);
}

static void enable_events(struct run *r)
{
	unsigned int left = 0;

	/* If that fails, the summary has less. */
	if (r->plain) {
		event_names_enable_plain(r->access);
		run_flood_switch_off(r);
	}
	for (unsigned int i = 0; i < r->asked.events.nr; i++)
		if (!enable_event(r, r->asked.events.v[i]))
			r->asked.events.v[left++] = r->asked.events.v[i];
	r->asked.events.nr = left;
}

/* No program can bring an event of the kernel: one that does not exist is a mistake. */
static void enable_kernel_events(struct run *r)
{
	for (unsigned int i = 0; i < r->kernel_events.nr; i++) {
		const char *name = r->kernel_events.v[i];
		const int ret = event_names_enable(r->access, name);

		if (ret)
			r->refused |= message_error("--kernel %s: %s", name,
						    ret == -EINVAL ? "there is no such event"
								   : strerror(-ret)) !=
				      COMMAND_DONE;
	}
}

static void run_script(struct run *r, const char *file, const char *text)
{
	const char *name = r->lines_of ? r->lines_of->name : file;
	struct setup_params params = {
		.access = r->access, .name = name, .shell = run_shell, .shell_arg = r,
	};

	int ret = setup_run_text(&params, text, strlen(text));

	if (ret == -ENOMEM)
		message_error("%s: out of memory", name);
	/* Commands that failed have printed errors. */
	r->refused |= ret != 0;
}

void run_setup(struct run *r)
{
	if (r->set_up || !r->access)
		return;
	r->refused |= asked_buffer_set(&r->asked, r->access) != COMMAND_DONE;
	enable_kernel_events(r);
	enable_events(r);
	run_functions_set(r);
	for (unsigned int i = 0; i < r->asked.setups.nr; i++)
		run_script(r, r->asked.setups.v[i], r->scripts[i]);
	run_wanted_files(r);
	message_flush();
	r->set_up = true;
	/*
	 * A session with a mount but without a name may stay now, because nothing can go wrong any
	 * more.
	 */
	if (!run_is_private(r) && !run_is_refused(r))
		run_server_stay(r);
}

/* ---- programs that wait ---- */

static int barrier_open(struct run *r)
{
	char *text = run_functions_barrier(r);
	int ret = text ? client_reach(r->name, &r->barrier) : -ENOMEM;

	if (!ret)
		ret = access_request(r->barrier, WIRE_BARRIER, text, -1, NULL);
	free(text);
	return ret ? ret : access_ask(r->barrier, WIRE_WAITS);
}

int run_setup_barrier(struct run *r)
{
	int ret = barrier_open(r);

	/* The server died after the session was opened. The barrier is made at the next one. */
	for (int i = 0; i < BARRIER_TRIES && run_server_died(r, ret); i++) {
		*r->untraced = '\0';
		run_setup_barrier_end(r);
		run_server_again(r);
		ret = barrier_open(r);
	}
	if (run_server_died(r, ret))
		return COMMAND_FAILED;
	if (ret == -EOPNOTSUPP)
		return message_error(
			"%s: session %s belongs to a recording: programs need another session",
			r->command->name, r->name);
	return ret ? message_error("%s: session %s: %s", r->command->name,
					     r->name, strerror(-ret)) : COMMAND_DONE;
}

void run_setup_barrier_end(struct run *r)
{
	if (r->barrier)
		access_close(r->barrier);
	r->barrier = NULL;
}

/*
 * A signal can end a script that does not end by itself. The program waits with all signals
 * blocked, and gets the signal afterwards. Before the program goes on, signals are its own again
 * (C2 in child.c).
 */
static void set_up_interruptibly(struct run *r)
{
	static const int ending[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP };
	sigset_t set, before;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaddset(&set, ending[i]);
	sigprocmask(SIG_UNBLOCK, &set, &before);
	run_setup(r);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Missing events and functions may come with the next program. So may further events of its own. */
static bool waits_again(const struct run *r)
{
	if (r->plain)
		return !access_request(r->barrier, WIRE_BARRIER, "events", -1, NULL);
	return r->asked.events.nr || run_functions_wait(r);
}

void run_setup_waits(struct run *r)
{
	int number = access_hear(r->barrier);
	char text[16];

	r->attached = true;
	if (number < 0 && !r->set_up)
		fprintf(stderr,
			"tracefuse: %s did not wait for the setup, because the connection to its "
			"session was lost (%s): its first events are missing\n",
			r->program[0], strerror(-number));
	if (number > 0) {
		if (r->set_up) {
			enable_events(r);
			run_functions_set(r);
		} else {
			set_up_interruptibly(r);
			run_child_refuse(r);
		}
		if (r->not_started) {
			run_setup_barrier_end(r);
			return;
		}
		snprintf(text, sizeof(text), "%d", number);
		access_request(r->barrier, WIRE_GO, text, -1, NULL);
	}
	if (number <= 0 || !waits_again(r) || access_ask(r->barrier, WIRE_WAITS))
		run_setup_barrier_end(r);
}
