/* SPDX-License-Identifier: MIT */
/*
 * make.c - a new session for running programs, served in the background
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/server.h"
#include "model/model.h"
#include "session/session.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"

/* ---- the process that the session belongs to ---- */

struct life {
	struct server	*server;
	int		fd;		/* -1: the session stays */
	int		linger_ms;
	int		end;		/* an eventfd: the thread ends */
	pthread_t	thread;
};

/*
 * Nothing is ever written to a pipe: it is readable when its other end is closed or its owner has
 * died. So is a pidfd when its process has ended.
 */
static void *watch_life(void *arg)
{
	const struct life *l = arg;
	struct pollfd p[] = {
		{ .fd = l->fd, .events = POLLIN },
		{ .fd = l->end, .events = POLLIN },
	};

	while (poll(p, 2, -1) < 0)
		;
	if (!p[1].revents && poll(&p[1], 1, l->linger_ms) <= 0)
		server_orphaned(l->server);
	return NULL;
}

static int life_begin(struct life *l)
{
	int err;

	if (l->fd < 0)
		return 0;
	l->end = eventfd(0, EFD_CLOEXEC);
	if (l->end < 0)
		return -errno;
	err = pthread_create(&l->thread, NULL, watch_life, l);
	if (err)
		close(l->end);
	return -err;
}

/* Without pthread_cancel(): it needs room for a signal, and there may be none (ulimit -i). */
static void life_end(struct life *l)
{
	if (l->fd < 0)
		return;
	eventfd_write(l->end, 1);
	pthread_join(l->thread, NULL);
	close(l->end);
}

/* ---- the session ---- */

/* Serves until the session ends. */
static int make_serve(const struct server_make_params *mp, const struct server_params *params)
{
	struct life life = { .fd = mp->life_fd, .linger_ms = mp->linger_ms };
	int ret = server_create(params, &life.server);

	if (ret)
		return ret;
	ret = life_begin(&life);
	if (!ret) {
		server_ready();
		ret = server_run(life.server);
		life_end(&life);
	}
	server_destroy(life.server);
	return ret;
}

static int set_legacy(struct model *m)
{
	uint64_t saved = 0;

	m->hist_legacy = true;
	return saved_add(m, m->top, SERVER_HIST_LEGACY, "", NULL, 0, &saved);
}

static int run_model(struct session *s, struct model *m, const struct server_make_params *mp)
{
	struct server_params params = {
		.session = s, .model = m, .tree = tree_create(m), .what = mp->what,
		.end_unmounted = mp->end_unmounted,
	};
	int ret = params.tree ? 0 : -ENOMEM;

	if (!ret && mp->hist_legacy)
		ret = set_legacy(m);
	if (!ret)
		ret = programs_create(m, params.tree, mp->programs, &params.programs);
	if (!ret)
		ret = make_serve(mp, &params);
	programs_end(params.programs);
	programs_destroy(params.programs);
	if (params.tree)
		tree_destroy(params.tree);
	return ret;
}

static int run_session(const void *arg)
{
	const struct server_make_params *params = arg;
	struct session *s;
	struct model *m;
	int ret = session_create(params->name, NULL, &s);

	if (ret)
		return ret;
	ret = model_create(s, &m);
	if (!ret) {
		ret = run_model(s, m, params);
		model_destroy(m);
	}
	session_destroy(s);
	return ret;
}

int server_make(const struct server_make_params *params)
{
	return server_start(run_session, params, params->life_fd);
}
