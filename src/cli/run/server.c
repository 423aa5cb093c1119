/* SPDX-License-Identifier: MIT */
/*
 * server.c - the session of a run: made with a server of its own, or joined
 *
 * The server is neither this process's child nor in its terminal's session. So signals of the
 * terminal reach only the program, and a shell waits only for the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/drain/drain.h"
#include "host/mounts.h"
#include "cli/run/run.h"
#include "cli/save_dat.h"
#include "server/server.h"
#include "access/wire.h"
#include "session/session.h"
#include "sources/program/programs.h"

enum { TRIES = 10 };

/* ---- a session of its own ---- */

/* Makes the description for `tracefuse sessions`. */
static void run_server_describe(const struct run *r, char *out, size_t size)
{
	size_t at = (size_t)snprintf(out, size, "%s", r->command->name);

	for (char **word = r->program; *word && at < size; word++)
		at += (size_t)snprintf(out + at, size - at, " %s", *word);
	for (; *out; out++)
		if ((unsigned char)*out < ' ')
			*out = ' ';
}

/* 0 or -errno */
static int run_server_make(struct run *r)
{
	struct programs_params programs = { .systems = r->systems,
					    .kernel_names = r->kernel_names };
	char what[256];
	struct server_make_params params = {
		.name = r->name,
		.programs = &programs,
		.what = what,
		.hist_legacy = r->asked.hist_legacy,
		.end_unmounted = !r->asked.session_name && r->asked.mount_dir,
		.life_fd = -1,
	};
	int fds[2], ret;

	run_server_describe(r, what, sizeof(what));
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	params.life_fd = fds[0];
	r->life_fd = fds[1];
	ret = server_make(&params);
	r->made = !ret;
	close(fds[0]);
	if (ret) {
		close(r->life_fd);
		r->life_fd = -1;
	}
	return ret;
}

/* ---- an existing session ---- */

/* The user made no mistake, so the program runs untraced. */
static int without_tracing(struct run *r, int ret, const char *what)
{
	snprintf(r->untraced, sizeof(r->untraced), "%s: %s", what, session_error(ret));
	return COMMAND_FAILED;
}

bool run_server_died(struct run *r, int ret)
{
	if (ret != -EPIPE && ret != -ECONNRESET)
		return false;
	without_tracing(r, -ECONNREFUSED, "the session was lost");
	return true;
}

/* A request has failed. */
static int refused(struct run *r, int ret, const char *what)
{
	if (run_server_died(r, ret))
		return COMMAND_FAILED;
	return message_error("%s: session %s: %s: %s", r->command->name, r->name, what,
			     strerror(-ret));
}

static int run_server_join(struct run *r)
{
	char text[512];
	int ret;

	if (r->asked.hist_legacy)
		return command_usage(r->command,
				     "--hist-legacy is for a new session; %s is there already",
				     r->name);
	if (!r->systems && !r->kernel_names)
		return COMMAND_DONE;
	snprintf(text, sizeof(text), "%c%s", r->kernel_names ? '+' : '-',
		 r->systems ? r->systems : "*");
	ret = access_request(r->access, WIRE_SYSTEMS, text, -1, NULL);
	if (ret == -EOPNOTSUPP)
		return COMMAND_DONE;	/* run_setup_barrier() reports a session of another kind */
	return ret ? refused(r, ret, "its providers") : COMMAND_DONE;
}

/* Applies --boot. An existing session has had its start already. */
static int run_server_boot(struct run *r)
{
	char *text;
	int ret = 0;

	if (r->joined && r->asked.boots.nr)
		return command_usage(r->command,
				     "--boot is for a new session; %s is there already", r->name);
	text = r->joined ? NULL : asked_boot(&r->asked.boots);
	if (text)
		ret = client_boot(r->access, text);
	free(text);
	r->refused |= ret > 0;
	return ret < 0 ? refused(r, ret, "its start") : COMMAND_DONE;
}

static int mount_it(struct run *r)
{
	int ret = access_request(r->access, WIRE_MOUNT, r->mount_dir, -1, NULL);

	if (ret < 0 && run_server_died(r, ret))
		return COMMAND_FAILED;
	return ret < 0 ? mounts_failed(r->asked.mount_dir, ret) : COMMAND_DONE;
}

int run_server_stay(struct run *r)
{
	int ret = r->access ? access_request(r->access, WIRE_STAY, "", -1, NULL) : -ENOTCONN;

	r->stays = ret >= 0;
	return ret;
}

/*
 * Makes a name. A process of another pid name space may have the same number and use the same
 * directory.
 */
static void name_own(struct run *r, int number)
{
	const int len = snprintf(r->name, sizeof(r->name), "%s-%d", r->command->name,
				 (int)getpid());

	if (number)
		snprintf(r->name + len, sizeof(r->name) - (size_t)len, "-%d", number + 1);
}

