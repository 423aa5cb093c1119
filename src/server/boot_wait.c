/* SPDX-License-Identifier: MIT */
/*
 * boot_wait.c - tries the settings that a session begins with (boot.h) again whenever a program is
 * ready
 *
 * As long as a setting waits, they are saved for the next server.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "server/boot.h"
#include "server/state.h"
#include "model/model.h"
#include "model/text_memory.h"
#include "sources/program/programs.h"

static int pend_setting(void *arg, const char *path, const char *text)
{
	struct server *srv = arg;

	return srv->programs ? programs_pend(srv->programs, path, false, text, strlen(text))
			     : -ENOENT;
}

static int pend_waiting(struct server *srv)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = text_memory_open(&text, &size);
	int err = -ENOMEM;

	if (out)
		boot_print_waiting(srv->boot, "", out);
	if (out && !fclose(out))
		err = 0;
	/* The new text is saved before the old one is removed. */
	if (!err && size)
		err = saved_replace(srv->model, srv->model->top, SERVER_BOOT, text, NULL, 0,
				    &srv->boot_saved);
	else if (!err)
		saved_remove(srv->model, &srv->boot_saved);
	free(text);
	return err;
}

/* `out` is NULL after the start: an error at a later try is not reported. */
static int apply(struct server *srv, FILE *out)
{
	/* The caller has the control lock. */
	struct boot_params params = {
		.access = access_tree(srv->tree, NULL),
		.pend = pend_setting,
		.pend_arg = srv,
		.out = out,
	};

	if (!params.access)
		return -ENOMEM;
	srv->boot_waits = boot_apply(srv->boot, &params);
	if (boot_waits_functions(srv->boot))
		session_functions_asked(srv->session);
	access_close(params.access);
	return pend_waiting(srv);
}

int server_boot_add(struct server *srv, const char *text, FILE *out)
{
	int err;

	if (!srv->boot)
		srv->boot = boot_create("");
	err = srv->boot ? boot_add(srv->boot, text, out) : -ENOMEM;
	return err ? err : apply(srv, out);
}

int server_boot_restore(struct server *srv, const char *text, uint64_t saved)
{
	srv->boot = boot_create("");
	srv->boot_saved = saved;
	srv->boot_waits = true;
	return srv->boot ? boot_restore(srv->boot, text) : -ENOMEM;
}

void server_boot_ready(struct server *srv)
{
	if (srv->boot_waits)
		apply(srv, NULL);
}

void server_boot_print(const struct server *srv, FILE *out)
{
	if (srv->boot)
		boot_print_waiting(srv->boot, "boot ", out);
}
