/* SPDX-License-Identifier: MIT */
/*
 * restore.c - a new server for a session whose server died (R4)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/access.h"
#include "access/wire.h"
#include "host/message.h"
#include "server/function_list.h"
#include "server/server.h"
#include "model/model.h"
#include "session/session.h"
#include "sources/live/live.h"
#include "sources/program/programs.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

/* Writes a saved command again. */
struct restoring {
	struct model	*model;
	struct tree	*tree;
	struct access	*access;
	struct programs	*programs;	/* NULL: it is not a session of running programs */
	/* The saved text of the recording; NULL: there was none */
	char		*source;
	char		*boot;		/* and that of the settings that waited */
	uint64_t	boot_saved;
	bool		live;		/* the running kernel was a source */
	uint64_t	live_saved;
	data_ref	progress;
};

static int restore_source(struct restoring *r, const char *text)
{
	const struct restored o = model_restored(r->model, NULL, SOURCE_SAVED, NULL);

	r->progress = restored_ref(&o, 0);
	source_restore_machine(r->model, text);
	r->source = strdup(text);
	return r->source ? session_data_restore(r->model->session, r->progress, sizeof(uint64_t))
			 : -ENOMEM;
}

static int restore_boot(struct restoring *r, const char *text)
{
	r->boot = strdup(text);
	return r->boot ? saved_add(r->model, r->model->top, SERVER_BOOT, text, NULL, 0,
				   &r->boot_saved)
		       : -ENOMEM;
}

static int restore_live(struct restoring *r, const char *text)
{
	const struct restored o = model_restored(r->model, NULL, SERVER_LIVE, NULL);

	r->live = true;
	r->live_saved = r->model->restored.id;
	live_book_restore(r->model, restored_ref(&o, 0));
	r->model->has_kernel = true;
	r->model->merge_delay_ms = (unsigned int)strtoul(text, NULL, 10);
	r->model->without_kernel_functions = strstr(text, WIRE_KERNEL_PROGRAMS);
	return 0;
}

static int write_again(void *arg, const char *path, const char *text)
{
	struct restoring *r = arg;
	struct access *a = r->access;
	const char *name = path + strlen("instances/");
	int ret;

	model_step(r->model);
	if (!strcmp(path, SERVER_HIST_LEGACY)) {
		r->model->hist_legacy = true;
		return 0;
	}
	if (!strcmp(path, FUNCTION_LIST_SAVED)) {
		/* If that fails, functions cannot be chosen */
		(void)function_list_load(r->model, text);
		return 0;
	}
	if (!strcmp(path, SOURCE_SAVED))
		return restore_source(r, text);
	if (!strcmp(path, SERVER_LIVE))
		return restore_live(r, text);
	if (!strcmp(path, SERVER_BOOT))
		return restore_boot(r, text);
	ret = programs_restore(&r->programs, r->model, r->tree, path, text);
	if (ret <= 0)
		return ret;
	if (!strncmp(path, "instances/", 10) && !strchr(name, '/'))
		return a->ops->mkdir(a, path);
	return access_write_all(a, path, O_APPEND, text, strlen(text), NULL);
}

/* The server answers nobody yet, but programs that wait see progress. */
static void restore_step(void *arg)
{
	struct model *m = arg;

	attach_progress(m->session);
}

static int restore_model(struct restoring *r, struct tree *t)
{
	struct model *m = r->model;
	int ret;

	m->step = restore_step;
	m->catch_up_arg = m;
	r->tree = t;
	r->access = access_tree(t, NULL);
	ret = r->access ? model_restore(m, write_again, r) : -ENOMEM;
	access_close(r->access);
	if (!ret)
		programs_restored(r->programs);
	/* Otherwise the step is already the one that answers programs. */
	if (m->step == restore_step)
		m->step = NULL;
	return ret;
}

/*
 * If the recording is gone, the session continues without it; `what` says so in the list of
 * sessions.
 */
static struct source *restore_recording(struct restoring *r, char *what, size_t size)
{
	struct source_error err;
	struct source *src = NULL;

	snprintf(what, size, "%srestored", r->programs ? "running programs, " : "");
	if (r->source && source_restore(r->model, r->source, r->progress, &src, &err))
		snprintf(what, size, "restored without its recording: %s: %s", err.file, err.text);
	return src;
}

static int run_restored(const struct server_params *params, struct source *src)
{
	struct server *srv;
	int ret = server_create(params, &srv);

	if (ret)
		return ret;
	if (src)
		ret = source_serve(src, params->tree, server_lock(srv));
	if (!ret) {
		server_ready();
		ret = server_run(srv);
	}
	if (src)
		source_serve_end(src);
	server_destroy(srv);
	return ret;
}

static int restore_serve(struct session *s, struct model *m, struct tree *t)
{
	char what[640];
	struct server_params params = { .session = s, .model = m, .tree = t, .what = what };
	struct restoring r = { .model = m };
	int ret = restore_model(&r, t);

	if (!ret) {
		struct source *src = restore_recording(&r, what, sizeof(what));

		params.programs = r.programs;
		params.boot = r.boot;
		params.boot_saved = r.boot_saved;
		params.live = r.live;
		params.live_saved = r.live_saved;
		params.uname = src ? source_uname(src) : NULL;
		ret = run_restored(&params, src);
		source_close(src);
	}
	programs_end(r.programs);
	programs_destroy(r.programs);
	free(r.source);
	free(r.boot);
	return ret;
}

/* Runs in the server's process; returns when the session ends. */
static int run_server(const void *name)
{
	struct session *s;
	struct model *m;
	struct tree *t;
	int ret = session_open(name, &s);

	if (ret)
		return ret;
	ret = model_create(s, &m);
	if (!ret) {
		t = tree_create(m);
		ret = t ? restore_serve(s, m, t) : -ENOMEM;
		if (t)
			tree_destroy(t);
		model_destroy(m);
	}
	if (ret)
		session_close(s);
	else
		session_destroy(s);
	return ret;
}

int server_restore(const char *name)
{
	return server_start(run_server, name, -1);
}