/* Joins the existing session, or makes one. 0 or -errno */
static int run_server_find(struct run *r)
{
	int ret = -ENOENT;

	for (int i = 0; i < TRIES; i++) {
		if (!r->asked.session_name)
			name_own(r, i);
		ret = r->asked.session_name ? client_reach(r->name, &r->access) : -ENOENT;
		r->joined = ret != -ENOENT;
		if (ret == -ENOENT)
			ret = run_server_make(r) ? : client_reach(r->name, &r->access);
		/*
		 * In the other cases another command was faster, or the session has ended
		 * meanwhile.
		 */
		if (ret != -EEXIST && (ret != -ENOENT || !r->asked.session_name))
			break;
	}
	return ret;
}

/* Only a server that begins now has what root lends. */
static void kernel_is_missing(const struct run *r, int err, const char *why)
{
	if (r->lent && r->joined && (err == -EACCES || err == -EPERM))
		message_error("%s: session %s goes on without the kernel's events, because it was "
			      "there before: end it, and make it again", r->command->name, r->name);
	else
		message_error("%s: %s", r->command->name, why);
}

/*
 * What is missing is said, and counts as a setup that was refused. --function and --graph are for
 * functions of programs.
 */
static int run_server_kernel(struct run *r)
{
	const char *programs = run_functions_asked(r) ? WIRE_KERNEL_PROGRAMS : "";
	char *why = NULL, text[64];
	int ret;

	snprintf(text, sizeof(text), "%s%s", r->merge_delay ? r->merge_delay : "", programs);
	ret = access_request(r->access, WIRE_KERNEL, text, -1, &why);
	if (ret < 0 && run_server_died(r, ret))
		return COMMAND_FAILED;
	if (ret < 0) {
		kernel_is_missing(r, ret, why && *why ? why : strerror(-ret));
		r->refused = true;
	}
	free(why);
	return COMMAND_DONE;
}

/* Does what has to be done before the program begins. */
static int run_server_settle(struct run *r)
{
	int status = r->joined ? run_server_join(r) : COMMAND_DONE, ret = 0;

	if (!status && r->kernel)
		status = run_server_kernel(r);
	if (!status)
		status = run_server_boot(r);
	if (!status && r->asked.mount_dir)
		status = mount_it(r);
	/* From now on other commands may join the session. */
	if (!status && r->asked.session_name && !run_is_refused(r))
		ret = run_server_stay(r);
	return ret < 0 ? refused(r, ret, "it cannot stay") : status;
}

int run_server_open(struct run *r)
{
	int status, ret;

	r->life_fd = r->owner_fd = -1;
	if (r->asked.session_name)
		snprintf(r->name, sizeof(r->name), "%s", r->asked.session_name);
	for (int i = 0; i < TRIES; i++) {
		ret = run_server_find(r);
		if (ret)
			return without_tracing(r, ret, r->joined ? "the session cannot be reached" :
					       "a session cannot be made");
		/* Without an owner the session would remain if all processes were killed. */
		if (!r->asked.session_name && r->owner_fd < 0)
			r->owner_fd = session_own(r->name);
		status = run_server_settle(r);
		/*
		 * The server died between two requests. Its settings are saved, or are sent again.
		 */
		if (!*r->untraced || !r->asked.session_name)
			break;
		*r->untraced = '\0';
		access_close(r->access);
		r->access = NULL;
	}
	if (!status)
		run_summary_begin(r);
	return status;
}

int run_drain_check(const struct run *r)
{
	return r->drain && !r->asked.dat_file
		       ? command_usage(r->command, "--drain is for -o FILE")
		       : COMMAND_DONE;
}

int run_drain_begin(struct run *r)
{
	const struct save_dat what = {
		.file = r->asked.dat_file, .out = r->results.dat, .compress = r->asked.compress,
		.quiet = r->quiet,
	};

	return r->drain ? drain_begin(r->name, r->access, &what, r->made && !r->stays,
				      &r->results.drain)
			: COMMAND_DONE;
}

void run_server_again(struct run *r)
{
	char *info;

	if (r->access && access_request(r->access, WIRE_INFO, "", -1, &info) >= 0) {
		free(info);
		return;
	}
	if (r->access)
		access_close(r->access);
	r->access = client_connect(r->command, r->name);
}

void run_server_close(struct run *r)
{
	drain_cancel(r->results.drain);
	r->results.drain = NULL;
	/* If the server has died, another one ends the session, or it would stay for ever. */
	if (r->access && r->made && !r->stays && client_end(r->access)) {
		run_server_again(r);
		if (r->access)
			client_end(r->access);
	}
	if (r->access)
		access_close(r->access);
	if (r->life_fd >= 0)
		close(r->life_fd);
	if (r->owner_fd >= 0)
		session_disown(r->name, r->owner_fd);
	r->access = NULL;
	r->life_fd = r->owner_fd = -1;
}
