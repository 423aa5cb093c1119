/* SPDX-License-Identifier: MIT */
/*
 * attached.h - a program that is its own server: a thread answers the attach socket, so that its
 * static events reach the session by way of libtracefuse.so, as those of any program do
 */
#ifndef TRACEFUSE_BENCH_ATTACHED_H
#define TRACEFUSE_BENCH_ATTACHED_H

#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "fixture.h"
#include "model/event/file.h"
#include "session/attach/attach.h"
#include "tracefuse/tracefuse.h"

struct bench_attached {
	struct session	*session;
	struct model	*model;
	int		last_id;
	_Atomic int	stop;
	pthread_t	server;
};

static int attached_define(void *arg, const struct attach_peer *peer, uint64_t dso,
			   const char *system, const char *name, const char *body)
{
	struct bench_attached *b = arg;
	struct event *e = NULL;
	char text[4096];

	(void)peer;
	snprintf(text, sizeof(text), "name: %s\nID: %d\nformat:\n%s", name, ++b->last_id, body);
	return model_add_event(b->model, system, text, strlen(text), &e) ? -EINVAL : b->last_id;
}

static void *attached_serve(void *arg)
{
	struct bench_attached *b = arg;

	while (!b->stop) {
		attach_serve(b->session);
		usleep(1000);
	}
	return NULL;
}

static inline void attached_open(struct bench_attached *b)
{
	const struct attach_hooks hooks = { .define = attached_define, .arg = b };

	b->last_id = BENCH_EVENT;
	b->session = bench_session();
	if (model_create(b->session, &b->model))
		bench_fail("no model");
	attach_set_hooks(b->session, &hooks);
	pthread_create(&b->server, NULL, attached_serve, b);
	if (tf_attach(session_dir(b->session)))
		bench_fail("cannot attach");
}

static inline void attached_close(struct bench_attached *b)
{
	b->stop = 1;
	pthread_join(b->server, NULL);
	model_destroy(b->model);
	session_close(b->session);
}

static inline struct event_file *attached_file(struct bench_attached *b, const char *name)
{
	struct event *e = model_find_event(b->model, "bench", name);

	if (!e)
		bench_fail(name);
	return event_file_get(b->model->top, e);
}

#endif
